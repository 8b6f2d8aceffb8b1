"""Bars of a benchmark, what was measured, whether it is met, and at which commit."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Bar:
    """What must be reached, and what was; None where that was not measured."""

    what: str
    bar: float
    measured: float | None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        if self.measured is None:
            return None
        return self.measured <= self.bar if self.at_most else self.measured >= self.bar


def bars_table(bars: Iterable[Bar]) -> list[str]:
    """A line a bar: the bar, the figure, and the verdict."""
    lines = ["| | bar | measured | met |", "|---|---|---|---|"]
    for bar in bars:
        sign = "≤" if bar.at_most else "≥"
        found = "not measured" if bar.measured is None else f"{bar.measured:.3g}"
        verdict = {True: "yes", False: "**no**", None: "unknown"}[bar.met]
        lines.append(f"| {bar.what} | {sign} {bar.bar:g} | {found} | {verdict} |")
    return lines


@functools.cache
def commit() -> str:
    """The commit that is measured, marked where files differed from it when this was first asked.

    Ask at the start: what is loaded then is what is measured.
    """
    folder = Path(__file__).parent.parent

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    # A page that is written is no change of what is measured.
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "benchmarks")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + (" and changes" if changed else "")
