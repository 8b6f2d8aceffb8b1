"""Table-order attack: put a public table in the order of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, rows_of
from isinglass.attack.kept.join import Groups
from isinglass.attack.knowledge import (
    Fact,
    KeptColumns,
    Knowledge,
    KnownPairs,
    PublicTable,
    RowOrder,
)
from isinglass.attack.linking.linker import Linker, make_linker
from isinglass.attack.linking.ranking import places_of
from isinglass.attack.order.row_pairs import distinct_pairs
from isinglass.attack.order.sort_order import ScoreRanks, Ties, score_ranks, sort_keys
from isinglass.attack.order.table_walk import Walk, find_walk
from isinglass.errors import AttackError

if TYPE_CHECKING:
    from isinglass.attack.order.order_linker import OrderLinker

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Rows of a file for which the chances of all records are held at once.
MOST_WALKED = 3_000
#: Rounds in which rows and records are given the same weight in turn.
_ROUNDS = 5


class TableOrderAttack(Attack):
    """Put a public table in the order of the file, and read off whose row is whose.

    A table sorted by a column, by several, or by a sum of columns is sorted again: known pairs
    tell by what. Where records that follow each other are near neighbors, as in a log, the file
    is a walk through the public table, from each record to one of its nearest. Known pairs fix
    the walk where they stand, and what the noise leaves of each row tells between; the evidence
    tells whether there is a walk at all. Where neither is found the guess is the mean.

    The public table is shuffled first: its own order tells nothing.

    Parameters
    ----------
    walks : bool, default=True
        Whether walks are looked for, in files of up to 3,000 rows.
    random_state : int, Generator or None
        For the shuffle, and for what is learned from known pairs.
    """

    name = "row_order"
    needs = (RowOrder, PublicTable)

    def __init__(self, *, walks: bool = True, random_state: chance.RandomState = None) -> None:
        self.walks = walks
        self.random_state = random_state
        #: What the last guess was made with.
        self.kept: OrderLinker | None = None

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The records behind the rows; their mean where the order of rows tells nothing."""
        public = Knowledge.of(knowledge).need(PublicTable)
        self.kept = self.linker(released, knowledge)
        if self.kept is None:
            return np.tile(public.records.mean(axis=0), (len(rows_of(released)), 1))
        return self.kept.guess()

    def linker(self, released: ArrayLike, knowledge: Fact | Knowledge) -> OrderLinker | None:
        """Find the order; None where there is none to be found."""
        Z, known = rows_of(released), Knowledge.of(knowledge)
        public, positions = known.need(PublicTable), known.need(RowOrder).positions
        if positions.shape != (len(Z),):
            raise AttackError(f"row order must be one position for each of the {len(Z)} rows")
        if not len(public.records) or not np.isfinite(public.records).all():
            raise AttackError("the public table must hold records, and finite numbers only")
        rng = chance.generator(self.random_state)
        shuffle = rng.permutation(len(public.records))
        back = np.empty_like(shuffle)
        back[shuffle] = np.arange(len(shuffle))
        kept = None if public.kept is None else public.kept[shuffle]
        shuffled = PublicTable(public.records[shuffle], kept, public.complete)
        place = np.empty(len(Z), dtype=np.intp)
        place[np.argsort(positions, kind="stable")] = np.arange(len(Z))
        found = _found(Z, place, known | shuffled, self.walks, rng)
        if found is None:
            return None
        from isinglass.attack.order.order_linker import OrderLinker  # few files have an order

        if isinstance(found, Ties):
            groups = Groups(found.of_rows()[place], found.group[back])
            return OrderLinker(public.records, _within(Z, groups, known, rng))
        return OrderLinker(public.records, found[:, back])


