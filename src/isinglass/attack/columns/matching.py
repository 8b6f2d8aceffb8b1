"""Matching of released columns with the table's, by marginals and by dependence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import LEVELS, deviations, divisors

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Rows that take part in the correlations; more tell no more.
_MOST_ROWS = 20_000
#: Rounds of improvement, and columns up to which pairs of columns are exchanged.
_ROUNDS, _MOST_EXCHANGED = 20, 64


@dataclass(frozen=True, slots=True)
class Matching:
    """For each column of the table the released column that is taken for it, and its direction."""

    released: Rows = field(repr=False)  # -1 where no column is left
    signs: Array = field(repr=False)

    @classmethod
    def as_they_are(cls, n_columns: int) -> Matching:
        return cls(np.arange(n_columns), np.ones(n_columns))


def shape_costs(ours: Array, theirs: Array) -> tuple[Array, Array]:
    """C[j, k]: how unlike our column j and their column k are in shape; then for -theirs.

    Quantiles of two columns that differ in their units lie on a line, so what their correlation
    lacks to one is a matter of shape alone. A column that never varies is like no other.
    """
    a, b = (np.quantile(table, LEVELS, axis=0) for table in (ours, theirs))
    a, b = _unit(a), _unit(b)
    # Turning a column round turns the order of its quantiles too; the grid is symmetric.
    return tuple(np.sqrt(np.clip(1 - np.square(np.clip(c, 0, 1)), 0, 1))
                 for c in (a.T @ b, -(a.T @ b[::-1])))  # fmt: skip


def _unit(columns: Array) -> Array:
    centered = columns - columns.mean(axis=0)
    norms = np.linalg.norm(centered, axis=0)
    rounding = 1e-9 * np.abs(columns).max(axis=0)
    return np.asarray(centered / np.where(norms > rounding, norms, np.inf))


def statistics_costs(table: Array, released: Array) -> tuple[Array, Array]:
    """`shape_costs` from three numbers a column: skewness, lowest and highest in deviations."""
    a, b = (np.sign(m) * np.log1p(np.abs(m)) for m in (table, released))
    turned = -b[:, [0, 2, 1]]
    plain, other = (np.abs(a[:, np.newaxis] - m).mean(axis=2) for m in (b, turned))
    return plain, other


def rank_correlations(table: Array) -> Array:
    """Correlations of ranks, which stay the same in any units; equal values share a rank."""
    rows = table[:: max(1, len(table) // _MOST_ROWS)]
    found = np.column_stack([ranks(column) for column in rows.T])
    found -= found.mean(axis=0)
    unit = found / divisors(np.linalg.norm(found, axis=0))
    return np.asarray(unit.T @ unit)


def ranks(values: Array) -> Array:
    """Ranks from 1 in a column; equal values share the mean of theirs."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((counts.cumsum() - (counts - 1) / 2)[where])


def match_columns(costs: tuple[Array, Array] | None, ours: Array, theirs: Array) -> Matching:
    """The matching that suits shapes and correlations of ranks best.

    `costs` are those of shape, or None where units may be curved and only dependence counts;
    `ours` and `theirs` are correlations of ranks. Beginning with each column for itself, two
    columns are exchanged, turned round or replaced by one that is not used, while that helps.
    """
    from scipy.optimize import linear_sum_assignment

    d, p = len(ours), len(theirs)
    profile = _profiles(ours, theirs)
    own = np.zeros((2, d, p)) if costs is None else np.square(np.stack(costs))
    start = profile + own.min(axis=0) * max(d - 1, 1) / 2
    mine, found = linear_sum_assignment(start)
    released = np.full(d, -1, dtype=np.intp)
    released[mine] = found
    # One error of shape counts as much as all of a column's correlations together.
    search = _MatchingSearch(own * max(d - 1, 1) / 2, ours, theirs)
    signs = search.first_signs(released)
    return search.improved(released, signs)


def _profiles(ours: Array, theirs: Array) -> Array:
    """How unlike two columns are in the sizes of their correlations, the largest first."""
    k = min(len(ours), len(theirs))
    a, b = (-np.sort(-np.abs(m), axis=1)[:, :k] for m in (ours, theirs))
    return np.asarray(np.square(a[:, np.newaxis] - b).sum(axis=2))


