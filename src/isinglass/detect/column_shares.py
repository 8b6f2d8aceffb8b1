"""Share of each column in the distances that make rows outliers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.float32_proxy import RowSpace

#: outliers looked at, and rows of the table in which their neighbors are looked for
_OUTLIERS, _ROWS = 20, 20_000


def column_shares(
    X: NDArray[np.floating], space: RowSpace, outliers: NDArray[np.int64], n_neighbors: int
) -> NDArray[np.float64]:
    """How much of the squared distance to its neighbors each column makes, on average.

    Of the strongest outliers only, and to neighbors among some rows of a large table: enough to
    see that one column rules.
    """
    counted = space.columns  # those of weight 0 are none
    some = X[:: -(-len(X) // _ROWS)][:, counted].astype(np.float64)
    shares = []
    for row in X[outliers[:_OUTLIERS]][:, counted].astype(np.float64):
        apart = (some - row) ** 2
        parts = np.where(space.mismatch > 0, space.mismatch * (apart > 0), space.weight * apart)
        total = parts.sum(axis=1)
        near = np.argsort(total, kind="stable")
        near = near[total[near] > 0][:n_neighbors]  # neither the row itself nor copies of it
        if len(near) and np.isfinite(total[near]).all():
            shares.append((parts[near] / total[near, np.newaxis]).mean(axis=0))
    found = np.zeros(X.shape[1])
    if shares:
        found[counted] = np.mean(shares, axis=0)
    return found
