"""Survey of a table's columns in one pass: rows, range, deviation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_GROUP_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Survey:
    """Facts about a table that a perturbation may need; private, so its values never print."""

    n_rows: int
    low: Vector = field(repr=False)
    high: Vector = field(repr=False)
    deviation: Vector = field(repr=False)
    dtype: Any = np.float64

    @property
    def n_columns(self) -> int:
        return len(self.low)

    def constant(self) -> NDArray[np.intp]:
        """Positions of the columns that hold one value only."""
        return np.flatnonzero(self.low == self.high)


@dataclass(frozen=True, slots=True, repr=False)
class RunningMoments:
    """How many rows, their means, and their squared distances from them, summed.

    Rows may count as less than one each, so `count` is no whole number then.
    """

    count: float
    mean: Vector
    squares: Vector

    def joined(self, columns: NDArray[np.float64]) -> RunningMoments:
        """With more rows, one column of them a line (Chan, Golub and LeVeque, 1979)."""
        rows = columns.shape[1]
        if rows == 0:
            return self
        mean = columns.mean(axis=1)
        centered = columns - mean[:, np.newaxis]
        squares = np.square(centered, out=centered).sum(axis=1)
        if self.count == 0:
            return RunningMoments(rows, mean, squares)
        total = self.count + rows
        gap = mean - self.mean
        return RunningMoments(
            total,
            self.mean + gap * (rows / total),
            self.squares + squares + gap**2 * (self.count * rows / total),
        )

    def faded(self, share: float) -> RunningMoments:
        """The same rows, each counting only so much."""
        return RunningMoments(self.count * share, self.mean, self.squares * share)


class Surveyor:
    """Gathers a `Survey` block by block, in memory that does not grow with the rows.

    Rows are summed in groups cut at fixed row numbers: deviations decide how much noise is
    added, and must be the same to the last bit however the rows were batched. They cost more
    than all the rest; without them they come out as NaN.
    """

    def __init__(self, n_columns: int, *, deviation: bool = True) -> None:
        self._wants_deviation = deviation
        self._n_rows = 0
        self._dtype: Any = np.float64
        self._low = np.full(n_columns, np.inf)
        self._high = np.full(n_columns, -np.inf)
        self._moments = RunningMoments(0, np.zeros(n_columns), np.zeros(n_columns))
        group = max(64, min(4096, _GROUP_BYTES // (8 * max(n_columns, 1))))
        self._group = np.empty((n_columns, group if deviation else 0))
        self._filled = 0
        self._origin = np.zeros(n_columns)

    def add(self, block: NDArray[Any]) -> None:
        """Take in rows; all entries must be finite."""
        rows = len(block)
        if rows == 0:
            return
        self._dtype = block.dtype
        np.minimum(self._low, block.min(axis=0), out=self._low)
        np.maximum(self._high, block.max(axis=0), out=self._high)
        if self._wants_deviation:
            # What is too large for the sums comes out as an infinite deviation.
            with np.errstate(over="ignore", invalid="ignore"):
                self._add_moments(block)
        self._n_rows += rows

    def _add_moments(self, block: NDArray[Any]) -> None:
        if self._n_rows == 0:
            # All is measured from the first row, so that a large offset costs no digits.
            self._origin[:] = block[0]
        start = 0
        while start < len(block):
            piece = block[start : start + self._group.shape[1] - self._filled]
            place = self._group[:, self._filled : self._filled + len(piece)]
            np.subtract(piece.T, self._origin[:, np.newaxis], out=place)
            self._filled += len(piece)
            start += len(piece)
            if self._filled == self._group.shape[1]:
                self._moments = self._moments.joined(self._group)
                self._filled = 0

    def result(self) -> Survey:
        """The facts so far."""
        # Adding zero makes 0.0 of -0.0: which of them is the smaller would depend on the blocks.
        low, high = self._low + 0.0, self._high + 0.0
        if not self._wants_deviation:
            return Survey(self._n_rows, low, high, np.full_like(low, np.nan), self._dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self._moments.joined(self._group[:, : self._filled]).squares
        # A constant column's deviation is 0, not the rounding that is left of it.
        deviation = np.where(low < high, np.sqrt(squares / max(self._n_rows - 1, 1)), 0.0)
        return Survey(self._n_rows, low, high, deviation, self._dtype)


def survey(X: NDArray[Any]) -> Survey:
    """Survey an array in memory, in blocks small enough to stay in cache."""
    gather = Surveyor(X.shape[1])
    step = max(1, (1 << 18) // max(X.shape[1], 1))
    for start in range(0, len(X), step):
        gather.add(X[start : start + step])
    return gather.result()