@dataclass(frozen=True, slots=True)
class _MatchingSearch:
    """The sum of squared errors of a matching, and steps that lower it."""

    own: Array  # 2 x d x p: cost of a pair of columns, as they are and turned round
    ours: Array
    theirs: Array

    def column(self, j: int, k: int, sign: float, released: Rows, signs: Array) -> float:
        """What our column j costs as released column k, beside all other columns as they are."""
        if k < 0:
            return 1.0
        others = (released >= 0) & (np.arange(len(released)) != j)
        expected = sign * signs[others] * self.theirs[k, released[others]]
        own = self.own[0 if sign > 0 else 1, j, k]
        return float(own + np.square(self.ours[j, others] - expected).sum())

    def first_signs(self, released: Rows) -> Array:
        """Directions, the surest column first, by shape and by the columns that have one."""
        d = len(released)
        signs, placed = np.ones(d), np.full(d, -1, dtype=np.intp)
        gaps = [
            abs(self.own[0, j, k] - self.own[1, j, k]) if k >= 0 else 0.0
            for j, k in enumerate(released)
        ]
        strength = np.abs(self.ours).sum(axis=1)
        for j in np.lexsort((-strength, -np.asarray(gaps))):
            k = released[j]
            both = [self.column(j, k, s, placed, signs) for s in (1.0, -1.0)]
            signs[j] = 1.0 if both[0] <= both[1] else -1.0
            placed[j] = k
        return signs

    def improved(self, released: Rows, signs: Array) -> Matching:
        d, p = len(released), len(self.theirs)
        released, signs = released.copy(), signs.copy()
        for _ in range(_ROUNDS):
            before = released.copy(), signs.copy()
            for j in range(d):
                unused = np.setdiff1d(np.arange(p), released)[:_MOST_EXCHANGED]
                tried = [(k, s) for k in (released[j], *unused) for s in (1.0, -1.0) if k >= 0]
                if tried:
                    costs = [self.column(j, k, s, released, signs) for k, s in tried]
                    released[j], signs[j] = tried[int(np.argmin(costs))]
            if d <= _MOST_EXCHANGED:
                for i in range(d):
                    self._exchange(i, released, signs)
            if np.array_equal(before[0], released) and np.array_equal(before[1], signs):
                break
        return Matching(released, signs)

    def _exchange(self, i: int, released: Rows, signs: Array) -> None:
        """Exchange column i with others, in the best directions, while that helps."""
        d = len(released)
        for _ in range(d):
            costs, now = self._exchanged(i, released, signs)
            gains = now - costs
            first, second, j = np.unravel_index(int(gains.argmax()), gains.shape)
            if gains[first, second, j] <= 1e-12:
                return
            released[i], released[j] = released[j], released[i]
            signs[i], signs[j] = 1.0 - 2.0 * first, 1.0 - 2.0 * second

    def _exchanged(self, i: int, released: Rows, signs: Array) -> tuple[Array, Array]:
        """Costs of i and j with one another's columns, 2 directions of i x 2 of j x all j; and now.

        Their own correlation counts twice, in all cases.
        """
        every, used = np.arange(len(released)), released >= 0
        columns = np.where(used, released, 0)
        theirs = signs * self.theirs[np.ix_(columns, columns)]
        beside = used & (every != i) & (every != every[:, np.newaxis])

        def cost(ours: Array, expected: Array, own: Array, there: Array) -> Array:
            """One of the two columns, in both directions, beside all others but the two."""
            off = [np.square(ours - sign * expected) * beside for sign in (1.0, -1.0)]
            return np.where(there, own + np.array(off).sum(axis=2), 1.0)

        of_i = cost(self.ours[i], theirs, self.own[:, i, columns], used)
        of_j = cost(self.ours, theirs[i], self.own[:, every, columns[i]], used[i])
        between = signs * theirs[i]  # of the two columns, whoever has which
        both = [np.square(self.ours[i] - sign * between) for sign in (1.0, -1.0)]
        pair = 2.0 * np.array([both, both[::-1]]) * (used & used[i])
        costs = of_i[:, np.newaxis] + of_j + pair
        costs[:, :, i] = np.inf
        as_it_is = np.square(self.ours - signs[:, np.newaxis] * theirs) * used
        np.fill_diagonal(as_it_is, 0.0)
        turned = (signs < 0).astype(np.intp)
        now = np.where(used, self.own[turned, every, columns] + as_it_is.sum(axis=1), 1.0)
        return costs, now + now[i]


def shape_statistics(table: Array) -> Array:
    """Skewness, lowest and highest value of each column, in deviations from its mean: d x 3."""
    deviation = divisors(deviations(table))
    z = (table - table.mean(axis=0)) / deviation
    return np.column_stack([(z**3).mean(axis=0), z.min(axis=0), z.max(axis=0)])
