"""Cuts along a number between which records are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Pieces in all, rows in each, and directions of the records that are looked at.
_MOST_PIECES, _LEAST_ROWS, _MOST_DIRECTIONS = 40, 5, 12
#: Deviations of chance by which a cut must do better than none; it is the best of many.
_CLEAR = 6.0


def cuts(numbers: Array, values: Array) -> Array:
    """Where to cut the numbers, by binary segmentation (Scott and Knott 1974)."""
    order = np.argsort(numbers, kind="stable")
    x, rows = numbers[order], _white(values)[order]
    sums = np.vstack([np.zeros(rows.shape[1]), np.cumsum(rows, axis=0)])
    squares = np.append(0.0, np.cumsum(np.square(rows).sum(axis=1)))
    d = rows.shape[1]
    limit = d + _CLEAR * np.sqrt(2.0 * d) + _CLEAR
    found, pieces = list[float](), [(0, len(x))]
    while pieces and len(found) < _MOST_PIECES - 1:
        start, end = pieces.pop(0)
        at = np.arange(start + _LEAST_ROWS, end - _LEAST_ROWS + 1)
        at = at[x[at - 1] < x[np.minimum(at, len(x) - 1)]] if len(at) else at
        if not len(at):
            continue
        left, right = sums[at] - sums[start], sums[end] - sums[at]
        between = np.square(left).sum(axis=1) / (at - start)
        between += np.square(right).sum(axis=1) / (end - at)
        whole = float(np.square(sums[end] - sums[start]).sum()) / (end - start)
        best = int(between.argmax())
        within = squares[end] - squares[start] - between[best]
        usual = max(within / (d * max(end - start - 2, 1)), 1e-12)
        if between[best] - whole > limit * usual:
            middle = int(at[best])
            found.append(float(x[middle - 1] + x[middle]) / 2)
            pieces += [(start, middle), (middle, end)]
    return np.sort(found)


def _white(values: Array) -> Array:
    """The main directions of the records, each of variance 1."""
    centered = values - values.mean(axis=0)
    size, axes = np.linalg.eigh(centered.T @ centered / max(len(values), 1))
    main = np.flatnonzero(size > 1e-3 * max(float(size[-1]), 1e-300))[-_MOST_DIRECTIONS:]
    return np.asarray(centered @ (axes[:, main] / np.sqrt(size[main])))
