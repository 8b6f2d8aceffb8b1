"""Counts of the cells and projections that records fall into."""

from __future__ import annotations

import numpy as np

from isinglass.kernels.grid import FAN, LEAVES, MISSING, bin_of, cell_of, project
from isinglass.kernels.jit import kernel


@kernel
def count_leaves(X, low, width, counts):
    """Add 1 to one leaf a column for every row; the entry after the leaves is for missing values.

    The leaves of column j begin at `counts[j * (LEAVES + 1)]`.
    """
    for r in range(X.shape[0]):
        for j in range(X.shape[1]):
            cell = cell_of(X[r, j], low[j], width[j])
            leaf = LEAVES if cell == MISSING else cell // FAN
            counts[j * (LEAVES + 1) + leaf] += 1


@kernel
def count_bins(X, low, width, table, W, shift, per_bin, n_bins, counts):
    """Add 1 to one bin a projection for every row; those of projection t follow those of t - 1."""
    cells, v = np.empty(X.shape[1], np.int64), np.empty(W.shape[1])
    for r in range(X.shape[0]):
        for j in range(X.shape[1]):
            cells[j] = cell_of(X[r, j], low[j], width[j])
        project(cells, table, W, v)
        for t in range(v.shape[0]):
            counts[t * n_bins + bin_of(v[t], shift[t], per_bin[t], n_bins)] += 1
