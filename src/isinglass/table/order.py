"""Row order as a leak: does a column rise or fall with the row number?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

THRESHOLD = 0.5


class RowOrder:
    """Keeps an even sample of rows in bounded memory, to compare each column with the row number.

    Every `stride`-th row is kept; when too many have gathered, every other one goes and the
    stride doubles. The sample depends on row numbers only, not on how rows were batched.
    """

    def __init__(self, n_columns: int) -> None:
        self._most = max(64, min(8192, (16 << 20) // (8 * max(n_columns, 1))))
        self._stride = 1
        self._next = 0
        self._seen = 0
        self._count = 0
        self._kept: list[NDArray[Any]] = [np.empty((0, n_columns))]

    def add(self, block: NDArray[Any]) -> None:
        """Take in the next rows of the table."""
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
