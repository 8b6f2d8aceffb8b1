"""Exact best row order of a rotation, by two assignment problems."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

Order = NDArray[np.intp]


def best_order_average(levels: ArrayLike) -> Order:
    """The order with the largest mean level; entry i is the row put in place i.

    `levels[i, l]` is the level of place i when it gets row l.
    """
    _, order = linear_sum_assignment(_square(levels), maximize=True)
    return np.asarray(order, dtype=np.intp)


def best_order_minimum(levels: ArrayLike) -> Order:
    """The order with the largest smallest level; among those, the one with the largest mean.

    A bottleneck assignment: the answer is an entry v of the matrix, and v can be reached when the
    entries >= v still hold a perfect matching, which only gets harder as v grows.
    """
    P = _square(levels)
    # No order can beat the best entry of its worst row or column.
    ceiling = min(P.max(axis=0).min(), P.max(axis=1).min())
    candidates = np.unique(P[ceiling >= P])
    reached, beyond = 0, len(candidates)
    while beyond - reached > 1:
        middle = (reached + beyond) // 2
        if _can_match(candidates[middle] <= P):
            reached = middle
        else:
            beyond = middle
    return best_order_average(np.where(candidates[reached] <= P, P, -np.inf))


def some_order_exceeds(levels: ArrayLike, value: float) -> bool:
    """Whether any order brings all its levels above `value`; much cheaper than the best order."""
    return _can_match(_square(levels) > value)


def _can_match(allowed: NDArray[np.bool_]) -> bool:
    """Whether every place can get a row of its own (Hopcroft and Karp 1973)."""
    rows = maximum_bipartite_matching(csr_matrix(allowed), perm_type="column")
    return bool((rows >= 0).all())


def _square(levels: ArrayLike) -> NDArray[Any]:
    P = np.asarray(levels, dtype=np.float64)
    if P.ndim != 2 or P.shape[0] != P.shape[1] or not P.size:
        raise ValueError(f"levels must be a square matrix, got shape {P.shape}")
    return P
