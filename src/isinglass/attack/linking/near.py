"""Nearest record of each row: exact in small tables, along one direction in large ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Pairs of a row and a record up to which all are compared.
_MOST_PAIRS = 200_000_000
#: Records on either side along the line that are compared with a row of a larger table.
_BESIDE = 64
_BLOCK = 1 << 22


def nearest_records(rows: Array, records: Array) -> Rows:
    """For each row the number of its nearest record.

    In a large table only records that lie near the row along the direction in which records
    differ most are compared: one that agrees with the row is always among them, since its place
    there is the same, but for ties; one that is merely near may be missed.
    """
    if len(rows) * len(records) <= _MOST_PAIRS:
        return _among_all(rows, records)
    return _along_a_line(rows, records)


def _among_all(rows: Array, records: Array) -> Rows:
    center = records.mean(axis=0)
    R, Z = records - center, rows - center
    half = 0.5 * np.einsum("ij,ij->i", R, R)
    found = np.empty(len(Z), dtype=np.intp)
    step = max(1, _BLOCK // len(R))
    for a in range(0, len(Z), step):
        found[a : a + step] = (half - Z[a : a + step] @ R.T).argmin(axis=1)
    return found


def _along_a_line(rows: Array, records: Array) -> Rows:
    some = records[:: max(1, len(records) // 5000)]
    line = np.linalg.svd(some - some.mean(axis=0), full_matrices=False)[2][0]
    place = records @ line
    order = np.argsort(place, kind="stable")
    middle = np.searchsorted(place[order], rows @ line)
    beside = np.arange(-_BESIDE, _BESIDE)
    found = np.empty(len(rows), dtype=np.intp)
    step = max(1, _BLOCK // (2 * _BESIDE * rows.shape[1]))
    for a in range(0, len(rows), step):
        near = order[np.clip(middle[a : a + step, np.newaxis] + beside, 0, len(order) - 1)]
        away = np.square(records[near] - rows[a : a + step, np.newaxis]).sum(axis=2)
        best = away.argmin(axis=1)
        found[a : a + step] = near[np.arange(len(near)), best]
    return found
