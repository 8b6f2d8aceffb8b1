"""Bounds, deviations, numbers of values and marginal distances of single columns."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import (
    ColumnStatistics,
    Knowledge,
    PopulationSample,
    PublicParameters,
)
from isinglass.errors import AttackError
from isinglass.method_names import UNIT_KEEPING

Array = NDArray[Any]

#: Where two marginals are compared; the last percent is left out, as it is mostly chance.
LEVELS = np.linspace(0.005, 0.995, 100)
#: A column of more values is taken for continuous.
MOST_LEVELS = 128
#: Combinations of values that can be looked through, where two lists, added up, stand for them.
_MOST_COMBINATIONS = 10**10


def keeps_units(known: Knowledge) -> bool:
    """Whether the method is said to leave every column in its place and units."""
    public = known.find(PublicParameters)
    return public is not None and public.method in UNIT_KEEPING


def statistics_for(known: Knowledge, n_columns: int) -> ColumnStatistics | None:
    """The statistics, where they are known; they must be of a table this wide."""
    statistics = known.find(ColumnStatistics)
    if statistics is not None and len(statistics.mean) != n_columns:
        raise AttackError(
            f"column statistics must be of {n_columns} columns as the known records are, "
            f"got {len(statistics.mean)}"
        )
    return statistics


def scaling_bounds(known: Knowledge, n_columns: int) -> tuple[Array, Array] | None:
    """By which bounds the columns went to [0, 1], as well as this attacker can tell.

    Declared bounds are what was used. Without them the table's own range was; a sample's range
    is inside that, and the last resort.
    """
    public, sample = known.find(PublicParameters), known.find(PopulationSample)
    statistics = statistics_for(known, n_columns)
    if public is not None and public.low is not None and public.high is not None:
        low, high = (np.asarray(b, dtype=np.float64) for b in (public.low, public.high))
        if low.shape == high.shape == (n_columns,):
            return low, high
    if statistics is not None:
        return statistics.low, statistics.high
    if sample is not None and sample.records.shape[1] == n_columns and len(sample.records):
        return sample.records.min(axis=0), sample.records.max(axis=0)
    return None


def spans(low: Array, high: Array) -> Array:
    """Divisors that bring [low, high] to length one; 1 for a column that never varies."""
    span = np.asarray(high, dtype=np.float64) - low
    return np.where(span > 0, span, 1.0)


def clipped(guess: Array, known: Knowledge) -> Array:
    """No value outside the range that is known of its column."""
    statistics = statistics_for(known, guess.shape[1])
    if statistics is None:
        return guess
    return np.asarray(np.clip(guess, statistics.low, statistics.high))


def standardized(table: Array) -> Array:
    """Columns of mean 0 and deviation 1 (ddof=1); a constant column becomes 0."""
    centered = table - table.mean(axis=0)
    return np.asarray(centered / divisors(deviations(table)))


def unit_columns(table: Array) -> Array:
    """Columns of mean 0 and mean square 1, so that means of products are correlations."""
    deviation = table.std(axis=0)
    return np.asarray((table - table.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def deviations(table: Array) -> Array:
    """Deviation (ddof=1) of each column, 0 where there is only rounding in it or one row."""
    if len(table) < 2:
        return np.zeros(table.shape[1])
    deviation = table.std(axis=0, ddof=1)
    rounding = 1e-12 * np.abs(table).max(axis=0)
    return np.where(deviation > rounding, deviation, 0.0)


def divisors(deviation: Array) -> Array:
    """The deviations, with 1 in place of 0."""
    return np.where(deviation > 0, deviation, 1.0)


def few_combinations(levels: list[Array]) -> bool:
    """Whether columns of these values have no more combinations than can be looked through."""
    sizes = [len(values) for values in levels]
    return max(sizes, default=0) <= MOST_LEVELS and prod(sizes) <= _MOST_COMBINATIONS


def marginal_distances(ours: Array, theirs: Array) -> tuple[Array, Array]:
    """D[i, k]: how unlike column i of `ours` and column k of `theirs` are; then for -theirs.

    The mean distance of quantiles, which is the 1-d Wasserstein distance on a fixed grid.
    """
    a, b = (np.quantile(table, LEVELS, axis=0) for table in (ours, theirs))
    left, right = a[:, :, np.newaxis], b[:, np.newaxis]
    # Turning a column round turns the order of its quantiles too; the grid is symmetric.
    return np.abs(left - right).mean(axis=0), np.abs(left + right[::-1]).mean(axis=0)
