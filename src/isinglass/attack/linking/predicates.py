"""Conditions read off a released row that may single out one person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.base import rows_of
from isinglass.attack.knowledge import Fact, Knowledge
from isinglass.attack.members.membership import in_common_units, nearest_rows
from isinglass.errors import AttackError

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


def halves_meet(
    released: ArrayLike,
    records: ArrayLike,
    first: NDArray[np.intp],
    knowledge: Fact | Knowledge,
    *,
    n_neighbors: int = 1,
) -> NDArray[np.bool_]:
    """For each record whether the released row nearest in some columns is so in the others too.

    With more neighbors, whether one of the nearest is.
    """
    return first_meeting(released, records, first, knowledge, n_neighbors=n_neighbors) > 0


def first_meeting(
    released: ArrayLike,
    records: ArrayLike,
    first: NDArray[np.intp],
    knowledge: Fact | Knowledge,
    *,
    n_neighbors: int,
) -> NDArray[np.intp]:
    """For each record the least number of nearest rows among which its halves meet; 0: never.

    `first` are the numbers of the columns that one table has; another table has the rest. Whoever
    holds both concludes that the halves belong to one person.
    """
    Z, X = rows_of(released), np.asarray(records, dtype=np.float64)
    if Z.shape[1] != X.shape[1] or Z.shape[1] < 2:
        raise AttackError("linking halves needs a release of the table's columns, at least two")
    z, x = in_common_units(Z, X, Knowledge.of(knowledge))
    rest = np.setdiff1d(np.arange(Z.shape[1]), first)
    one, other = (nearest_rows(z[:, half], x[:, half], n_neighbors)[1] for half in (first, rest))
    same = one[:, :, np.newaxis] == other[:, np.newaxis]
    places = np.arange(1, same.shape[1] + 1)
    needed = np.where(same, np.maximum(places[:, np.newaxis], places), same.shape[1] + 1)
    least = needed.min(axis=(1, 2))
    return np.where(least > same.shape[1], 0, least)
