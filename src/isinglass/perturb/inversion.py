"""Records behind a release, by least squares on the whole network from several starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import chance
from isinglass.theory.least_squares import solve_rows
from isinglass.theory.network import Network

Array = NDArray[Any]

#: A release is explained at this share of its spread, and to rounding at the second; where it
#: was stored in single precision, at the others.
_EXPLAINED, _EXACT = 1e-9, 1e-14
_EXPLAINED_SINGLE, _EXACT_SINGLE = 1e-5, 1e-7
#: Records drawn within the bounds where no sample is known.
_DRAWN = 1_000
#: Nearest records of the population to start from.
_NEIGHBORS = 4
#: Multiplications for one record's derivatives, and for one start of all records; a table that
#: takes more (about a hundred columns and as many units) keeps its starting points.
_MOST_EACH, _MOST_WORK = 3e6, 3e10
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
            # Where the search starts is nobody's secret, so a fixed seed serves.
            records = chance.generator(0).random((_DRAWN, n_columns))
            return cls(records, np.full(n_columns, 0.5), np.eye(n_columns))
        variance = sample.var(axis=0)
        # A small sample is too sure of its correlations, and of columns that never vary.
        trust = len(sample) / (len(sample) + n_columns)
        covariance = trust * np.atleast_2d(np.cov(sample.T, ddof=0))
        covariance += np.diag((1 - trust) * variance + 1e-6)
        precision = np.linalg.inv(covariance)
        return cls(sample, sample.mean(axis=0), precision * n_columns / np.trace(precision))

    def strangeness(self, X: Array) -> Array:
        """Squared distance from the mean for every row, in the metric of the precision."""
        off = X - self.mean
        return np.asarray(((off @ self.precision) * off).sum(axis=1))


def invert(
    network: Network, Z: Array, starts: list[Array], population: Population, *, n_compared: int = 1
) -> Array:
    """For every released row the record in [0, 1] whose image is nearest to it.

    `starts` are tried first, then a linear estimate and the nearest of the population's records,
    each on the rows that are not explained yet. Where f folds, several records explain a row:
    then the first `n_compared` starts are made for all rows, and of the records that explain a
    row the likeliest is taken.
    """
    small, turn = network.compressed()
    targets = (Z - network.offset) @ turn
    spread = float(np.square(targets - targets.mean(axis=0)).sum(axis=1).mean())
    spread = max(spread, 1e-30 + np.finfo(float).eps * float(np.square(targets).sum(axis=1).mean()))
    edges = np.zeros(network.n_in), np.ones(network.n_in)
    single = bool((Z == Z.astype(np.float32)).all())
    goal = (_EXACT_SINGLE if single else _EXACT) ** 2 * spread
    solved = (_EXPLAINED_SINGLE if single else _EXPLAINED) ** 2 * spread
    shown = small.values(population.records)
    best, cost = _middle(population, targets), np.full(len(Z), np.inf)
    starts = [*starts, _linear(shown, population.records, targets)]
    starts += _nearest(shown, population.records, targets)
    for tried, start in enumerate(starts):
        rows = np.arange(len(Z)) if tried < n_compared else np.flatnonzero(cost > solved)
        if not len(rows):
            break
        begin = np.clip(start[rows], *edges)
        if _affordable(small, len(rows)):
            found = solve_rows(
                small, targets[rows], begin, bounds=edges, metric=population.precision, goal=goal
            )
            points, new = found.points, found.cost
        else:
            points, new = begin, np.square(targets[rows] - small.values(begin)).sum(axis=1)
        both = (new <= solved) & (cost[rows] <= solved)
        likelier = population.strangeness(points) < population.strangeness(best[rows])
        better = np.where(both, likelier, new < cost[rows])
        best[rows[better]], cost[rows[better]] = points[better], new[better]
    return best


def _affordable(network: Network, n_rows: int) -> bool:
    total = network.work * n_rows * _TYPICAL_ITERATIONS
    return network.work <= _MOST_EACH and total <= _MOST_WORK


def _middle(population: Population, targets: Array) -> Array:
    return np.tile(population.mean, (len(targets), 1))


def _linear(shown: Array, records: Array, targets: Array) -> Array:
    """Ridge regression of records on their images, held back just enough to have a solution."""
    center, mean = shown.mean(axis=0), records.mean(axis=0)
    A = shown - center
    square = A.T @ A
    square += (1e-6 * np.trace(square) / len(square) + 1e-300) * np.eye(len(square))
    weights = np.linalg.solve(square, A.T @ (records - mean))
    return np.asarray(mean + (targets - center) @ weights)


def _nearest(shown: Array, records: Array, targets: Array) -> list[Array]:
    """The records whose images are nearest, the second nearest and so on."""
    from scipy.spatial import cKDTree

    order = cKDTree(shown).query(targets, k=min(_NEIGHBORS, len(shown)))[1]
    return [records[column] for column in order.reshape(len(targets), -1).T]
