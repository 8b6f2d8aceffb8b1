"""Membership by kept columns: a record's own kept values stand in the file, or they do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.kept.join import codes_of, codes_of_rows
from isinglass.attack.linking.bounded_fit import NoiseFit
from isinglass.attack.linking.record_fit import BLOCK
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Groups of like kept values are compared in so many classes at most, of so many at least.
_MOST_BINS, _FEWEST_GROUPS = 8, 50
#: Rates of groups: the lowest, how many are tried beside the sizes found, and steps of the fit.
_LOWEST_RATE, _RATES, _STEPS = 0.02, 60, 200
#: The score of a record whose kept values no released row has.
ABSENT = -1e300


@dataclass(frozen=True)
class KeptMatches:
    """Which released rows have the kept values of which records.

    If a record is a stranger's, the number c of rows with its kept values is a Poisson number of
    mean `expected`; if it is among them, one more than such a number. The ratio of both
    likelihoods is c over what was expected.
    """

    released: Rows = field(repr=False)  # number of each row's group of equal kept values
    records: Rows = field(repr=False)  # the same of each record
    count: Array = field(repr=False)  # for each record, rows with its kept values
    expected: Array = field(repr=False)  # for each record, rows that a stranger would find

    @classmethod
    def of(cls, kept: Array, own: Array) -> KeptMatches:
        """By the kept values of the released rows and those of the records in question."""
        if kept.shape[1] != own.shape[1]:
            raise AttackError(
                f"records must have the {kept.shape[1]} kept columns of the release, "
                f"got {own.shape[1]}"
            )
        n, together = len(kept), np.vstack([kept, own])
        groups = codes_of_rows(together)
        # Single columns say how common values are that stand together once or twice.
        usual = np.zeros(int(groups.max(initial=0)) + 1)
        usual[groups] = np.sum([_log_share(codes_of(column), n) for column in together.T], axis=0)
        sizes = np.bincount(groups[:n], minlength=len(usual))
        expected = _expected(sizes, usual if kept.shape[1] > 1 else np.zeros(len(sizes)))
        asked = groups[n:]
        return cls(groups[:n], asked, sizes[asked].astype(np.float64), expected[asked])

    def scores(self) -> Array:
        """Log of the rows with a record's kept values, over how many a stranger would find."""
        with np.errstate(divide="ignore"):
            ratio = np.log(self.count) - np.log(self.expected)
        return np.where(self.count > 0, ratio, ABSENT)

    def likelihood(self, fit: NoiseFit, stranger: Array, *, by_sum: bool) -> Array:
        """The same, each row counted by its likelihood given the record over a stranger's."""
        join = np.logaddexp if by_sum else np.maximum
        found = np.full(len(self.records), -np.inf)
        for group, asked in self.groups():
            step = max(1, BLOCK // (8 * len(asked)))
            for start in range(0, len(group), step):
                rows = group[start : start + step]
                ratios = fit.part(rows, asked).block(slice(0, len(rows)))
                ratios -= stranger[rows, np.newaxis]
                found[asked] = join(found[asked], _joined(ratios, by_sum))
        found -= np.log(self.expected)
        return np.where(np.isfinite(found), found, ABSENT)

    def groups(self) -> Iterator[tuple[Rows, Rows]]:
        """Rows and records of the same kept values, where there are both."""
        rows, asked = (np.argsort(codes, kind="stable") for codes in (self.released, self.records))
        of_rows, of_asked = self.released[rows], self.records[asked]
        values = np.intersect1d(of_rows, of_asked)
        ends = [np.searchsorted(c, (values, values + 1)) for c in (of_rows, of_asked)]
        for i in range(len(values)):
            yield rows[slice(*ends[0][:, i])], asked[slice(*ends[1][:, i])]


def _joined(ratios: Array, by_sum: bool) -> Array:
    """The sum over rows on a log scale, or its largest term."""
    top = np.asarray(ratios.max(axis=0))
    if not by_sum or len(ratios) == 1:
        return top
    base = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(base + np.log(np.exp(ratios - base).sum(axis=0)))


def _log_share(codes: Rows, n: int) -> Array:
    """Log of the share of the first n rows that have each one's code."""
    sizes = np.bincount(codes[:n], minlength=int(codes.max(initial=0)) + 1)
    return np.asarray(np.log(np.maximum(sizes, 0.5))[codes] - np.log(n))


def _expected(sizes: Array, usual: Array) -> Array:
    """How many rows strangers have in each group, by its size and those of like groups; else 1.

    Groups are alike where `usual`, what single columns make of them, is.
    """
    expected = np.ones(len(sizes))
    shown = np.flatnonzero(sizes)
    shown = shown[np.argsort(usual[shown], kind="stable")]
    n_bins = min(_MOST_BINS, max(1, len(shown) // _FEWEST_GROUPS))
    if np.ptp(usual[shown]) == 0:
        n_bins = 1
    for alike in np.array_split(shown, n_bins):
        different, place, often = np.unique(sizes[alike], return_inverse=True, return_counts=True)
        expected[alike] = _mean_rates(different.astype(np.float64), often)[place]
    return expected


def _mean_rates(sizes: Array, often: Array) -> Array:
    """For each size the mean rate of groups of this size, whose rows come as a Poisson number.

    How rates are distributed is fitted to the sizes by maximum likelihood (EM over a grid; Laird
    1978), as groups without a row are never seen; the mean is then Robbins's (1956).
    """
    grid = np.union1d(np.geomspace(_LOWEST_RATE, sizes.max() + 1.0, _RATES), sizes)
    # Poisson, up to what is the same for all rates of a size.
    law = sizes[:, np.newaxis] * np.log(grid) - grid
    law = np.exp(law - law.max(axis=1, keepdims=True))
    law_seen = law / -np.expm1(-grid)
    weights = np.full(len(grid), 1.0 / len(grid))
    for _ in range(_STEPS):
        shares = often / (law_seen @ weights)
        weights *= shares @ law_seen / often.sum()
    weights = weights / -np.expm1(-grid)
    return np.asarray((law @ (weights * grid)) / (law @ weights))
