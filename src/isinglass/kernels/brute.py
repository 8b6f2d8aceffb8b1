"""All distances, for neighborhoods so large that an index saves nothing."""

from __future__ import annotations

import numpy as np

from isinglass.kernels.jit import kernel
from isinglass.kernels.nearest import EXACT, exact_square, score_of


@kernel
def all_rows(pair, skip, begin, end, measure, best, score, state):
    """The k nearest rows of some queries, from the distances to all rows; as `nearest.search`."""
    A, X, k = pair.A, pair.X, best.shape[1]
    columns, weight, mismatch = measure.columns, measure.weight, measure.mismatch
    n = X.shape[0]
    square, ascending = np.empty(n + k), np.empty((1, k))
    for i in range(begin, end):
        square[n:] = best[i]
        for j in range(n):
            square[j] = exact_square(A, i, X, j, columns, weight, mismatch)
        if 0 <= skip[i] < n:
            square[skip[i]] = np.inf
        best[i] = np.sort(np.partition(square, k - 1)[:k])
        ascending[0] = np.sqrt(best[i])
        score[i] = score_of(ascending, 0, measure.kind)
        state[i] = EXACT
