"""Figure of a search: detection against the strongest attack."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from isinglass.auditing.report import text as words
from isinglass.documents import plain
from isinglass.plots.chart import PERCENT, SHAPES, Chart, drawing, finished
from isinglass.plots.palette import SERIES

if TYPE_CHECKING:
    from isinglass.auditing.tuning.guaranteed import ModelPoint

_WIDTH, _HEIGHT = 370, 320
_LABEL = "use this"
_HALF = (32.0, 10.0)  # of the label's box, in pixels


def frontier(points: Sequence[Mapping[str, Any]], models: Sequence[ModelPoint] = ()) -> Chart:
    """Detection against the strongest attack's gain, and the best trade-offs.

    Guaranteed models stand where their bound is, which no attack can pass.
    """
    import altair as alt

    keys = ("method", "setting", "detection", "detection_low", "detection_high", "gain",
            "gain_low", "gain_high", "on_frontier", "recommended")  # fmt: skip
    data = [{k: plain(p.get(k)) for k in keys} for p in points]
    data = [d for d in data if words.finite(d["detection"]) and words.finite(d["gain"])]
    methods = sorted({str(d["method"]) for d in data})
    at = [m % len(SERIES) for m in range(len(methods))]
    x = alt.X("gain:Q", title="strongest attack's gain over its baseline")
    x = x.scale(domain=[0, 1]).axis(labelExpr=PERCENT, tickCount=5)
    y = alt.Y("detection:Q", title="anomalies still found").scale(domain=[0, 1])
    y = y.axis(labelExpr=PERCENT, tickCount=5)
    base = drawing(data).encode(x=x, y=y)
    legend = alt.Legend(columns=3)
    color = alt.Color("method:N", title=None, legend=legend).scale(
        domain=methods, range=[SERIES[m] for m in at]
    )
    shape = alt.Shape("method:N", title=None, legend=legend).scale(
        domain=methods, range=[SHAPES[m % len(SHAPES)] for m in range(len(methods))]
    )
    fade = alt.condition("datum.on_frontier || datum.recommended", alt.value(1.0), alt.value(0.35))
    best_trade_offs = base.transform_filter("datum.on_frontier")
    chosen = base.transform_filter("datum.recommended")
    best = next((d for d in data if d["recommended"]), None)
    at_label = (0.0, 0.0) if best is None else free_spot(best, data)
    at_mark = (0.0, 0.0) if best is None else _pixels(best["gain"], best["detection"])
    left, top, right, bottom = _leader(at_mark, at_label)
    diamonds = [
        {"bound": m.bound, "found": m.detection, "name": f"ε {m.epsilon:g}",
         "low": m.detection_low, "high": m.detection_high}
        for m in models
    ]  # fmt: skip
    promised = drawing(diamonds).encode(x="bound:Q", y="found:Q")
    drawn = alt.layer(
        best_trade_offs.mark_line(color="$soft", strokeDash=[4, 3]).encode(order="gain:Q"),
        base.mark_rule().encode(x="gain_low:Q", x2="gain_high:Q", color=color, opacity=fade),
        base.mark_rule().encode(
            y="detection_low:Q", y2="detection_high:Q", color=color, opacity=fade
        ),
        base.mark_point(filled=True, size=70).encode(color=color, shape=shape, opacity=fade),
        chosen.mark_point(size=380, strokeWidth=2.5, color="$ink", opacity=1),
        chosen.mark_rule(color="$ink").encode(
            x=alt.value(left), y=alt.value(top), x2=alt.value(right), y2=alt.value(bottom)
        ),
        chosen.mark_text(fontWeight="bold", color="$ink", fontSize=13).encode(
            x=alt.value(at_label[0]), y=alt.value(at_label[1]), text=alt.value(_LABEL)
        ),
        promised.mark_rule(color="$ink").encode(y="low:Q", y2="high:Q"),
        promised.mark_point(shape="diamond", size=160, strokeWidth=2, color="$ink", opacity=1),
        promised.mark_text(dx=11, dy=-9, align="left", fontSize=12, color="$ink").encode(
            text="name:N"
        ),
    ).properties(width=_WIDTH, height=_HEIGHT)
    wide = sum(bool(d["on_frontier"]) for d in data)
    return Chart(
        name="frontier",
        title="Detection against what the strongest attack gets",
        alt=f"{len(data)} settings were tried; {wide} are beaten by none in both respects. "
        + (
            f"Recommended: {best['method']} {best['setting']}, which keeps "
            f"{words.share(best['detection'])} of the anomalies and gives the strongest attack "
            f"{words.share(best['gain'])} over its baseline."
            if best
            else "None is recommended."
        )
        + _models_told(models),
        header=("method", "setting", "still found", "interval", "gain", "interval", "frontier"),
        rows=tuple(
            (
                str(d["method"]),
                str(d["setting"]),
                words.share(d["detection"]),
                words.interval(d["detection_low"], d["detection_high"]),
                words.share(d["gain"]),
                words.interval(d["gain_low"], d["gain_high"]),
                "recommended" if d["recommended"] else "yes" if d["on_frontier"] else "no",
            )
            for d in sorted(data, key=lambda d: (d["gain"], -d["detection"]))
        )
        + tuple(
            (
                "guaranteed model",
                f"epsilon={m.epsilon:g}",
                words.share(m.detection),
                words.interval(m.detection_low, m.detection_high),
                f"at most {words.share(m.bound)}",
                "",
                "guaranteed",
            )
            for m in models
        ),
        spec=finished(drawn),
    )


def _models_told(models: Sequence[ModelPoint]) -> str:
    """A sentence on the guaranteed models in the picture."""
    if not models:
        return ""
    found = ", ".join(
        f"{words.share(m.detection)} at epsilon {m.epsilon:g} (at most {words.share(m.bound)})"
        for m in models
    )
    return (
        " Diamonds are guaranteed models, which stand where their bound is: how far any attack "
        f"gets from a blind guess of whether a record is in the table. They find {found}."
    )


def free_spot(best: Mapping[str, Any], data: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Where the label of the best setting covers no mark and no line; the nearest such place.

    In pixels from the upper left corner. Where there is none, the place that covers least.
    """
    x0, y0 = _pixels(best["gain"], best["detection"])
    marks = [_bars(d)[0] for d in data if not d["recommended"]]
    bars = [*(bar for d in data for bar in _bars(d)), *_line(data)]
    places = []
    for right in range(40, _WIDTH - 30, 10):
        for down in range(12, _HEIGHT - 10, 8):
            covered = sum(_overlap(right, down, bar) for bar in bars)
            # A line past another mark would seem to come from there.
            covered += sum(_passes((x0, y0), (right, down), mark) for mark in marks)
            places.append((covered, math.hypot(right - x0, down - y0), right, down))
    *_, right, down = min(places)
    return float(right), float(down)


