"""Exact medians of a few columns, in memory that does not grow with the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BINS = 4096
_ENOUGH = 1 << 20


def medians(blocks: Callable[[], Iterator[NDArray[Any]]], n_columns: int) -> NDArray[np.float64]:
    """The median of every column over its finite entries; NaN where a column has none.

    `blocks` starts a new pass over the table. Values are counted in ever finer bins around the
    middle until those left in the middle bin fit into memory, where they are sorted.
    """
    return np.array([_median(blocks, column) for column in range(n_columns)])


def _median(blocks: Callable[[], Iterator[NDArray[Any]]], column: int) -> float:
    def values() -> Iterator[NDArray[np.float64]]:
        for block in blocks():
            entries = block[:, column].astype(np.float64)
            yield entries[np.isfinite(entries)]

    total, low, high = 0, np.inf, -np.inf
    for entries in values():
        total += len(entries)
        if len(entries):
            low, high = min(low, entries.min()), max(high, entries.max())
    if total == 0:
        return float("nan")
    # The two middle ranks (equal when the count is odd), counted from zero.
    return (
        _ranked(values, (total - 1) // 2, float(low), float(high), total)
        + _ranked(values, total // 2, float(low), float(high), total)
    ) / 2


def _ranked(
    values: Callable[[], Iterator[NDArray[np.float64]]],
    rank: int,
    low: float,
    high: float,
    inside: int,
) -> float:
    """The entry of this rank, known to lie in [low, high] together with `inside` entries."""
    below = 0
    while inside > _ENOUGH and low < high:
        edges = np.linspace(low, high, _BINS + 1)
        edges[0], edges[-1] = low, high
        counts = np.zeros(_BINS, dtype=np.int64)
        for entries in values():
            counts += np.histogram(entries, bins=edges)[0]
        place = int(np.searchsorted(below + np.cumsum(counts), rank, side="right"))
        narrower = (float(edges[place]), float(edges[place + 1]))
        below += int(counts[:place].sum())
        inside = int(counts[place])
        if narrower == (low, high):
            break
        low = narrower[0]
        # All bins but the last are open on the right.
        high = narrower[1] if place == _BINS - 1 else float(np.nextafter(narrower[1], -np.inf))
    if low >= high:
        return low
    middle = np.concatenate([e[(e >= low) & (e <= high)] for e in values()])
    return float(np.partition(middle, rank - below)[rank - below])
