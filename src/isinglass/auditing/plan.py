"""Which attackers to send, and what each of them knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from isinglass.attack.base import Attack
from isinglass.attack.codes import CodesAttack
from isinglass.attack.collusion import CollusionAttack
from isinglass.attack.distance import DistanceAttack
from isinglass.attack.ica import ICAAttack
from isinglass.attack.kept_columns import KeptColumnsAttack
from isinglass.attack.knowledge import (
    Colluders,
    Knowledge,
    KnownPairs,
    KnownRecords,
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
from isinglass.attack.posterior import PosteriorAttack
from isinglass.attack.row_factor import RowFactorAttack
from isinglass.attack.row_order import RowOrderAttack
from isinglass.attack.row_shift import without_shift
from isinglass.attack.sample import SampleAttack
from isinglass.attack.spectral import SpectralAttack
from isinglass.attack.stolen_key import StolenKeyAttack
from isinglass.attack.unit_pursuit import UnitPursuitAttack
from isinglass.auditing.attackers import attacker_for, few_pairs
from isinglass.auditing.cast import LOCATED
from isinglass.auditing.linker import KeepingLinkage
from isinglass.auditing.result import SkippedAttack
from isinglass.auditing.scene import Scene, Step
from isinglass.auditing.viewed import Promising, through

#: Attacks by name, in the order of the report.
ATTACKS: dict[str, type[Attack]] = {
    kind.name: kind
    for kind in (
        NaiveAttack,
        KnownInputAttack,
        UnitPursuitAttack,
        SampleAttack,
        ICAAttack,
        MAPAttack,
        SpectralAttack,
        PosteriorAttack,
        RowOrderAttack,
        KeptColumnsAttack,
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
NEED_ROWS = (
    "known_input", "unit_pursuit", "linkage", "pattern_linkage", "collusion", "stolen_key",
)  # fmt: skip


#: Draws of a few known pairs, where it is luck which of them tell something.
_DRAWS = 3

Wanted = str | tuple[str | Attack, ...]


def plan(
    scene: Scene, wanted: Wanted, seed: int, seen_as: Promising | None = None
) -> tuple[list[Step], list[SkippedAttack]]:
    """Every attacker worth sending against this release, and those that are not, with reasons.

    Some are sent again, against the views `seen_as` of it.
    """
    steps: list[Step] = []
    skipped: list[SkippedAttack] = []
    asked = _asked(wanted)

    def skip(name: str, why: str, *, applicable: bool) -> None:
        skipped.append(SkippedAttack(name, why, applicable, attacker_for(ATTACKS[name])))

    for name in ATTACKS:
        if name not in asked:
            skip(name, "it was not asked for", applicable=True)
            continue
        reason, denied = _not_made_for(name, scene), _not_granted(name, scene)
        if reason or denied:
            skip(name, reason or denied or "", applicable=not reason)
            continue
        if scene.secret_order and name in NEED_ROWS:
            why = "it needs to know which released row is whose record, and nobody told"
            skip(name, why, applicable=True)
            continue
        own = asked[name]
        for step in _STEPS[name](scene, seed):
            steps.append(step if own is None else replace(step, attack=own))
    if seen_as is not None:
        steps += _viewed(scene, {step.attack.name for step in steps}, seed, seen_as)
    n, d = scene.cast.most_pairs, scene.table.shape[1]
    everything = scene.common() | scene.statistics | scene.sample()
    everything |= scene.cast.pairs(scene.table, n)
    for name, own in asked.items():
        if name not in ATTACKS and own is not None:
            steps.append(Step(own, everything, d, n, n, uses_rows=True))
    return steps, skipped


def _viewed(scene: Scene, names: set[str], seed: int, seen_as: Promising) -> Iterator[Step]:
    """The attacks that read columns, or learn from pairs, once more on views of the release."""
    for views, kinds in (
        (seen_as.read, ("naive", "spectral")),
        (seen_as.matched, ("matched_columns",)),
        (seen_as.learned, ("known_input", "linkage")),
    ):
        for view in views:
            turned = through(scene, view)
            for name in kinds:
                if name in names and _not_made_for(name, turned) is None:
                    for step in _STEPS[name](turned, seed):
                        how = f"{step.how}, {view.name}" if step.how else view.name
                        yield replace(step, how=how, view=turned.released)


def plan_given(
    scene: Scene, wanted: Wanted, given: Knowledge
) -> tuple[list[Step], list[SkippedAttack]]:
    """The attacks that can begin with the knowledge given, which all of them get.

    One that lacks knowledge could still be run by somebody who has it: that is no comfort.
    """
    steps, skipped = [], []
    known = scene.common() | given
    pairs = given.find(KnownPairs)
    for name, own in _asked(wanted).items():
        attack = own if own is not None else ATTACKS[name]()
        lacking = [kind.__name__ for kind in attack.needs if kind not in known]
        if lacking:
            why = f"it needs {', '.join(lacking)}, not among the knowledge given"
            possible = name not in ATTACKS or _not_made_for(name, scene) is None
            skipped.append(SkippedAttack(name, why, possible, attacker_for(attack)))
            continue
        n_pairs = None if pairs is None else len(pairs.rows)
        with_key = StolenKey in known and name == "stolen_key"
        d = scene.table.shape[1]
        steps.append(Step(attack, known, d, 0, n_pairs, with_key, uses_rows=pairs is not None))
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
    """Why an attack cannot apply to a release of this shape; None where it can.

    What a file says of itself is a claim and excludes no attack.
    """
    same_width = scene.table.shape[1] == scene.released.shape[1]
    rowless = scene.rows_correspond is False and not scene.secret_order
    if rowless and name in (*NEED_ROWS, "distance"):
        return "it needs rows that correspond to records, and here they do not"
    if name == "row_order" and (rowless or not scene.order_shows):
        return "the rows do not stand in the table's order, or nobody can see it"
    if name == "kept_columns" and scene.kept is None:
        return "no column left as it was"
    if name == "unit_pursuit" and scene.cast.levels and not _pursued(scene):
        return "it needs more known pairs than table and release have columns, plus a quarter"
    if name == "map" and (scene.parameters is None or scene.parameters.matrix is None):
        return "it needs a public matrix, which only the multiparty method has"
    if name in ("spectral", "posterior") and not same_width:
        return "it filters noise that was added to the columns, and here their number differs"
    if name == "row_factor" and not same_width:
        return "a number for each row leaves the table's columns, and here their number differs"
    if name == "stolen_key" and scene.key is None:
        return "the key was not given to the audit"
    shared = hasattr(scene.key, "undo") and not scene.key.draws_noise  # a pad is nobody else's
    if name == "collusion" and not _has_matrix(scene) and not shared:
        return "participants share neither a public matrix nor a key that the audit was given"
    return None


def _not_granted(name: str, scene: Scene) -> str | None:
    """Why an attack that could apply is not run: whoever asked assumed its knowledge away."""
    if name in ("known_input", "unit_pursuit") and not scene.cast.levels:
        return "attackers were assumed to know no pairs"
    return None


def _has_matrix(scene: Scene) -> bool:
    return scene.parameters is not None and scene.parameters.matrix is not None


def _naive(scene: Scene, seed: int) -> Iterator[Step]:
    d = scene.table.shape[1]
    yield Step(NaiveAttack(), scene.common() | scene.statistics, d)
    if scene.released.shape[1] == d and _narrowed(scene):
        known = scene.common(others=False) | scene.statistics
        attack, how = NaiveAttack(as_it_stands=True), "taking the values as they stand"
        yield Step(attack, known, d, how=how)


def _narrowed(scene: Scene) -> bool:
    """Whether released columns have the table's means and less than its deviations."""
    Z, statistics = np.asarray(scene.released, dtype=np.float64), scene.statistics
    deviation = Z.std(axis=0)
    near = 4.0 * statistics.deviation / np.sqrt(len(Z))
    centered = np.abs(Z.mean(axis=0) - statistics.mean) <= near
    return bool((centered & (deviation < 0.95 * statistics.deviation)).mean() >= 0.5)


