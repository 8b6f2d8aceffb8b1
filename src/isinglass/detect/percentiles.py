"""Scaling by percentiles of the table, which stores no single record's value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.table.scale import Scaling

Array = NDArray[Any]

TAIL = 0.001  # the percentiles 0.1 and 99.9


def learned_scaling(X: Array) -> Scaling:
    """Percentiles 0.1 and 99.9 of every column, each midway between the two records around it.

    Interpolation by weight would give one record's value whenever a percentile falls on it.
    """
    last = len(X) - 1
    below = int(last * TAIL)
    places = [below, below + 1, last - below - 1, last - below]
    ordered = np.partition(X, places, axis=0)[places].astype(np.float64) / 2
    return Scaling(ordered[0] + ordered[1], ordered[2] + ordered[3], declared=False)


def shift_and_factor(scaling: Scaling, dtype: Any) -> tuple[Array, Array]:
    """What is taken off every column, and what it is then multiplied with."""
    low, factor = scaling.factors(dtype)
    # A change in a column that never changed must show, if only in that column's own units.
    return low, np.where(factor == 0, factor.dtype.type(1), factor)


def scaled(X: Array, scaling: Scaling) -> Array:
    """Columns brought to [0, 1]; what lies outside the bounds stays outside."""
    low, factor = shift_and_factor(scaling, X.dtype)
    with np.errstate(over="ignore"):  # infinitely far out is far enough
        return np.asarray((X - low) * factor)
