"""HTML page of a model's audit."""

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
from isinglass.auditing.report.page import look_of, policy_rows, sign_of
from isinglass.auditing.report.rerun import audit_lines
from isinglass.auditing.report.sentences import sentence, sentences
from isinglass.plots import pages

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
    settings = [(k, str(v)) for k, v in findings.settings.items() if k not in ("command", "code")]
    name = findings.settings.get("model")
    best_first = sorted(findings.membership, key=lambda m: -m.area)
    return pages.render(
        "isinglass/auditing/models/page.html.j2",
        findings=findings,
        public=public,
        look=look_of(findings.verdict),
        sign=sign_of(findings.verdict),
        sentences=_sentences(findings),
        name=words.column_name(name) if isinstance(name, str) else "",
        policy=policy_rows(findings),
        assumptions=sentences(findings.assumptions),
        notes=sentences(findings.notes),
        header=(*HEADER, "what it does"),
        membership=[
            (*line, STORIES[m.name])
            for line, m in zip(lines(findings.membership), best_first, strict=True)
        ],
        attackers=[
            (words.name_of(a.name), a.verdict, area(a.membership), a.assumes)
            for a in findings.attackers
        ],
        skipped=[(words.name_of(s.name), sentence(s.reason)) for s in findings.skipped],
        again=[] if public else audit_lines(findings),
        settings=settings,
    )


def summary(findings: Findings) -> str:
    """A few lines for a notebook."""
    return pages.render(
        "isinglass/plots/summary.html.j2",
        verdict=findings.verdict,
        sentences=_sentences(findings),
    )


def _sentences(findings: Findings) -> tuple[str, str]:
    return verdict_sentence(findings), alike_sentence(findings)


def _shares(limits: tuple[float, float] | None) -> str:
    return "–" if limits is None else words.interval(*limits)


def _with_range(value: str, limits: str) -> str:
    return value if value == "–" else f"{value} ({limits})"
