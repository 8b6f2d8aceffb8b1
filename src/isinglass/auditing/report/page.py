"""A report as one HTML page that loads nothing: verdict, assumptions, numbers, settings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
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
from isinglass.auditing.report.errors_section import how_far_off
from isinglass.auditing.report.officer import officer_page
from isinglass.auditing.report.rerun import audit_lines
from isinglass.plots.markup import code, document, facts, figure, folded, scrolled, stacked, text

if TYPE_CHECKING:
    from isinglass.auditing.tuning.frontier import Frontier

_LONG = 12  # rows; a longer table starts folded


def render(findings: Findings, *, public: bool = False, frontier: Frontier | None = None) -> str:
    """The whole page. `findings` must be those of the edition already."""
    verdict = _verdict(findings, public)  # the same sentences as anywhere else
    findings = words.briefly(findings)
    parts = (
        verdict,
        officer_page(findings, public=public),
        "<h2>The technical part</h2>",
        _policy(findings),
        _attackers(findings),
        _assumed(findings),
        "<h2>The numbers</h2>",
        _detection(findings.detection, public),
        _attacks(findings, public),
        _columns(findings.attacks),
        _not_run(findings),
        _linkage(findings, public),
        how_far_off(findings),
        "" if frontier is None else _frontier(frontier),
        _settings(findings, public),
    )
    body = "".join(part for part in parts if part)
    return document(f"Audit of a release: {findings.verdict}", body)


def _frontier(found: Frontier) -> str:
    """What other settings would have kept and given away, where a search was made."""
    from isinglass.auditing.tuning.figure import frontier

    picture = figure(frontier([asdict(p) for p in found.points]))
    return f"<h3>What would other settings do?</h3><p>{text(found.sentence)}</p>{picture}"


def summary(findings: Findings) -> str:
    """A few lines for a notebook; nothing about single records."""
    return (
        f"<div><strong>{text(findings.verdict)}</strong>"
        f"<p>{text(words.detection_sentence(findings))} "
        f"{text(words.attack_sentence(findings))}</p></div>"
    )


def _verdict(findings: Findings, public: bool) -> str:
    look = {RECOVERED: "bad", PARTLY: "mid", NOT_MEASURED: "void"}.get(findings.verdict, "calm")
    sign = {"bad": "✖", "mid": "◐", "calm": "○", "void": "?"}[look]
    edition = (
        '<p class="edition">public edition</p>'
        if public
        else '<p class="edition internal">internal: names single records; do not pass on</p>'
    )
    release = findings.settings.get("release")
    name = f"{text(words.column_name(release))}: " if isinstance(release, str) else ""
    outcome = findings.settings.get("outcome")
    refused = ""
    if not findings.passed:
        told = f": {outcome}" if isinstance(outcome, str) else "."
        refused = f'<p class="refused">The policy was not met{text(told)}</p>'
    return f"""<header><h1>Audit of a release</h1>{edition}
