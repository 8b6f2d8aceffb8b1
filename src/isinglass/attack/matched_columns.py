"""Matched-columns attack: releases in unknown units and in any order of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, Scenario, rows_of
from isinglass.attack.columns.marginals import LEVELS, clipped, deviations, divisors, statistics_for
from isinglass.attack.columns.matching import (
    Matching,
    match_columns,
    rank_correlations,
    ranks,
    shape_costs,
    shape_statistics,
    statistics_costs,
)
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    Knowledge,
    OtherReleases,
    PopulationSample,
    PublicTable,
)
from isinglass.errors import AttackError
from isinglass.measure.separation import sample_rows

Array = NDArray[Any]

#: Records whose nearest rows say which reading is best, and those by which it is refined.
_JUDGES, _GUIDES = 300, 300
#: Released rows and records that take part in finding the reading.
_MOST_ROWS = 5_000
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a release: its columns in the table's order, and in the table's units."""

    guess: Array = field(repr=False)
    found: NDArray[np.bool_] = field(repr=False)  # columns that have a released one
    straight: bool  # units differ by a line, so that the line can be refined


class MatchedColumnsAttack(Attack):
    """Tell whose column is whose, undo the units, and let every row stand for itself.

    A tool that shuffles rows and columns and writes them in other units hides nothing: the
    quantiles of a column are those of the table up to a line, and which columns go together
    does not depend on units at all. Where units are curved, ranks still agree.

    With records like the table's, from a sample or a public table, several readings are tried:
    columns as they stand, in their own units or on a line; matched by shape and dependence, on a
    line or by ranks; matched by dependence alone, by ranks; matched by column statistics. The
    one counts whose rows come nearest to the records, compared with the same reading of shuffled
    columns; lines are refined by the records that meet their rows. With column statistics alone,
    columns are matched by skewness and range.

    Other releases of the same rows add their columns to choose from.

    No row number is needed, and the guess is a reading of the release column by column: what it
    shows of single records is what the release shows.
    """

    name = "matched_columns"
    story = "matches columns and rows of a file that nobody explained"
    needs = (ColumnStatistics,)
    scenarios = tuple(
        Scenario((ColumnStatistics, *records), others=others, needs_others=others, how=how)
        for others, how in ((False, ""), (True, "all columns side by side"))
        for records in ((), (PopulationSample,), (PublicTable,))
    )
    views = "matched"

    def __init__(self, *, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        Z, known = rows_of(released), Knowledge.of(knowledge)
        if (others := known.find(OtherReleases)) is not None:
            Z = np.column_stack([Z, *others.tables])
        records = reference(known)
        if records is None:
            return clipped(_by_statistics(Z, known), known)
        rng = chance.generator(self.random_state)
        judges = records[sample_rows(len(records), rng, _JUDGES)]
        some = records[sample_rows(len(records), rng, _MOST_ROWS)]
        few = Z[sample_rows(len(Z), rng, _MOST_ROWS)]
        best: dict[bool, tuple[float, Reader]] = {}
        for read in _readers(few, some, statistics_for(known, records.shape[1])):
            reading = read(few)
            found = evidence(reading, judges, some, rng)
            if found < best.get(reading.straight, (np.inf, read))[0]:
                best[reading.straight] = found, read
        # A line gets better by the records that meet their rows; a curve has to be as good.
        straight = _refined(best[True][1](Z), records, rng)
        if False in best:
            curved = best[False][1](Z)
            if evidence(curved, judges, some, rng) < evidence(straight, judges, some, rng):
                return clipped(curved.guess, known)
        return clipped(straight.guess, known)


def reference(known: Knowledge) -> Array | None:
    """Records like the table's, the more the better; None where there are none."""
    for fact in (known.find(PublicTable), known.find(PopulationSample)):
        if fact is not None and len(fact.records) > 2:
            if not np.isfinite(fact.records).all():
                raise AttackError("known records must hold finite numbers only")
            return fact.records
    return None


Reader = Callable[[Array], Reading]


def _readers(Z: Array, records: Array, statistics: ColumnStatistics | None) -> Iterator[Reader]:
    """All readings worth trying, as functions of a release."""
    d, p = records.shape[1], Z.shape[1]
    matchings = []
    if p == d:
        yield lambda rows: Reading(rows, np.ones(d, dtype=bool), straight=True)
        matchings.append((Matching.as_they_are(d), True))
    ours, theirs = rank_correlations(records), rank_correlations(Z)
    matchings.append((match_columns(shape_costs(records, Z), ours, theirs), True))
    if statistics is not None:
        matchings.append((_matched_by_statistics(Z, statistics), True))
    if d > 2:  # two columns go together in one way only, whichever is which
        matchings.append((match_columns(None, ours, theirs), False))
    for matching, shapes in matchings:
        yield partial(_ranked, records=records, matching=matching)
        if shapes:
            yield partial(_lined, records=records, matching=matching)
            if statistics is not None:
                yield partial(_moments, statistics=statistics, matching=matching)


def _lined(Z: Array, records: Array, matching: Matching) -> Reading:
    """Units that differ by a line, which is the one through the quantiles."""
    signed, found = _taken(Z, matching)
    a, b = (np.quantile(m, LEVELS, axis=0) for m in (records, signed))
    low, center = a.mean(axis=0), b.mean(axis=0)
    square = np.square(b - center).sum(axis=0)
    slope = ((a - low) * (b - center)).sum(axis=0) / np.where(square > 0, square, np.inf)
    flat = slope <= 0  # a column that hardly ever varies: its deviation is all there is
    ratio = deviations(records) / divisors(deviations(signed))
    slope, center = np.where(flat, ratio, slope), np.where(flat, signed.mean(axis=0), center)
    low = np.where(flat, records.mean(axis=0), low)
    guess = low + (signed - center) * slope
    return Reading(np.where(found, guess, records.mean(axis=0)), found, straight=True)


def _ranked(Z: Array, records: Array, matching: Matching) -> Reading:
    """Units that differ by any rising curve: the value of the same rank."""
    signed, found = _taken(Z, matching)
    guess = np.tile(records.mean(axis=0), (len(Z), 1))
    places = (np.arange(len(records)) + 0.5) / len(records)
    for j in np.flatnonzero(found):
        share = (ranks(signed[:, j]) - 0.5) / len(Z)
        guess[:, j] = np.interp(share, places, np.sort(records[:, j]))
    return Reading(guess, found, straight=False)


def _taken(Z: Array, matching: Matching) -> tuple[Array, NDArray[np.bool_]]:
    found = matching.released >= 0
    return Z[:, np.where(found, matching.released, 0)] * matching.signs, found


def evidence(reading: Reading, judges: Array, records: Array, rng: np.random.Generator) -> float:
    """How much nearer records are to the rows than to rows of shuffled columns: lower is better.

    The mean logarithm of the ratio of both distances, so that a record that meets its row counts
    for much, wherever it is.
    """
    unit = divisors(deviations(records))
    G = reading.guess[:, reading.found]
    J, unit = judges[:, reading.found], unit[reading.found]
    mixed = np.column_stack([rng.permutation(column) for column in G.T])
    near, by_chance = (nearest(J / unit, m / unit)[1] for m in (G, mixed))
    least = 1e-6 * J.shape[1]
    return float(np.mean(np.log(near + least) - np.log(by_chance + least)) * J.shape[1])


def nearest(records: Array, rows: Array) -> tuple[NDArray[np.intp], Array]:
    """For each record its nearest row, and the squared distance."""
    center = rows.mean(axis=0)
    R, Y = ((m - center).astype(np.float32) for m in (records, rows))
    half = 0.5 * np.einsum("ij,ij->i", Y, Y)
    found = np.empty(len(R), dtype=np.intp)
    step = max(1, (1 << 24) // max(len(Y), 1))
    for a in range(0, len(R), step):
        found[a : a + step] = (half - R[a : a + step] @ Y.T).argmin(axis=1)
    return found, np.square(records - rows[found]).sum(axis=1)


def _refined(reading: Reading, records: Array, rng: np.random.Generator) -> Reading:
    """Lines of all columns drawn anew through the records that meet their rows, and again.

    Some of the fewer ones, records or rows, look for the nearest of the others.
    """
    found, guess = reading.found, reading.guess[:, reading.found]
    records = records[:, found]
    unit = divisors(deviations(records))
    few_rows = len(guess) < len(records)
    guides = sample_rows(min(len(guess), len(records)), rng, _GUIDES)

    def meet(guess: Array) -> tuple[Array, Array, Array]:
        if few_rows:
            met, away = nearest(guess[guides] / unit, records / unit)
            return records[met], guess[guides], away
        met, away = nearest(records[guides] / unit, guess / unit)
        return records[guides], guess[met], away

    x, z, away = meet(guess)
    best = float(np.median(away))
    for _ in range(_ROUNDS):
        near = away <= best
        x, z = x[near], z[near]
        spread = z.var(axis=0)
        slope = ((x - x.mean(axis=0)) * (z - z.mean(axis=0))).mean(axis=0)
        slope = np.where(spread > 0, slope / np.where(spread > 0, spread, 1.0), 1.0)
        moved = x.mean(axis=0) + (guess - z.mean(axis=0)) * slope
        x, z, away = meet(moved)
        middle = float(np.median(away))
        if not middle < 0.999 * best:
            break
        guess, best = moved, middle
    whole = reading.guess.copy()
    whole[:, found] = guess
    return Reading(whole, found, straight=True)


def _by_statistics(Z: Array, known: Knowledge) -> Array:
    """Columns matched by skewness and range, then given the table's mean and deviation."""
    statistics = known.need(ColumnStatistics)
    return _moments(Z, statistics, _matched_by_statistics(Z, statistics)).guess


def _matched_by_statistics(Z: Array, statistics: ColumnStatistics) -> Matching:
    d = len(statistics.mean)
    deviation = divisors(statistics.deviation)
    low, high = ((edge - statistics.mean) / deviation for edge in (statistics.low, statistics.high))
    costs = statistics_costs(np.column_stack([statistics.skewness, low, high]), shape_statistics(Z))
    # Nothing is known of how the table's columns go together, so no dependence counts.
    return match_columns(costs, np.eye(d), np.eye(Z.shape[1]))


def _moments(Z: Array, statistics: ColumnStatistics, matching: Matching) -> Reading:
    """Units that differ by a line: columns get the table's mean and deviation."""
    signed, found = _taken(Z, matching)
    ratio = statistics.deviation / divisors(deviations(signed))
    guess = statistics.mean + (signed - signed.mean(axis=0)) * ratio
    return Reading(np.where(found, guess, statistics.mean), found, straight=True)
