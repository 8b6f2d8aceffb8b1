"""A frontier as one HTML page that loads nothing: the advice, the picture, the numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from isinglass.auditing.report import text as words
from isinglass.auditing.report.rerun import tune_lines
from isinglass.auditing.tuning.figure import frontier as chart
from isinglass.auditing.tuning.points import Point, areas, gains
from isinglass.plots.markup import code, document, figure, stacked, text

if TYPE_CHECKING:
    from isinglass.auditing.tuning.frontier import Frontier

_WHY = (
    '<p class="soft">The one to use was chosen by the limits of its intervals; in the measured '
    "values alone another beats it.</p>"
)


def render(found: Frontier) -> str:
    """The whole page; every number in it was measured in this search."""
    first = [p for p in found.points if p.on_frontier or p.recommended]
    rest = [p for p in found.points if p not in first]
    beaten = found.recommended is not None and not found.recommended.on_frontier
    look = "mid" if found.recommended is None else "calm"
    pairs = found.settings.get("most_pairs")
    assumed = (
        "Attackers know up to ten pairs a column or one record in a hundred."
        if pairs is None
        else f"Attackers were assumed to know {pairs:,} pairs at most; others may get more."
    )
    body = f"""<header><h1>Which setting to use</h1>
<div class="verdict {look}"><p>{text(found.sentence)}</p></div>
{_how_to(found)}
<p class="soft">Wanted: {words.share(found.min_detection)} of the anomalies found again, and no
attack of the {text(found.attacker)} taking more than {words.share(found.max_attack_gain)} of what a
blind guess leaves{text(_area_wanted(found))}. The outsider, the acquainted and the insider hold
more and more; nobody holds the key. {text(assumed)} Figures are measurements on one table, not
promises: a setting is as good as its worst draw, and the release you make has a key of its own.
Audit it.</p></header>
{figure(chart([asdict(p) for p in found.points]))}
<h2>Settings that no other beats in every respect{", and the one to use" * beaten}</h2>
{_WHY * beaten}{_table(first)}
{_others(found, rest)}
<h2>How to repeat it</h2>{code(tune_lines(found))}<p class="soft">Seed
{text(str(found.settings.get("random_state")))}, on
{text(f"{found.settings.get('rows', 0):,}")} records.</p>"""
    return document("Which setting to use", body)


def _area_wanted(found: Frontier) -> str:
    if found.min_auc is None:
        return ""
    return f", and an area under the curve of at least {found.min_auc:.2f} for known anomalies"


def _how_to(found: Frontier) -> str:
    if found.recommended is None:
        return ""
    return code([str(found.code), f"$ {found.command()}"])


def _others(found: Frontier, rest: list[Point]) -> str:
    if not rest:
        return ""
    rounds = len({p.round for p in found.points}) > 1
    note = (
        '<p class="soft">Those of earlier rounds saw fewer rows and fewer attacks, and were left '
        "when others were better.</p>"
    )
    return f"<h2>The others</h2>{note if rounds else ''}{_table(rest)}"


def _table(points: list[Point]) -> str:
    labeled = any(p.auc is not None for p in points)
    header = ("method", "setting", "found", "its interval", "outsider", "acquainted", "insider",
              "gain", "its interval", "strongest attack", *(("area",) if labeled else ()),
              "rows", "draws")  # fmt: skip
    rows = [
        (
            p.method + (" ← use this" if p.recommended else ""),
            p.setting or "–",
            words.share(p.detection),
            words.interval(p.detection_low, p.detection_high),
            *gains(p),
            words.share(p.gain),
            words.interval(p.gain_low, p.gain_high),
            words.name_of(p.strongest),
            *((areas(p),) if labeled else ()),
            f"{p.rows:,}",
            str(p.trials),
        )
        for p in points
    ]
    return stacked(header, rows)
