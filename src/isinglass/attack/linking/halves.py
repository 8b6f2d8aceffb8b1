"""Linking two halves of a record: both point to the same released row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.base import rows_of
from isinglass.attack.knowledge import Fact, Knowledge
from isinglass.attack.members.membership import in_units, nearest_rows
from isinglass.errors import AttackError

Array = NDArray[Any]


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
    z, x = in_units(Z, X, Knowledge.of(knowledge))
    rest = np.setdiff1d(np.arange(Z.shape[1]), first)
    one, other = (nearest_rows(z[:, half], x[:, half], n_neighbors)[1] for half in (first, rest))
    same = one[:, :, np.newaxis] == other[:, np.newaxis]
    places = np.arange(1, same.shape[1] + 1)
    needed = np.where(same, np.maximum(places[:, np.newaxis], places), same.shape[1] + 1)
    least = needed.min(axis=(1, 2))
    return np.where(least > same.shape[1], 0, least)
