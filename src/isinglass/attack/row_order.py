"""Row-order attack: average noise away along rows that resemble their neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, ReleaseFacts, rows_of
from isinglass.attack.columns.marginals import clipped, deviations, divisors, statistics_for
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    Knowledge,
    KnownPairs,
    PopulationSample,
    PublicTable,
    RowOrder,
)
from isinglass.attack.linking.near import nearest_records
from isinglass.attack.noise.law import additive_law
from isinglass.attack.noise.row_filter import filtered
from isinglass.attack.noise.shared import without_shared_noise
from isinglass.attack.noise.size import noise_variance, releases_averaged
from isinglass.attack.order.row_pairs import RowPairGuesser, distinct_pairs, learn_and_interpolate
from isinglass.attack.posterior import posterior_by_statistics
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]


#: Rows that are moved on to records; each move compares them with all of these.
_MOST_REGISTERED = 20_000


class RowOrderAttack(Attack):
    """Use the order of the rows: smooth the noise away, interpolate between known records.

    Without known pairs the release must have the table's columns. Noise of its own for each row
    is filtered along the rows, in directions and at speeds at which the release varies more than
    noise does; noise that rows share is found and taken off instead. With known pairs any release
    will do: records are interpolated between those known, or learned from the smoothed release
    and the rest interpolated, whichever does best on pairs left out. A sample tells in which
    directions records vary. With a public table rows that share their noise are moved together
    until they lie on its records; where none do, the guess is the mean.

    Rows without an order gain nothing over `SpectralAttack`.

    Parameters
    ----------
    by_law : bool, default=False
        Whether each cell is first turned into what it tells by the noise's law. A filter then adds
        up what neighbors tell; it is a little bent, which shows where very many of them do.
    block : int, optional
        With `by_law`: so many rows one after the other belong together, as those of a household
        do. Their cells are read together.
    random_state : int, Generator or None
        For the learners that known pairs are given to.

    Examples
    --------
    >>> X = np.sin(np.arange(200) / 20)[:, np.newaxis]
    >>> Z = X + 0.3 * np.random.default_rng(0).normal(size=(200, 1))
    >>> known = ig.attacks.RowOrder(np.arange(200)) | ig.attacks.ColumnStatistics.of(X)
    >>> guess = ig.attacks.RowOrderAttack(random_state=0).guess(Z, known)
    >>> bool(np.square(guess - X).mean() < np.square(Z - X).mean() / 2)
    True
    """

    name = "row_order"
    story = "smooths along rows, interpolates between known ones, or sorts the table alike"
    needs = (RowOrder,)

    def __init__(
        self,
        *,
        by_law: bool = False,
        block: int | None = None,
        random_state: chance.RandomState = None,
    ) -> None:
        self.by_law = by_law
        self.block = block
        self.random_state = random_state

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        if release.has_no_rows or not release.order_shows:
            return "the rows do not stand in the table's order, or nobody can see it"
        return None

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        known = Knowledge.of(knowledge)
        Z = rows_of(released)
        positions = known.need(RowOrder).positions
        if positions.shape != (len(Z),):
            raise AttackError(f"row order must be one position for each of the {len(Z)} rows")
        pairs = known.find(KnownPairs)
        order = np.argsort(positions, kind="stable")
        d = _n_columns(Z, known)
        rows = releases_averaged(Z, known)[order]
        public = known.find(PublicTable)
        if public is not None:
            back = np.empty((len(Z), d))
            back[order] = _on_records(rows, public.records, known)
            return back
        rng = chance.generator(self.random_state)
        found: Array | None
        if self.by_law and self.block is not None:
            found = _by_blocks(rows, known, self.block, rng)
        else:
            found = _smoothed_cells(rows, known) if self.by_law else smoothed(rows, known, d)
        if pairs is not None and len(pairs.rows):
            chosen, records = distinct_pairs(pairs, len(Z))
            place = np.empty(len(order), dtype=np.intp)
            place[order] = np.arange(len(order))
            at = place[chosen]
            first = None if found is None else RowPairGuesser(found[at], lambda: found)
            guess = learn_and_interpolate(rows, first, at, records, known, rng)
        elif found is not None:
            guess = found
        else:
            statistics = statistics_for(known, d)
            if statistics is None:
                raise AttackError("without known pairs this attack needs the table's columns")
            guess = np.tile(statistics.mean, (len(Z), 1))
        back = np.empty_like(guess)
        back[order] = guess
        if pairs is not None and len(pairs.rows):
            back[chosen] = records
        return clipped(back, known)


def smoothed(rows: Array, known: Knowledge, n_columns: int) -> Array | None:
    """A guess from the release alone, rows in order; None where columns are not the table's."""
    noise = noise_variance(rows, known, n_columns)
    if noise is None:
        return None
    statistics = known.find(ColumnStatistics)
    if statistics is not None:
        shared = without_shared_noise(rows, statistics)
        if shared is not None:
            return _groups_told(rows, *shared, known)
    mean = rows.mean(axis=0) if statistics is None else statistics.mean
    return filtered(rows - mean, noise, known) + mean


