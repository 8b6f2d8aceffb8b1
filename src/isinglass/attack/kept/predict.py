"""Prediction of records from kept columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.kept.effects import Effects
from isinglass.attack.kept.grouping_selection import MOST_RATED, choose
from isinglass.attack.kept.groups import Codes, GroupMeans, groupings, intersect_groupings

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Most categories with an indicator column in a regression, and random Fourier features.
_MOST_CATEGORIES, _FOURIER = 150, 60
#: Scales of the frequencies of random Fourier features, per deviation of a column's ranks.
_FREQUENCIES = (0.7, 2.0)
#: Rows a regression is fitted on, and on which the weights of all predictions are found.
_MOST_FITTED, _MOST_STACKED = 20_000, 10_000
_STRENGTHS = np.logspace(-2, 5, 15)
#: Parts of kept values that are used at all, by themselves, and two at a time; and of these where
#: trusted effects of parts are there already.
_MOST_PARTS, _MOST_ALONE, _MOST_TWOS, _FEW = 24, 6, 4, 2
#: Variance of the weight of trusted effects about one, and of other predictions about none: where
#: effects explain everything, and by how much more where they leave all open.
_TRUST, _DOUBT, _OPEN_DOUBT = 0.005, 0.01, 0.5


class _Learner(Protocol):
    def predict(self, rows: Rows) -> Array:
        """Values of any row, a training row by what was learned without it."""
        ...


def predict_from_kept(
    kept: Array,
    is_category: NDArray[np.bool_],
    trained: Rows,
    values: Array,
    weights: Array,
    rng: np.random.Generator,
    parts: Sequence[Codes] = (),
    trusted: Effects | None = None,
) -> Array:
    """Values of every row, a training row's by what was learned without it.

    `trained` are the rows whose `values`, of mean 0, are known, with the variance of each row's
    error as the inverse of its weight. Group means and regressions are added with the weights
    >= 0 that do best on held-out training rows; values that have nothing to do with what was
    kept are predicted as nearly 0. `parts` group all rows by parts of what was kept; those that
    tell nothing of the training rows are left aside. `trusted` effects have the weight one, and
    other predictions none, as far as training rows do not say otherwise.
    """
    from scipy.optimize import nnls

    whole = groupings(kept, is_category)
    learners: list[_Learner] = [_Groups.of(groups, trained, values, weights) for groups in whole]
    if kept.shape[1] > 1 or not is_category.all():
        learners += [
            Ridge.of(features, trained, values, weights, rng)
            for features in _designs(kept, is_category, rng)
        ]
    few = trusted is not None
    learners += _of_parts(parts, whole, trained, values, weights, rng, few=few)
    learners += [] if trusted is None else [trusted]
    some = np.arange(len(trained))
    if len(some) > _MOST_STACKED:
        some = np.sort(rng.choice(len(some), _MOST_STACKED, replace=False))
    scale = np.sqrt(weights[some])[:, np.newaxis] / divisors(_rms(values))
    columns = np.column_stack([(x.predict(trained[some]) * scale).ravel() for x in learners])
    target = (values[some] * scale).ravel()
    products = columns.T @ columns
    inner = columns.T @ target
    products += (1e-3 * np.trace(products) / len(products) + 1e-9) * np.eye(len(products))
    if trusted is not None:
        doubt = _DOUBT + _OPEN_DOUBT * trusted.open_share**2
        held = float(np.square(target).mean()) / np.append(np.full(len(inner) - 1, doubt), _TRUST)
        products += np.diag(held)
        inner[-1] += held[-1]
    root = np.linalg.cholesky(products)
    mix, _ = nnls(root.T, np.linalg.solve(root, inner))
    everyone, found = np.arange(len(kept)), np.zeros((len(kept), values.shape[1]))
    for start in range(0, len(kept), _MOST_FITTED):
        part = everyone[start : start + _MOST_FITTED]
        for share, learner in zip(mix, learners, strict=True):
            if share > 0:
                found[part] += share * learner.predict(part)
    return found


def _of_parts(
    parts: Sequence[Codes],
    whole: Sequence[Codes],
    trained: Rows,
    values: Array,
    weights: Array,
    rng: np.random.Generator,
    *,
    few: bool,
) -> list[_Learner]:
    """Means by parts that tell something, by two at a time, and the sum of all effects."""
    if not parts or len(trained) < 2:
        return []
    some = np.arange(len(trained))
    if len(some) > MOST_RATED:
        # Rows of known records weigh most.
        some = np.sort(np.argsort(-weights + 1e-9 * rng.random(len(weights)))[:MOST_RATED])
    rated = [groups[trained[some]] for groups in parts]
    most, alone, n_twos = (_FEW, _FEW, _FEW) if few else (_MOST_PARTS, _MOST_ALONE, _MOST_TWOS)
    chosen, n_adding = choose(rated, values[some], weights[some], most)
    if not chosen:
        return []
    best = [parts[i] for i in chosen]
    first, twos = best[:n_adding][:alone], []
    for a, groups in enumerate(first[: _MOST_TWOS // 2]):
        twos += [
            intersect_groupings([groups, other]) for other in [*first[a + 1 : a + 3], *whole[:1]]
        ]
    twos = [groups for groups in twos if groups.max() < len(trained) / 2][:n_twos]
    learners: list[_Learner] = [
        _Groups.of(groups, trained, values, weights) for groups in [*first, *twos]
    ]
    if len(best) > 1 and not few:
        learners.append(Ridge.of(_one_hot(best), trained, values, weights, rng))
    return learners


def _one_hot(chosen: Sequence[Codes]) -> Array:
    """Indicator columns of the groups of several groupings, as long as there are not too many."""
    columns = [np.ones(len(chosen[0]), dtype=np.float32)]
    for groups in chosen:
        present = np.unique(groups)
        # Two groups are told apart by one column.
        present = present[1:] if len(present) == 2 else present
        if len(columns) + len(present) <= 1 + _MOST_CATEGORIES:
            columns += [(groups == group).astype(np.float32) for group in present]
    return np.column_stack(columns)


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.square(values).mean(axis=0)))


@dataclass(frozen=True, slots=True)
class _Groups:
    groups: Codes = field(repr=False)
    means: GroupMeans = field(repr=False)
    own: Array = field(repr=False)  # training number of each row, -1 for others
    values: Array = field(repr=False)
    weights: Array = field(repr=False)

    @classmethod
    def of(cls, groups: Codes, trained: Rows, values: Array, weights: Array) -> _Groups:
        means = GroupMeans.fit(groups[trained], values, weights, int(groups.max()) + 1)
        return cls(groups, means, _numbers(trained, len(groups)), values, weights)

    def predict(self, rows: Rows) -> Array:
        found = self.means.predict(self.groups[rows])
        own = self.own[rows]
        inside = own >= 0
        if inside.any():
            mine = own[inside]
            found[inside] = self.means.left_out(
                self.groups[rows[inside]], self.values[mine], self.weights[mine]
            )
        return found


@dataclass(frozen=True, slots=True)
class Ridge:
    """Ridge regression by the eigenvectors of its features, each column with its own strength."""

    features: Array = field(repr=False)
    directions: Array = field(repr=False)
    coefficients: Array = field(repr=False)  # directions x columns
    inverse: Array = field(repr=False)  # 1 / (size + strength), directions x columns
    own: Array = field(repr=False)
    values: Array = field(repr=False)
    weights: Array = field(repr=False)

    @classmethod
    def of(
        cls,
        features: Array,
        trained: Rows,
        values: Array,
        weights: Array,
        rng: np.random.Generator,
    ) -> Ridge:
        if len(trained) > _MOST_FITTED:
            # Rows of known records weigh most, and come first.
            some = np.sort(np.argsort(-weights + 1e-9 * rng.random(len(weights)))[:_MOST_FITTED])
            trained, values, weights = trained[some], values[some], weights[some]
        A = features[trained].astype(np.float64)
        sizes, directions = np.linalg.eigh((A.T * weights) @ A)
        sizes = np.maximum(sizes, 0.0)
        turned = A @ directions
        inner = (turned.T * weights) @ values
        best = np.full(values.shape[1], np.inf)
        inverse = np.zeros_like(inner)
        squares = np.square(turned) * weights[:, np.newaxis]
        for strength in _STRENGTHS * max(float(weights.mean()), 1e-300):
            shrunk = 1.0 / (sizes + strength)
            share = np.minimum(squares @ shrunk, 1 - 1e-6)
            left = (values - turned @ (shrunk[:, np.newaxis] * inner)) / (1 - share)[:, np.newaxis]
            loss = (weights[:, np.newaxis] * np.square(left)).sum(axis=0)
            better = loss < best
            inverse[:, better] = shrunk[:, np.newaxis]
            best[better] = loss[better]
        own = _numbers(trained, len(features))
        return cls(features, directions, inverse * inner, inverse, own, values, weights)

    def fitted(self, rows: Rows) -> Array:
        """Values of any row, a training row by all that was learned."""
        return np.asarray((self.features[rows] @ self.directions) @ self.coefficients)

    def predict(self, rows: Rows) -> Array:
        turned = self.features[rows] @ self.directions
        found = turned @ self.coefficients
        inside = self.own[rows] >= 0
        if inside.any():
            mine = self.own[rows[inside]]
            share = (np.square(turned[inside]) @ self.inverse) * self.weights[mine, np.newaxis]
            share = np.minimum(share, 1 - 1e-6)
            found[inside] = (found[inside] - share * self.values[mine]) / (1 - share)
        return np.asarray(found)


def _numbers(trained: Rows, n_rows: int) -> Array:
    own = np.full(n_rows, -1, dtype=np.intp)
    own[trained] = np.arange(len(trained))
    return own


def _designs(kept: Array, is_category: NDArray[np.bool_], rng: np.random.Generator) -> list[Array]:
    """Features of a line in every number, and of any smooth function of them.

    Both with an indicator column for each category. Sums of random Fourier features are smooth
    functions of several numbers at once (Rahimi and Recht 2007).
    """
    marks, numbers = [np.ones((len(kept), 1), dtype=np.float32)], kept[:, ~is_category]
    for column in kept[:, is_category].T:
        values, counts = np.unique(column, return_counts=True)
        values = values[np.argsort(-counts, kind="stable")][:_MOST_CATEGORIES]
        marks.append((column[:, np.newaxis] == values).astype(np.float32))
    plain = np.column_stack(marks)[:, : 1 + _MOST_CATEGORIES]
    if not numbers.shape[1]:
        return [plain]
    line = (numbers - numbers.mean(axis=0)) / divisors(deviations(numbers))
    # Ranks, so that a long tail does not leave all others at one place.
    ranks = np.argsort(np.argsort(numbers, axis=0), axis=0) / max(len(numbers) - 1, 1)
    even = (ranks - 0.5) * np.sqrt(12)
    fourier = [
        np.cos(even @ rng.normal(scale=frequency, size=(even.shape[1], _FOURIER)) + shift)
        for frequency in _FREQUENCIES
        for shift in [rng.uniform(0, 2 * np.pi, _FOURIER)]
    ]
    smooth = np.column_stack([line, even, *fourier]).astype(np.float32)
    return [np.column_stack([plain, smooth[:, : line.shape[1]]]), np.column_stack([plain, smooth])]
