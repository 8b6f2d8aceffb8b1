"""Grid of a declared range: the cell of a value, and whole-number projections of a row's cells.

What one record adds to a count must not depend on any other record, so every step is a
subtraction, a division, a product or a comparison that is rounded correctly, one value at a time,
or works on whole numbers that float64 holds. No kernel here may be compiled with fast-math.
"""

from __future__ import annotations

import numpy as np

from isinglass.kernels.jit import kernel

FAN = 16
LEAVES = FAN**3
CELLS = FAN * LEAVES  # of a column; 16 to a leaf of its tree
MISSING = -1  # the cell of a missing value


@kernel
def cell_of(x, low, width):
    """The cell of a value between `low` and `low + width`; values beyond go to the edge cells."""
    place = (np.float64(x) - low) / width * CELLS
    if not place >= 0:  # below, or missing
        return np.int64(0) if place < 0 else np.int64(MISSING)
    return np.int64(place) if place < CELLS else np.int64(CELLS - 1)


@kernel
def project(cells, table, W, v):
    """Sums over columns of the table's entry of each cell times its row of `W`.

    All are whole numbers whose sums stay below 2**53, so no order of adding changes them.
    A missing value adds nothing.
    """
    v[:] = 0.0
    for j in range(cells.shape[0]):
        if cells[j] != MISSING:
            u = np.float64(table[j, cells[j]])
            for t in range(v.shape[0]):
                v[t] += u * W[j, t]


@kernel
def bin_of(v, shift, per_bin, n_bins):
    """The bin of a projection, floor((v + shift) / width) held to the range.

    `per_bin` is 1 / width. v and shift are whole numbers and so is the width, hence the quotient
    of v + shift + 1/2 is half a unit away from a whole number, and no rounding reaches it.
    """
    place = (v + shift + 0.5) * per_bin
    if place < 0:
        return np.int64(0)
    return np.int64(place) if place < n_bins else np.int64(n_bins - 1)
