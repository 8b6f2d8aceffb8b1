"""Audit of a release: every attack, detection, and a verdict."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import isinglass
from isinglass import chance
from isinglass.attack.base import Attack
from isinglass.attack.knowledge import Fact, KeptColumns, Knowledge, PublicParameters
from isinglass.attack.registry import NEED_ROWS
from isinglass.auditing.aggregate import (
    assumptions_of,
    attack_results,
    notes_of,
    privacy_of,
    unique_share,
    verbatim_share,
)
from isinglass.auditing.attackers import (
    INSIDER,
    attacker_results,
    not_comforted,
)
from isinglass.auditing.cells import unchanged_cells
from isinglass.auditing.context import (
    kept_columns,
    kept_of_table,
    numbers,
    public_parameters,
    rule_computed,
    rule_known,
    subject_of,
)
from isinglass.auditing.detection import Truth, default_detector, over_all_trials, unknown_detection
from isinglass.auditing.failed_attacks import failed_with_knowledge
from isinglass.auditing.files.persons import PersonColumn, person_codes
from isinglass.auditing.findings import (
    NOT_MEASURED,
    PARTLY_RECOVERED_GAIN,
    Findings,
    MembershipResult,
)
from isinglass.auditing.linkage import closest, linkage_by_cells, linkage_by_join, linkages
from isinglass.auditing.membership import (
    equal_records,
    membership,
    or_by_person,
    unclear_members,
)
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.auditing.report.report import Report
from isinglass.auditing.report.rerun import names_given
from isinglass.auditing.resample import Redrawn, redraw
from isinglass.auditing.runner import attack_all
from isinglass.auditing.scene import Scene
from isinglass.auditing.selection import plan, plan_given
from isinglass.auditing.singling_out import halves_linked, singled_out
from isinglass.auditing.split import SEEN_UNALIGNED, all_rows, far_rows, split_rows
from isinglass.auditing.view_choice import promising
from isinglass.detect.base import Detector
from isinglass.errors import AuditError
from isinglass.perturb.base import Perturbation
from isinglass.progress import Progress, quiet

if TYPE_CHECKING:
    from isinglass.auditing.policy import Policy

Array = NDArray[Any]

#: Keys that are drawn anew beside the release at hand, where the perturbation is known.
REDRAWN = 3
#: Rows of a table whose records are held out in one way only.
_LARGE = 20_000


def audit_arrays(
    table: ArrayLike,
    released: ArrayLike,
    *,
    perturbation: Perturbation | None = None,
    made_by: Perturbation | None = None,
    detector: Detector | None = None,
    attacks: str | Iterable[str | Attack] = "auto",
    knowledge: str | Fact | Knowledge = "auto",
    n_trials: int | None = None,
    n_outliers: int | None = None,
    most_pairs: int | None = None,
    labels: ArrayLike | None = None,
    column_names: Sequence[str] | None = None,
    weights: ArrayLike | None = None,
    parameters: PublicParameters | None = None,
    kept: ArrayLike | KeptColumns | None = None,
    table_kept: ArrayLike | None = None,
    other_releases: Sequence[ArrayLike] = (),
    other_parameters: Sequence[PublicParameters | None] = (),
    rows_correspond: bool | None = None,
    order_known: bool = True,
    order_shows: bool = True,
    id_released: bool = False,
    persons: ArrayLike | None = None,
    perhaps_persons: PersonColumn | None = None,
    policy: Policy | None = None,
    settings: dict[str, Any] | None = None,
    random_state: int | None = None,
    progress: Progress = quiet,
) -> Report:
    """`audit` of arrays, with what only an audit of files knows.

    Parameters
    ----------
    table, released : arrays, one record a row
    made_by : Perturbation, optional
        Where the perturbation itself is not at hand, one that makes releases alike, without a
        key: one more release is then made of four fifths of the table, to see whether records in
        it can be told from those that were held out.
    table_kept : array, optional
        The same columns of the table, where the release's rows do not correspond to its own.
    other_parameters : PublicParameters or None for each of the other releases, optional
    order_shows : bool
        False where the file's rows were shuffled and are given here in the table's order: no
        attacker sees which rows were neighbors.
    id_released : bool
        True where the release carries a column that identifies every record: whoever knows it
        from elsewhere needs no attack.
    perhaps_persons : PersonColumn, optional
        A column that may say whose record each row is. Records are held out both ways, and the
        worse membership counts.
    settings : mapping, optional
        What the report says of the files and of the command.
    others
        See `audit`.
    """
    start = time.perf_counter()
    named = names_given({
        "perturbation": perturbation, "made_by": made_by, "detector": detector,
        "attacks": attacks, "knowledge": knowledge, "labels": labels,
        "column_names": column_names, "weights": weights, "parameters": parameters,
        "kept": kept, "table_kept": table_kept, "other_releases": other_releases,
        "other_parameters": other_parameters, "persons": persons,
        "perhaps_persons": perhaps_persons, "policy": policy,
    })  # fmt: skip
    X, Z = numbers(table, "table"), numbers(released, "released")
    seed = secrets.randbelow(2**31) if random_state is None else int(random_state)
    rng = chance.generator(seed)
    if perturbation is not None:
        rows_correspond = perturbation.keeps_rows if rows_correspond is None else rows_correspond
        parameters = rule_known(parameters or public_parameters(perturbation), perturbation)
    if not order_known:
        rows_correspond = False
    whose = None if persons is None else person_codes(persons, len(X))
    notes: list[AuditNote] = []
    if (
        parameters is not None
        and perturbation is None
        and (rows_correspond is not False or parameters.method == "condensation")
    ):
        from isinglass.auditing.claims import contradiction  # a key proves what a file claims

        if (false := contradiction(parameters, X, Z)) is not None:
            # Whoever reads a false claim is led astray; attackers here do not believe it.
            notes.append(false)
            parameters = made_by = None
    if parameters is not None:
        parameters = rule_computed(parameters, X)
    if rows_correspond is not False and len(X) != len(Z):
        raise AuditError(
            f"the table has {len(X):,} rows and the release {len(Z):,}: rows cannot be matched"
        )
    subject = subject_of(
        X, Z, names=column_names, detector=detector or default_detector(len(X), n_outliers),
        parameters=parameters, labels=labels,
    )  # fmt: skip
    progress("looking for outliers", 0, None)
    truth = Truth(subject.scaled(X), subject.detector, rng, subject.labels)
    detection = unknown_detection(truth)
    if rows_correspond is not False:
        detection = truth.compare(subject.scaled_release(Z))
    given = None if isinstance(knowledge, str) else Knowledge.of(knowledge)
    if given is None and knowledge != "auto":
        raise ValueError(f"knowledge must be 'auto' or facts, got {knowledge!r}")
    n_records = len(X)
    outliers = truth.strongest
    split = (
        split_rows(
            n_records,
            X.shape[1],
            outliers,
            rng,
            most_pairs=most_pairs if order_known else 0,
            aligned=bool(rows_correspond) or n_records > SEEN_UNALIGNED,
            far=far_rows(X),
        )
        if given is None
        else all_rows(n_records, outliers)
    )
    beside = kept_columns(kept, len(Z))
    own = kept_of_table(beside, table_kept, rows_correspond, len(X))
    if beside is not None and own is not None and beside.parts is None:
        from isinglass.attack.kept.parts import noise_on, with_parts  # where columns were kept

        beside = with_parts(beside, own, X, noise_on(X, Z))
    others = tuple(numbers(other, "other_releases") for other in other_releases)
    if any(len(other) != len(Z) for other in others):
        raise AuditError(f"other releases must have the release's {len(Z):,} rows")
    scene = Scene(
        X,
        Z,
        split,
        parameters,
        beside,
        own,
        others,
        perturbation if hasattr(perturbation, "_key") else None,
        rows_correspond,
        tuple(other_parameters),
        not order_known,
        order_shows and order_known,
    )
    wanted = attacks if isinstance(attacks, str) else tuple(attacks)

    seen_as = None
    if given is None and wanted == "auto":
        seen_as = promising(scene, chance.generator(seed))

    if given is not None:
        steps, skipped = plan_given(scene, wanted, given)
    else:
        steps, skipped = plan(scene, wanted, seed, seen_as)
    n_drawn = 0
    if perturbation is not None and given is None:
        n_drawn = REDRAWN if n_trials is None else max(0, n_trials - 1)
    total, done = (1 + n_drawn) * len(steps) + 1, 0

    def tell() -> None:
        nonlocal done
        done += 1
        progress("attacking", min(done, total), total)

    trials = [attack_all(scene, steps, subject.yard, held_out=None, rng=rng, tell=tell)]
    redrawn, members = [], tuple[MembershipResult, ...]()
    halves: float | None = None

    perhaps = perhaps_persons if whose is None else None
    kept_by_record = scene.kept_by_record()
    if perhaps is not None and len(X) > _LARGE and (scene.kept is None or perhaps.identifies):
        # One hold-out must do; that of whole persons is hardly ever the kinder one.
        whose, perhaps = perhaps.codes, None

    def hold_out(rng: np.random.Generator, whose: Array | None, **how: Any) -> Redrawn:
        assert alike is not None
        levels = scene.split.levels
        return redraw(subject, alike, rng, kept_by_record, levels=levels, persons=whose, **how)

    def tell_members(drawn: Redrawn) -> tuple[MembershipResult, ...]:
        own = chance.generator(seed)  # however often records are held out, other draws stay
        by_row = membership(drawn, rng, lambda: hold_out(own, whose, detect=False))
        if by_row and perhaps is not None:
            # Of a category with many values, new ones would be told apart from those held out.
            how = {"detect": False, "kept_tells": perhaps.identifies}
            by_row = or_by_person(by_row, lambda: hold_out(own, perhaps.codes, **how), own)
        if by_row and whose is None and (equal := equal_records(X)) is not None:
            by_row = or_by_person(by_row, lambda: hold_out(own, equal, detect=False), own)
        return by_row

    alike = perturbation or made_by
    for number in range(1, n_drawn + 1):
        drawn = hold_out(
            rng,
            whose,
            with_key=scene.key is not None,
            order_shows=scene.order_shows,
            others=scene.others if rows_correspond else (),
            other_parameters=scene.other_parameters if rows_correspond else (),
        )
        views = None if seen_as is None else seen_as.at(drawn.rows)
        again, _ = plan(drawn.scene, wanted, seed + number, views, others_alone=False)
        trials.append(
            attack_all(
                drawn.scene, again, subject.yard, held_out=drawn.held_out, rng=rng, tell=tell
            )
        )
        if number == 1:
            members = tell_members(drawn)
            halves = halves_linked(drawn.scene, drawn.held_out, chance.generator(seed))
        if drawn.detection is not None:
            redrawn.append(drawn.detection)
    if not n_drawn and given is None and alike is not None:
        drawn = hold_out(rng, whose)
        members = tell_members(drawn)
        halves = halves_linked(drawn.scene, drawn.held_out, chance.generator(seed))
    if given is None and rows_correspond is False and len(Z) < len(X):
        from isinglass.auditing.membership_of_part import membership_of_part

        members = (*members, *membership_of_part(scene, chance.generator(seed)))
    linked, recognized = linkages(scene, trials[0])
    shuffled = scene.secret_order and len(X) == len(Z)
    if shuffled and scene.kept is not None:
        linked = closest([linked, linkage_by_join(scene)])
    progress("attacking", total, total)

    results, not_begun = attack_results(trials, subject.names, subject.yard)
    verbatim, unique = _verbatim(X, scene, rng), 1.0 if id_released else unique_share(scene)
    cells = unchanged_cells(
        X, np.column_stack([Z, *scene.others]), rows_correspond, chance.generator(seed)
    )
    if cells >= PARTLY_RECOVERED_GAIN and linked is not None:
        linked = closest([linked, linkage_by_cells(scene)])
    shown: dict[str, Any] = {
        "verbatim": max(verbatim, cells), "recognition": recognized, "linkage": linked,
        "membership": members, "part": rows_correspond is False,
    }  # fmt: skip
    attackers = attacker_results(results, **shown)
    if shuffled and any(s.applicable and s.name in NEED_ROWS for s in skipped):
        attackers = not_comforted(attackers)
    verdict = next((a.verdict for a in attackers if a.name == INSIDER), NOT_MEASURED)
    notes += [*notes_of(scene, verbatim, cells, subject.yard.varies), *unclear_members(members)]
    if perhaps_persons is not None and any(m.by_person for m in members):
        notes.append(AuditNote.of(Kind.PERSONS_HELD_OUT, column=perhaps_persons.name))
    if useless := failed_with_knowledge(results):
        notes.append(AuditNote.of(Kind.FAILED_WITH_KNOWLEDGE, attacks=useless))
    findings = Findings(
        rows=len(Z),
        columns=X.shape[1],
        method="unknown" if parameters is None else parameters.method,
        promise="heuristic" if perturbation is None else perturbation.promise.kind,
        detection=over_all_trials(detection, redrawn),
        attacks=tuple(results),
        skipped=(*skipped, *not_begun),
        privacy=privacy_of(results, weights, subject.yard),
        linkage=linked,
        verdict=verdict,
        verbatim=verbatim,
        attackers=attackers,
        recognition=recognized,
        membership=members,
        unique=unique,
        singled=None if rows_correspond is False else singled_out(X, Z, chance.generator(seed)),
        halves=halves,
        notes=tuple(notes),
        assumptions=assumptions_of(
            scene, 1 + n_drawn, most_pairs, by_person=whose is not None and alike is not None
        ),
        settings={
            "version": isinglass.__version__,
            "date": date.today().isoformat(),
            "random_state": seed,
            "n_trials": 1 + n_drawn,
            "most_pairs": most_pairs,
            "detector": repr(subject.detector),
            "rows_correspond": rows_correspond,
            "order_known": order_known,
            "order_shows": order_shows,
            "id_released": id_released,
            "given": named,
            **(settings or {}),
        },
        n_trials=1 + n_drawn,
        n_attacked=int(scene.split.chosen.sum()),
        seconds=time.perf_counter() - start,
    )
    if policy is not None:
        findings = replace(findings, policy=policy.check(findings))
    return Report(findings)


def _verbatim(table: Array, scene: Scene, rng: np.random.Generator) -> float:
    """Share of released rows that are records, in the release or in what left beside it."""
    return max(verbatim_share(table, released, rng) for released in (scene.released, *scene.others))