<div class="verdict {look}"><p class="word {look}"><span aria-hidden="true">{sign}</span>
{text(findings.verdict)}</p>
<p>{text(words.detection_sentence(findings))} {text(words.attack_sentence(findings))}</p>
{_decided(findings)}{refused}</div>
<p class="soft">{name}{findings.rows:,} records, {findings.columns:,} columns; method of the
release: {text(findings.method)}. “Recovered”, “partly recovered” and “resisted the attacks listed”
speak of the attacks below and of no others.</p></header>"""


def _decided(findings: Findings) -> str:
    """The assumption that decided the verdict, and one that was made for this audit alone."""
    said = words.decisive_sentence(findings)
    limited = words.limited_sentence(findings)
    return "".join(f"<p>{text(sentence)}</p>" for sentence in (said, limited) if sentence)


def _attackers(findings: Findings) -> str:
    if not findings.attackers:
        return ""
    rows = [
        (words.name_of(a.name), a.verdict, words.share(a.gain), words.interval(a.low, a.high),
         words.number(a.r2), words.share(a.linked), words.number(a.membership),
         words.name_of(a.strongest or "–"), a.assumes)
        for a in findings.attackers
    ]  # fmt: skip
    head = ("attacker", "verdict", "gain", "interval", "R²", "linked", "membership", "by", "holds")
    return (
        "<h3>The attackers</h3><p>Each holds all that those above hold, and the best attack that "
        "needs no more counts. The verdict is the insider&rsquo;s; a key holder stands apart. "
        "Gain: how far the attacker gets from a blind guess (0&nbsp;%) to the exact values "
        "(100&nbsp;%), by the worst of three measures, or to every record linked. Membership: "
        "area under the curve, .5 is chance.</p>" + stacked(head, rows)
    )


def _policy(findings: Findings) -> str:
    if not findings.policy:
        return ""
    rows = [
        (line.demand, line.measured, "✓ met" if line.met else "✖ NOT MET")
        for line in findings.policy
    ]
    missed = sum(not line.met for line in findings.policy)
    said = "Every demand was met." if not missed else f"{missed} of {len(rows)} were not met."
    return f"<h3>The policy</h3><p>{said}</p>" + stacked(("demand", "measured", "result"), rows)


def _assumed(findings: Findings) -> str:
    listed = "".join(f"<li>{text(a)}</li>" for a in findings.assumptions)
    attacks: dict[str, list[str]] = {}
    for attack in [a for a in words.order(findings.attacks) if not a.with_key]:
        attacks.setdefault(attack.name, []).append(attack.knowledge)
    rows = [
        (words.name_of(name), story_of(name, "–"), "; or ".join(dict.fromkeys(known)))
        for name, known in attacks.items()
    ]
    table = stacked(("attack", "what it does", "what the attacker was given"), rows)
    notes = "".join(f"<li>{text(n)}</li>" for n in findings.notes)
    return (
        '<h2 id="assumed">What was assumed of the attacker</h2>'
        + (f"<ul>{listed}</ul>" if listed else "")
        + (table if rows else "<p>No attack was finished.</p>")
        + (f"<h3>Notes</h3><ul>{notes}</ul>" if notes else "")
    )


def _detection(d: Detection, public: bool) -> str:
    heading = "<h3>Are the anomalies still found?</h3>"
    if d.rate is None:
        return (
            f"{heading}<p>Not measured: the rows of the release do not correspond to those of the "
            "table, so nobody can say which anomaly is which.</p>"
        )
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
    note = (
        '<p class="soft">The scores of single records are in the internal edition only.</p>'
        if public
        else figure(charts.scores(d))
    )
    return f"{heading}{facts(shown)}{note}"


def _attacks(findings: Findings, public: bool) -> str:
    done = words.order(findings.attacks)
    if not done:
        return ""
    plain, keyed = [a for a in done if not a.with_key], [a for a in done if a.with_key]
    section = (
        "<h3>What did each attacker get?</h3><p>Success is the share of values guessed to within "
        "10&nbsp;% of their column&rsquo;s range. The baseline is the best constant guess, blind "
        "to the release. The control holds the same guesses beside records that are not behind "
        "them: records that were held out and never released, or, where it says “rows permuted”, "
        "other released records. Correct guesses there did not come from the release. The gain "
        "is how far the attacker gets from a blind guess (0&nbsp;%) to the exact values "
        "(100&nbsp;%), by the worst of three measures; the verdict and the order go by it.</p>"
        + figure(charts.success(findings.attacks))
        + (_attack_table(plain) if plain else "")
    )
    if keyed:
        section += (
            "<h3>If the key leaks</h3><p>No part of the verdict: what someone gets who holds the "
            "owner&rsquo;s key.</p>" + _attack_table(keyed)
        )
    return section


def _attack_table(attacks: list[AttackResult]) -> str:
    head = ("attack", "knowledge", "gain", "success", "interval", "baseline", "control", "remark")
    rows = [
        (words.name_of(a.name), a.knowledge, words.share(a.gain), words.share(a.success),
         words.interval(a.low, a.high), words.share(a.baseline), _control(a), words.remark(a))
        for a in attacks
    ]  # fmt: skip
    more = ("attack", "knowledge", "gain", "its interval", "R²", "its baseline", "within 0.1 sd",
            "its baseline", "outliers", "their baseline", "rest", "worst column", "its gain",
            "known pairs", "records", "scored by")  # fmt: skip
    rest = [
        (words.name_of(a.name), a.knowledge, words.share(a.gain),
         words.interval(a.gain_low, a.gain_high), words.number(a.r2),
         words.number(a.r2_baseline), words.share(a.near), words.share(a.near_baseline),
         words.share(a.outliers), words.share(a.outliers_baseline), words.share(a.rest),
         words.column_name(a.worst_column), words.share(a.worst_gain),
         words.number(a.n_pairs), words.number(a.n_records), a.scored_by)
        for a in attacks
    ]  # fmt: skip
    return stacked(head, rows) + folded(
        "All readings: R², within 0.1 standard deviations, outliers and the rest, worst column",
        more,
        rest,
    )


def _control(attack: AttackResult) -> str:
    if not words.finite(attack.control):
        return "–"
    return words.share(attack.control) + (f", {attack.control_kind}" * bool(attack.control_kind))


def _columns(attacks: tuple[AttackResult, ...]) -> str:
    chart = charts.heat(attacks)
    if chart is None:
        return ""
    return (
        "<h3>Which columns fall?</h3><p>The gain of each column, for each attack with the "
        f"knowledge that served it best: 0 for a blind guess, 100 for exact values.</p>"
        f"{figure(chart)}"
    )


def _not_run(findings: Findings) -> str:
    rows = [
        (words.name_of(a.name), a.knowledge, f"not finished: {a.failed}")
        for a in findings.attacks
        if a.failed is not None
    ] + [
        (words.name_of(s.name), "–",
         ("something was missing: " if s.applicable else "not made for such a release: ")
         + s.reason)
        for s in findings.skipped
    ]  # fmt: skip
    if not rows:
        return ""
    return f"<h3>Attacks that were not run</h3><p>{text(words.NOT_RUN)}</p>" + stacked(
        ("attack", "knowledge", "why"), rows
    )


def _linkage(findings: Findings, public: bool) -> str:
    linkage = findings.linkage
    if linkage is None:
        return (
            "<h3>Can records be linked?</h3><p>Linkage was not measured; that proves nothing.</p>"
        )
    section = f"<h3>Can records be linked?</h3><p>{text(words.linkage_sentence(linkage))}</p>"
    section += figure(charts.levels(linkage))
    if public or not linkage.worst_records:
        return section
    rows = [(f"{row}", words.number(level)) for row, level in linkage.worst_records]
    return section + folded(
        f"The {len(rows)} records with the lowest level, by row number (from 0)",
        ("row number", "level"),
        rows,
        opened=len(rows) <= _LONG,
    )


def _settings(findings: Findings, public: bool) -> str:
    rows = list(_flat(findings.settings))
    note = '<p class="soft">The seed stays with the owner.</p>' if public else ""
    return (
        "<h2>The settings that reproduce it</h2>"
        + code(audit_lines(findings, public=public))
        + (scrolled(("setting", "value"), rows) if rows else "")
        + note
    )


def _flat(settings: dict[str, Any], before: str = "") -> Iterable[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        elif key not in ("code", "command"):
            shown = value if isinstance(value, str) else json.dumps(value, default=str)
            yield f"{before}{key}", shown