def _known_input(scene: Scene, seed: int) -> Iterator[Step]:
    d, most = scene.table.shape[1], scene.cast.most_pairs
    for n in sorted({*scene.cast.levels, min(few_pairs(d), most)} - {0}):
        known = scene.common(few=True) | scene.cast.pairs(scene.table, n) | scene.statistics
        known |= scene.sample()
        yield Step(KnownInputAttack(random_state=seed), known, d, n, n, uses_rows=True, few=True)


def _pursued(scene: Scene) -> list[int]:
    """Numbers of known pairs that unit pursuit can begin with: a few, and the most."""
    d, most = scene.table.shape[1], scene.cast.most_pairs
    least = UnitPursuitAttack.least_pairs(d, scene.released.shape[1])
    return sorted(n for n in {min(few_pairs(d), most), most} if n >= least)


def _unit_pursuit(scene: Scene, seed: int) -> Iterator[Step]:
    d, attack = scene.table.shape[1], UnitPursuitAttack(random_state=seed)
    known = scene.common(few=True) | scene.statistics | scene.sample()
    for n in _pursued(scene):
        yield Step(
            attack, known | scene.cast.pairs(scene.table, n), d, n, n, uses_rows=True, few=True
        )
        # With few pairs it is luck which of them show a unit; no report may rest on bad luck.
        for draw in range(1, _DRAWS) if n <= few_pairs(d) else ():
            rows = np.arange(draw * n, (draw + 1) * n)
            if rows[-1] < scene.cast.n_few // 2:
                pairs = KnownPairs(rows, scene.table[scene.cast.attacked[rows]])
                yield Step(
                    attack, known | pairs, d, 0, n, uses_rows=True, few=True,
                    how=f"draw {draw + 1} of the known pairs",
                )  # fmt: skip


