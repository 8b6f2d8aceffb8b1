"""Rows of a table that equal given rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rows = NDArray[np.int64]
Hashes = NDArray[np.uint64]

_ROWS = 1 << 16  # hashed at a time
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


class SameRows:
    """Finds given rows in a table by their hashes, which are made when they are first needed."""

    def __init__(self, table: Array) -> None:
        self._table = table
        self._sorted: tuple[Hashes, Rows] | None = None

    def find(self, X: Array) -> Rows:
        """For each row of `X` the first row of the table that equals it, or -1."""
        if self._sorted is None:
            hashes = _hashes(self._table)
            order = np.argsort(hashes, kind="stable")
            self._sorted = hashes[order], order
        known, rows = self._sorted
        place = np.searchsorted(known, wanted := _hashes(X))
        place[place == len(known)] = 0
        found = np.where(known[place] == wanted, rows[place], -1)
        some = np.flatnonzero(found >= 0)
        # Two rows that differ may have one hash; then the row counts as new.
        equal = (self._table[found[some]] == X[some]).all(axis=1)
        found[some[~equal]] = -1
        return found

    def __getstate__(self) -> Array:
        return self._table

    def __setstate__(self, table: Array) -> None:
        self.__init__(table)  # type: ignore[misc]


def _hashes(X: Array) -> Hashes:
    """A number for each row, the same for equal rows whatever their precision."""
    out = np.empty(len(X), dtype=np.uint64)
    for start in range(0, len(X), _ROWS):
        part = X[start : start + _ROWS].astype(np.float64) + 0.0  # which makes -0 a 0
        bits = part.view(np.uint64)
        total = np.zeros(len(bits), dtype=np.uint64)
        for column in bits.T:
            total = (total ^ column) * _MULTIPLIER
            total ^= total >> _SHIFT
        out[start : start + _ROWS] = total
    return out
