"""Two kinds of pictures more: points shaded by a number, and boxes from quantiles."""

from __future__ import annotations

from typing import Any

from isinglass.plots.palette import INK, SERIES
from isinglass_papers.core.draw import picture

_FILL = SERIES[5]


def shaded(
    x: str, y: str, value: str, title: str, domain: tuple[float, float], *, columns: int = 3
) -> dict[str, Any]:
    """Points whose color says a number, a panel for each value of the column `panel`."""
    spec = picture("point", x, y, panel="panel", columns=columns)
    layer = spec["spec"]["layer"][0]
    layer["mark"] = {"type": "circle", "size": 22, "opacity": 0.9}
    layer["encoding"]["color"] = {
        "field": value,
        "type": "quantitative",
        "title": title,
        "scale": {"scheme": "viridis", "domain": list(domain), "reverse": True},
        "legend": {"orient": "right", "gradientLength": 140},
    }
    return spec


def boxes(
    x: str, *, y_title: str, color: str | None = None, panel: str | None = None
) -> dict[str, Any]:
    """Boxes on a logarithmic axis, from columns `least`, `lower`, `middle`, `upper`, `most`.

    `x` names a column of text; with `color` there is a box beside box for each of its values.
    """
    titles = {x: "", "middle": y_title, color or "": ""}
    spec = picture("bar", f"{x}:N", "middle", color=color, panel=panel, log="y", titles=titles)
    inner = spec["spec"] if panel else spec
    encoding = inner["layer"][0]["encoding"]
    encoding["y"]["axis"] = {"format": ".0e", "tickCount": 5}
    shared = {name: part for name, part in encoding.items() if name in ("x", "xOffset")}

    def span(low: str, high: str) -> dict[str, Any]:
        return shared | {"y": encoding["y"] | {"field": low}, "y2": {"field": high}}

    colored = {"color": encoding["color"]} if color else {}
    fill = {} if color else {"color": _FILL}
    dot = {"type": "point", "filled": True, "size": 50, "opacity": 1, "stroke": INK}
    inner["layer"] = [
        {"mark": {"type": "rule", "color": INK}, "encoding": span("least", "most")},
        {"mark": {"type": "bar", "size": 12, **fill}, "encoding": span("lower", "upper") | colored},
        {"mark": dot | fill, "encoding": shared | {"y": encoding["y"]} | colored},
    ]
    if not panel:
        inner["width"] = 560
    return spec
