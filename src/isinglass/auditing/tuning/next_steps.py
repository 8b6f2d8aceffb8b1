"""What an owner can do after a search, whatever it found."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isinglass.auditing.report.text import share
from isinglass.auditing.tuning.evaluation import NAMED
from isinglass.auditing.tuning.points import WHOSE, Point

if TYPE_CHECKING:
    from isinglass.auditing.tuning.frontier import Frontier
    from isinglass.auditing.tuning.guaranteed import ModelPoint


#: Below this share of the strongest anomalies, a table's anomalies are said to be local.
_FEW_FOUND = 0.4


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do, and the command that does it, where there is one."""

    sentence: str
    command: str | None = None


def next_steps(found: Frontier, table: str) -> list[NextStep]:
    """What to do, the best first; never empty."""
    steps = []
    model = best_model(found)
    if found.recommended is not None:
        steps.append(
            NextStep(
                "Make the release, audit the very file that will leave, and read the report.",
                found.command(table),
            )
        )
        if model is not None and model.detection >= found.recommended.detection:
            steps.append(_give_model(found, model, table, "Or give away a guaranteed model, which"))
        return steps
    if model is not None:
        steps.append(_give_model(found, model, table, "Give away a guaranteed model instead:"))
    weaker = _for_a_weaker_attacker(found)
    if weaker is not None:
        point, attacker = weaker
        steps.append(
            NextStep(
                f"If nobody who gets it knows more than {WHOSE[attacker][3:]}, {_named(point)} has "
                "what was asked for; audit it, and say in writing who may have it.",
                point.candidate.command(table, found.options),
            )
        )
    steps.append(
        NextStep(
            "Or keep the table and answer questions about single records, at a price each:",
            shlex.join(["isinglass", "plan", table]),
        )
    )
    steps += _lower_wishes(found)
    return steps


def best_model(found: Frontier) -> ModelPoint | None:
    """The cheapest model that has what was asked for, else the usual one at epsilon 1."""
    having = [m for m in found.guaranteed if _finds_enough(found, m)]
    usual = [m for m in found.guaranteed if m.epsilon == 1]
    return next(iter([*sorted(having, key=lambda m: m.epsilon), *usual]), None)


def _finds_enough(found: Frontier, model: ModelPoint) -> bool:
    if found.min_auc is not None:
        return model.auc_low is not None and model.auc_low >= found.min_auc
    return model.detection_low >= found.min_detection


def _give_model(found: Frontier, model: ModelPoint, table: str, opening: str) -> NextStep:
    known = "" if model.auc is None else f"known anomalies with an area of {model.auc:.2f}, and "
    enough = _finds_enough(found, model)
    said = (
        f"{opening} at epsilon {model.epsilon:g} it finds {known}{share(model.detection)} of the "
        f"same anomalies{'' if enough else ', fewer than were asked for'}. Anybody may score with "
        "it. An attacker who asks whether a record is in the table gets at most "
        f"{share(model.bound)} of the way from a blind guess to certainty."
    )
    if not enough and model.detection < _FEW_FOUND:
        said += (
            " It finds records whose values are strange; most anomalies of this table lie among "
            "other records, with few near neighbors, and this model does not find them."
        )
    words = ["isinglass", "model", table, *_without_encoding(found.options)]
    declared = [] if "--columns" in found.options else ["--bounds", "BOUNDS"]
    words += ["--epsilon", f"{model.epsilon:g}", *declared, "--ledger", "LEDGER"]
    return NextStep(said, shlex.join([*words, "--budget", "3", "-o", "model.zip"]))


def _without_encoding(options: Sequence[str]) -> list[str]:
    """The words of a search that a model is told, too: it takes categories as they are."""
    pairs = zip(options[::2], options[1::2], strict=True)
    taken = ("--columns", "--drop", "--encoding", "--delimiter", "--decimal")
    return [word for option, value in pairs if option in taken for word in (option, value)]


def _for_a_weaker_attacker(found: Frontier) -> tuple[Point, str] | None:
    """A setting that has everything against the strongest attacker possible, below who counts."""
    for attacker in reversed(NAMED[: NAMED.index(found.attacker)]):
        having = [
            p
            for p in found.points
            if p.detection_low >= found.min_detection
            and (found.min_auc is None or (p.auc_low or 0.0) >= found.min_auc)
            and (got := p.gain_of(attacker)) is not None
            and got.gain_high <= found.max_attack_gain
        ]
        if having:
            return max(having, key=lambda p: p.detection), attacker
    return None


def _lower_wishes(found: Frontier) -> list[NextStep]:
    """What can be had for either wish alone, among the settings that met every attack."""
    last = max((p.round for p in found.points), default=0)
    whole = [p for p in found.points if p.round == last]
    steps = []
    quiet = [p for p in whole if p.gain_high <= found.max_attack_gain]
    if quiet:
        best = max(quiet, key=lambda p: p.detection)
        steps.append(
            NextStep(
                f"With attackers held to {share(found.max_attack_gain)}, the most that is still "
                f"found is {share(best.detection)} ({_named(best)})."
            )
        )
    loud = [p for p in whole if p.detection_low >= found.min_detection]
    if loud:
        best = min(loud, key=lambda p: p.gain)
        steps.append(
            NextStep(
                f"With {share(found.min_detection)} of the anomalies kept, the strongest attack "
                f"{WHOSE[found.attacker]} takes {share(best.gain)} at least ({_named(best)})."
            )
        )
    return steps


def _named(point: Point) -> str:
    return f"{point.method} {point.setting}".strip()
