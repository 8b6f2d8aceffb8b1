"""Permutation test of whether two files have their rows in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from isinglass import chance

Array = NDArray[Any]

#: The chance that rows in a random order are taken for rows in the table's order.
ALPHA = 1e-4
_PERMUTED = 60  # orders drawn at random, for comparison
_DEVIATIONS = 12.0  # by which the sum of squares must exceed theirs: alpha, if one pair counts
_FEWEST = 30  # rows in which a column must not hold its usual value to count in that sum
_MOST_ROWS, _MOST_COLUMNS = 2_000, 300


def dependence(table: Array, released: Array) -> float:
    """How strongly row i of the release depends on record i; from 1 on it is no chance.

    Ranks of all columns, and how far they are from the middle, are correlated with those of the
    table. The largest correlation shows one column that was left as it was; it is held against a
    bound. The sum of all squares shows a mixture of many columns; it is held against those of
    orders drawn at random.
    """
    rng = chance.generator(0)  # the same files always give the same answer
    rows = np.sort(rng.permutation(len(table))[:_MOST_ROWS])
    A, B = (_scores(m[rows]) for m in (table, released))
    n = len(rows)
    if n < 8 or not A.size or not B.size:
        return 0.0
    found = np.abs(A.T @ B / n)
    # Bernstein's bound on the chance of a correlation r of values up to a and b: rare values
    # meet by chance more often than a normal law would have it.
    reach = np.outer(np.abs(A).max(axis=0), np.abs(B).max(axis=0))
    surprise = n * np.square(found) / 2 / (1 + found * reach / 3)
    one = surprise.max() / np.log(2 * found.size / ALPHA)
    A, B = (m[:, np.square(m).max(axis=0) <= max(n / _FEWEST, 4.0)] for m in (A, B))
    drawn = np.array([_total(A, B[rng.permutation(n)]) for _ in range(_PERMUTED)])
    above = _total(A, B) - drawn.mean()
    return float(max(one, above / (_DEVIATIONS * max(float(drawn.std()), 1e-12))))


def _total(A: Array, B: Array) -> float:
    return float(np.square(A.T @ B / len(A)).sum())


def _scores(m: Array) -> Array:
    """Standardized ranks of columns that vary, and of their distances from the middle."""
    chosen = np.linspace(0, m.shape[1] - 1, min(m.shape[1], _MOST_COLUMNS)).astype(np.intp)
    ranks = rankdata(m[:, chosen], axis=0)
    far = rankdata(np.abs(ranks - ranks.mean(axis=0)), axis=0)
    both = np.column_stack([ranks, far])
    both = both - both.mean(axis=0)
    size = both.std(axis=0)
    return np.asarray(both[:, size > 0] / size[size > 0])
