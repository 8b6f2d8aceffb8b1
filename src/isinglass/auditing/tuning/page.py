"""HTML page of a frontier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from isinglass.auditing.report import text as words
from isinglass.auditing.report.rerun import tune_lines
from isinglass.auditing.tuning.figure import frontier as chart
from isinglass.auditing.tuning.guaranteed import ModelPoint
from isinglass.auditing.tuning.points import Point, areas, gains
from isinglass.plots import pages

if TYPE_CHECKING:
    from isinglass.auditing.tuning.frontier import Frontier


def render(found: Frontier) -> str:
    """The whole page; every number in it was measured in this search."""
    first = [p for p in found.points if p.on_frontier or p.recommended]
    rest = [p for p in found.points if p not in first]
    return pages.render(
        "isinglass/auditing/tuning/page.html.j2",
        found=found,
        detection=words.share(found.min_detection),
        gain=words.share(found.max_attack_gain),
        pairs=found.settings.get("most_pairs"),
        chart=chart([asdict(p) for p in found.points], found.guaranteed),
        models=models_table(found.guaranteed),
        steps=found.next_steps(),
        beaten=found.recommended is not None and not found.recommended.on_frontier,
        first=_table(first),
        rest=_table(rest),
        rounds=len({p.round for p in found.points}) > 1,
        again=tune_lines(found),
        seed=found.settings.get("random_state"),
        records=found.settings.get("rows", 0),
    )


def models_table(models: Sequence[ModelPoint]) -> dict[str, Any]:
    """Guaranteed models as a table; no rows where none was tried."""
    labeled = any(m.auc is not None for m in models)
    header = ("guaranteed model", "found", "its interval", "any attack gets at most",
              *(("area",) if labeled else ()))  # fmt: skip
    rows = [
        (
            f"epsilon {m.epsilon:g}, delta {m.delta:g}",
            words.share(m.detection),
            words.interval(m.detection_low, m.detection_high),
            words.share(m.bound),
            *((areas(m),) if labeled else ()),
        )
        for m in models
    ]
    return {"header": header, "rows": rows}


def _table(points: list[Point]) -> dict[str, Any]:
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
    return {"header": header, "rows": rows}
