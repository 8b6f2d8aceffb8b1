"""Removal of a number that was added to all values of a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import divisors
from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.linking.near import nearest_records

Array = NDArray[Any]

#: A release whose columns have so many times the table's variance, on average, was moved ...
_TOO_WIDE = 1.7
#: ... and row by row, if without what a row has in common no more than this is left. A projection
#: of the table itself leaves at most one.
_WIDE_ENOUGH = 1.1


def without_shift(Z: Array, statistics: ColumnStatistics, records: Array | None) -> Array | None:
    """The rows without the number that was added to each of them; None where none was.

    It may have been added in the table's units, in deviations of each column, or to a table of
    deviations. What a record itself has in common in all columns is lost with it; where records
    are known, the one whose other values are most alike tells how much that was.
    """
    unit = divisors(statistics.deviation)
    if Z.shape[1] != len(unit) or len(unit) < 2:
        return None
    best, found = 0.0, None
    for rows, line in _ways(Z, statistics.mean, unit):
        rest = _off(rows, line)
        wide, left = (float(m.var(axis=0).mean()) for m in (rows, rest))
        # In wrong units the rest is too narrow.
        if wide > _TOO_WIDE and best < left < _WIDE_ENOUGH:
            best, found = left, (rest - rest.mean(axis=0), line)
    if found is None:
        return None
    rest, line = found
    if records is not None:
        known = (records - statistics.mean) / unit
        alike = known[nearest_records(rest, _off(known, line))]
        rest = rest + alike @ line[:, np.newaxis] * line
    return np.asarray(statistics.mean + unit * rest)


def _ways(Z: Array, mean: Array, unit: Array) -> Iterator[tuple[Array, Array]]:
    """Rows in deviations, and the direction in which one number moves them."""
    even = np.full(len(unit), len(unit) ** -0.5)
    own = 1 / unit
    yield (Z - mean) / unit, own / np.linalg.norm(own)
    yield (Z - mean) / unit, even
    yield Z - Z.mean(axis=0), even


def _off(rows: Array, line: Array) -> Array:
    return np.asarray(rows - rows @ line[:, np.newaxis] * line)
