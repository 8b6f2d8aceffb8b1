"""A record's release depends on the record alone: rows are mixed in tiles of one fixed shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.threads import one_thread

Array = NDArray[Any]


def tile_rows(n_columns: int) -> int:
    """Rows per tile: a power of two that keeps a tile near 2**15 numbers, from 64 to 1024."""
    rows = (1 << 15) // max(n_columns, 1)
    return min(1024, max(64, 1 << max(rows.bit_length() - 1, 0)))


def map_tiles(X: Array, mix: Callable[[Array], Array], n_out: int) -> Array:
    """Apply `mix` to tiles of `X` laid out column by column; it turns (d, tile) into (n_out, tile).

    A matrix product may round a row differently when it is called with more or fewer rows,
    because libraries pick another inner loop, or on more threads. Every call here has the same
    shape, the last tile filled up with copies of its last row, and runs in one thread, so equal
    records give equal bytes in any batch.
    """
    n_rows, n_columns = X.shape
    tile = tile_rows(max(n_columns, n_out))
    buffer = np.empty((n_columns, tile), dtype=X.dtype)
    # Laid out like X: a table read by columns leaves by columns, without a transposing copy.
    by_columns = X.flags.f_contiguous and not X.flags.c_contiguous
    out: Array = np.empty((n_rows, n_out), dtype=X.dtype, order="F" if by_columns else "C")
    with one_thread():
        for start in range(0, n_rows, tile):
            rows = X[start : start + tile]
            buffer[:, : len(rows)] = rows.T
            buffer[:, len(rows) :] = rows[-1][:, np.newaxis]
            out[start : start + tile] = mix(buffer)[:, : len(rows)].T
    return out
