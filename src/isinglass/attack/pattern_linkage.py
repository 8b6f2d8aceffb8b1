"""Linkage by what a release leaves of its rows: patterns, directions, ratios, groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, rows_of
from isinglass.attack.fit import PairFit, blocks, gaussian
from isinglass.attack.groups import group_members
from isinglass.attack.invariants import PLAIN, invariants
from isinglass.attack.knowledge import Fact, Knowledge, KnownPairs, PublicTable
from isinglass.attack.marginals import deviations, divisors
from isinglass.attack.near import nearest_records
from isinglass.attack.patterns import row_colors, same_columns
from isinglass.errors import AttackError
from isinglass.measure.separation import sample_rows

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Pairs, or rows where none is known, that say which features tell records apart best.
_JUDGES = 200
#: What is left in a feature that agrees in all known pairs, in deviations, as if of one more.
_LEAST = 0.01


@dataclass(frozen=True, slots=True)
class ColorFit:
    """In how many rounds a released row and a record have the same color."""

    released: Array = field(repr=False)  # rounds x rows
    records: Array = field(repr=False)

    @property
    def n_released(self) -> int:
        return int(self.released.shape[1])

    @property
    def n_public(self) -> int:
        return int(self.records.shape[1])

    def block(self, rows: slice) -> Array:
        same = np.zeros((len(range(self.n_released)[rows]), self.n_public))
        for ours, theirs in zip(self.released[:, rows], self.records, strict=True):
            same += ours[:, np.newaxis] == theirs
        return same

    def best(self) -> tuple[Rows, Array]:
        return best_of(self)


@dataclass(frozen=True, slots=True)
class GroupFit:
    """The members of a row's group fit, and nobody else does; other rows fit as they did."""

    base: PairFit = field(repr=False)
    members: dict[int, Rows] = field(repr=False)

    @property
    def n_released(self) -> int:
        return self.base.n_released

    @property
    def n_public(self) -> int:
        return self.base.n_public

    def block(self, rows: slice) -> Array:
        fits = self.base.block(rows)
        for place, row in enumerate(range(self.n_released)[rows]):
            if row in self.members:
                fits[place] = -np.inf
                fits[place, self.members[row]] = 0.0
        return fits

    def best(self) -> tuple[Rows, Array]:
        return best_of(self)


def best_of(fit: PairFit) -> tuple[Rows, Array]:
    """The record that fits each row best, and its share of all that fit as well."""
    where, share = np.zeros(fit.n_released, dtype=np.intp), np.zeros(fit.n_released)
    for rows, fits in blocks(fit):
        where[rows] = fits.argmax(axis=1)
        share[rows] = 1 / (fits >= fits.max(axis=1, keepdims=True)).sum(axis=1)
    return where, share


