"""Selection of the attacks that apply to a release, with reasons for the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from isinglass import chance
from isinglass.attack.base import Attack
from isinglass.attack.knowledge import Knowledge, KnownPairs, StolenKey
from isinglass.attack.registry import ATTACKS
from isinglass.auditing.attackers import attacker_for
from isinglass.auditing.decodable import why_not_decodable
from isinglass.auditing.findings import SkippedAttack
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.auditing.other_releases import each_alone, mixtures, regressed, worth_it
from isinglass.auditing.scenarios import steps_of
from isinglass.auditing.scene import Scene, Step
from isinglass.auditing.split import SEEN_WHOLE
from isinglass.auditing.view_choice import Promising, promising, through

Wanted = str | tuple[str | Attack, ...]


def plan(
    scene: Scene,
    wanted: Wanted,
    seed: int,
    seen_as: Promising | None = None,
    *,
    others_alone: bool = True,
) -> tuple[list[Step], list[SkippedAttack]]:
    """Every attacker worth sending against this release, and those that are not, with reasons.

    Some are sent again, against the views `seen_as` of it; and against every other release alone,
    which is as it was where this one is drawn anew.
    """
    steps: list[Step] = []
    skipped: list[SkippedAttack] = []
    asked = _asked(wanted)
    regressing = asked.get("kept_columns", "not asked") is None
    explained = list(regressed(scene, seed)) if regressing else []

    def skip(name: str, why: AuditNote, *, applicable: bool) -> None:
        skipped.append(SkippedAttack(name, why, applicable, attacker_for(ATTACKS[name])))

    for name in ATTACKS:
        if name not in asked:
            skip(name, AuditNote.of(Kind.NOT_ASKED_FOR), applicable=True)
            continue
        seen = mixtures(scene) if ATTACKS[name].wants_mixtures else scene
        reason, denied = _not_made_for(name, seen), _not_granted(name, seen)
        if reason and name == "kept_columns" and explained:
            continue  # other releases are what it needs
        if reason or denied:
            why = AuditNote.quote(ATTACKS[name], reason or denied or "")
            skip(name, why, applicable=not reason)
            continue
        own = asked[name]
        for step in steps_of(ATTACKS[name], seen, seed):
            if seen.released is not scene.released:
                step = replace(step, view=np.asarray(seen.released, dtype=np.float64))
            steps.append(step if own is None else replace(step, attack=own))
    if seen_as is not None:
        steps += _viewed(scene, {step.attack.name for step in steps}, seed, seen_as)
    steps += explained
    n, d = scene.split.most_pairs, scene.table.shape[1]
    everything = scene.common() | scene.statistics | scene.sample()
    everything |= scene.split.pairs(scene.table, n)
    for name, own in asked.items():
        if name not in ATTACKS and own is not None:
            steps.append(Step(own, everything, d, n, n, uses_rows=True))
    if others_alone:
        names = {name for name, own in asked.items() if own is None}
        steps += _alone(scene, names, seed, views=seen_as is not None)
    return steps, skipped


def _alone(scene: Scene, names: set[str], seed: int, *, views: bool) -> Iterator[Step]:
    """Attacks on every release alone, and on views of other releases that are as wide as it."""
    for which, alone, kinds in each_alone(scene):
        view = np.asarray(alone.released, dtype=np.float64)
        other = alone.released is not scene.released and view.shape == alone.table.shape
        if views and other and len(view) <= SEEN_WHOLE:
            read = Promising(promising(alone, chance.generator(seed)).read)
            for step in _viewed(alone, names, seed, read):
                yield replace(step, how=f"{step.how}, {which}")
        for name in kinds:
            if name in names and not (_not_made_for(name, alone) or _not_granted(name, alone)):
                for step in steps_of(ATTACKS[name], alone, seed):
                    if worth_it(alone, step):
                        how = f"{step.how}, {which}" if step.how else which
                        yield replace(step, how=how, view=view)


def _viewed(scene: Scene, names: set[str], seed: int, seen_as: Promising) -> Iterator[Step]:
    """The attacks that read columns, or learn from pairs, once more on views of the release."""
    for group, views in (
        ("read", seen_as.read), ("matched", seen_as.matched), ("learned", seen_as.learned)
    ):  # fmt: skip
        kinds = [name for name, kind in ATTACKS.items() if kind.views == group]
        for view in views:
            turned = through(scene, view)
            for name in kinds:
                if name in names and _not_made_for(name, turned) is None:
                    for step in steps_of(ATTACKS[name], turned, seed):
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
        lacking = tuple(kind.__name__ for kind in attack.needs if kind not in known)
        if lacking:
            why = AuditNote.of(Kind.KNOWLEDGE_LACKING, facts=lacking)
            possible = name not in ATTACKS or _not_made_for(name, scene) is None
            skipped.append(SkippedAttack(name, why, possible, attacker_for(attack)))
            continue
        reason = why_not_decodable(scene, known) if name == "decoding" and own is None else None
        if reason is not None:
            why = AuditNote.quote(attack, reason)
            skipped.append(SkippedAttack(name, why, False, attacker_for(attack)))
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
    """Why an attack cannot apply to a release of this shape; None where it can."""
    why = ATTACKS[name].why_not(scene.facts())
    # Whether a map can be learned is only seen by trying.
    return why_not_decodable(scene) if why is None and name == "decoding" else why


def _not_granted(name: str, scene: Scene) -> str | None:
    """Why an attack that could apply is not run: what it takes is not known, or assumed away."""
    if scene.secret_order and ATTACKS[name].needs_rows:
        return "it needs to know which released row is whose record, and nobody told"
    if KnownPairs in ATTACKS[name].needs and not scene.split.levels:
        return "attackers were assumed to know no pairs"
    return None
