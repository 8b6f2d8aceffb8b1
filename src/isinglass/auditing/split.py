"""Split of rows into known, scored, sampled and held-out sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import KnownPairs

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: So many records bring Wilson's 95 % interval down to one hundredth on either side.
ENOUGH = 9604
MOST_SAMPLED = 10_000
#: A release of no more rows is given to the attacks whole; of a larger one the rows above do.
SEEN_WHOLE = 20_000
#: The same where rows may stand in any order; comparing each record with more takes too long.
SEEN_UNALIGNED = 1_000_000
#: Records of a sample that are looked for in the release.
SOUGHT = 1_000
#: So many recognized records are still a few, whatever the number of columns.
FEW_PAIRS = 60
#: A value that holds this part of its column's variance is far; of few records, more of it, as
#: one in a few hundred has ten times the usual part.
_LARGE_PART, _ORDINARY = 0.05, 20.0
#: Where more records are far, none of them decides.
_MOST_FAR = 0.1
HELD_OUT = 0.2
SAMPLED = 0.1
#: Records known without their rows; more make the search for them longer, not surer.
LOCATED = 30


@dataclass(frozen=True, slots=True)
class RowSplit:
    """Row numbers of one trial, in the release; no record is both known and scored.

    `attacked` are all rows an attack sees: those it may know as pairs come first, then those it
    must guess, then, of a table that is not large, all others. `chosen` marks, among the
    attacked, a random choice to score; `outlier` the true outliers, which are all attacked so
    that their figure does not rest on a handful.
    """

    attacked: Rows = field(repr=False)
    n_known: int
    levels: tuple[int, ...]  # numbers of known pairs to try
    chosen: NDArray[np.bool_] = field(repr=False)
    outlier: NDArray[np.bool_] = field(repr=False)
    sample: Rows = field(repr=False)
    n_few: int = 0  # known and scored rows; those behind are only looked at

    @property
    def most_pairs(self) -> int:
        """The largest number of known pairs that is tried."""
        return max(self.levels, default=0)

    def pairs(self, table: Array, n: int, *, whole: bool = False) -> KnownPairs:
        """The first n rows with their records, numbered as the attacked rows are, or the file's."""
        rows = self.attacked[:n]
        return KnownPairs(rows if whole else np.arange(n), table[rows])


def pair_levels(n_rows: int, n_columns: int, most: int | None = None) -> tuple[int, ...]:
    """How many known pairs to try: d + 1, 2 d, 10 d or 60, one in a hundred, up to `most`."""
    limit = max(1, n_rows // 3)
    limit = limit if most is None else min(limit, most)
    many = max(10 * n_columns, FEW_PAIRS)
    wanted = {n_columns + 1, 2 * n_columns, many, round(0.01 * n_rows)}
    return tuple(sorted({min(n, limit) for n in wanted if min(n, limit) >= 1}))


def far_rows(table: Array) -> Rows:
    """Records that carry a large part of a column's variance, each by itself.

    Whether such a record is among those scored would decide how much is explained of its column.
    """
    n, far = len(table), np.zeros(len(table), dtype=bool)
    least = max(_LARGE_PART, _ORDINARY / max(n, 1))
    for j in range(table.shape[1]):
        off = np.square(table[:, j] - table[:, j].mean())
        far |= off > least * off.sum()
    rows = np.flatnonzero(far)
    return rows if len(rows) <= _MOST_FAR * n else rows[:0]


def split_rows(
    n_rows: int,
    n_columns: int,
    outliers: Array,
    rng: np.random.Generator,
    *,
    enough: int = ENOUGH,
    most_pairs: int | None = None,
    levels: tuple[int, ...] | None = None,
    aligned: bool = True,
    far: Rows | None = None,
) -> RowSplit:
    """Deal the rows of a release out, at random.

    Where rows are not `aligned` with records an attack must see them all: a record's image may
    be anywhere. The rows `far` are all scored, and known to nobody.
    """
    order = rng.permutation(n_rows)
    if far is not None and len(far):
        is_far = np.isin(order, far)
        order = np.concatenate([order[~is_far], order[is_far]])
    # A sample that cannot show how the columns go together would be no attacker at all.
    n_sample = max(round(SAMPLED * n_rows), min(n_columns + 2, n_rows // 3))
    n_sample = min(n_sample, MOST_SAMPLED)
    if levels is None:
        levels = pair_levels(n_rows, n_columns, most_pairs)
    levels = tuple(min(n, max(1, n_rows // 3)) for n in levels)
    # Some records are known without their rows, even where no pair is.
    n_known = max(0, *levels, min(max(n_columns + 1, LOCATED), n_rows // 3))
    sample, known = order[:n_sample], order[n_sample : n_sample + n_known]
    left = order[n_sample + n_known :]
    if far is not None and len(far):
        left = np.roll(left, min(len(far), len(left)))  # they stand last, and are scored first
    chosen = left[:enough]
    further = np.setdiff1d(np.intersect1d(outliers, left), chosen)
    attacked = np.concatenate([known, chosen, further])
    scored = len(attacked)
    if n_rows <= SEEN_WHOLE or not aligned:
        attacked = np.concatenate([attacked, np.setdiff1d(order, attacked)])
    else:  # the rows of some records of the sample, to see whether they are found
        attacked = np.concatenate([attacked, sample[:SOUGHT]])
    is_chosen = np.zeros(len(attacked), dtype=bool)
    is_chosen[n_known : n_known + len(chosen)] = True
    is_outlier = np.isin(attacked, outliers)
    is_outlier[:n_known] = is_outlier[scored:] = False
    return RowSplit(attacked, n_known, levels, is_chosen, is_outlier, sample, scored)


def all_rows(n_rows: int, outliers: Array) -> RowSplit:
    """Every row is attacked and scored: for an attacker whose knowledge is given."""
    rows = np.arange(n_rows)
    everything = np.ones(n_rows, dtype=bool)
    return RowSplit(rows, 0, (), everything, np.isin(rows, outliers), rows[:0], n_rows)
