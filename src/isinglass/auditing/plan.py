"""Which attackers to send, and what each of them knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.base import Attack
from isinglass.attack.codes import CodesAttack
from isinglass.attack.collusion import CollusionAttack
from isinglass.attack.distance import DistanceAttack
from isinglass.attack.ica import ICAAttack
from isinglass.attack.knowledge import (
    Colluders,
    ColumnStatistics,
    KeptColumns,
    Knowledge,
    KnownPairs,
    KnownRecords,
    OtherReleases,
    PopulationSample,
    PublicParameters,
    PublicTable,
    StolenKey,
)
from isinglass.attack.known_input import KnownInputAttack
from isinglass.attack.linkage import LinkageAttack
from isinglass.attack.map_estimate import MAPAttack
from isinglass.attack.marginals import UNIT_KEEPING
from isinglass.attack.matched_columns import MatchedColumnsAttack
from isinglass.attack.naive import NaiveAttack
from isinglass.attack.pattern_linkage import PatternLinkageAttack
from isinglass.attack.row_factor import RowFactorAttack
from isinglass.attack.sample import SampleAttack
from isinglass.attack.spectral import SpectralAttack
from isinglass.attack.stolen_key import StolenKeyAttack
from isinglass.auditing.cast import LOCATED, SEEN_UNALIGNED, Cast
from isinglass.auditing.linker import KeepingLinkage
from isinglass.auditing.result import SkippedAttack

Array = NDArray[Any]

#: Attacks by name, in the order of the report.
ATTACKS: dict[str, type[Attack]] = {
    kind.name: kind
    for kind in (
        NaiveAttack,
        KnownInputAttack,
        SampleAttack,
        ICAAttack,
        MAPAttack,
        SpectralAttack,
        LinkageAttack,
        DistanceAttack,
        MatchedColumnsAttack,
        CodesAttack,
        RowFactorAttack,
        PatternLinkageAttack,
        CollusionAttack,
        StolenKeyAttack,
    )
}
#: Attacks that rely on row numbers meaning something.
NEED_ROWS = ("known_input", "linkage", "pattern_linkage", "collusion", "stolen_key")


@dataclass(frozen=True)
class Scene:
    """One release and all that could be known about it; the audit deals it out to attackers."""

    table: Array = field(repr=False)  # the records that were released
    released: Array = field(repr=False)
    cast: Cast
    parameters: PublicParameters | None = None
    kept: Array | None = field(default=None, repr=False)
    others: tuple[Array, ...] = field(default=(), repr=False)
    key: Any = field(default=None, repr=False)  # the fitted perturbation, where it is at hand
    rows_correspond: bool | None = None  # None: nobody said
    #: What is public about the other releases; None where nothing is.
    other_parameters: tuple[PublicParameters | None, ...] = ()
    secret_order: bool = False  # rows correspond, and which to which is not known here

    @cached_property
    def statistics(self) -> ColumnStatistics:
        """Of the whole table, for the many attackers who know them."""
        return ColumnStatistics.of(self.table)

    def seen(self) -> Array:
        """The released rows under attack."""
        return np.asarray(self.released[self.released_rows()], dtype=np.float64)

    def released_rows(self, n: int | None = None) -> Array:
        """Their numbers, or those of the first n; all where there is not one for each record."""
        if len(self.released) != len(self.table):
            return np.arange(len(self.released))[:SEEN_UNALIGNED]
        return self.cast.attacked[:n]

    def truth(self) -> Array:
        return np.asarray(self.table[self.cast.attacked], dtype=np.float64)

    def common(self, *, others: bool = True, few: bool = False) -> Knowledge:
        """What every attacker gets: public parameters, kept columns, and other releases.

        Without `others` for attacks that read one release only: what is listed is used. `few`
        for those that learn from pairs: they need no row but those known and those scored.
        """
        rows, known = self.released_rows(self.cast.n_few if few else None), Knowledge()
        if self.parameters is not None:
            known |= self.parameters
        if self.kept is not None:
            known |= KeptColumns(self.kept[rows])
        if self.others and others:
            known |= OtherReleases(tuple(t[rows] for t in self.others))
        return known

    def study(self) -> Knowledge:
        """What is common, with the public matrices of all releases one below the other."""
        first, rest = self.parameters, [p for p in self.other_parameters if p is not None]
        matrices = [p.matrix for p in (first, *rest) if p is not None and p.matrix is not None]
        if first is None or len(matrices) < 1 + len(self.others) or len(matrices) < 2:
            return self.common(others=False)
        alphas = [
            np.full(len(m), p.parameters.get("alpha", 0.0))
            for m, p in zip(matrices, (first, *rest), strict=True)
        ]
        said = {**first.parameters, "alpha": np.concatenate(alphas)}
        return self.common() | replace(first, parameters=said, matrix=np.vstack(matrices))


@dataclass(frozen=True, slots=True)
class Step:
    """One attacker: an attack and what it knows."""

    attack: Attack
    knowledge: Knowledge
    n_known: int = 0  # rows, from the first, whose records it knows: not to be scored
    n_pairs: int | None = None
    with_key: bool = False
    uses_rows: bool = False  # it relies on row numbers meaning something
    few: bool = False  # it sees no row but those known and those scored
    how: str = ""  # tells attackers with the same knowledge apart

    def describe(self) -> str:
        """What it knows and how it goes about it, in a few words; never a value."""
        known = self.knowledge.describe()
        return f"{known}; {self.how}" if self.how else known


Wanted = str | tuple[str | Attack, ...]


def plan(scene: Scene, wanted: Wanted, seed: int) -> tuple[list[Step], list[SkippedAttack]]:
    """Every attacker worth sending against this release, and those that are not, with reasons."""
    steps, skipped = [], []
    asked = _asked(wanted)
    for name in ATTACKS:
        if name not in asked:
            skipped.append(SkippedAttack(name, "it was not asked for", applicable=True))
            continue
        reason = _not_made_for(name, scene)
        if reason:
            skipped.append(SkippedAttack(name, reason))
            continue
        if scene.secret_order and name in NEED_ROWS:
            why = "it needs to know which released row is whose record, and nobody told"
            skipped.append(SkippedAttack(name, why, applicable=True))
            continue
        own = asked[name]
        for step in _STEPS[name](scene, seed):
            steps.append(step if own is None else replace(step, attack=own))
    n = scene.cast.most_pairs
    everything = scene.common() | scene.statistics | _sample(scene)
    everything |= scene.cast.pairs(scene.table, n)
    for name, own in asked.items():
        if name not in ATTACKS and own is not None:
            steps.append(Step(own, everything, n, n, uses_rows=True))
    return steps, skipped


def plan_given(
    scene: Scene, wanted: Wanted, given: Knowledge
) -> tuple[list[Step], list[SkippedAttack]]:
    """The attacks that can begin with the knowledge given, which all of them get."""
    steps, skipped = [], []
    known = scene.common() | given
    pairs = given.find(KnownPairs)
    for name, own in _asked(wanted).items():
        attack = own if own is not None else ATTACKS[name]()
        lacking = [kind.__name__ for kind in attack.needs if kind not in known]
        if lacking:
            why = f"it needs {', '.join(lacking)}, not among the knowledge given"
            skipped.append(SkippedAttack(name, why, applicable=wanted != "auto"))
            continue
        n_pairs = None if pairs is None else len(pairs.rows)
        with_key = StolenKey in known and name == "stolen_key"
        steps.append(Step(attack, known, 0, n_pairs, with_key, uses_rows=pairs is not None))
    return steps, skipped


def _asked(wanted: Wanted) -> dict[str, Attack | None]:
    """Names asked for, with the attack to use where one was given."""
    if isinstance(wanted, str):
        if wanted != "auto":
            raise ValueError(f"attacks must be 'auto', or names or attacks, got {wanted!r}")
        return dict.fromkeys(ATTACKS)
    asked: dict[str, Attack | None] = {}
    for one in wanted:
        if isinstance(one, str) and one not in ATTACKS:
            raise ValueError(f"attacks must be among {', '.join(ATTACKS)}, got {one!r}")
        asked[one if isinstance(one, str) else one.name] = None if isinstance(one, str) else one
    return asked


def _not_made_for(name: str, scene: Scene) -> str | None:
    """Why an attack cannot apply to such a release; None where it can."""
    method = None if scene.parameters is None else scene.parameters.method
    same_width = scene.table.shape[1] == scene.released.shape[1]
    rowless = scene.rows_correspond is False and not scene.secret_order
    if rowless and name in (*NEED_ROWS, "distance"):
        return "it needs rows that correspond to records, and here they do not"
    learns = name == "known_input" or (name == "linkage" and method not in UNIT_KEEPING)
    if learns and not scene.cast.levels and not scene.secret_order:
        return "attackers were assumed to know no pairs"
    if name == "map" and method != "multiparty":
        return "it needs a public matrix, which only the multiparty method has"
    if name == "spectral" and (not same_width or (method and method not in UNIT_KEEPING)):
        return "it filters noise that was added to the columns, and here none was"
    if name == "stolen_key" and scene.key is None:
        return "the key was not given to the audit"
    shared = hasattr(scene.key, "undo") and not scene.key.draws_noise  # a pad is nobody else's
    if name == "collusion" and method != "multiparty" and not shared:
        return "participants share neither a public matrix nor a key that the audit was given"
    return None


def _sample(scene: Scene) -> PopulationSample:
    return PopulationSample(scene.table[scene.cast.sample])


def _naive(scene: Scene, seed: int) -> Iterator[Step]:
    yield Step(NaiveAttack(), scene.common() | scene.statistics)


def _known_input(scene: Scene, seed: int) -> Iterator[Step]:
    for n in scene.cast.levels:
        known = scene.common(few=True) | scene.cast.pairs(scene.table, n) | scene.statistics
        yield Step(KnownInputAttack(random_state=seed), known, n, n, uses_rows=True, few=True)


def _sample_steps(scene: Scene, seed: int) -> Iterator[Step]:
    known = scene.common(others=False) | _sample(scene) | scene.statistics
    yield Step(SampleAttack(random_state=seed), known)


def _ica(scene: Scene, seed: int) -> Iterator[Step]:
    known = scene.common() | scene.statistics | _sample(scene)
    yield Step(ICAAttack(random_state=seed), known)


def _map(scene: Scene, seed: int) -> Iterator[Step]:
    known = scene.study() | _sample(scene) | scene.statistics
    yield Step(MAPAttack(random_state=seed), known, how="taking the public matrix as it is")
    strong, how = MAPAttack("sample", "joint", random_state=seed), "estimating the secret shift"
    yield Step(strong, known, how=how)
    if scene.cast.levels:
        n = scene.cast.most_pairs
        with_pairs = known | scene.cast.pairs(scene.table, n)
        yield Step(strong, with_pairs, n, n, uses_rows=True, how=how)


def _spectral(scene: Scene, seed: int) -> Iterator[Step]:
    yield Step(SpectralAttack(random_state=seed), scene.common() | scene.statistics)


def _linkage(scene: Scene, seed: int) -> Iterator[Step]:
    n = scene.cast.most_pairs
    known = scene.common(few=True) | PublicTable(scene.table)
    if n:
        known |= scene.cast.pairs(scene.table, n)
    yield Step(KeepingLinkage(random_state=seed), known, n, n or None, uses_rows=True, few=True)


def _distance(scene: Scene, seed: int) -> Iterator[Step]:
    d = scene.table.shape[1]
    n = min(scene.cast.n_known, max(d + 1, LOCATED))
    records = KnownRecords(scene.table[scene.cast.attacked[:n]])
    known = scene.common(others=False) | records | scene.statistics
    yield Step(DistanceAttack(random_state=seed), known, n)


def _matched_columns(scene: Scene, seed: int) -> Iterator[Step]:
    known = scene.common(others=False) | scene.statistics
    attack = MatchedColumnsAttack(random_state=seed)
    yield Step(attack, known)
    yield Step(attack, known | _sample(scene))
    yield Step(attack, known | PublicTable(scene.table))


def _codes(scene: Scene, seed: int) -> Iterator[Step]:
    known, attack = scene.common(others=False) | scene.statistics, CodesAttack(random_state=seed)
    yield Step(attack, known | _sample(scene))
    if scene.cast.levels:
        n = scene.cast.most_pairs
        pairs = scene.cast.pairs(scene.table, n)
        yield Step(attack, known | _sample(scene) | pairs, n, n, uses_rows=True)
    yield Step(attack, known | PublicTable(scene.table))


def _row_factor(scene: Scene, seed: int) -> Iterator[Step]:
    known, attack = scene.common(others=False) | scene.statistics, RowFactorAttack()
    yield Step(attack, known)
    yield Step(attack, known | _sample(scene))
    yield Step(attack, known | PublicTable(scene.table))


def _pattern_linkage(scene: Scene, seed: int) -> Iterator[Step]:
    n = scene.cast.most_pairs
    known = scene.common(others=False) | PublicTable(scene.table)
    if n:
        known |= scene.cast.pairs(scene.table, n)
    yield Step(PatternLinkageAttack(random_state=seed), known, n, n or None, uses_rows=True)


def _collusion(scene: Scene, seed: int) -> Iterator[Step]:
    tables = (np.asarray(scene.table[scene.cast.sample]),)
    attack = CollusionAttack(random_state=seed)
    if scene.parameters is not None and scene.parameters.method == "multiparty":
        n = min(scene.cast.levels, default=0)
        shared = scene.cast.pairs(scene.table, n) if n else None
        known = scene.study() | Colluders(tables, shared=shared)
        yield Step(attack, known, n, n or None, uses_rows=True)
    else:
        known = scene.common(others=False) | Colluders(tables, key=scene.key)
        yield Step(attack, known, with_key=True)


def _stolen_key(scene: Scene, seed: int) -> Iterator[Step]:
    stolen = StolenKey(scene.key, rows=scene.cast.attacked)
    known = scene.common(others=False) | stolen | _sample(scene) | scene.statistics
    yield Step(StolenKeyAttack(random_state=seed), known, with_key=True)


_STEPS = {
    "naive": _naive,
    "known_input": _known_input,
    "sample": _sample_steps,
    "ica": _ica,
    "map": _map,
    "spectral": _spectral,
    "linkage": _linkage,
    "distance": _distance,
    "matched_columns": _matched_columns,
    "codes": _codes,
    "row_factor": _row_factor,
    "pattern_linkage": _pattern_linkage,
    "collusion": _collusion,
    "stolen_key": _stolen_key,
}
