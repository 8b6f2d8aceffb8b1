"""The picture of a search: how much is still found, against what the strongest attack gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isinglass.auditing import words
from isinglass.auditing.chart import METHODS, SHAPES, Chart, drawing, finished


def frontier(points: Sequence[Mapping[str, Any]]) -> Chart:
    """Detection against the strongest attack's gain, and the settings nobody beats in both."""
    import altair as alt

    keys = ("method", "setting", "detection", "detection_low", "detection_high", "gain",
            "gain_low", "gain_high", "on_frontier", "recommended")  # fmt: skip
    data = [{k: _plain(p.get(k)) for k in keys} for p in points]
    data = [d for d in data if words.finite(d["detection"]) and words.finite(d["gain"])]
    methods = sorted({str(d["method"]) for d in data})
    at = [m % len(METHODS) for m in range(len(methods))]
    x = alt.X("gain:Q", title="strongest attack's gain over its baseline")
    x = x.scale(domain=[0, 1]).axis(format="%", tickCount=5)
    y = alt.Y("detection:Q", title="anomalies still found").scale(domain=[0, 1])
    y = y.axis(format="%", tickCount=5)
    base = drawing(data).encode(x=x, y=y)
    legend = alt.Legend(columns=3)
    color = alt.Color("method:N", title=None, legend=legend).scale(
        domain=methods, range=[METHODS[m] for m in at]
    )
    shape = alt.Shape("method:N", title=None, legend=legend).scale(
        domain=methods, range=[SHAPES[m % len(SHAPES)] for m in range(len(methods))]
    )
    fade = alt.condition("datum.on_frontier", alt.value(1.0), alt.value(0.35))
    nobody_beats = base.transform_filter("datum.on_frontier")
    chosen = base.transform_filter("datum.recommended")
    drawn = alt.layer(
        nobody_beats.mark_line(color="$soft", strokeDash=[4, 3]).encode(order="gain:Q"),
        base.mark_rule().encode(x="gain_low:Q", x2="gain_high:Q", color=color, opacity=fade),
        base.mark_rule().encode(
            y="detection_low:Q", y2="detection_high:Q", color=color, opacity=fade
        ),
        base.mark_point(filled=True, size=70).encode(color=color, shape=shape, opacity=fade),
        chosen.mark_point(size=380, strokeWidth=2.5, color="$ink", opacity=1),
        chosen.mark_text(dy=-20, fontWeight="bold", color="$ink").encode(
            text=alt.value("use this")
        ),
    ).properties(width=370, height=320)
    best = next((d for d in data if d["recommended"]), None)
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
        ),
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
        ),
        spec=finished(drawn),
    )


def _plain(value: Any) -> Any:
    """A numpy number as Python's own, so that it can be written as JSON."""
    return value.item() if hasattr(value, "item") else value
