"""Linking two halves of a record: both point to the same released row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.base import rows_of
from isinglass.attack.knowledge import Fact, Knowledge
from isinglass.attack.membership import in_units, nearest_rows
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
    `first` are the numbers of the columns that one table has; another table has the rest. Whoever
    holds both concludes that the halves belong to one person.
    """
    Z, X = rows_of(released), np.asarray(records, dtype=np.float64)
    if Z.shape[1] != X.shape[1] or Z.shape[1] < 2:
        raise AttackError("linking halves needs a release of the table's columns, at least two")
    z, x = in_units(Z, X, Knowledge.of(knowledge))
    rest = np.setdiff1d(np.arange(Z.shape[1]), first)
    one, other = (nearest_rows(z[:, half], x[:, half], n_neighbors)[1] for half in (first, rest))
    return np.asarray((one[:, :, np.newaxis] == other[:, np.newaxis]).any(axis=(1, 2)))
