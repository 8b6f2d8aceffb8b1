"""Group means with shrinkage, for kept columns that hold categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Codes = NDArray[np.intp]

#: A column of numbers with at most this many values is one of categories, too.
_FEW_VALUES = 200
#: Columns, and pairs of columns, that are tried as groups.
_MOST_GROUPINGS, _MOST_PAIRS = 8, 6
#: Quantiles at which numbers are cut to be grouped together with other columns.
_CUTS = np.linspace(0, 1, 9)[1:-1]


@dataclass(frozen=True, slots=True)
class GroupMeans:
    """Means of groups, shrunk toward 0 by how much groups differ (empirical Bayes)."""

    sums: Array = field(repr=False)  # of weighted values, groups x columns
    sizes: Array = field(repr=False)  # of weights
    ratio: Array = field(repr=False)  # variance within groups to that between, each column

    @classmethod
    def fit(cls, groups: Codes, values: Array, weights: Array, n_groups: int) -> GroupMeans:
        r"""Fit to values of mean 0, whose variance within a group is $\sigma^2 / w$.

        Group means have the variance $\tau^2$. Both variances are estimated by moments:
        $\sum w (y - \bar y_g)^2$ has mean $(n - G) \sigma^2$,
        $\sum W_g \bar y_g^2$ has $G \sigma^2 + \tau^2 \sum W_g$.
        """
        sizes = np.bincount(groups, weights, minlength=n_groups)
        sums = np.stack(
            [np.bincount(groups, weights * column, minlength=n_groups) for column in values.T],
            axis=1,
        )
        there = int((np.bincount(groups, minlength=n_groups) > 0).sum())
        between = (np.square(sums) / np.maximum(sizes, 1e-300)[:, np.newaxis]).sum(axis=0)
        total = (weights[:, np.newaxis] * np.square(values)).sum(axis=0)
        within = np.maximum(total - between, 0.0) / max(len(values) - there, 1)
        apart = np.maximum(between - there * within, 0.0) / max(float(sizes.sum()), 1e-300)
        if there >= len(values):
            apart = np.zeros_like(apart)
        ratio = np.divide(within, apart, out=np.full(len(within), np.inf), where=apart > 0)
        return cls(sums, sizes, ratio)

    def predict(self, groups: Codes) -> Array:
        """The group's mean; 0 for one that was never seen."""
        return self._shrunk(self.sums[groups], self.sizes[groups])

    def left_out(self, groups: Codes, values: Array, weights: Array) -> Array:
        """The means without the row itself."""
        own = weights[:, np.newaxis] * values
        return self._shrunk(self.sums[groups] - own, self.sizes[groups] - weights)

    def _shrunk(self, sums: Array, sizes: Array) -> Array:
        return np.asarray(sums / np.maximum(sizes[:, np.newaxis] + self.ratio, 1e-300))


def groupings(kept: Array, is_category: NDArray[np.bool_]) -> list[Codes]:
    """Ways to group rows by what was kept: each column, all together, then pairs of them.

    Numbers with many values are grouped by their quantiles. Pairs of categories come first,
    since no regression on single columns sees them.
    """
    order = np.argsort(~is_category, kind="stable")
    codes = [_codes(kept[:, j], bool(is_category[j])) for j in order[:_MOST_GROUPINGS]]
    found = list(codes)
    if len(codes) > 2:
        found.append(intersect_groupings(codes))
    found += [intersect_groupings([a, b]) for a, b in islice(combinations(codes, 2), _MOST_PAIRS)]
    return found


def _codes(column: Array, is_category: bool) -> Codes:
    values, codes = np.unique(column, return_inverse=True)
    if not is_category and len(values) > _FEW_VALUES:
        return np.searchsorted(np.quantile(column, _CUTS), column)
    return np.asarray(codes.ravel(), dtype=np.intp)


def intersect_groupings(parts: list[Codes]) -> Codes:
    """The common refinement: rows share a group if they share one in every grouping."""
    found = parts[0]
    for groups in parts[1:]:
        found = found * (int(groups.max()) + 1) + groups
        n_most = int(found.max()) + 1
        if n_most > 4 * len(found):
            found = np.unique(found, return_inverse=True)[1].ravel()
        else:  # without sorting
            found = (np.cumsum(np.bincount(found, minlength=n_most) > 0) - 1)[found]
    return np.asarray(found, dtype=np.intp)
