"""`python -m benchmarks.randomization`: randomization levels, beside one matrix product.

Bars, 10,000 x 100: levels in at most 2 (gaussian) and 5 (uniform) times the time of `X @ Z.T` in
float64, expectations in at most 4 and 10 times.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from benchmarks.measure import publish
from benchmarks.radius import in_turn
from isinglass.datasets import uni_dis
from isinglass.measure.randomization import (
    average_level,
    expected_randomization_level,
    randomization_level,
    worst_level,
)

RATIO = 8.0  # the noise of Aggarwal's experiments, in deviations of a column
BARS = {"gaussian": (2, 4), "uniform": (5, 10)}


def main() -> None:
    """Measure, print, and write docs/benchmarks/randomization.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    text = measured(options.rows, options.columns, options.times)
    publish("randomization", "python -m benchmarks.randomization", text)


def measured(rows: int, columns: int, times: int) -> str:
    """The table of the page."""
    X = uni_dis(rows, n_features=columns, random_state=0).X
    rng = np.random.default_rng(1)
    noise = {
        "gaussian": rng.normal(size=X.shape),
        "uniform": rng.uniform(-sqrt(3), sqrt(3), size=X.shape),
    }
    released = {name: X + RATIO * drawn for name, drawn in noise.items()}
    works: list[Callable[[], Any]] = [lambda: X @ released["gaussian"].T]
    names: list[str] = ["`X @ Z.T`, float64"]
    bars: list[int | None] = [None]
    for law, (level_bar, expectation_bar) in BARS.items():
        works += [
            lambda law=law: randomization_level(X, released[law], scale=RATIO, distribution=law),
            lambda law=law: expected_randomization_level(X, scale=RATIO, distribution=law),
        ]
        names += [f"levels, {law}", f"expected levels, {law}"]
        bars += [level_bar, expectation_bar]
    found = [work() for work in works]  # compiled
    seconds = in_turn(works, times)
    lines = [
        f"{rows:,} records uniform in a cube, {columns} columns, noise of "
        f"{RATIO:g} deviations; best of {times}. The product alone is not yet a level.",
        "",
        "| | seconds | times the product | bar | average | worst 1 % |",
        "|---|---|---|---|---|---|",
    ]
    for name, bar, taken, levels in zip(names, bars, seconds, found, strict=True):
        shown = "| | | |"
        if bar is not None:
            shown = f"| ≤ {bar} | {average_level(levels):,.1f} | {worst_level(levels):,.1f} |"
        lines.append(f"| {name} | {taken:.3f} | {taken / seconds[0]:.2f} {shown}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