def _found(
    Z: Array, place: Rows, known: Knowledge, walks: bool, rng: np.random.Generator
) -> Array | Ties | None:
    """Log chances of all records for each row, or ties of a file too long for these."""
    records = known.need(PublicTable).records
    rows, at = _known_places(known, records, len(Z))
    held = max(len(Z), len(records)) <= MOST_WALKED
    order: Ties | ScoreRanks | None = None
    if len(Z) == len(records) and len(rows):
        order = sort_keys(_keys(known), at, place[rows])
        if order is None and held:
            order = score_ranks(records, at, place[rows], rng)
    if not held:
        return order if isinstance(order, Ties) else None
    if order is None and not walks:
        return None
    settled = isinstance(order, Ties) and order.settled
    fits = np.zeros((len(Z), len(records)))
    if not settled:
        # Fits of each row by itself: what neighbors tell must not count twice.
        by_row = make_linker(Z, known.without(RowOrder), rng)
        fits = _balanced(by_row.fit().block(slice(0, len(Z))))
    fits = _with_pairs(fits, records, rows, at)[np.argsort(place)]
    path = find_walk(fits, records) if walks and not settled else None
    if order is None and path is None:
        return None
    return np.log(np.maximum(_likelier(fits, order, path), 1e-300))[place]


def _likelier(fits: Array, order: Ties | ScoreRanks | None, path: Walk | None) -> Array:
    """The chances of records by the order or by the walk, whichever explains rows better."""
    if order is None:
        assert path is not None
        return path.chances(fits)
    top = fits.max(axis=1, keepdims=True)
    alone = np.exp(fits - top)
    ordered = alone * order.chances()
    total = ordered.sum(axis=1, keepdims=True)
    if path is not None and path.gain > np.log(total.ravel() / alone.mean(axis=1)).mean():
        return path.chances(fits)
    return np.asarray(ordered / total)


def _known_places(known: Knowledge, records: Array, n_rows: int) -> tuple[Rows, Rows]:
    """Rows of the release whose records are known, and where these are in the public table."""
    pairs = known.find(KnownPairs)
    if pairs is None or not len(pairs.rows) or pairs.records.shape[1] != records.shape[1]:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    rows, own = distinct_pairs(pairs, n_rows)
    at = places_of(own, records)
    return rows[at >= 0], at[at >= 0]


def _keys(known: Knowledge) -> Array:
    """What the public table may be sorted by: columns, sums of them, columns that left too."""
    public, kept = known.need(PublicTable), known.find(KeptColumns)
    P = public.records
    deviation = P.std(axis=0)
    keys = [P, P.sum(axis=1), (P / np.where(deviation > 0, deviation, 1.0)).sum(axis=1)]
    if kept is not None and public.kept is not None:
        keys.append(np.nan_to_num(public.kept, nan=np.inf))
    return np.column_stack(keys)


def _balanced(fits: Array) -> Array:
    """Log fits by which every record is as likely to be in the file as any other.

    What is learned from pairs prefers usual records in every row; along a walk that adds up.
    """
    top = fits.max(axis=1, keepdims=True)
    chances = np.exp(fits - np.where(np.isfinite(top), top, 0.0))
    for _ in range(_ROUNDS):
        for axis in (0, 1):
            chances /= np.maximum(chances.sum(axis=axis, keepdims=True), 1e-300)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(chances))


def _with_pairs(fits: Array, records: Array, rows: Rows, at: Rows) -> Array:
    """Fits where known rows have their records, and nobody else has these."""
    same = np.unique(records, axis=0, return_inverse=True)[1].ravel()
    alone = at[np.bincount(same)[same[at]] == 1]
    fits[:, alone] = -np.inf
    fits[rows] = np.where(same[at][:, np.newaxis] == same, 0.0, -np.inf)
    # A row that no record fits tells nothing.
    fits[~np.isfinite(fits.max(axis=1))] = 0.0
    return fits


def _within(Z: Array, groups: Groups, known: Knowledge, rng: np.random.Generator) -> Linker:
    """Fits within ties, and within groups of kept values where there are any."""
    kept = Groups.of(known, len(Z))
    if kept is not None:
        both = [
            order * (1 + int(max(kept.released.max(), kept.public.max()))) + value
            for order, value in ((groups.released, kept.released), (groups.public, kept.public))
        ]
        codes = np.unique(np.concatenate(both), return_inverse=True)[1].ravel()
        groups = Groups(codes[: len(Z)], codes[len(Z) :])
    if groups.unique():
        return Linker(known.need(PublicTable).records, None, groups)
    told = make_linker(Z, known.without(KeptColumns), rng)
    return Linker(told.public, told.inner, groups)