def _sample_steps(scene: Scene, seed: int) -> Iterator[Step]:
    known = scene.common(others=False) | scene.sample() | scene.statistics
    yield Step(SampleAttack(random_state=seed), known, scene.table.shape[1])


def _ica(scene: Scene, seed: int) -> Iterator[Step]:
    known = scene.common() | scene.statistics
    yield Step(ICAAttack(random_state=seed), known, scene.table.shape[1])
    yield Step(ICAAttack(random_state=seed), known | scene.sample(), scene.table.shape[1])


def _map(scene: Scene, seed: int) -> Iterator[Step]:
    d = scene.table.shape[1]
    known, as_it_is = scene.study() | scene.statistics, "taking the public matrix as it is"
    yield Step(MAPAttack(random_state=seed), known, d, how=as_it_is)
    known |= scene.sample()
    yield Step(MAPAttack(random_state=seed), known, d, how=as_it_is)
    strong, how = MAPAttack("sample", "joint", random_state=seed), "estimating the secret shift"
    yield Step(strong, known, d, how=how)
    if scene.cast.levels:
        n = scene.cast.most_pairs
        with_pairs = known | scene.cast.pairs(scene.table, n)
        yield Step(strong, with_pairs, d, n, n, uses_rows=True, how=how)


def _spectral(scene: Scene, seed: int) -> Iterator[Step]:
    known = _noise_only(scene, scene.common() | scene.statistics)
    yield Step(SpectralAttack(random_state=seed), known, scene.table.shape[1])


def _posterior(scene: Scene, seed: int) -> Iterator[Step]:
    known = scene.common(others=False) | scene.sample() | scene.statistics
    known = _noise_only(scene, known)
    yield Step(PosteriorAttack(random_state=seed), known, scene.table.shape[1])


def _row_order(scene: Scene, seed: int) -> Iterator[Step]:
    """From the file alone; with a sample and a few recognized rows; with many of them."""
    known = scene.common(whole=True, order=True) | scene.statistics
    attack = RowOrderAttack(random_state=seed)
    yield from _along_the_file(scene, attack, known)
    d, n = scene.table.shape[1], scene.cast.most_pairs
    if scene.released.shape[1] == d:
        known |= scene.public_table()
        if n:
            known |= scene.cast.pairs(scene.table, n, whole=True)
        yield Step(attack, known, d, n, n or None, uses_rows=True, whole=True)


def _kept_columns(scene: Scene, seed: int) -> Iterator[Step]:
    known = scene.common(whole=True, order=True) | scene.statistics
    yield from _along_the_file(scene, KeptColumnsAttack(random_state=seed), known)


def _along_the_file(scene: Scene, attack: Attack, known: Knowledge) -> Iterator[Step]:
    """An attack on the whole file: alone, with a sample, with few and with many known pairs."""
    d, most = scene.table.shape[1], scene.cast.most_pairs
    yield Step(attack, known, d, whole=True)
    known |= scene.sample()
    yield Step(attack, known, d, whole=True)
    for n in sorted({min(few_pairs(d), most), most} - {0}):
        pairs = scene.cast.pairs(scene.table, n, whole=True)
        yield Step(attack, known | pairs, d, n, n, uses_rows=True, whole=True)


def _noise_only(scene: Scene, known: Knowledge) -> Knowledge:
    """Without what is claimed of a method that adds no noise: there may be some after all."""
    if scene.parameters is not None and scene.parameters.method in UNIT_KEEPING:
        return known
    return known.without(PublicParameters)


def _linkage(scene: Scene, seed: int) -> Iterator[Step]:
    """With the public table; then with a sample alone, by whoever recognizes a few records."""
    d, n = scene.table.shape[1], scene.cast.most_pairs
    known = scene.common(few=True) | scene.public_table()
    if n:
        known |= scene.cast.pairs(scene.table, n)
    yield Step(KeepingLinkage(random_state=seed), known, d, n, n or None, uses_rows=True, few=True)
    few = min(few_pairs(d), n)
    sample = scene.sample()
    known = scene.common() | PublicTable(sample.records, sample.kept, complete=False)
    if few:
        known |= scene.cast.pairs(scene.table, few)
    yield Step(
        KeepingLinkage(random_state=seed), known, d, few, few or None, uses_rows=True,
        how="looking for the records of the sample",
    )  # fmt: skip


