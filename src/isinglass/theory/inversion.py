"""Inversion of a network by bounded nonlinear least squares from several starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isinglass import chance
from isinglass.theory.network import Network

Array = NDArray[Any]

#: A release is explained at this share of its spread, and to rounding at the second; where it
#: was stored in single precision, at the others.
_EXPLAINED, _EXACT = 1e-9, 1e-14
_EXPLAINED_SINGLE, _EXACT_SINGLE = 1e-5, 1e-7
#: Records to start from; those that a sample lacks are drawn.
_DRAWN = 1_000
#: Nearest records of the population to start from, and starts drawn around an estimate.
_NEIGHBORS, _RESTARTS = 2, 40
#: The search ends where so many starts in turn explain less than this share of the rows left.
_PATIENCE, _WORTHWHILE = 6, 0.02
#: Multiplications for one record's derivatives, and for all starts together; a table that takes
#: more for the first (about a hundred columns and as many units) keeps its starting points.
_MOST_EACH, _MOST_WORK = 3e6, 8e9
_TYPICAL_ITERATIONS = 10


@dataclass(frozen=True, slots=True)
class Population:
    """Where scaled records lie: some of them, their mean, and their inverse covariance."""

    records: Array = field(repr=False)
    mean: Array = field(repr=False)
    precision: Array = field(repr=False)

    @classmethod
    def of(cls, sample: Array | None, n_columns: int) -> Population:
        """By a sample in [0, 1]; without one, any record within the bounds is as likely."""
        if sample is None or not len(sample):
            # Starting points need not be secret, so a fixed seed is enough.
            records = chance.generator(0).random((_DRAWN, n_columns))
            return cls(records, np.full(n_columns, 0.5), np.eye(n_columns))
        variance = sample.var(axis=0)
        # The covariance of a small sample underestimates the variance, so it is shrunk toward
        # the diagonal; columns that never vary get a little variance.
        trust = len(sample) / (len(sample) + n_columns)
        covariance = trust * np.atleast_2d(np.cov(sample.T, ddof=0))
        covariance += np.diag((1 - trust) * variance + 1e-6)
        precision = np.linalg.inv(covariance)
        rng, missing = chance.generator(0), max(0, _DRAWN - len(sample))
        # Points between two records are like them, and their images cost nothing.
        share = rng.random((missing, 1))
        one, other = (sample[rng.integers(len(sample), size=missing)] for _ in range(2))
        records = np.vstack([sample, share * one + (1 - share) * other])
        return cls(records, sample.mean(axis=0), precision * n_columns / np.trace(precision))

    def squared_distance(self, X: Array) -> Array:
        """Squared Mahalanobis distance of every row from the mean, up to a common factor."""
        off = X - self.mean
        return np.asarray(((off @ self.precision) * off).sum(axis=1))


def invert(
    network: Network,
    Z: Array,
    starts: list[Array],
    population: Population,
    *,
    n_compared: int = 1,
    explained: float | None = None,
) -> Array:
    """For every released row the record in [0, 1] whose image is nearest to it.

    `starts` are tried first, then a linear estimate, the nearest of the population's records, and
    points around the estimate, each on the rows that are not explained yet. Where f folds,
    several records explain a row: then the first `n_compared` starts are made for all rows, and
    of the records that explain a row the likeliest is taken. `explained` is how near a record's
    image must come, as a share of the spread of the images; None means nearly as near as the
    digits of Z allow.
    """
    small, turn = network.compressed()
    targets = (Z - network.offset) @ turn
    spread = float(np.square(targets - targets.mean(axis=0)).sum(axis=1).mean())
    spread = max(spread, 1e-30 + np.finfo(float).eps * float(np.square(targets).sum(axis=1).mean()))
    edges = np.zeros(network.n_in), np.ones(network.n_in)
    single = bool((Z == Z.astype(np.float32)).all())
    if explained is None:
        explained = _EXPLAINED_SINGLE if single else _EXPLAINED
    goal = (_EXACT_SINGLE if single else _EXACT) ** 2 * spread
    solved = explained**2 * spread
    shown = small.values(population.records)
    best, cost = _middle(population, targets), np.full(len(Z), np.inf)
    in_vain, work = 0, 0.0
    for tried, start in enumerate(_all_starts(starts, shown, population, targets)):
        rows = np.arange(len(Z)) if tried < n_compared else np.flatnonzero(cost > solved)
        if not len(rows) or (tried and work > _MOST_WORK):
            break
        work += small.work * len(rows) * _TYPICAL_ITERATIONS
        begin = np.clip(start[rows], *edges)
        if small.work <= _MOST_EACH:
            found = solve_rows(
                small, targets[rows], begin, bounds=edges, metric=population.precision, goal=goal
            )
            points, new = found.points, found.cost
        else:
            points, new = begin, np.square(targets[rows] - small.values(begin)).sum(axis=1)
        both = (new <= solved) & (cost[rows] <= solved)
        likelier = population.squared_distance(points) < population.squared_distance(best[rows])
        better = np.where(both, likelier, new < cost[rows])
        best[rows[better]], cost[rows[better]] = points[better], new[better]
        in_vain = in_vain + 1 if (new <= solved).mean() < _WORTHWHILE else 0
        if in_vain >= _PATIENCE:
            break
    return best


def _middle(population: Population, targets: Array) -> Array:
    return np.tile(population.mean, (len(targets), 1))


def _all_starts(
    starts: list[Array], shown: Array, population: Population, targets: Array
) -> Iterator[Array]:
    """The given starts, a linear estimate, the nearest records, and perturbed linear estimates.

    A perturbed estimate adds the estimate's error on a record drawn from the population.
    """
    yield from starts
    records = population.records
    estimate = _ridge(shown, records)
    middle = estimate(targets)
    yield middle
    yield from _nearest(shown, records, targets)
    errors = records - estimate(shown)
    # Starting points need not be secret, so a fixed seed is enough.
    rng = chance.generator(1)
    for _ in range(_RESTARTS):
        yield middle + errors[rng.integers(len(errors), size=len(targets))]


def _ridge(shown: Array, records: Array) -> Callable[[Array], Array]:
    """Ridge regression of records on their images, held back just enough to have a solution."""
    center, mean = shown.mean(axis=0), records.mean(axis=0)
    A = shown - center
    square = A.T @ A
    square += (1e-6 * np.trace(square) / len(square) + 1e-300) * np.eye(len(square))
    weights = np.linalg.solve(square, A.T @ (records - mean))
    return lambda targets: np.asarray(mean + (targets - center) @ weights)


def _nearest(shown: Array, records: Array, targets: Array) -> list[Array]:
    """The records whose images are nearest, the second nearest and so on."""
    from scipy.spatial import cKDTree

    order = cKDTree(shown).query(targets, k=min(_NEIGHBORS, len(shown)))[1]
    return [records[column] for column in order.reshape(len(targets), -1).T]


def layer_by_layer(network: Network, Z: Array, inverse: Callable[[Array], Array]) -> Array:
    """Records by the inverse of every layer, exact where no layer loses a dimension."""
    values = _weighted(network.last, Z - network.offset)
    floor, limit = (float(network.function(np.array([end]))[0]) for end in (-np.inf, np.inf))
    for weights, shift in network.layers[::-1]:
        if np.isfinite(limit):
            # Rounding may carry a saturated unit past the end of f's range.
            room = 1e-15 * (limit - floor)
            values = np.clip(values, floor + room, limit - room)
        inner = np.asarray(inverse(values))
        # Where f is flat a unit says little: its rounding counts for as much less.
        trust = None if network.derivative is None else network.derivative(inner)
        values = _weighted(weights, inner - shift, trust)
    return values


def _weighted(matrix: Array, rows: Array, trust: Array | None = None) -> Array:
    """The x with matrix @ x nearest to each row, entries weighted by `trust`."""
    m, d = matrix.shape
    if trust is None or m <= d:
        return np.asarray(np.linalg.lstsq(matrix, rows.T, rcond=None)[0].T)
    found = np.empty((len(rows), d))
    # Rows of almost no weight draw x to 0 where no entry is trusted.
    floor = 1e-14 * np.linalg.norm(matrix, 2) * np.eye(d)
    step = max(1, 2**18 // (m * d))
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        weight = trust[part, :, np.newaxis] + 1e-300
        tall = np.concatenate([weight * matrix, weight.max(axis=1, keepdims=True) * floor], axis=1)
        q, r = np.linalg.qr(tall)
        goal = q[:, :m].transpose(0, 2, 1) @ (weight * rows[part, :, np.newaxis])
        found[part] = np.linalg.solve(r, goal)[:, :, 0]
    return found


Rows = NDArray[np.intp]

#: Derivatives held at once: as many as a core's own cache holds.
_BLOCK = 2**17
#: Damping, as a share of the mean curvature: where it starts, and its limits.
_FIRST, _LEAST, _MOST = 1e-3, 1e-15, 1e6


class Map(Protocol):
    """Any smooth map of rows that knows its derivatives."""

    def values(self, X: Array) -> Array: ...

    def linearized(self, X: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True, slots=True)
class Solution:
    """For every row the point found, and the squared distance of its image from the target."""

    points: Array = field(repr=False)
    cost: Array = field(repr=False)


def solve_rows(
    model: Map,
    targets: Array,
    starts: Array,
    *,
    bounds: tuple[Array, Array] | None = None,
    metric: Array | None = None,
    goal: float = 0.0,
    n_iter: int = 40,
) -> Solution:
    """For every row the x near its start whose image is nearest to the row's target.

    Steps solve (J'J + damping M) s = J' r. M is the `metric` (default: the identity), such as the
    inverse covariance of what x may be: where the image says nothing, x stays where it began,
    and where it says little, x moves the likeliest way. Within `bounds` steps are projected, and
    coordinates that a step would carry outside stay. A row ends at a squared distance <= `goal`.
    """
    X, cost = starts.copy(), np.empty(len(starts))
    size = max(1, _BLOCK // max(1, targets.shape[1] * starts.shape[1]))
    M = np.eye(starts.shape[1]) if metric is None else metric
    for first in range(0, len(X), size):
        part = slice(first, first + size)
        X[part], cost[part] = _solve_block(model, targets[part], X[part], bounds, M, goal, n_iter)
    return Solution(X, cost)


def _solve_block(
    model: Map,
    targets: Array,
    X: Array,
    bounds: tuple[Array, Array] | None,
    M: Array,
    goal: float,
    n_iter: int,
) -> tuple[Array, Array]:
    X = X if bounds is None else np.clip(X, *bounds)
    values, J = model.linearized(X)
    off = targets - values
    cost = np.square(off).sum(axis=1)
    damping, idle = np.full(len(X), _FIRST), np.zeros(len(X), dtype=int)
    weight = np.trace(M) / len(M)
    open_rows = np.flatnonzero(cost > goal)
    J, off = J[open_rows], off[open_rows]
    for _ in range(n_iter):
        if not len(open_rows):
            break
        back = J.transpose(0, 2, 1)
        H, g = back @ J, (back @ off[:, :, np.newaxis])[:, :, 0]
        curvature = np.trace(H, axis1=1, axis2=2) / H.shape[1]
        strength = damping[open_rows] * np.where(curvature > 0, curvature, 1.0) / weight
        H += strength[:, np.newaxis, np.newaxis] * M
        step = _step(H, g, X[open_rows], bounds)
        trial = X[open_rows] + step
        trial = trial if bounds is None else np.clip(trial, *bounds)
        reached = model.values(trial)
        new = np.square(targets[open_rows] - reached).sum(axis=1)
        better = new < cost[open_rows]
        idle[open_rows] = np.where(new < 0.9 * cost[open_rows], 0, idle[open_rows] + 1)
        won = open_rows[better]
        X[won], cost[won] = trial[better], new[better]
        damping[open_rows] = np.where(better, damping[open_rows] * 0.1, damping[open_rows] * 8)
        np.clip(damping, _LEAST, None, out=damping)
        ended = (cost[open_rows] <= goal) | (damping[open_rows] > _MOST) | (idle[open_rows] > 5)
        open_rows, better, J, off = (v[~ended] for v in (open_rows, better, J, off))
        if better.any():
            values, J[better] = model.linearized(X[open_rows[better]])
            off[better] = targets[open_rows[better]] - values
    return X, cost


def _step(H: Array, g: Array, X: Array, bounds: tuple[Array, Array] | None) -> Array:
    """Solve H s = g in place of H, with coordinates held that g would carry out of bounds."""
    if bounds is not None:
        fixed = ((X <= bounds[0]) & (g < 0)) | ((X >= bounds[1]) & (g > 0))
        if fixed.any():
            g = np.where(fixed, 0.0, g)
            at = np.flatnonzero(fixed.any(axis=1))
            held = fixed[at]
            inner = np.where(held[:, :, np.newaxis] | held[:, np.newaxis], 0.0, H[at])
            H[at] = inner + held[:, :, np.newaxis] * np.eye(H.shape[1])
    try:
        return np.asarray(np.linalg.solve(H, g[:, :, np.newaxis])[:, :, 0])
    except np.linalg.LinAlgError:
        # A row whose curvature vanishes altogether; its pseudo-inverse makes no step.
        return np.asarray((np.linalg.pinv(H, hermitian=True) @ g[:, :, np.newaxis])[:, :, 0])
