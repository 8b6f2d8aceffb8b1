"""Evaluation of one setting: release, attack, detect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import chance
from isinglass.auditing.attackers import ACQUAINTED, INSIDER
from isinglass.auditing.context import Subject, public_parameters, subject_of
from isinglass.auditing.detection import default_detector
from isinglass.auditing.findings import ATTACKERS, Linkage, holds
from isinglass.auditing.kept_linkage import KeepingLinkage
from isinglass.auditing.linkage import linkage, recognition
from isinglass.auditing.membership import membership
from isinglass.auditing.resample import Redrawn, redraw
from isinglass.auditing.runner import attack_all
from isinglass.auditing.scene import Step
from isinglass.auditing.scoring import Yardstick, gain_interval
from isinglass.auditing.selection import Wanted, plan
from isinglass.auditing.split import HELD_OUT
from isinglass.auditing.tuning.effort import LOST, Effort, contenders, name_of
from isinglass.auditing.tuning.search_space import Candidate

Array = NDArray[Any]

#: Records scored in a search; a hundredth more or less decides nothing yet.
ENOUGH_TO_COMPARE = 2400
#: Attackers without the key, weakest first.
NAMED = ATTACKERS[:-1]
EVERYTHING = Effort("all")


@dataclass(frozen=True, slots=True)
class AttackerGain:
    """What one named attacker got of a release."""

    name: str
    gain: float
    gain_low: float
    gain_high: float
    strongest: str  # the attack behind `gain`


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one draw of one setting gave; as plain numbers, so that it can be kept in a file.

    `gain` and what follows it are those of the attacker who counts.
    """

    detection: float
    n_outliers: int
    gain: float
    gain_low: float
    gain_high: float
    strongest: str
    attackers: tuple[AttackerGain, ...] = ()
    #: Names of steps that may be the best ones under another key.
    contenders: tuple[str, ...] = ()
    #: Areas under the curve of known anomalies, where labels were given and both kinds occur.
    auc_table: float | None = None
    auc_release: float | None = None
    n_labeled: int = 0  # known anomalies behind them, of so many records
    n_scored: int = 0


@dataclass(frozen=True, slots=True)
class _Got:
    """What one attack got."""

    step: str
    attack: str
    attacker: str
    gain: float
    low: float
    high: float


def measure(
    candidate: Candidate,
    table: Array,
    seed: int,
    *,
    attacks: Wanted = "auto",
    most_pairs: int | None = None,
    n_outliers: int | None = None,
    labels: Array | None = None,
    effort: Effort = EVERYTHING,
) -> Measurement:
    """Release `table` once under a new key and send the attackers, those with the key excepted."""
    perturbation = candidate.perturbation()
    rng = chance.generator(seed)
    subject = _subject(table, candidate, n_outliers, labels)
    drawn = redraw(subject, perturbation, rng, enough=ENOUGH_TO_COMPARE, most_pairs=most_pairs)

    def again() -> Redrawn:
        return redraw(subject, perturbation, rng, most_pairs=most_pairs, detect=False)

    planned, _ = plan(drawn.scene, attacks, seed)
    got: list[_Got] = []
    for step in effort.steps(planned):
        got += _attacked(drawn, step, subject.yard, rng)
        if effort.stop and got and max(g.gain for g in got) >= LOST:
            break
    if not (effort.stop and got and max(g.gain for g in got) >= LOST):
        got += [
            _Got("membership", "membership", m.attacker, m.gain, m.gain, m.gain_high)
            for m in membership(drawn, rng, None if effort.stop else again)
        ]
    detection = drawn.detection
    assert detection is not None  # candidates keep their rows
    assert detection.rate is not None
    counts = _best(effort.attacker, got)
    return Measurement(
        detection.rate,
        detection.n_outliers,
        counts.gain,
        counts.gain_low,
        counts.gain_high,
        counts.strongest,
        () if effort.stop else tuple(_best(name, got) for name in NAMED),
        contenders([(g.step, g.attacker, g.gain) for g in got if g.step != "membership"]),
        detection.auc_table,
        detection.auc_release,
        0 if labels is None else round((1 - HELD_OUT) * np.count_nonzero(labels)),
        0 if labels is None else len(drawn.scene.table),
    )


def _attacked(
    drawn: Redrawn, step: Step, yard: Yardstick, rng: np.random.Generator
) -> Iterable[_Got]:
    """What a step got: of the values, and of linkage also how well records are picked out."""
    scene = drawn.scene
    (outcome,) = attack_all(
        scene, [step], yard, held_out=drawn.held_out, rng=rng, tell=lambda: None
    )
    name = name_of(step)
    if outcome.score is not None:
        low, high = gain_interval(outcome.score, [])
        yield _Got(name, step.attack.name, step.attacker, outcome.score.gain(), low, high)
    attack = step.attack
    if not isinstance(attack, KeepingLinkage) or attack.kept is None:
        return
    found: Linkage | None
    if step.attacker == INSIDER and step.few:
        holder, found = INSIDER, linkage(scene, attack.kept, brief=True)
    else:
        holder, found = ACQUAINTED, recognition(scene, attack.kept)
    if found is not None:
        high = replace(found, reidentification=found.reidentification_high).gain
        yield _Got(name, attack.name, holder, found.gain, found.gain, high)


def _best(name: str, got: list[_Got]) -> AttackerGain:
    """The best of all attacks that need no more than this attacker holds."""
    done = [g for g in got if holds(name, g.attacker)]
    if not done:  # nothing was tried, so nothing is known
        return AttackerGain(name, 1.0, 0.0, 1.0, "none")
    best = max(done, key=lambda g: g.gain)
    # The highest upper limit may belong to another attack.
    return AttackerGain(name, best.gain, best.low, max(g.high for g in done), best.attack)


def _subject(
    table: Array, candidate: Candidate, n_outliers: int | None, labels: Array | None
) -> Subject:
    perturbation = candidate.perturbation()
    # How a release is scaled depends on the method alone; no release exists yet.
    width = table.shape[1] if perturbation.keeps_columns else table.shape[1] + 1
    return subject_of(
        table,
        np.zeros((len(table), width)),
        names=None,
        detector=default_detector(len(table), n_outliers),
        parameters=public_parameters(perturbation),
        labels=labels,
    )
