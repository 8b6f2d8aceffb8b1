"""Plain pictures of tidy rows: lines, points and bars."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from isinglass.plots import engine as vega
from isinglass.plots.palette import INK, LINE, PAPER, SERIES, SOFT

Row = Mapping[str, float | int | str]
# In pixels: a panel's width, what an axis and its title take beside it, a letter of the legend.
PANEL, BESIDE, LETTER = 220, 60, 7


def picture(
    kind: Literal["line", "point", "bar"],
    x: str,
    y: str,
    *,
    color: str | None = None,
    panel: str | None = None,
    band: tuple[str, str] | None = None,
    log: str = "",
    titles: Mapping[str, str] | None = None,
    columns: int = 3,
    order: Sequence[str] | None = None,
) -> dict[str, Any]:
    """A Vega-Lite specification, to which the rows are added when it is drawn.

    `x` may end in ":N" for names; `color` and `panel` name columns of text; `band` names the
    columns of an interval; `log` holds "x", "y" or both for logarithmic axes; `titles` say what
    columns are called.
    """
    called = dict(titles or {})

    def axis(name: str, side: str) -> dict[str, Any]:
        column, _, named = name.partition(":")
        found: dict[str, Any] = {
            "field": column,
            "type": "nominal" if named == "N" else "quantitative",
            "title": called.get(column, column),
        }
        if named == "N":
            found["sort"] = None if order is None else list(order)
            if side == "x":
                found["axis"] = {"labelAngle": -35}
        elif side in log:
            found["scale"] = {"type": "log"}
        elif kind != "bar":
            found["scale"] = {"zero": False}
        return found

    encoding: dict[str, Any] = {"x": axis(x, "x"), "y": axis(y, "y")}
    if color is not None:
        encoding["color"] = {
            "field": color,
            "type": "nominal",
            "title": called.get(color, color),
            "sort": None,
            "scale": {"range": list(SERIES)},
        }
        if kind != "line" and x.endswith(":N"):
            encoding["xOffset"] = {"field": color, "sort": None}
    marks: dict[str, Any] = {
        "line": {"type": "line", "point": {"size": 28}, "strokeWidth": 1.8},
        "point": {"type": "point", "filled": True, "size": 16, "opacity": 0.6},
        "bar": {"type": "bar"},
    }
    layers: list[dict[str, Any]] = [{"mark": marks[kind], "encoding": encoding}]
    if band is not None:
        parts = ("x", "xOffset", *(() if kind == "bar" else ("color",)))
        spread = {name: part for name, part in encoding.items() if name in parts}
        spread["y"] = encoding["y"] | {"field": band[0]}
        spread["y2"] = {"field": band[1]}
        layers.append({"mark": {"type": "rule", "color": INK}, "encoding": spread})
    size = {"width": PANEL, "height": 170} if panel else {"width": 420, "height": 260}
    spec: dict[str, Any] = {"layer": layers, **size}
    if panel is not None:
        spec = {
            "facet": {"field": panel, "type": "nominal", "title": None, "sort": None},
            "columns": columns,
            "spec": spec,
            # Offsets belong to their axis: shared ones have no width in a panel's own bands.
            "resolve": {"scale": dict.fromkeys(("x", "y", "xOffset"), "independent")},
        }
    text = {"labelColor": INK, "titleColor": SOFT, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        **spec,
        "background": PAPER,
        "padding": 8,
        "config": {
            "font": "sans-serif",
            "aria": False,
            "view": {"stroke": None},
            "axis": {
                **text, "titleFontWeight": "normal", "gridColor": LINE, "labelSeparation": 6,
            },
            "legend": {**text, "titleFontWeight": "normal", "orient": "top", "labelLimit": 0},
            "header": {"labelFontSize": 13, "labelColor": INK},
        },
    }  # fmt: skip


def with_rows(spec: dict[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """The specification with its data in it, panels and legend laid out as those ask for."""
    spec = spec | {"data": {"values": [dict(row) for row in rows]}}
    inner, across = spec, 1
    if "facet" in spec:
        names = _values(rows, spec["facet"]["field"])
        spec["facet"] = spec["facet"] | {"sort": names}  # else they come by the alphabet
        inner, across = spec["spec"], min(spec["columns"], len(names))
    colors = [layer["encoding"].get("color") for layer in inner["layer"]]
    named = {c["field"] for c in colors if c is not None and c.get("type") == "nominal"}
    longest = max((len(str(label)) for name in named for label in _values(rows, name)), default=0)
    fit = across * (inner["width"] + BESIDE) // (LETTER * longest + BESIDE // 2)
    legend = spec["config"]["legend"] | {"columns": max(1, fit)}
    spec["config"] = spec["config"] | {"legend": legend}
    return spec


def _values(rows: Sequence[Row], name: str) -> list[float | int | str]:
    """What a column holds, in the order of the rows."""
    return list(dict.fromkeys(row[name] for row in rows if name in row))


def png(spec: dict[str, Any], rows: Sequence[Row]) -> bytes:
    """The picture, drawn here, without a browser or a network."""
    return _packed(vega.png(with_rows(spec, rows), scale=1.5))


def _packed(image: bytes) -> bytes:
    """The same PNG with its pixels squeezed harder: about a third of the size."""
    head, pixels, rest, at = image[:8], b"", [], 8
    while at < len(image):
        size = int.from_bytes(image[at : at + 4]) + 12  # length, name and checksum around the data
        if image[at + 4 : at + 8] == b"IDAT":
            pixels += image[at + 8 : at + size - 4]
        else:
            rest.append(image[at : at + size])
        at += size
    data = b"IDAT" + zlib.compress(zlib.decompress(pixels), 9)
    squeezed = (len(data) - 4).to_bytes(4) + data + zlib.crc32(data).to_bytes(4)
    return head + b"".join(rest[:-1]) + squeezed + rest[-1]
