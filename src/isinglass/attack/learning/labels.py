"""Columns of few numbers read as labels, and mean records of each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.kept.beside import group_means

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Columns that are read so, those with the most values first; and values, to each known pair.
_MOST_LABELS, _VALUES_A_PAIR = 8, 3
#: Two values are a line.
_FEWEST_VALUES = 3
_TRIED = 256  # columns, and rows by which most are seen to have too many values


def means_by_label(own: Array, rows: Rows, targets: Array) -> tuple[Array, ...]:
    """For each column of few values, and for all together, the mean record of each row's value.

    The number of a cluster says nothing by its size, only by which records share it. Means of few
    records are drawn toward that of all; a known pair's is that of the others.
    """
    labels = _labels(own, len(rows))
    if len(labels) > 1:
        together = np.unique(np.column_stack(labels), axis=0, return_inverse=True)[1].ravel()
        if together.max() < _VALUES_A_PAIR * len(rows):
            labels.append(together)
    nobody = np.empty(0), np.empty((0, targets.shape[1]))
    return tuple(group_means(codes.astype(float), rows, targets, *nobody) for codes in labels)


def _labels(own: Array, n_pairs: int) -> list[Rows]:
    """Codes of the columns that could be labels."""
    n, found = len(own), []
    most = min(_VALUES_A_PAIR * n_pairs, n // 4)
    for column in own[:, :_TRIED].T:
        if len(np.unique(column[:_TRIED])) > most:
            continue
        values, codes = np.unique(column, return_inverse=True)
        if _FEWEST_VALUES <= len(values) <= most:
            found.append((len(values), codes.ravel()))
    found.sort(key=lambda one: -one[0])
    return [codes for _, codes in found[:_MOST_LABELS]]
