"""Linking of released means and sums with the records behind them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Groups of more records are looked for among neighbors in some order only.
_MOST_CHOSEN = 6
#: Records near a mean among which its members are looked for, by the size of the group.
_NEAR = {2: 60, 3: 60, 4: 40, 5: 24, 6: 20}
_MOST_GROUPS = 2000
#: Means that agree to this share of a deviation are the same.
_SAME = 1e-6
#: Records of which all pairs are compared, and columns that leave little to chance.
_MOST_RECORDS, _LEAST_COLUMNS = 1_000, 2
#: Rows that tell whether the others are worth a look, and the share that must be found of them.
_TRIED, _FOUND = 40, 0.75
#: Sums that agree to this share of a deviation are the same.
_SAME_SUM = 1e-7


def group_members(released: Array, records: Array, rng: np.random.Generator) -> dict[int, Rows]:
    """For released rows that are the mean of several records: the numbers of those records.

    A released row that stands there five times is taken for the mean of five records. They are
    looked for among records that follow one another in the order of a column, of their sum or of
    their main direction, as tools that sort and cut have it, and among those nearest to the mean.
    What is found has that mean in every column, to a millionth of a deviation.
    """
    if released.shape[1] != records.shape[1]:
        return {}
    unit = divisors(deviations(records))
    Z, P = (released - records.mean(axis=0)) / unit, (records - records.mean(axis=0)) / unit
    means, where, counts = np.unique(Z, axis=0, return_inverse=True, return_counts=True)
    found: dict[int, Rows] = {}
    for size in np.unique(counts[counts > 1]):
        asked = np.flatnonzero(counts == size)
        if size <= len(P) // 2:
            for key in _keys(P):
                found |= _consecutive(means, asked, P, key, int(size), rng)
        left = np.array([i for i in asked if i not in found], dtype=np.intp)[:_MOST_GROUPS]
        # Copies of one record are one: a few groups tell whether the others are worth a look.
        if len(left) and size <= _MOST_CHOSEN:
            first = _nearby(means, left[:50], P, int(size), rng)
            if first:
                found |= first | _nearby(means, left[50:], P, int(size), rng)
    return {row: found[g] for row, g in enumerate(where.reshape(-1).tolist()) if g in found}


def _keys(P: Array) -> Iterator[Array]:
    """Orders in which a tool may have cut the table into groups."""
    yield from P.T
    yield P.sum(axis=1)
    yield P @ np.linalg.svd(P[:: max(1, len(P) // 10_000)], full_matrices=False)[2][0]


def _consecutive(
    means: Array, asked: Rows, P: Array, key: Array, size: int, rng: np.random.Generator
) -> dict[int, Rows]:
    """Groups of records that follow one another in the order of the key."""
    order = np.argsort(key, kind="stable")
    sums = np.vstack([np.zeros(P.shape[1]), P[order].cumsum(axis=0)])
    windows = (sums[size:] - sums[:-size]) / size
    found = {}
    for i, start in _equal(means[asked], windows, rng):
        found[int(asked[i])] = order[start : start + size]
    return found


def _equal(wanted: Array, offered: Array, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Numbers of rows that are the same in both, found along one random direction."""
    direction = rng.normal(size=wanted.shape[1])
    a, b = wanted @ direction, offered @ direction
    order = np.argsort(b)
    room = _SAME * float(np.abs(direction).sum())
    low, high = (np.searchsorted(b[order], a + side * room) for side in (-1, 1))
    for i in np.flatnonzero(high > low):
        near = order[low[i] : high[i]]
        off = np.abs(offered[near] - wanted[i]).max(axis=1)
        if off.min() <= _SAME:
            yield int(i), int(near[off.argmin()])


def _nearby(
    means: Array, asked: Rows, P: Array, size: int, rng: np.random.Generator
) -> dict[int, Rows]:
    """Groups among the records nearest to their mean: two halves of a group meet in the middle."""
    near = min(_NEAR[size], len(P))
    if near < size:
        return {}
    half = size // 2
    left = np.array(list(combinations(range(near), half)), dtype=np.intp)
    right = np.array(list(combinations(range(near), size - half)), dtype=np.intp)
    found = {}
    for i in asked:
        away = np.square(P - means[i]).sum(axis=1)
        close = np.argpartition(away, near - 1)[:near]
        rows = P[close]
        some, rest = rows[left].sum(axis=1), rows[right].sum(axis=1)
        for a, b in _equal((size * means[i] - some) / size, rest / size, rng):
            members = np.union1d(left[a], right[b])
            if len(members) == size:
                found[int(i)] = close[members]
                break
    return found


def two_records(released: Array, records: Array, rng: np.random.Generator) -> dict[int, Rows]:
    """For released rows that are a mean, a sum or a difference of two records: their numbers.

    Of a difference only the record that was not taken off. Records may have been brought to
    deviations from the mean before.
    """
    n, d = records.shape
    if released.shape[1] != d or d < _LEAST_COLUMNS or not 3 <= n <= _MOST_RECORDS:
        return {}
    if (deviations(records) == 0).any():
        return {}
    rows = rng.permutation(len(released))[:_TRIED]
    unit = deviations(records)
    standard = (records - records.mean(axis=0)) / unit
    by_n = standard * np.sqrt(n / (n - 1))  # deviations that divide by n, as some tools have them
    for P, scale in ((records / unit, unit), (standard, 1.0), (by_n, 1.0)):
        for sign in (1, -1):
            pairs = _SummedPairs(P, sign, rng)
            for factor in (1.0, 2.0):
                # By chance at most four rows in ten are the sum of one pair and no more.
                if len(pairs.found(factor * released[rows] / scale)) > _FOUND * len(rows):
                    return pairs.found(factor * released / scale)
    return {}


class _SummedPairs:
    """All sums, or differences, of two records, in the order of their places along a line."""

    def __init__(self, records: Array, sign: int, rng: np.random.Generator) -> None:
        n, d = records.shape
        self.records, self.sign = records, sign
        self.line = rng.normal(size=d)
        place = records @ self.line
        if sign > 0:
            first, second = np.triu_indices(n, 1)
        else:
            first, second = np.nonzero(~np.eye(n, dtype=bool))
        sums = place[first] + sign * place[second]
        order = np.argsort(sums)
        self.sums, self.first, self.second = sums[order], first[order], second[order]

    def found(self, rows: Array) -> dict[int, Rows]:
        """The records behind rows that are the sum, or the difference, of one pair alone."""
        room = _SAME_SUM * float(np.abs(self.line).sum())
        places = rows @ self.line
        low, high = (np.searchsorted(self.sums, places + side * room) for side in (-1, 1))
        found = {}
        for i in np.flatnonzero(high > low).tolist():
            first, second = (m[low[i] : high[i]] for m in (self.first, self.second))
            offered = self.records[first] + self.sign * self.records[second]
            same = np.flatnonzero(np.abs(offered - rows[i]).max(axis=1) <= _SAME_SUM)
            if len(same) == 1:
                both = np.array([first[same[0]], second[same[0]]], dtype=np.intp)
                found[i] = both if self.sign > 0 else both[:1]
        return found
