"""Blocks of consecutive rows that belong together: households, visits, devices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import standardized
from isinglass.attack.knowledge import ColumnStatistics, Knowledge, PublicParameters

Array = NDArray[Any]

_MOST_ROWS, _LONGEST, _FEWEST_BLOCKS = 20_000, 64, 8
#: Neighbors within a block are alike by this much more than neighbors across a border, and by so
#: many standard errors.
_LEAST, _CLEAR = 0.1, 8.0


def block_of(records: Array) -> int | None:
    """The number of rows in a block, where all have as many; None where no number stands out."""
    rows = standardized(np.asarray(records[:_MOST_ROWS], dtype=np.float64))
    if len(rows) < 2 * _FEWEST_BLOCKS:
        return None
    alike = (rows[1:] * rows[:-1]).mean(axis=1)
    best, found = _CLEAR, None
    for length in range(2, min(_LONGEST, len(rows) // _FEWEST_BLOCKS) + 1):
        border = np.arange(len(alike)) % length == length - 1
        within, across = alike[~border], alike[border]
        apart = float(within.mean() - across.mean())
        error = np.sqrt(within.var() / len(within) + across.var() / len(across))
        if apart > _LEAST and apart > best * error:
            best, found = apart / max(float(error), 1e-12), length
    return found


def stacked(rows: Array, length: int) -> Array:
    """Whole blocks, each as one row of `length` times as many columns."""
    count = len(rows) // length
    return rows[: count * length].reshape(count, length * rows.shape[1])


def unstacked(blocks: Array, length: int) -> Array:
    """The rows of blocks again."""
    return blocks.reshape(len(blocks) * length, -1)


def known_of_blocks(known: Knowledge, length: int) -> Knowledge:
    """Column statistics and the scale of the noise, repeated for every row of a block."""
    statistics = known.need(ColumnStatistics)
    repeated = ColumnStatistics(
        *(
            np.tile(getattr(statistics, name), length)
            for name in ("mean", "deviation", "low", "high", "skewness")
        )
    )
    public = known.find(PublicParameters)
    if public is None:
        return Knowledge.of(repeated)
    scale = public.parameters.get("scale", 1.0)
    if np.ndim(scale) == 1:
        said = {**public.parameters, "scale": np.tile(np.asarray(scale), length)}
        public = replace(public, parameters=said)
    return repeated | public
