"""Linking of released sums and differences with pairs of public records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Records of which all pairs are compared, and columns that leave little to chance.
_MOST_RECORDS, _LEAST_COLUMNS = 1_000, 2
#: Rows that tell whether the others are worth a look, and the share that must be found of them.
_TRIED, _FOUND = 40, 0.75
#: Sums that agree to this share of a deviation are the same.
_SAME = 1e-7


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
        room = _SAME * float(np.abs(self.line).sum())
        places = rows @ self.line
        low, high = (np.searchsorted(self.sums, places + side * room) for side in (-1, 1))
        found = {}
        for i in np.flatnonzero(high > low).tolist():
            first, second = (m[low[i] : high[i]] for m in (self.first, self.second))
            offered = self.records[first] + self.sign * self.records[second]
            same = np.flatnonzero(np.abs(offered - rows[i]).max(axis=1) <= _SAME)
            if len(same) == 1:
                both = np.array([first[same[0]], second[same[0]]], dtype=np.intp)
                found[i] = both if self.sign > 0 else both[:1]
        return found
