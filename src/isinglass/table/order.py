"""Row-order leaks: columns that follow the row number or their neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

THRESHOLD = 0.5
#: Chance alone gives an autocorrelation of one over the root of the number of rows.
CHANCE = 4.0


class RowOrderCheck:
    """Compares each column with the row number and with itself one row before.

    For the row number an even sample of rows is kept in bounded memory: every `stride`-th row;
    when too many have gathered, every other one goes and the stride doubles. The sample depends
    on row numbers only, not on how rows were batched. Neighbors are compared in all rows, by
    running sums.
    """

    def __init__(self, n_columns: int) -> None:
        self._most = max(64, min(8192, (16 << 20) // (8 * max(n_columns, 1))))
        self._stride = 1
        self._next = 0
        self._seen = 0
        self._count = 0
        self._kept: list[NDArray[Any]] = [np.empty((0, n_columns))]
        # Counted from the first row, near which sums of squares lose least.
        self._origin: NDArray[Any] | None = None
        self._last = np.zeros(n_columns)
        self._sums, self._squares, self._products = (np.zeros(n_columns) for _ in range(3))

    def add(self, block: NDArray[Any]) -> None:
        """Take in the next rows of the table."""
        self._add_neighbors(block)
        rows = np.arange(self._next - self._seen, len(block), self._stride)
        if len(rows):
            self._kept.append(np.array(block[rows], dtype=np.float64))
            self._count += len(rows)
            self._next = self._seen + int(rows[-1]) + self._stride
        self._seen += len(block)
        while self._count > self._most:
            # Copied, so that the rows that go free their memory.
            self._kept = [np.concatenate(self._kept)[::2].copy()]
            self._count = len(self._kept[0])
            self._stride *= 2
            self._next = self._count * self._stride

    def _add_neighbors(self, block: NDArray[Any]) -> None:
        if not len(block):
            return
        if self._origin is None:
            self._origin = np.array(block[0], dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # such columns are refused elsewhere
            rows = np.asarray(block, dtype=np.float64) - self._origin
            # The very first row is the origin, 0, and adds nothing.
            self._products += rows[0] * self._last + np.einsum("ij,ij->j", rows[1:], rows[:-1])
            self._squares += np.einsum("ij,ij->j", rows, rows)
            self._sums += rows.sum(axis=0)
        self._last = rows[-1].copy()

    def autocorrelations(self) -> NDArray[np.float64]:
        """Correlation of every column with itself one row before; 0 for constants."""
        n = self._seen
        if n < 5 or self._origin is None:
            return np.zeros(len(self._sums))
        with np.errstate(over="ignore", invalid="ignore"):
            mean = self._sums / n
            variance = self._squares - n * mean**2
            # The sum of (x_t - m)(x_t-1 - m) over n - 1 pairs; the first row is 0 here.
            shared = self._products - mean * (2 * self._sums - self._last) + (n - 1) * mean**2
            enough = variance > 1e-12 * np.maximum(self._squares, 1e-300)
            found = np.divide(shared, variance, out=np.zeros_like(shared), where=enough)
        return np.asarray(np.where(np.isfinite(found), found, 0.0))

    def correlations(self) -> NDArray[np.float64]:
        """Spearman's rank correlation of every column with the row number; 0 for constants."""
        sample = np.concatenate(self._kept)
        if len(sample) < 5:
            return np.zeros(sample.shape[1])
        from scipy.stats import rankdata

        ranks = rankdata(sample, axis=0)
        ranks -= ranks.mean(axis=0)
        number = np.arange(len(ranks)) - (len(ranks) - 1) / 2
        spread = np.sqrt((ranks**2).sum(axis=0) * (number**2).sum())
        products = number @ ranks
        return np.asarray(np.divide(products, spread, out=np.zeros_like(spread), where=spread > 0))

    def trending(self) -> NDArray[np.intp]:
        """Positions of the columns that tell a record's place in the table."""
        return np.flatnonzero(np.abs(self.correlations()) > THRESHOLD)

    def alike(self) -> NDArray[np.intp]:
        """Positions of the columns in which neighboring rows tell of each other."""
        least = max(THRESHOLD, CHANCE / np.sqrt(max(self._seen, 1)))
        return np.flatnonzero(np.abs(self.autocorrelations()) > least)
