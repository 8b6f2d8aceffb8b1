"""Registration: move groups of rows, each as a whole, until they lie on records of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.linking.near import nearest_records

Array = NDArray[Any]
Groups = NDArray[np.intp]

_ROUNDS = 20
#: A move by less than this many deviations changes no neighbor any more.
_STILL = 1e-9


def registered(rows: Array, groups: Groups, records: Array) -> Array:
    """The record behind each row, where all rows of a group are off by one and the same.

    Each row names its nearest record; the median of what a group is off by moves it nearer, until
    nothing moves (Besl and McKay's iterative closest point, one shift a group). Medians, as rows
    that name a wrong record are off by anything.
    """
    unit = divisors(deviations(records))
    moved, table = rows / unit, records / unit
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order[0]] - 1))
    members = np.split(order, starts[1:])
    near = nearest_records(moved, table)
    for _ in range(_ROUNDS):
        gaps, farthest = table[near] - moved, 0.0
        for rows_of_group in members:
            shift = np.median(gaps[rows_of_group], axis=0)
            moved[rows_of_group] += shift
            farthest = max(farthest, float(np.abs(shift).max()))
        near = nearest_records(moved, table)
        if farthest < _STILL:
            break
    return np.asarray(records[near])