def _smoothed_cells(rows: Array, known: Knowledge) -> Array:
    """The same with what cells tell in place of the rows."""
    from isinglass.attack.noise.cell_law import told_by_cells  # only where noise has a law

    statistics = known.need(ColumnStatistics)
    told = told_by_cells(rows, additive_law(rows, known), statistics)
    return filtered(*told.as_linear(statistics), known) + statistics.mean


def _by_blocks(rows: Array, known: Knowledge, length: int, rng: np.random.Generator) -> Array:
    """The same with the cells of each block of rows read together, rows left over apart."""
    from isinglass.attack.order.row_blocks import known_of_blocks, stacked, unstacked

    blocks = stacked(rows, length)
    found = posterior_by_statistics(blocks, known_of_blocks(known, length), rng)
    together = unstacked(found, length)
    return np.concatenate([together, _smoothed_cells(rows, known)[len(together) :]])


def _n_columns(Z: Array, known: Knowledge) -> int:
    pairs, sample = known.find(KnownPairs), known.find(PopulationSample)
    for fact in (pairs, sample):
        if fact is not None and len(fact.records):
            return int(fact.records.shape[1])
    statistics = known.find(ColumnStatistics)
    return Z.shape[1] if statistics is None else len(statistics.mean)


def _on_records(rows: Array, records: Array, known: Knowledge) -> Array:
    """Records behind rows that share their noise; the mean where they share none."""
    statistics, shared = known.find(ColumnStatistics), None
    fits = rows.shape[1] == records.shape[1] and len(rows) <= _MOST_REGISTERED
    if statistics is not None and fits:
        shared = without_shared_noise(rows, statistics)
    if shared is None or len(np.unique(shared[1])) == len(rows):
        return np.tile(records.mean(axis=0), (len(rows), 1))
    guess, groups = shared
    return registered(_groups_told(rows, guess, groups, known), groups, records)


def _groups_told(rows: Array, guess: Array, groups: Rows, known: Knowledge) -> Array:
    """Rows that share their noise with a known record are known, too."""
    pairs, order = known.find(KnownPairs), known.find(RowOrder)
    if pairs is None or not len(pairs.rows) or order is None:
        return guess
    place = np.empty(len(rows), dtype=np.intp)
    place[np.argsort(order.positions, kind="stable")] = np.arange(len(rows))
    at, records = distinct_pairs(pairs, len(rows))
    noise = rows[place[at]] - records
    whose = groups[place[at]]
    sums = np.stack([np.bincount(whose, c, minlength=groups.max() + 1) for c in noise.T], axis=1)
    count = np.bincount(whose, minlength=groups.max() + 1)
    means = sums / np.maximum(count, 1)[:, np.newaxis]
    several = count[whose] > 1
    if several.any():
        within = np.square(noise - means[whose])[several].sum()
        between = np.square(noise - noise.mean(axis=0))[several].sum()
        if within > 0.1 * between:
            return guess
    told = count[groups] > 0
    exact = rows - means[groups]
    return np.where(told[:, np.newaxis], exact, guess)


Groups = NDArray[np.intp]

_ROUNDS = 20
#: A move by less than this many deviations changes no neighbor any more.
_STILL = 1e-9


def registered(rows: Array, groups: Groups, records: Array) -> Array:
    """The record behind each row, where all rows of a group are off by one and the same.

    Each row names its nearest record; the median of what a group is off by moves it nearer, until
    nothing moves (Besl and McKay's iterative closest point, one shift a group). Medians, as rows
    that name a wrong record are off by anything.
    """
    unit = divisors(deviations(records))
    moved, table = rows / unit, records / unit
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order[0]] - 1))
    members = np.split(order, starts[1:])
    near = nearest_records(moved, table)
    for _ in range(_ROUNDS):
        gaps, farthest = table[near] - moved, 0.0
        for rows_of_group in members:
            shift = np.median(gaps[rows_of_group], axis=0)
            moved[rows_of_group] += shift
            farthest = max(farthest, float(np.abs(shift).max()))
        near = nearest_records(moved, table)
        if farthest < _STILL:
            break
    return np.asarray(records[near])
