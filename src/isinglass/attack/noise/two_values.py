"""Posterior odds for columns of two values and for one-hot categories."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics

Array = NDArray[Any]

#: How far the variance may be from that of two values, as a share; and means of a choice from 1.
_NEAR, _ONE = 0.02, 0.01


def two_values_read(Z: Array, known: ColumnStatistics) -> Array:
    """The mean of each value given its noisy one, where a column has two values only.

    That its variance is (mean - low) (high - mean) says so. Neighboring columns of 0 and 1 whose
    means add up to 1 are one choice, read together. Other columns stay as they are.
    """
    if Z.shape[1] != len(known.mean):
        return Z
    low, span = known.low, known.high - known.low
    share = np.where(span > 0, (known.mean - low) / np.where(span > 0, span, 1.0), 0.0)
    variance = np.square(known.deviation)
    two = (span > 0) & (np.abs(variance - span**2 * share * (1 - share)) < _NEAR * variance)
    noise = Z.var(axis=0) - variance
    two &= noise > 1e-9 * variance
    if not two.any():
        return Z
    found = np.array(Z, dtype=np.float64)
    # Logarithm of how much likelier the high value makes what was released.
    evidence = ((Z - low) * span - span**2 / 2) / np.where(noise > 0, noise, 1.0)
    for columns in _choices(share, two & (low == 0) & (span == 1)):
        odds = np.log(np.maximum(share[columns], 1e-12)) + evidence[:, columns]
        weights = np.exp(odds - odds.max(axis=1, keepdims=True))
        found[:, columns] = weights / weights.sum(axis=1, keepdims=True)
        two[columns] = False
    for j in np.flatnonzero(two):
        odds = np.log(share[j] / (1 - share[j])) + evidence[:, j]
        found[:, j] = low[j] + span[j] / (1 + np.exp(-np.clip(odds, -700.0, 700.0)))
    return found


def _choices(share: Array, possible: Array) -> list[Array]:
    """Runs of columns whose means add up to one, the longest first."""
    found, start = [], 0
    while start < len(share):
        total, stop = 0.0, start
        while stop < len(share) and possible[stop] and total + share[stop] < 1 + _ONE:
            total += share[stop]
            stop += 1
        if stop - start > 2 and abs(total - 1) < _ONE:
            found.append(np.arange(start, stop))
            start = stop
        else:
            start += 1
    return found