def _distance(scene: Scene, seed: int) -> Iterator[Step]:
    d = scene.table.shape[1]
    n = min(scene.cast.n_known, max(d + 1, LOCATED))
    records = KnownRecords(scene.table[scene.cast.attacked[:n]])
    known = scene.common(others=False) | records | scene.statistics
    yield Step(DistanceAttack(random_state=seed), known, d, n)


def _matched_columns(scene: Scene, seed: int) -> Iterator[Step]:
    d, known = scene.table.shape[1], scene.common(others=False) | scene.statistics
    attack = MatchedColumnsAttack(random_state=seed)
    yield Step(attack, known, d)
    yield Step(attack, known | scene.sample(), d)
    yield Step(attack, known | scene.public_table(), d)
    if scene.others:
        known, how = scene.common() | scene.statistics, "all columns side by side"
        for more in (Knowledge(), scene.sample(), scene.public_table()):
            yield Step(attack, known | more, d, how=how)


def _codes(scene: Scene, seed: int) -> Iterator[Step]:
    """Of the whole file: how often a code occurs in a part of it tells less."""
    d, known = scene.table.shape[1], scene.common(others=False, whole=True) | scene.statistics
    attack = CodesAttack(random_state=seed)
    yield Step(attack, known | scene.sample(), d, whole=True)
    n = min(few_pairs(d), scene.cast.most_pairs)
    if n and scene.rows_correspond is not False:
        with_pairs = known | scene.sample() | scene.cast.pairs(scene.table, n, whole=True)
        yield Step(attack, with_pairs, d, n, n, uses_rows=True, whole=True)
    yield Step(attack, known | scene.public_table(), d, whole=True)


def _row_factor(scene: Scene, seed: int) -> Iterator[Step]:
    d, known = scene.table.shape[1], scene.common(others=False) | scene.statistics
    for more in (Knowledge(), scene.sample(), scene.public_table()):
        yield Step(RowFactorAttack(), known | more, d)
    # The same number multiplies or moves a row; which one, the file alone may leave open.
    if without_shift(scene.seen(), scene.statistics, None) is not None:
        for more in (Knowledge(), scene.sample(), scene.public_table()):
            yield Step(RowFactorAttack(added=True), known | more, d, how="added to each row")


def _pattern_linkage(scene: Scene, seed: int) -> Iterator[Step]:
    """With the public table; then with a sample alone, by whoever recognizes a few records."""
    d, n = scene.table.shape[1], scene.cast.most_pairs
    known = scene.common(others=False, whole=True) | scene.public_table()
    if n:
        known |= scene.cast.pairs(scene.table, n, whole=True)
    attack = PatternLinkageAttack(random_state=seed)
    yield Step(attack, known, d, n, n or None, uses_rows=True, whole=True)
    few, sample = min(few_pairs(d), n), scene.sample()
    known = scene.common(others=False, whole=True) | scene.statistics
    known |= PublicTable(sample.records, sample.kept, complete=False)
    if few:
        known |= scene.cast.pairs(scene.table, few, whole=True)
    yield Step(
        PatternLinkageAttack(random_state=seed), known, d, few, few or None, uses_rows=True,
        whole=True, how="looking for the records of the sample",
    )  # fmt: skip


def _collusion(scene: Scene, seed: int) -> Iterator[Step]:
    d = scene.table.shape[1]
    tables = (np.asarray(scene.table[scene.cast.sample]),)
    attack = CollusionAttack(random_state=seed)
    if _has_matrix(scene):
        n = min(scene.cast.levels, default=0)
        shared = scene.cast.pairs(scene.table, n) if n else None
        known = scene.study() | Colluders(tables, shared=shared)
        yield Step(attack, known, d, n, n or None, uses_rows=True)
    else:
        known = scene.common(others=False) | Colluders(tables, key=scene.key)
        yield Step(attack, known, d, with_key=True)


def _stolen_key(scene: Scene, seed: int) -> Iterator[Step]:
    stolen = StolenKey(scene.key, rows=scene.cast.attacked)
    known = scene.common(others=False) | stolen | scene.sample() | scene.statistics
    yield Step(StolenKeyAttack(random_state=seed), known, scene.table.shape[1], with_key=True)


_STEPS = {
    "naive": _naive,
    "known_input": _known_input,
    "unit_pursuit": _unit_pursuit,
    "sample": _sample_steps,
    "ica": _ica,
    "map": _map,
    "spectral": _spectral,
    "posterior": _posterior,
    "row_order": _row_order,
    "kept_columns": _kept_columns,
    "linkage": _linkage,
    "distance": _distance,
    "matched_columns": _matched_columns,
    "codes": _codes,
    "row_factor": _row_factor,
    "pattern_linkage": _pattern_linkage,
    "collusion": _collusion,
    "stolen_key": _stolen_key,
}
