"""Pattern-linkage attack: link rows by codes, directions, residues, cells and groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, rows_of
from isinglass.attack.columns.marginals import deviations, divisors, statistics_for
from isinglass.attack.knowledge import ColumnStatistics, Fact, Knowledge, KnownPairs, PublicTable
from isinglass.attack.linking.cells import CellFamily, Cells, taught_by_itself
from isinglass.attack.linking.code_patterns import has_patterns, row_colors, same_columns
from isinglass.attack.linking.families import FeatureFamily, Seen, SettledFeatures
from isinglass.attack.linking.groups import group_members, two_records
from isinglass.attack.linking.invariants import PLAIN
from isinglass.attack.linking.kept_by_maps import kept_by_maps
from isinglass.attack.linking.near import nearest_records
from isinglass.attack.linking.pattern_choice import (
    CANDIDATES,
    JUDGES,
    Judges,
    better,
    clear,
    log_ranks,
    n_judges,
    taught,
)
from isinglass.attack.linking.pattern_fits import PatternLinker
from isinglass.attack.linking.pattern_kinds import SOME, features_of, scalings_of
from isinglass.attack.linking.record_fit import blocks
from isinglass.attack.linking.row_invariants import learned_functions
from isinglass.attack.linking.wrapped import wrapped
from isinglass.errors import AttackError
from isinglass.measure.separation import sample_rows

Array = NDArray[Any]
Rows = NDArray[np.intp]
Kind = FeatureFamily | CellFamily

#: Without pairs, plain values stand unless so many more rows are clear.
_CLEARER = 0.1
#: Kinds of features, the best by themselves, that are joined with the very best one.
_JOINED = 6


class PatternLinkageAttack(Attack):
    """Name the record behind each released row by what a tool could not, or did not, hide.

    Codes in place of values leave which cells are equal and how often a value occurs. A number of
    its own that multiplies a row leaves its direction and the ratios of its values; a sign leaves
    their sizes, a number added to all of them their gaps, another order of its columns the sorted
    values. Noise in steps leaves what is left after full steps; cells that were swapped leave the
    others. Means of groups are means of few records only, and records can be added up. All of
    these are tried, and known pairs tell which gives the truth the lowest rank; without pairs,
    how much nearer the nearest record is than the second.
    """

    name = "pattern_linkage"
    story = "names the record behind a row by what the release left of it"
    needs = (PublicTable,)
    needs_rows = True

    def __init__(self, *, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state
        #: What the last guess was made with.
        self.kept: PatternLinker | None = None

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The public record that fits each released row best."""
        public = Knowledge.of(knowledge).need(PublicTable)
        linker = self.linker(released, knowledge)
        if linker is None:  # nothing is left to link by
            self.kept = None
            return np.tile(public.records.mean(axis=0), (len(rows_of(released)), 1))
        # Plain values are what `LinkageAttack` is for; levels need not be counted twice.
        self.kept = None if set(linker.how.split("; ")) <= set(PLAIN) else linker
        if self.kept is None and not public.complete:
            return np.tile(public.records.mean(axis=0), (len(rows_of(released)), 1))
        return linker.guess()

    def linker(self, released: ArrayLike, knowledge: Fact | Knowledge) -> PatternLinker | None:
        """Choose the features under which released rows and records agree.

        None for a release of other columns in which no value occurs twice.
        """
        Z, known = rows_of(released), Knowledge.of(knowledge)
        public = known.need(PublicTable)
        P = public.records
        if len(P) < 2 or not np.isfinite(P).all():
            raise AttackError("the public table must hold records, and finite numbers only")
        rng = chance.generator(self.random_state)
        pairs = known.find(KnownPairs)
        if pairs is not None and (not len(pairs.rows) or pairs.records.shape[1] != P.shape[1]):
            pairs = None
        special = _special(Z, P, rng) if public.complete else []
        statistics = statistics_for(known, P.shape[1])
        kinds: list[Kind] = []
        if Z.shape[1] == P.shape[1]:
            kinds = _kinds(Z, P, statistics, rng, known=pairs is not None)
        if public.complete:
            kinds += kept_by_maps(Z, P)
        if pairs is not None:
            scaled = P.mean(axis=0), deviations(P)
            if statistics is not None:
                scaled = statistics.mean, statistics.deviation
            kinds += learned_functions(Z, scaled[0], divisors(scaled[1]))
        if not special and not kinds:
            return None
        if pairs is None:
            return _clearest(Z, P, kinds, special, rng)
        return _lowest(Z, P, pairs, kinds, special, rng)


def _special(Z: Array, P: Array, rng: np.random.Generator) -> list[PatternLinker]:
    """Codes and groups, which need the whole table and are no features of single rows."""
    found = []
    if has_patterns(Z):
        columns = same_columns(Z, P)
        there = columns >= 0
        colors = row_colors(Z[:, columns[there]], P[:, there], rng)
        found.append(PatternLinker(P, "codes", colors=colors))
    if groups := group_members(Z, P, rng) or two_records(Z, P, rng):
        unit = divisors(deviations(P))
        found.append(PatternLinker(P, "groups", (Z / unit, P / unit), groups=groups))
    return found


