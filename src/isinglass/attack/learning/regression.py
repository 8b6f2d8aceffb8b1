"""Linear, ridge and kernel regressions on pairs, with leave-one-out errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors

Array = NDArray[Any]

#: Ridge strengths, as shares of the largest (linear) or the mean (kernel) squared direction.
STRENGTHS = np.logspace(-8, 1, 19)
KERNEL_STRENGTHS = np.logspace(-7, 1, 17)
#: Kernel widths, in median distances between the pairs.
WIDTHS = (0.7, 1.5, 3.0, 6.0)
#: Pairs beyond this many sharpen a kernel little and cost time; so many choose its width.
MOST_KERNEL_PAIRS = 1_500
MOST_WIDTH_PAIRS = 200
#: Up to so many pairs are left out one by one in turn, more of them in so many groups.
MOST_FOLDS = 40


@dataclass(frozen=True, slots=True)
class Fit:
    """A learned map, and the error of each pair, column by column, where it was left out."""

    predict: Callable[[Array], Array] = field(repr=False)
    left_out: Array = field(repr=False)  # prediction less truth, one row for each pair

    @property
    def errors(self) -> Array:
        """Mean squared error of each column."""
        return np.asarray(np.square(self.left_out).mean(axis=0))


def fit_mean(X: Array, mean: Array | None = None) -> Fit:
    """The same record for every row: the known mean, or that of the pairs."""
    center, m = X.mean(axis=0), len(X)
    left_out = mean - X if mean is not None else (center - X) * (m / max(m - 1, 1))
    value = center if mean is None else mean
    return Fit(lambda rows: np.tile(value, (len(rows), 1)), left_out)


def fit_linear(Z: Array, X: Array, *, precision: float = 1e-10) -> Fit:
    """Least squares of the record on (1, z), of least norm where pairs leave some freedom.

    Directions in which the rows differ by less than `precision` of the largest are rounding.
    """
    parts = _Directions.of(Z, X, precision)
    # The limit of ridge regression for strength 0; the formula itself would divide 0 by 0.
    nearly_none = np.full(X.shape[1], 1e-12 * parts.largest)
    return Fit(parts.affine(np.zeros(X.shape[1])), parts.left_out(nearly_none))


def fit_ridge(Z: Array, X: Array, *, precision: float = 1e-10) -> Fit:
    """Ridge regression, each column with the strength that does best on pairs left out."""
    parts = _Directions.of(Z, X, precision)
    strengths = STRENGTHS * parts.largest
    best = strengths[parts.errors(strengths).argmin(axis=0)]
    return Fit(parts.affine(best), parts.left_out(best))


def fit_rigid(Z: Array, X: Array) -> Fit:
    """The rotation, reflection and shift nearest to the pairs: orthogonal Procrustes.

    With fewer pairs than columns + 1 the rest of the rotation is arbitrary.
    """
    m = len(X)
    # Every k-th pair is left out in turn, so each is left out once.
    k = min(m, MOST_FOLDS)
    errors = np.zeros_like(X)
    for first in range(k if m > 1 else 0):
        left_out = np.arange(first, m, k)
        shown = np.delete(np.arange(m), left_out)
        errors[left_out] = _procrustes(Z[shown], X[shown])(Z[left_out]) - X[left_out]
    if m == 1:
        errors[:] = np.inf
    return Fit(_procrustes(Z, X), errors)


def fit_kernel(Z: Array, X: Array, rng: np.random.Generator) -> Fit:
    """Kernel ridge regression with a linear and a gaussian part; width and strength as above.

    One eigendecomposition gives the error on pairs left out for all strengths at once.
    """
    if not deviations(Z).any():
        return fit_mean(X)
    all_rows, all_records = Z, X
    chosen = np.arange(len(Z))
    if len(Z) > MOST_KERNEL_PAIRS:
        chosen = np.sort(rng.choice(len(Z), MOST_KERNEL_PAIRS, replace=False))
        Z, X = Z[chosen], X[chosen]
    mean, unit = Z.mean(axis=0), divisors(deviations(Z))
    rows = (Z - mean) / unit
    few = rows[:MOST_WIDTH_PAIRS]
    typical = float(np.median(_squared_distances(few, few)[np.triu_indices(len(few), 1)]))
    typical = typical if typical > 0 else 1.0
    scale = divisors(deviations(X)) ** 2
    widths = [2.0 * typical * width**2 for width in WIDTHS]
    tried = [_CenteredSpectrum.of(_kernel(few, few, w), X[: len(few)]) for w in widths]
    losses = [float((spectrum.best()[1] / scale).sum()) for spectrum in tried]
    best = int(np.argmin(losses))
    width = widths[best]
    K = _kernel(rows, rows, width)
    spectrum = tried[best] if len(few) == len(rows) else _CenteredSpectrum.of(K, X)
    strengths, _ = spectrum.best()
    dual = spectrum.dual(strengths)
    offset = X.mean(axis=0) - K.mean(axis=0) @ dual

    def predict(new: Array) -> Array:
        guess = np.empty((len(new), X.shape[1]))
        for start in range(0, len(new), 4096):
            block = (new[start : start + 4096] - mean) / unit
            guess[start : start + 4096] = _kernel(block, rows, width) @ dual + offset
        return guess

    left_out = np.empty_like(all_records)
    left_out[chosen] = spectrum.left_out(strengths)
    others = np.setdiff1d(np.arange(len(all_rows)), chosen)
    left_out[others] = predict(all_rows[others]) - all_records[others]
    return Fit(predict, left_out)


@dataclass(frozen=True, slots=True)
class _Directions:
    """Centerd pairs in the singular directions of their released rows."""

    left: Array  # m x rank
    sizes: Array
    right: Array  # rank x p
    targets: Array  # centered records
    mean_z: Array
    mean_x: Array
    within: Array  # records in the directions
    squares: Array  # of the left directions

    @classmethod
    def of(cls, Z: Array, X: Array, precision: float) -> _Directions:
        mean_z, mean_x = Z.mean(axis=0), X.mean(axis=0)
        left, sizes, right = np.linalg.svd(Z - mean_z, full_matrices=False)
        # m centered rows span m - 1 directions at most; the rest is rounding.
        rank = min(int((sizes > precision * sizes[:1].sum()).sum()), len(Z) - 1)
        left, targets = left[:, :rank], X - mean_x
        return cls(
            left, sizes[:rank], right[:rank], targets, mean_z, mean_x, left.T @ targets, left**2
        )

    @property
    def largest(self) -> float:
        return float(self.sizes[0] ** 2) if len(self.sizes) else 1.0

    def errors(self, strengths: Array) -> Array:
        """Mean squared error on pairs left out, strengths x columns."""
        columns = self.targets.shape[1]
        found = [self.left_out(np.full(columns, strength)) for strength in strengths]
        return np.array([np.square(errors).mean(axis=0) for errors in found])

    def left_out(self, strengths: Array) -> Array:
        """The error of each pair where it was left out, with this strength for each column.

        A pair's error when it is left out is its residual over 1 - h, h its own weight in its
        fit. With U the left directions, I - H = U diag(a / (s² + a)) U' + the rest, where the
        rest is what neither U nor the mean spans: nothing, where pairs are too few.
        """
        m, rank = self.left.shape
        if m == 1:
            return np.full(self.targets.shape, np.inf)
        within, squares = self.within, self.squares
        free = m - 1 > rank
        rest = self.targets - self.left @ within if free else np.zeros(self.targets.shape)
        share = np.maximum(1.0 - 1.0 / m - squares.sum(axis=1), 0.0) if free else np.zeros(m)
        found = np.empty(self.targets.shape)
        for strength in np.unique(strengths):
            columns = strengths == strength
            kept = strength / (self.sizes**2 + strength)
            own = np.maximum(share + squares @ kept, 1e-300)
            residual = rest[:, columns] + self.left @ (kept[:, np.newaxis] * within[:, columns])
            found[:, columns] = -residual / own[:, np.newaxis]
        return found

    def affine(self, strengths: Array) -> Callable[[Array], Array]:
        """The map with this strength for each column."""
        s = self.sizes[:, np.newaxis]
        weights = self.right.T @ (self.within * (s / (s**2 + strengths)))
        return lambda rows: np.asarray((rows - self.mean_z) @ weights + self.mean_x)


@dataclass(frozen=True, slots=True)
class _CenteredSpectrum:
    """A centered kernel matrix by its eigenvectors, and the centered records in them."""

    vectors: Array
    values: Array
    targets: Array
    squares: Array  # of the vectors

    @classmethod
    def of(cls, K: Array, X: Array) -> _CenteredSpectrum:
        means = K.mean(axis=0)
        values, vectors = np.linalg.eigh(K - means - means[:, np.newaxis] + means.mean())
        targets = vectors.T @ (X - X.mean(axis=0))
        return cls(vectors, np.maximum(values, 0.0), targets, vectors**2)

    @property
    def _strengths(self) -> Array:
        return np.asarray(KERNEL_STRENGTHS * max(float(self.values.mean()), 1e-3))

    def best(self) -> tuple[Array, Array]:
        """For each column the best strength and its mean squared error on pairs left out."""
        m = len(self.values)
        if m == 1:
            return np.ones(self.targets.shape[1]), np.full(self.targets.shape[1], np.inf)
        columns = self.targets.shape[1]
        tried = [self.left_out(np.full(columns, strength)) for strength in self._strengths]
        errors = np.array([np.square(found).mean(axis=0) for found in tried])
        return self._strengths[errors.argmin(axis=0)], errors.min(axis=0)

    def left_out(self, strengths: Array) -> Array:
        """The error of each pair where it was left out, with this strength for each column."""
        m = len(self.values)
        if m == 1:
            return np.full(self.targets.shape, np.inf)
        found = np.empty(self.targets.shape)
        for strength in np.unique(strengths):
            columns = strengths == strength
            kept = strength / (self.values + strength)
            # The mean is fitted too, freely: it takes 1 / m off every 1 - h.
            own = np.maximum(self.squares @ kept - 1.0 / m, 1e-12)
            residual = self.vectors @ (kept[:, np.newaxis] * self.targets[:, columns])
            found[:, columns] = -residual / own[:, np.newaxis]
        return found

    def dual(self, strengths: Array) -> Array:
        """The weight of each pair; its sum is 0 but for rounding, which a weak ridge magnifies."""
        weights = self.vectors @ (self.targets / (self.values[:, np.newaxis] + strengths))
        return np.asarray(weights - weights.mean(axis=0))


def _procrustes(Z: Array, X: Array) -> Callable[[Array], Array]:
    mean_z, mean_x = Z.mean(axis=0), X.mean(axis=0)
    left, _, right = np.linalg.svd((Z - mean_z).T @ (X - mean_x))
    return lambda rows: np.asarray((rows - mean_z) @ (left @ right) + mean_x)


def _kernel(a: Array, b: Array, width: float) -> Array:
    return np.asarray(np.exp(-_squared_distances(a, b) / width) + a @ b.T / a.shape[1])


def _squared_distances(a: Array, b: Array) -> Array:
    sums = (a**2).sum(axis=1)[:, np.newaxis] + (b**2).sum(axis=1)
    return np.asarray(np.maximum(sums - 2.0 * a @ b.T, 0.0))
