"""What one pass over a table learns about its columns: rows, range, deviation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Survey:
    """Facts about a table that a perturbation may need; private, so its values never print."""

    n_rows: int
    low: Vector = field(repr=False)
    high: Vector = field(repr=False)
    deviation: Vector = field(repr=False)

    @property
    def n_columns(self) -> int:
        return len(self.low)

    def constant(self) -> NDArray[np.intp]:
        """Positions of the columns that hold one value only."""
        return np.flatnonzero(self.low == self.high)


class Surveyor:
    """Gathers a `Survey` block by block, in memory that does not grow with the rows.

    Deviations cost more than all the rest; without them they come out as NaN.
    """

    def __init__(self, n_columns: int, *, deviation: bool = True) -> None:
        self._wants_deviation = deviation
        self._n_rows = 0
        self._low = np.full(n_columns, np.inf)
        self._high = np.full(n_columns, -np.inf)
        self._mean = np.zeros(n_columns)
        self._squares = np.zeros(n_columns)

    def add(self, block: NDArray[Any]) -> None:
        """Take in rows; all entries must be finite."""
        rows = len(block)
        if rows == 0:
            return
        np.minimum(self._low, block.min(axis=0), out=self._low)
        np.maximum(self._high, block.max(axis=0), out=self._high)
        if self._wants_deviation:
            self._add_moments(block)
        self._n_rows += rows

    def _add_moments(self, block: NDArray[Any]) -> None:
        # Chan, Golub and LeVeque (1979): join the moments of two parts of a table. The first
        # row is subtracted before squaring so that a large offset costs no digits.
        rows = len(block)
        shift = block[0].astype(np.float64)
        centred = block - shift
        mean = centred.mean(axis=0)
        squares = np.einsum("ij,ij->j", centred, centred) - rows * mean**2
        gap = shift + mean - self._mean
        total = self._n_rows + rows
        self._mean += gap * (rows / total)
        self._squares += np.maximum(squares, 0) + gap**2 * (self._n_rows * rows / total)

    def result(self) -> Survey:
        """The facts so far."""
        if not self._wants_deviation:
            unknown = np.full_like(self._low, np.nan)
            return Survey(self._n_rows, self._low.copy(), self._high.copy(), unknown)
        spread = self._squares / max(self._n_rows - 1, 1)
        # A constant column's deviation is 0, not the rounding that is left of it.
        deviation = np.where(self._low < self._high, np.sqrt(spread), 0.0)
        return Survey(self._n_rows, self._low.copy(), self._high.copy(), deviation)


def survey(X: NDArray[Any]) -> Survey:
    """Survey an array in memory, in blocks small enough to stay in cache."""
    gather = Surveyor(X.shape[1])
    step = max(1, (1 << 18) // max(X.shape[1], 1))
    for start in range(0, len(X), step):
        gather.add(X[start : start + step])
    return gather.result()