def _line(data: Sequence[Mapping[str, Any]]) -> list[tuple[float, float, float, float]]:
    """The dashed line through the best trade-offs, as points close to each other."""
    corners = sorted(_pixels(d["gain"], d["detection"]) for d in data if d["on_frontier"])
    return [
        (x, x, y, y)
        for (xa, ya), (xb, yb) in pairwise(corners)
        for t in range(41)
        for x, y in [(xa + (xb - xa) * t / 40, ya + (yb - ya) * t / 40)]
    ]


def _leader(start: tuple[float, float], label: tuple[float, float]) -> tuple[float, ...]:
    """A line from the ring around a mark to the edge of its label's box, both left free."""
    dx, dy = label[0] - start[0], label[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    # Where a line from the middle of the box leaves it.
    inside = min(_HALF[0] / max(abs(dx), 1e-9), _HALF[1] / max(abs(dy), 1e-9), 1.0)
    ring = min(12.0 / length, 1.0 - inside)
    return (
        start[0] + dx * ring, start[1] + dy * ring,
        label[0] - dx * inside, label[1] - dy * inside,
    )  # fmt: skip


def _pixels(gain: float, detection: float) -> tuple[float, float]:
    return _WIDTH * gain, _HEIGHT * (1 - detection)


def _bars(point: Mapping[str, Any]) -> list[tuple[float, float, float, float]]:
    """A point's mark and both its intervals as boxes: left, right, top, bottom."""
    x, y = _pixels(point["gain"], point["detection"])
    size = 16.0 if point["recommended"] else 8.0
    boxes = [(x - size, x + size, y - size, y + size)]
    if words.finite(point["gain_low"]) and words.finite(point["gain_high"]):
        boxes.append((_WIDTH * point["gain_low"], _WIDTH * point["gain_high"], y, y))
    if words.finite(point["detection_low"]) and words.finite(point["detection_high"]):
        top, bottom = (_HEIGHT * (1 - point[f"detection_{end}"]) for end in ("high", "low"))
        boxes.append((x, x, top, bottom))
    return boxes


def _passes(
    start: tuple[float, float],
    end: tuple[float, float],
    box: tuple[float, float, float, float],
) -> bool:
    xa, ya, xb, yb = _leader(start, end)
    left, right, top, bottom = box
    return any(
        left < xa + (xb - xa) * t / 10 < right and top < ya + (yb - ya) * t / 10 < bottom
        for t in range(11)
    )


def _overlap(x: float, y: float, box: tuple[float, float, float, float]) -> bool:
    left, right, top, bottom = box
    return (
        left < x + _HALF[0]
        and right > x - _HALF[0]
        and (top < y + _HALF[1] and bottom > y - _HALF[1])
    )
