"""Edges of logarithmic cells: whole numbers throughout, so that they are the same everywhere."""

from __future__ import annotations

import bisect
import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.kernels.grid import CELLS

Vector = NDArray[np.float64]

_BITS = 256  # after the point
_STRIDE = 256  # cells between edges that are looked at first
_MANY = 4096  # values after which all edges cost less than one edge at a time
_MOST_COLUMNS = 1024  # of a model; all edges of a column take 512 KiB


class LogEdges:
    """The 65,535 inner edges between `low` and `high`, each rounded to the nearest float64.

    high/low to the power 1/65536 is 16 square roots, and the edges are its powers. While few values
    were looked up, only edges are computed that stand in their way.
    """

    def __init__(self, low: float, high: float) -> None:
        first = Fraction(low)
        ratio = Fraction(high) / first
        root = (ratio.numerator << _BITS) // ratio.denominator
        for _ in range(CELLS.bit_length() - 1):
            root = math.isqrt(root << _BITS)
        self._first, self._root = first.numerator, root
        self._shift = _BITS + first.denominator.bit_length() - 1  # a float's is a power of two
        self._small = self._powers(root, _STRIDE)
        self._large = self._powers(self._small[-1], CELLS // _STRIDE)
        self._looked_up = 0

    def cells(self, values: Vector) -> NDArray[np.int64]:
        """How many edges are not above each value: the cell that it lies in."""
        self._looked_up += len(values)
        if self._looked_up >= _MANY:
            return np.asarray(np.searchsorted(self.all, values, side="right"))
        # NaN comes last, as in `searchsorted`; whoever asks puts it in a cell of its own.
        found = [CELLS - 1 if v != v else self._cell(v) for v in values.tolist()]
        return np.array(found, dtype=np.int64)

    @functools.cached_property
    def all(self) -> Vector:
        """All edges."""
        edges = np.array([self[g] for g in range(CELLS - 1)])
        edges.flags.writeable = False
        return edges

    def __len__(self) -> int:
        return CELLS - 1

    def __getitem__(self, g: int) -> float:
        """Edge number `g`, which is low times the root to the power g + 1."""
        large, small = divmod(g + 1, _STRIDE)
        power = self._large[large] * self._small[small] >> _BITS
        # One whole number over another is rounded once.
        return self._first * power / (1 << self._shift)

    def _cell(self, value: float) -> int:
        low = _STRIDE * bisect.bisect_right(self._coarse, value)
        return bisect.bisect_right(self, value, low, min(low + _STRIDE - 1, CELLS - 1))

    @functools.cached_property
    def _coarse(self) -> list[float]:
        return [self[g] for g in range(_STRIDE - 1, CELLS - 1, _STRIDE)]

    @staticmethod
    def _powers(base: int, n: int) -> list[int]:
        """The powers of a number from 0 to n."""
        found = [1 << _BITS]
        for _ in range(n):
            found.append(found[-1] * base >> _BITS)
        return found


@functools.lru_cache(maxsize=_MOST_COLUMNS)
def log_edges(low: float, high: float) -> LogEdges:
    """The edges between two bounds, made once: as many as one model may have columns."""
    return LogEdges(low, high)


def log_cells(values: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    """The centers of the logarithmic cells that values lie in; what is missing stays missing."""
    cells = log_edges(low, high).cells(values.astype(np.float64))
    return np.where(np.isnan(values), np.nan, cells + 0.5).astype(values.dtype)
