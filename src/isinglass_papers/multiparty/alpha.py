"""Choosing alpha automatically, which the paper leaves for later."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from isinglass.auditing.tuning.frontier import Frontier
from isinglass.auditing.tuning.tune import tune
from isinglass.progress import Progress
from isinglass_papers.core import draw
from isinglass_papers.core.result import Figure, How, Number

Array = NDArray[Any]

#: Half of the strongest anomalies found, and half of what a blind guess leaves kept.
FOUND, TAKEN = 0.5, 0.5


def choose(table: Array, how: How, tell: Progress) -> Frontier:
    """Search for alpha against attackers who recognize nobody; quickly, against MAP alone."""
    tell("choosing alpha", 0, None)
    return tune(
        table[:400] if not how.full else table,
        ["multiparty"],
        min_detection=FOUND,
        max_attack_gain=TAKEN,
        attacks=how.pick(["map"], "auto"),
        most_pairs=0,
        random_state=how.seed,
    )


def numbers(found: Frontier) -> list[Number]:
    """What each alpha that was tried keeps and gives away."""
    return [
        Number(
            "Section 7", f"abalone, {point.setting}: {what}", None, value,
            note="the paper leaves the choice of alpha for later",
        )
        for point in sorted(found.points, key=lambda p: p.value or 0.0)
        for what, value in (
            ("strongest anomalies found again", point.detection),
            (f"taken by the strongest attack, {point.strongest}", point.gain),
        )
    ]  # fmt: skip


def figure(found: Frontier) -> Figure:
    """What is found and what is taken, by alpha."""
    rows: list[dict[str, float | int | str]] = [
        {"alpha": p.value or 0.0, "share": 100 * value, "low": 100 * low, "high": 100 * high,
         "what": what, "strongest": p.strongest}
        for p in sorted(found.points, key=lambda p: p.value or 0.0)
        for what, value, low, high in (
            ("anomalies found again", p.detection, p.detection_low, p.detection_high),
            ("taken by the strongest attack", p.gain, p.gain_low, p.gain_high),
        )
    ]  # fmt: skip
    return Figure(
        "alpha",
        "Choosing alpha automatically (abalone, w = (n + 1) / 2)",
        found.sentence + " The attack's share is of what a blind guess leaves.",
        tuple(rows),
        draw.picture(
            "line", "alpha", "share", color="what", band=("low", "high"), log="x",
            titles={"alpha": "alpha", "share": "%", "what": ""},
        ),
    )  # fmt: skip
