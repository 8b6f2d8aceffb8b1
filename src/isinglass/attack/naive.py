"""Naive attack: read the release as if it were the table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.base import Attack, rows_of
from isinglass.attack.columns.marginals import clipped, deviations, divisors, keeps_units
from isinglass.attack.knowledge import ColumnStatistics, Fact, Knowledge, OtherReleases
from isinglass.attack.noise.size import noise_weights
from isinglass.errors import AttackError

Array = NDArray[Any]

#: How well a column follows what all columns measure, at best; a guess too wide costs more.
_FOLLOWED = 0.9


class NaiveAttack(Attack):
    """Take released column i for the table's column i.

    A released column that lies in the table's units (the method is known to keep them, or mean
    and deviation look like it) is taken for the value plus noise, and drawn toward the mean by
    as much as its variance exceeds the table's. Any other is moved to the column's known mean and
    deviation. A constant released column, and a release with another number of columns, say
    nothing, and the guess is the mean.

    With `as_it_stands`, values are believed: those that were left alone among others that were
    replaced by a mean, and means of groups, need no correction.

    With `one_quantity`, the release's main direction is taken for a quantity that all columns
    measure (test scores, sizes of an animal), whatever columns the release has: every column rises
    with it. Which end is up is told by skewness; -1 takes the other one.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> known = ig.attacks.ColumnStatistics.of(X)
    >>> guess = ig.attacks.NaiveAttack().guess(2 * X + 1, known)  # in other units
    >>> bool(np.abs(guess - X).max() < 0.01)
    True
    """

    name = "naive"
    story = "reads the release as if it were the table"
    needs = (ColumnStatistics,)
    views = "read"

    def __init__(self, *, as_it_stands: bool = False, one_quantity: int | None = None) -> None:
        if one_quantity not in (None, 1, -1):
            raise ValueError(f"one_quantity must be 1, -1 or None, got {one_quantity!r}")
        self.as_it_stands = as_it_stands
        self.one_quantity = one_quantity

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        known = Knowledge.of(knowledge)
        statistics = known.need(ColumnStatistics)
        d = len(statistics.mean)
        if self.as_it_stands:
            return clipped(rows_of(released), known)
        if self.one_quantity is not None:
            factor = self.one_quantity * _main_direction(rows_of(released), statistics)
            guess = statistics.mean + factor[:, np.newaxis] * statistics.deviation
            return clipped(guess, known)
        others = known.find(OtherReleases)
        tables = [rows_of(released), *(others.tables if others is not None else ())]
        rows = len(tables[0])
        if any(len(table) != rows for table in tables):
            raise AttackError(f"other releases must have the release's {rows} rows")
        mean = np.broadcast_to(statistics.mean, (rows, d))
        alike = [table for table in tables if table.shape[1] == d]
        if not alike:
            return mean.copy()
        # What is said is said of this release; others are of any kind.
        said = keeps_units(known)
        in_units = np.array([_in_units(t, statistics, said=said and t is tables[0]) for t in alike])
        # Noise averages out over releases, those with more of it counting less; columns that
        # only look alike are averaged with none.
        weights = in_units * noise_weights(alike, statistics)
        weights /= np.where(in_units.any(axis=0), weights.sum(axis=0), 1.0)
        average = np.einsum("tj,tij->ij", weights, np.stack(alike))
        some = np.asarray(in_units.any(axis=0))
        return clipped(_read(np.where(some, average, alike[0]), statistics, some), known)


def _main_direction(Z: Array, statistics: ColumnStatistics) -> Array:
    """Places of rows along the widest direction, in deviations of a column that it explains.

    The narrower that direction among the others, the less a column follows it.
    """
    centered = Z - Z.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered)
    if values[-1] <= 0:
        return np.zeros(len(Z))
    places = centered @ vectors[:, -1]
    places /= np.sqrt(values[-1] / len(Z))
    up = np.sign((places**3).mean() * np.median(statistics.skewness)) or 1.0
    return np.asarray(up * _FOLLOWED * np.sqrt(values[-1] / values.sum()) * places)


def _in_units(table: Array, statistics: ColumnStatistics, *, said: bool) -> NDArray[np.bool_]:
    """Whether columns look like the table's own, perhaps with noise: as centered, no narrower."""
    if said:
        return np.ones(table.shape[1], dtype=np.bool_)
    deviation = deviations(table)
    # Four standard errors: noise of mean zero moves a column's mean by more once in 16,000.
    near = 4.0 * deviation / np.sqrt(len(table)) + 1e-6 * np.abs(statistics.mean)
    centered = np.abs(table.mean(axis=0) - statistics.mean) <= near
    alike = centered & (deviation >= 0.95 * statistics.deviation)
    # A release in other units has columns that look right by chance, but not all of them.
    return np.full(len(alike), bool(alike[deviation > 0].all()))


def _read(table: Array, statistics: ColumnStatistics, in_units: NDArray[np.bool_]) -> Array:
    deviation = deviations(table)
    # z = x + y, or z = x y with E y = 1: either way cov(x, z) = var(x), so the best line through
    # the two has slope var(x) / var(z). The slope sd(x) / sd(z), which makes the guess as wide as
    # the table, leaves 2 (1 - rho) of the variance in place of 1 - rho^2.
    ratio = np.where(deviation > 0, statistics.deviation / divisors(deviation), 0.0)
    slope = np.where(in_units, np.minimum(ratio, 1.0) ** 2, ratio)
    origin = np.where(in_units, statistics.mean, table.mean(axis=0))
    return np.asarray(statistics.mean + (table - origin) * slope)
