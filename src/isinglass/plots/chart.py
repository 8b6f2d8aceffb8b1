"""Chart with a text alternative, drawn for light and dark pages."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isinglass.plots import engine as vega
from isinglass.plots.palette import INK, LINE, PAPER, SERIES, SOFT

# The dark page takes the light half of the palette.
_LIGHT = {
    "$ink": INK, "$soft": SOFT, "$line": LINE, "$paper": PAPER,
    "$one": SERIES[0], "$two": SERIES[1],
    "$cold": "#eef3f7", "$warm": "#8fc1e3", "$hot": "#0b3c5d", "$onhot": "#ffffff",
    "$flip": "datum.over > 0.7",  # where dark ink on the cell stops being readable
}  # fmt: skip
_DARK = {
    "$ink": "#e8edf2", "$soft": "#a3b0bd", "$line": "#303b46", "$paper": "#1c242c",
    "$one": SERIES[5], "$two": SERIES[4],
    "$cold": "#222c36", "$warm": "#2f7fb3", "$hot": "#cfe8f9", "$onhot": "#0d1116",
    "$flip": "datum.over > 0.5",
}  # fmt: skip
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture with its title, its finding as a sentence, and the numbers behind it.

    `spec` is Vega-Lite in which "$one" and the like stand for the page's colors.
    """

    name: str
    title: str
    alt: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    spec: dict[str, Any] = field(repr=False)
    wide: bool = False  # too wide for a phone, where it scrolls

    def svg(self, *, dark: bool = False) -> str:
        """The picture as SVG; drawn here, without a browser or a network."""
        spec = _painted(self.spec, _DARK if dark else _LIGHT)
        return _numbered_from_zero(vega.svg(spec))


def data_uri(svg: str) -> str:
    """A picture as an address that holds the picture itself."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def width_of(svg: str) -> float:
    """A picture's own width in pixels."""
    found = re.search(r'<svg\b[^>]*?\bwidth="([\d.]+)', svg)
    return float(found[1]) if found else 400.0


def png(chart: Chart, path: str | Path, *, dark: bool = False) -> None:
    """Write a chart as PNG, twice its size in pixels."""
    Path(path).write_bytes(png_bytes(chart, dark=dark))


def png_bytes(chart: Chart, *, dark: bool = False) -> bytes:
    """A chart as PNG, twice its size in pixels."""
    return vega.png(_painted(chart.spec, _DARK if dark else _LIGHT), scale=2)


def painted(spec: dict[str, Any]) -> dict[str, Any]:
    """A specification in the colors of a light page, to be drawn elsewhere."""
    found: dict[str, Any] = _painted(spec, _LIGHT)
    return found


def drawing(values: list[dict[str, Any]]) -> Any:
    """A chart of these values, still empty."""
    import altair as alt

    return alt.Chart(alt.Data(values=values))  # type: ignore[no-untyped-call]


def scale(domain: Sequence[str], values: Sequence[Any]) -> Any:
    """Which value stands for which name."""
    import altair as alt

    return alt.Scale(domain=list(domain), range=list(values))


#: An axis of shares, written as the page writes them.
PERCENT = "format(100 * datum.value, '.0f') + '\u00a0%'"


def finished(drawn: Any) -> dict[str, Any]:
    """The specification with what all charts share."""
    text = {"labelColor": "$ink", "titleColor": "$soft", "labelFontSize": 13, "titleFontSize": 13}
    spec: dict[str, Any] = drawn.to_dict()
    spec["background"] = "$paper"
    spec["padding"] = 8
    spec["config"] = {
        "aria": False,
        "font": "sans-serif",
        "view": {"stroke": None},
        "axis": {
            **text,
            "titleFontWeight": "normal",
            "gridColor": "$line",
            "domainColor": "$soft",
            "tickColor": "$soft",
        },
        "legend": {**text, "titleFontWeight": "normal", "orient": "top", "symbolOpacity": 1},
    }
    return spec


def _numbered_from_zero(svg: str) -> str:
    """Vega counts its gradients and clips over all pictures it draws; here each starts anew."""
    pattern = re.compile(r'(\bid="|url\(#)((?:gradient_|clip)\d+)')
    order = list(dict.fromkeys(m[2] for m in pattern.finditer(svg)))
    return pattern.sub(lambda m: f"{m[1]}own{order.index(m[2])}", svg)


def _painted(part: Any, colors: Mapping[str, str]) -> Any:
    """Put the page's colors in; names from a file are not colors, whatever they look like."""
    if isinstance(part, dict):
        names = ("data", "datasets", "domain", "sort")
        return {k: v if k in names else _painted(v, colors) for k, v in part.items()}
    if isinstance(part, list):
        return [_painted(item, colors) for item in part]
    return colors.get(part, part) if isinstance(part, str) else part
