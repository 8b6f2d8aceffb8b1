"""Technical page of a report, as one HTML file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from isinglass.attack.registry import story_of
from isinglass.auditing.findings import (
    NOT_MEASURED,
    PARTLY,
    RECOVERED,
    AttackResult,
    Detection,
    Findings,
)
from isinglass.auditing.report import figures as charts
from isinglass.auditing.report import text as words
from isinglass.auditing.report.officer import officer_page
from isinglass.auditing.report.rerun import audit_lines
from isinglass.auditing.report.sentences import measured, sentence, sentences
from isinglass.plots import pages

if TYPE_CHECKING:
    from isinglass.auditing.tuning.frontier import Frontier

_SIGNS = {"bad": "✖", "mid": "◐", "calm": "○", "void": "?"}


def render(findings: Findings, *, public: bool = False, frontier: Frontier | None = None) -> str:
    """The whole page. `findings` must be those of the edition already."""
    verdict = _verdict(findings)  # the same sentences as anywhere else
    findings = words.briefly(findings)
    done = [_Attack.of(a) for a in words.order(findings.attacks)]
    linkage = findings.linkage
    return pages.render(
        "isinglass/auditing/report/page.html.j2",
        **verdict,
        public=public,
        findings=findings,
        officer=officer_page(findings, public=public),
        policy=policy_rows(findings),
        unmet=sum(not line.met for line in findings.policy),
        attackers=_attackers(findings),
        assumptions=sentences(findings.assumptions),
        notes=sentences(findings.notes),
        given=_given(findings),
        detection=_detection(findings.detection),
        scores=None if public else charts.scores(findings.detection),
        success=charts.success(findings.attacks),
        plain=[a for a in done if not a.with_key],
        keyed=[a for a in done if a.with_key],
        heat=charts.heat(findings.attacks),
        not_run=_not_run(findings),
        proves_nothing=words.NOT_RUN,
        linkage=None if linkage is None else words.linkage_sentence(linkage),
        levels=None if linkage is None else charts.levels(linkage),
        lowest=[]
        if linkage is None or public
        else [(row, words.number(level)) for row, level in linkage.worst_records],
        errors=_errors(findings),
        frontier=frontier,
        frontier_chart=None if frontier is None else _frontier(frontier),
        again=audit_lines(findings, public=public),
        settings=list(_flat(findings.settings)),
    )


def summary(findings: Findings) -> str:
    """A few lines for a notebook; nothing about single records."""
    lines = (words.detection_sentence(findings), words.attack_sentence(findings))
    return pages.render(
        "isinglass/plots/summary.html.j2", verdict=findings.verdict, sentences=lines
    )


def look_of(verdict: str) -> str:
    """How a verdict is colored."""
    return {RECOVERED: "bad", PARTLY: "mid", NOT_MEASURED: "void"}.get(verdict, "calm")


def sign_of(verdict: str) -> str:
    """The sign before a verdict, for who sees no colors."""
    return _SIGNS[look_of(verdict)]


def policy_rows(findings: Findings) -> list[tuple[str, str, str]]:
    """A row for each demand of the policy."""
    return [(p.demand, measured(p), "✓ met" if p.met else "✖ NOT MET") for p in findings.policy]


def _frontier(found: Frontier) -> charts.Chart:
    """What other settings would have kept and given away, where a search was made."""
    from isinglass.auditing.tuning.figure import frontier

    return frontier([asdict(p) for p in found.points], found.guaranteed)


def _verdict(findings: Findings) -> dict[str, Any]:
    """What stands first: the verdict, what decided it, and what it is about."""
    release, outcome = findings.settings.get("release"), findings.settings.get("outcome")
    # The assumption that decided the verdict, and one that was made for this audit alone.
    decided = (words.decisive_sentence(findings), words.limited_sentence(findings))
    return {
        "look": look_of(findings.verdict),
        "sign": sign_of(findings.verdict),
        "verdict": (words.detection_sentence(findings), words.attack_sentence(findings)),
        "decided": [line for line in decided if line],
        "release": words.column_name(release) if isinstance(release, str) else "",
        "outcome": outcome if isinstance(outcome, str) else "",
    }


def _attackers(findings: Findings) -> list[tuple[str, ...]]:
    return [
        (words.name_of(a.name), a.verdict, words.share(a.gain), words.interval(a.low, a.high),
         words.number(a.r2), words.share(a.linked), words.number(a.membership),
         words.name_of(a.strongest or "–"), a.assumes)
        for a in findings.attackers
    ]  # fmt: skip


def _given(findings: Findings) -> list[tuple[str, ...]]:
    """What each attack does, and all that its attackers were given."""
    attacks: dict[str, list[str]] = {}
    for attack in [a for a in words.order(findings.attacks) if not a.with_key]:
        attacks.setdefault(attack.name, []).append(attack.knowledge)
    return [
        (words.name_of(name), story_of(name, "–"), "; or ".join(dict.fromkeys(known)))
        for name, known in attacks.items()
    ]


def _detection(d: Detection) -> list[tuple[str, str]]:
    shown = [
        (words.share(d.rate), f"of the {d.n_outliers:,} strongest anomalies found again"),
        (words.interval(d.low, d.high), "interval of that share"),
        (words.share(d.chance), "found by a blind choice"),
        (words.number(d.rank_correlation), "rank correlation of scores"),
    ]
    if d.mean is not None:
        spread = "" if d.deviation is None else f" (deviation {words.share(d.deviation)})"
        shown.append((words.share(d.mean), f"on average over keys drawn anew{spread}"))
    shown += [
        (words.share(p), f"of the release's strongest {m:,} are right") for m, p in d.precision
    ]
    if d.auc_table is not None or d.auc_release is not None:
        shown.append((words.number(d.auc_table), "area under the curve by labels, table"))
        shown.append((words.number(d.auc_release), "the same, release"))
    return shown


@dataclass(frozen=True, slots=True)
class _Attack:
    """An attack as a row of the table, and as one of all its readings."""

    row: tuple[str, ...]
    readings: tuple[str, ...]
    with_key: bool

    @classmethod
    def of(cls, a: AttackResult) -> _Attack:
        return cls(
            (words.name_of(a.name), a.knowledge, words.share(a.gain), words.share(a.success),
             words.interval(a.low, a.high), words.share(a.baseline), _control(a),
             words.remark(a)),
            (words.name_of(a.name), a.knowledge, words.share(a.gain),
             words.interval(a.gain_low, a.gain_high), words.number(a.r2),
             words.number(a.r2_baseline), words.share(a.near), words.share(a.near_baseline),
             words.share(a.outliers), words.share(a.outliers_baseline), words.share(a.rest),
             words.column_name(a.worst_column), words.share(a.worst_gain),
             words.number(a.n_pairs), words.number(a.n_records), a.scored_by),
            a.with_key,
        )  # fmt: skip


def _control(attack: AttackResult) -> str:
    if not words.finite(attack.control):
        return "–"
    return words.share(attack.control) + (f", {attack.control_kind}" * bool(attack.control_kind))


def _not_run(findings: Findings) -> list[tuple[str, str, str]]:
    return [
        (words.name_of(a.name), a.knowledge, f"not finished: {sentence(a.failed)}")
        for a in findings.attacks
        if a.failed is not None
    ] + [
        (words.name_of(s.name), "–",
         ("something was missing: " if s.applicable else "not made for such a release: ")
         + sentence(s.reason))
        for s in findings.skipped
    ]  # fmt: skip


def _errors(findings: Findings) -> dict[str, Any] | None:
    """The least deviations over all attacks without the key, then those of each column."""
    p, strongest = findings.privacy, findings.strongest()
    if strongest is None:
        return None
    return {
        "minimum": words.number(p.minimum),
        "average": words.number(p.average),
        "strongest": words.name_of(strongest.name),
        "rows": _by_column(findings, strongest),
    }


def _by_column(findings: Findings, strongest: AttackResult) -> list[tuple[str, ...]]:
    """Each column's error, for the strongest attack and for the one that came nearest to it."""
    counted = [a for a in words.order(findings.attacks) if not a.with_key and a.columns]
    least: dict[str, tuple[float, AttackResult]] = {}
    for attack in counted:
        for c in attack.columns:
            if words.finite(c.error) and (c.name not in least or c.error < least[c.name][0]):
                least[c.name] = c.error, attack
    return [
        (words.column_name(c.name), words.number(c.error), words.number(error),
         "–" if by is None else f"{words.name_of(by.name)}: {by.knowledge}")
        for c in strongest.columns
        for error, by in [least.get(c.name, (None, None))]
    ]  # fmt: skip


def _flat(settings: dict[str, Any], before: str = "") -> Iterable[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        elif key not in ("code", "command"):
            shown = value if isinstance(value, str) else json.dumps(value, default=str)
            yield f"{before}{key}", shown
