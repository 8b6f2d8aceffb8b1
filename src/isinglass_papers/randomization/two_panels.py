"""Two-panel pictures of figures 1 to 3: average and worst level, a line for each noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isinglass_papers.core.draw import picture
from isinglass_papers.core.result import Figure
from isinglass_papers.randomization.levels import LAWS, Measured, Row

AVERAGE, WORST = "average level (AR)", "level of the worst 1 % (WR)"


def level_rows(
    curves: Mapping[tuple[str, Any], Measured], at: str, values: Sequence[float]
) -> list[Row]:
    """Averages and worst levels at each value of the column `at`, with their ends over draws."""
    return [
        {
            at: value, "noise": law, "measure": panel, "level": float(found.mean()),
            "low": float(found.min()), "high": float(found.max()),
            "deviation": float(found.std()),
        }
        for law in LAWS
        for value in values
        for panel, found in (
            (AVERAGE, curves[law, value].averages), (WORST, curves[law, value].worsts),
        )
    ]  # fmt: skip


def level_figure(
    name: str, title: str, caption: str, rows: Sequence[Row], at: str, called: str
) -> Figure:
    """Lines are ours, bars span our draws, black diamonds are what the paper prints."""
    spec = picture(
        "line", at, "level", color="noise", panel="measure", log="y", columns=2,
        band=("low", "high"), titles={"level": "records that fit as well", at: called},
    )  # fmt: skip
    layers = spec["spec"]["layer"]
    first = layers[0]["encoding"]
    if any("printed" in row for row in rows):
        layers.append(
            {
                "mark": {
                    "type": "point", "shape": "diamond", "filled": True, "size": 70,
                    "color": "black",
                },
                "transform": [{"filter": "isValid(datum.printed)"}],
                "encoding": {"x": first["x"], "y": first["y"] | {"field": "printed"}},
            }
        )  # fmt: skip
    return Figure(name, title, caption, tuple(rows), spec)
