"""The picture of seconds over rows, for the page of the outlier benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt

from benchmarks import peers

PICTURE = Path(__file__).parent.parent / "docs" / "benchmarks" / "outliers.png"
PANELS = ("well planted", "50 planted")
COLORS = {
    "ours": "#c2410c",
    "intelex-kd_tree": "#1d4ed8",
    "intelex-brute": "#60a5fa",
    "faiss-flat": "#047857",
    "scipy-ckdtree": "#7c3aed",
    "sklearn-kd_tree": "#374151",
    "sklearn-brute": "#9ca3af",
    "pyod-knn": "#db2777",
}


def seconds_over_rows(results: Mapping[Any, Any], path: Path = PICTURE) -> None:
    """Draw the flights on logarithmic axes, a panel for each number of planted outliers."""
    found = [
        {
            "rows": r.rows,
            "seconds": r.seconds,
            "contender": r.contender,
            "family": f"flights, {r.family}",
            "stopped": r.stopped,
            "ours": r.contender == peers.OURS,
        }
        for r in results.values()
        if r.family in PANELS and (r.done or r.stopped)
    ]
    if not found:
        return
    names = [name for name in COLORS if any(line["contender"] == name for line in found)]
    base = alt.Chart(alt.Data(values=found)).encode(
        x=alt.X(
            "rows:Q", title="rows", scale=alt.Scale(type="log", domain=[80_000, 4_000_000])
        ).axis(values=[100_000, 320_000, 1_000_000, 3_200_000], format="~s"),
        y=alt.Y("seconds:Q", title="seconds", scale=alt.Scale(type="log")).axis(
            format="~g", values=[0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 240]
        ),
        color=alt.Color(
            "contender:N",
            title=None,
            sort=names,
            scale=alt.Scale(domain=names, range=[COLORS[name] for name in names]),
        ),
    )
    width = alt.condition("datum.ours", alt.value(3.5), alt.value(1.5))
    lines = base.mark_line().encode(strokeWidth=width, detail="contender:N")
    dots = base.transform_filter("!datum.stopped").mark_point(filled=True, size=55, opacity=1)
    stops = base.transform_filter("datum.stopped").mark_point(
        shape="triangle-up", size=90, strokeWidth=1.8, fill="white", opacity=1
    )
    chart = (
        alt.layer(lines, dots, stops)
        .properties(width=360, height=340)
        .facet(
            column=alt.Column("family:N", title=None, sort=[f"flights, {name}" for name in PANELS])
        )
        .properties(
            title=alt.TitleParams(
                "Exact top 500 outliers, 29 columns",
                subtitle="Both axes logarithmic. Hollow triangles: stopped at the limit.",
                anchor="start",
                offset=14,
            )
        )
        .configure(font="DejaVu Sans")
        .configure_view(stroke=None)
        .configure_title(fontSize=17, subtitleFontSize=12, subtitleColor="#4b5563")
        .configure_axis(
            gridColor="#e5e7eb", domainColor="#9ca3af", labelFontSize=12, titleFontSize=13
        )
        .configure_header(labelFontSize=14, labelFontWeight="bold")
        .configure_legend(labelFontSize=13, symbolSize=110, rowPadding=6)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    chart.save(str(path), scale_factor=2)
