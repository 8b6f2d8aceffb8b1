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
) -> NDArray[np.bool_]:
    """For each record whether the released row nearest in some columns is so in the others too.

    `first` are the numbers of the columns that one table has; another table has the rest. Whoever
    holds both concludes that the halves belong to one person.
    """
    Z, X = rows_of(released), np.asarray(records, dtype=np.float64)
    if Z.shape[1] != X.shape[1] or Z.shape[1] < 2:
        raise AttackError("linking halves needs a release of the table's columns, at least two")
    z, x = in_units(Z, X, Knowledge.of(knowledge))
    rest = np.setdiff1d(np.arange(Z.shape[1]), first)
    near = [nearest_rows(z[:, half], x[:, half], 1)[1][:, 0] for half in (first, rest)]
    return np.asarray(near[0] == near[1])
