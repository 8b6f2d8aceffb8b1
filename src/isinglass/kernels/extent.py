"""Smallest and largest value of each column, in one pass."""

from __future__ import annotations

from isinglass.kernels.jit import kernel


@kernel
def extent(X, low, high, nothing):
    """Lower `low` and raise `high` to the columns' smallest and largest values.

    `nothing` gathers zero times each value: what is not finite leaves NaN there.
    """
    for r in range(X.shape[0]):
        for c in range(X.shape[1]):
            x = X[r, c]
            low[c] = x if x < low[c] else low[c]
            high[c] = x if x > high[c] else high[c]
            nothing[c] += x * 0
