"""The page of a model's audit: verdict, policy, membership, assumptions, settings."""

from __future__ import annotations

from isinglass.auditing.findings import (
    NOT_MEASURED,
    PARTLY,
    RECOVERED,
    RESISTED,
    Findings,
    MembershipResult,
)
from isinglass.auditing.report import text as words
from isinglass.auditing.report.rerun import audit_lines
from isinglass.plots.markup import code, document, scrolled, stacked, text

#: What each way of telling does, in a few words.
STORIES = {
    "loss_threshold": "takes records that the model repeats well for members",
    "difficulty": "compares the loss with that of models that never saw the record",
    "likelihood_ratio": "asks how likely the loss is with the record in training, and without",
    "residual": "looks how far the error has shrunk along what it is without training",
}
HEADER = ("attack", "area", "interval", "outliers", "at 1 %", "at 0.1 %")


def area(value: float | None) -> str:
    """An area under the curve."""
    return "–" if value is None else f"{value:.3f}"


def area_range(limits: tuple[float, float] | None) -> str:
    """An area's interval."""
    return "–" if limits is None else f"{limits[0]:.3f} to {limits[1]:.3f}"


def verdict_sentence(findings: Findings) -> str:
    """What somebody can tell, said to a person who has not read the papers."""
    best = max(findings.membership, key=lambda m: m.area, default=None)
    opening = {
        RECOVERED: "Somebody can tell which records the model was trained on",
        PARTLY: "Somebody can tell of some records that the model was trained on them",
        RESISTED: "The attacks listed hardly tell which records the model was trained on",
        NOT_MEASURED: "Not enough was measured to say whether training records can be told",
    }[findings.verdict]
    if best is None:
        return f"{opening}."
    return (
        f"{opening}: a training record looks more like one than another record does in "
        f"{words.share(best.area)} of all cases ({words.interval(best.low, best.high)}), where a "
        f"coin is right in 50 %."
    )


def alike_sentence(findings: Findings) -> str:
    """That the model itself was not attacked, where it was not."""
    if not findings.settings.get("models_made_alike"):
        return ""
    return "The figure is of models made alike, not of this very model."


def lines(results: tuple[MembershipResult, ...]) -> list[tuple[str, ...]]:
    """A row for each way of telling, the best first."""
    return [
        (words.name_of(m.name), area(m.area), area_range((m.low, m.high)),
         _with_range(area(m.outliers_area), area_range(m.outliers_range)),
         _with_range(words.share(m.recognized_1pct), _shares(m.recognized_1pct_range)),
         _with_range(words.share(m.recognized_01pct), _shares(m.recognized_01pct_range)))
        for m in sorted(results, key=lambda m: -m.area)
    ]  # fmt: skip


def render(findings: Findings, *, public: bool = False) -> str:
    """The whole page. `findings` must be those of the edition already."""
    parts = (
        _verdict(findings, public),
        _policy(findings),
        _membership(findings),
        _attackers(findings),
        _assumed(findings),
        _not_run(findings),
        _settings(findings, public),
    )
    return document(f"Audit of a model: {findings.verdict}", "".join(parts))


def summary(findings: Findings) -> str:
    """A few lines for a notebook."""
    return (
        f"<div><strong>{text(findings.verdict)}</strong>"
        f"<p>{text(verdict_sentence(findings))} {text(alike_sentence(findings))}</p></div>"
    )


def _verdict(findings: Findings, public: bool) -> str:
    look = {RECOVERED: "bad", PARTLY: "mid", NOT_MEASURED: "void"}.get(findings.verdict, "calm")
    sign = {"bad": "✖", "mid": "◐", "calm": "○", "void": "?"}[look]
    edition = "public edition" if public else "internal"
    refused = "" if findings.passed else '<p class="refused">The policy was not met.</p>'
    name = findings.settings.get("model")
    named = f"{text(words.column_name(name))}: " if isinstance(name, str) else ""
    return f"""<header><h1>Audit of a model</h1><p class="edition">{edition}</p>
<div class="verdict {look}"><p class="word {look}"><span aria-hidden="true">{sign}</span>
{text(findings.verdict)}</p>
<p>{text(verdict_sentence(findings))} {text(alike_sentence(findings))}</p>{refused}</div>
<p class="soft">{named}{findings.columns:,} columns, audited with {findings.rows:,} records. The
verdict speaks of the attacks below and of no others. Whether anomalies are found, and whether
values or links can be got from the model, was not measured.</p></header>"""


def _policy(findings: Findings) -> str:
    if not findings.policy:
        return ""
    rows = [(p.demand, p.measured, "✓ met" if p.met else "✖ NOT MET") for p in findings.policy]
    return "<h2>The policy</h2>" + stacked(("demand", "measured", "result"), rows)


def _membership(findings: Findings) -> str:
    if not findings.membership:
        return "<h2>Was this record in training?</h2><p>Not measured.</p>"
    some = findings.membership[0]
    rows = [(*line, STORIES[m.name]) for line, m in zip(
        lines(findings.membership),
        sorted(findings.membership, key=lambda m: -m.area),
        strict=True,
    )]  # fmt: skip
    return (
        f"<h2>Was this record in training?</h2><p>{some.n_members:,} records that were in training "
        f"against {some.n_others:,} that were not. The area under the curve is the chance that one "
        "of the first scores higher than one of the second; .5 is a coin. Outliers: the same for "
        "the tenth of the records that lie farthest from all others. At 1&nbsp;% and at "
        "0.1&nbsp;%: the share of training records recognized where so many of the others are "
        "taken for training records by mistake; a dash stands where there are too few records to "
        "say.</p>" + stacked((*HEADER, "what it does"), rows)
    )


def _attackers(findings: Findings) -> str:
    rows = [(words.name_of(a.name), a.verdict, area(a.membership), a.assumes)
            for a in findings.attackers]  # fmt: skip
    return "<h2>The attackers</h2>" + stacked(("attacker", "verdict", "area", "holds"), rows)


def _assumed(findings: Findings) -> str:
    parts = "<h2>What was assumed</h2>" + _items(findings.assumptions)
    return parts + (f"<h3>Notes</h3>{_items(findings.notes)}" if findings.notes else "")


def _not_run(findings: Findings) -> str:
    if not findings.skipped:
        return ""
    rows = [(words.name_of(s.name), s.reason) for s in findings.skipped]
    return "<h2>What was not measured</h2>" + stacked(("attack", "why"), rows)


def _settings(findings: Findings, public: bool) -> str:
    shown = [(k, str(v)) for k, v in findings.settings.items() if k not in ("command", "code")]
    head = "<h2>The settings that reproduce it</h2>"
    command = "" if public else code(audit_lines(findings))
    return head + command + scrolled(("setting", "value"), shown)


def _items(sentences: tuple[str, ...]) -> str:
    return f"<ul>{''.join(f'<li>{text(s)}</li>' for s in sentences)}</ul>"


def _shares(limits: tuple[float, float] | None) -> str:
    return "–" if limits is None else words.interval(*limits)


def _with_range(value: str, limits: str) -> str:
    return value if value == "–" else f"{value} ({limits})"
