"""Singling out: conditions read off one released row that may hold for one person only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.base import rows_of

Array = NDArray[Any]
Rows = NDArray[np.intp]

_BLOCK = 1 << 22  # answers held at once


@dataclass(frozen=True, slots=True)
class Predicates:
    """Conditions such as "income at least so much, and age at most so much", one a line.

    A condition compares some columns, each with the value of one released row, on the side away
    from the middle: there are the fewest others.
    """

    rows: Rows = field(repr=False)  # the released row that each was read off
    columns: Rows = field(repr=False)  # (conditions, columns of each)
    values: Array = field(repr=False)
    signs: Array = field(repr=False)  # 1 for at least, -1 for at most

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: Any) -> Predicates:
        return Predicates(
            self.rows[which], self.columns[which], self.values[which], self.signs[which]
        )

    def answers(self, records: Array) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
        """For a few conditions at a time, which records they hold for."""
        step = max(1, _BLOCK // max(len(records), 1))
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            held = np.ones((len(self.rows[part]), len(records)), dtype=bool)
            asked = zip(self.columns[part].T, self.values[part].T, self.signs[part].T, strict=True)
            for columns, values, signs in asked:
                beyond = (records[:, columns] - values) * signs >= 0
                held &= beyond.T
            yield part, held

    def counts(self, records: Array) -> Rows:
        """For each condition the number of records it holds for."""
        found = np.empty(len(self), dtype=np.intp)
        for part, held in self.answers(records):
            found[part] = held.sum(axis=1)
        return found


def predicates(
    released: ArrayLike, n_columns: int, n_tried: int, rng: np.random.Generator
) -> Predicates:
    """Conditions that hold for one released row alone, of `n_tried` on `n_columns` columns."""
    Z = rows_of(released)
    rows = rng.integers(0, len(Z), size=n_tried)
    # The first of a random order of columns, for each condition its own.
    columns = np.argsort(rng.random((n_tried, Z.shape[1])), axis=1)[:, :n_columns]
    values = Z[rows[:, np.newaxis], columns]
    signs = np.where(values > np.median(Z, axis=0)[columns], 1.0, -1.0)
    tried = Predicates(rows, columns, values, signs)
    return tried[tried.counts(Z) == 1]