def _kinds(
    Z: Array,
    P: Array,
    statistics: ColumnStatistics | None,
    rng: np.random.Generator,
    *,
    known: bool,
) -> list[Kind]:
    """All kinds of features of rows whose columns correspond to the table's."""
    kinds: list[Kind] = [*features_of(Z, P, statistics, rng, known=known)]
    if known:
        kinds.append(wrapped(scalings_of(Z, P, statistics, rng)))
    return [*kinds, CellFamily(np.sort(P, axis=0), np.sort(Z, axis=0))]


def _seen(Z: Array, P: Array, rng: np.random.Generator, rows: Array, records: Array) -> Seen:
    some = sample_rows(len(Z), rng, SOME), sample_rows(len(P), rng, SOME)
    return Seen(rows, records, Z[some[0]], P[some[1]])


def _clearest(
    Z: Array, P: Array, kinds: list[Kind], special: list[PatternLinker], rng: np.random.Generator
) -> PatternLinker | None:
    """Without pairs: where most rows have one record that fits far better than any other."""
    rows = np.arange(len(Z))[sample_rows(len(Z), rng, n_judges(len(P)))]
    seen = _seen(Z, P, rng, Z[:0], P[:0])
    settled = [kind.learned(seen) for kind in kinds]
    shares = [clear(one, Z[rows], P, rng) for one in settled]
    shares += [_clear(linker, rows) for linker in special]
    best = int(np.argmax(shares))
    if settled and settled[0].name in PLAIN and shares[best] <= shares[0] + _CLEARER:
        best = 0
    elif shares[best] <= _CLEARER and not special:
        return None
    if best >= len(settled):
        return special[best - len(settled)]
    kind, found = kinds[best], settled[best]
    if isinstance(kind, CellFamily):
        found = taught_by_itself(kind, seen, Z[rows], P, rng)
    return _built(found, Z, P)


def _clear(linker: PatternLinker, rows: Rows) -> float:
    if linker.groups:
        return float(np.mean([row in linker.groups for row in rows.tolist()]))
    found = []
    for _, fits in blocks(linker.fit(rows)):
        second, first = np.partition(fits, -2, axis=1)[:, -2:].T
        found.append((first > second) & (first > 1))
    return float(np.concatenate(found).mean())


def _lowest(
    Z: Array,
    P: Array,
    pairs: KnownPairs,
    kinds: list[Kind],
    special: list[PatternLinker],
    rng: np.random.Generator,
) -> PatternLinker:
    """With pairs: where their records have the lowest rank among others.

    Plain values stand unless something else is better beyond doubt.
    """
    some = np.arange(len(pairs.rows))[sample_rows(len(pairs.rows), rng, JUDGES)]
    places = _places(pairs.records[some], P)
    own = (P[places] == pairs.records[some]).all(axis=1)  # a sample need not hold them
    others = np.setdiff1d(np.arange(len(P)), places[own])
    others = others[sample_rows(len(others), rng, CANDIDATES)]
    seen = _seen(Z, P, rng, Z[pairs.rows[some]], pairs.records[some])
    judges = Judges(seen, P[others])
    levels = [judges.levels([kind]) for kind in kinds]
    levels += [log_ranks(linker.fit(pairs.rows[some]), places, others) for linker in special]
    means = np.array([level.mean() for level in levels])
    plain = [i for i, kind in enumerate(kinds) if kind.name in PLAIN]
    best = int(means.argmin())
    if plain and best not in plain:
        usual = plain[int(means[plain].argmin())]
        best = best if better(levels[best], levels[usual]) else usual
    if best >= len(kinds):
        return special[best - len(kinds)]
    everything = _seen(Z, P, rng, Z[pairs.rows], pairs.records)
    chosen = _joined(judges, kinds, levels, best)
    return _built(taught(chosen, everything), Z, P)


def _joined(judges: Judges, kinds: list[Kind], levels: list[Array], best: int) -> list[Kind]:
    """The best kind of features, with another one where both together are better beyond doubt."""
    if isinstance(kinds[best], CellFamily) or not levels[best].any():
        return [kinds[best]]
    means = [level.mean() for level in levels[: len(kinds)]]
    nearly = [
        int(i) for i in np.argsort(means, kind="stable") if isinstance(kinds[i], FeatureFamily)
    ]
    found, lowest = [kinds[best]], levels[best]
    for i in [i for i in nearly if i != best][:_JOINED]:
        tried = judges.levels([kinds[best], kinds[i]])
        if tried.mean() < lowest.mean() and better(tried, levels[best]):
            found, lowest = [kinds[best], kinds[i]], tried
    return found


def _built(settled: SettledFeatures | Cells, Z: Array, P: Array) -> PatternLinker:
    """The linker of a whole release."""
    if isinstance(settled, Cells):
        return PatternLinker(P, settled.name, cells=(settled, Z))
    return PatternLinker(P, settled.name, settled.values(Z, P))


def _places(records: Array, P: Array) -> Rows:
    """Where known records stand in the public table, or which is nearest."""
    numbers = {row.tobytes(): i for i, row in enumerate(np.ascontiguousarray(P))}
    found = np.array([numbers.get(r.tobytes(), -1) for r in np.ascontiguousarray(records)])
    lost = found < 0
    if lost.any():
        unit = divisors(deviations(P))
        found[lost] = nearest_records(records[lost] / unit, P / unit)
    return found.astype(np.intp)