@dataclass(frozen=True, slots=True)
class PatternLinker:
    """How well public records fit released rows, under the features that were chosen."""

    public: Array = field(repr=False)
    how: str
    features: tuple[Array, Array] | None = field(default=None, repr=False)
    colors: tuple[Array, Array] | None = field(default=None, repr=False)
    groups: dict[int, Rows] = field(default_factory=dict, repr=False)

    def fit(self, rows: Any = slice(None), n_columns: int | None = None) -> PairFit:
        """The fits of some released rows; features of all columns count, however many are asked."""
        if self.colors is not None:
            return ColorFit(self.colors[0][:, rows], self.colors[1])
        assert self.features is not None
        Z, P = self.features
        base = gaussian(Z[rows], P, np.ones(P.shape[1]))
        if not self.groups:
            return base
        numbers = np.arange(len(Z))[rows]
        here = {i: self.groups[n] for i, n in enumerate(numbers.tolist()) if n in self.groups}
        return GroupFit(base, here)

    def best(self) -> Rows:
        """The record that fits each released row best, or as well as any other."""
        if self.colors is not None:
            return same_colors(*self.colors)
        assert self.features is not None
        found = nearest_records(*self.features)
        for row, members in self.groups.items():
            found[row] = members[0]
        return found

    def clear(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether one record fits a row far better than any other does."""
        if self.groups:
            return np.array([row in self.groups for row in rows.tolist()])
        found = []
        for _, fits in blocks(self.fit(rows)):
            second, first = np.partition(fits, -2, axis=1)[:, -2:].T
            if self.colors is not None:
                found.append((first > second) & (first > 1))
                continue
            assert self.features is not None
            constant = self.features[1].shape[1] / 2 * np.log(2 * np.pi)
            near, far = -(first + constant), -(second + constant)  # half the squared distances
            found.append((near < 0.01 * far) & (far > 1e-9))
        return np.concatenate(found)


class PatternLinkageAttack(Attack):
    """Name the record behind each released row by what a tool could not, or did not, hide.

    Codes in place of values leave which cells are equal and how often a value occurs. A number of
    its own that multiplies a row leaves its direction and the ratios of its values; a sign leaves
    their sizes. Means of groups are means of few records only, and records can be added up. All
    of these are tried, and known pairs tell which gives the truth the lowest rank; without pairs,
    how much nearer the nearest record is than the second.
    """

    name = "pattern_linkage"
    needs = (PublicTable,)

    def __init__(self, *, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state
        #: What the last guess was made with.
        self.kept: PatternLinker | None = None

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The public record that fits each released row best."""
        linker = self.linker(released, knowledge)
        if linker is None:  # nothing is left to link by
            self.kept = None
            records = Knowledge.of(knowledge).need(PublicTable).records
            return np.tile(records.mean(axis=0), (len(rows_of(released)), 1))
        # Plain values are what `LinkageAttack` is for; levels need not be counted twice.
        self.kept = None if linker.how in PLAIN else linker
        return linker.public[linker.best()]

    def linker(self, released: ArrayLike, knowledge: Fact | Knowledge) -> PatternLinker | None:
        """Choose the features under which released rows and records agree.

        None for a release of other columns in which no value occurs twice.
        """
        Z, known = rows_of(released), Knowledge.of(knowledge)
        P = known.need(PublicTable).records
        if len(P) < 2 or not np.isfinite(P).all():
            raise AttackError("the public table must hold records, and finite numbers only")
        rng = chance.generator(self.random_state)
        pairs = known.find(KnownPairs)
        if pairs is not None and (not len(pairs.rows) or pairs.records.shape[1] != P.shape[1]):
            pairs = None
        known_rows = None if pairs is None else (pairs.rows, _places(pairs.records, P))
        linkers = []
        if any(len(np.unique(column)) < len(Z) for column in Z.T):
            columns = same_columns(Z, P)
            found = columns >= 0
            colors = row_colors(Z[:, columns[found]], P[:, found], rng)
            linkers.append(PatternLinker(P, "codes", colors=colors))
        if Z.shape[1] == P.shape[1]:
            plain = [_weighted(P, *features, known_rows) for features in invariants(Z, P)]
            linkers += plain
            if groups := group_members(Z, P, rng):
                linkers.append(PatternLinker(P, "groups", plain[0].features, groups=groups))
        if not linkers:
            return None
        judged = [_judged(linker, len(Z), known_rows, rng) for linker in linkers]
        return linkers[int(np.argmin(judged))]


Known = tuple[Rows, Rows]  # released rows, and which public records they are


def _weighted(P: Array, how: str, z: Array, x: Array, known: Known | None) -> PatternLinker:
    """Features in units of what is left between a row and its record, as known pairs show it."""
    unit = x.std(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    if known is None:
        return PatternLinker(P, how, (z / unit, x / unit))
    rows, which = known
    left = np.square((z[rows] - x[which]) / unit)
    # A few pairs that agree are no proof that all do.
    scale = np.sqrt((left.sum(axis=0) + _LEAST**2) / (len(left) + 1)) * unit
    return PatternLinker(P, how, (z / scale, x / scale))


def _places(records: Array, P: Array) -> Rows:
    """Where known records stand in the public table, which contains them."""
    numbers = {row.tobytes(): i for i, row in enumerate(np.ascontiguousarray(P))}
    found = np.array([numbers.get(r.tobytes(), -1) for r in np.ascontiguousarray(records)])
    lost = found < 0
    if lost.any():
        unit = divisors(deviations(P))
        found[lost] = nearest_records(records[lost] / unit, P / unit)
    return found.astype(np.intp)


def _judged(
    linker: PatternLinker, n_rows: int, known: Known | None, rng: np.random.Generator
) -> float:
    """The mean logarithm of the rank of the truth; without pairs, less the share of clear cases."""
    if known is None:
        return -float(np.mean(linker.clear(sample_rows(n_rows, rng, _JUDGES))))
    some = sample_rows(len(known[0]), rng, _JUDGES)
    numbers, truth = known[0][some], known[1][some]
    levels: list[int] = []
    for rows, fits in blocks(linker.fit(numbers)):
        own = np.take_along_axis(fits, truth[rows][:, np.newaxis], axis=1)
        slack = 1e-9 * np.abs(np.where(np.isfinite(own), own, 0.0))
        levels += (fits >= own - slack).sum(axis=1).tolist()
    return float(np.mean(np.log(levels)))


def same_colors(released: Array, records: Array) -> Rows:
    """For each row the record that has its color in the latest round in which any record has."""
    found = np.zeros(released.shape[1], dtype=np.intp)
    for ours, theirs in zip(released, records, strict=True):
        who = np.full(int(max(ours.max(), theirs.max())) + 1, -1, dtype=np.intp)
        who[theirs] = np.arange(len(theirs))
        found = np.where(who[ours] >= 0, who[ours], found)
    return found
