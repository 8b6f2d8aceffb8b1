"""Scores of records from the terms of their cells and projections."""

from __future__ import annotations

import numpy as np

from isinglass.kernels.grid import FAN, LEAVES, MISSING, bin_of, cell_of, project
from isinglass.kernels.jit import kernel


@kernel
def add_terms(X, low, width, table, W, shift, per_bin, edge, own, terms, by_column, by_projection):
    """For each row, add the terms of its columns, and those of its projections.

    A projection beyond `edge` adds by how much. Terms are whole numbers, and so are the sums.
    """
    cells, v = np.empty(X.shape[1], np.int64), np.empty(W.shape[1])
    n_bins = terms.shape[1]
    for r in range(X.shape[0]):
        total = np.int64(0)
        for j in range(X.shape[1]):
            cells[j] = cell_of(X[r, j], low[j], width[j])
            total += own[j, LEAVES if cells[j] == MISSING else cells[j] // FAN]
        by_column[r] += total
        project(cells, table, W, v)
        total = np.int64(0)
        for t in range(v.shape[0]):
            beyond = max(abs(v[t]) - edge, 0.0)
            total += terms[t, bin_of(v[t], shift[t], per_bin[t], n_bins)] + np.int64(beyond)
        by_projection[r] += total


@kernel
def share_terms(X, low, width, table, W, shift, per_bin, edge, own, terms, middle, columns, shares):
    """For each row, what every column adds: its own term, and its share of the projections'.

    A projection's term is shared as the squares of what the columns bring to it, seen from
    `middle`; equally where they all bring nothing. `columns` is what each own term is divided by,
    those of columns that are not in `X` included; projections are divided by their number.
    """
    n, d = X.shape
    cells, v = np.empty(d, np.int64), np.empty(W.shape[1])
    n_bins = terms.shape[1]
    brought = np.empty(d)
    for r in range(n):
        for j in range(d):
            cells[j] = cell_of(X[r, j], low[j], width[j])
            shares[r, j] = own[j, LEAVES if cells[j] == MISSING else cells[j] // FAN] / columns
        project(cells, table, W, v)
        for t in range(v.shape[0]):
            beyond = max(abs(v[t]) - edge, 0.0)
            term = terms[t, bin_of(v[t], shift[t], per_bin[t], n_bins)] + beyond
            total = 0.0
            for j in range(d):
                brought[j] = 0.0
                if cells[j] != MISSING:
                    brought[j] = ((table[j, cells[j]] - middle[j]) * W[j, t]) ** 2
                total += brought[j]
            for j in range(d):
                part = brought[j] / total if total > 0 else 1.0 / d
                shares[r, j] += term * part / v.shape[0]
