"""`python -m benchmarks.tune`: the default search beside the thorough one, and its time.

Bars: `isinglass tune` of 200,000 x 18 with its defaults in at most 300 s on 2 cores; on two real
tables every setting on the thorough frontier is matched within its intervals by one of the default
search. Stopped, it goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
import warnings
from pathlib import Path

from benchmarks.measure import publish
from isinglass import datasets
from isinglass.auditing.tuning.frontier import Frontier
from isinglass.auditing.tuning.points import Point
from isinglass.auditing.tuning.tune import tune
from isinglass.errors import PrivacyWarning

FILES = ("cmapss_fd001_train", "mammography")
BAR_S = 300.0


def processor_seconds() -> float:
    """Of this process and of all that it started and that ended."""
    own, others = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def matched(point: Point, others: tuple[Point, ...]) -> bool:
    """Whether one of the others is as good within the point's intervals."""
    return any(
        o.on_frontier and o.detection >= point.detection_low and o.gain <= point.gain_high
        for o in others
    )


def compared(name: str, options: argparse.Namespace) -> list[str]:
    """A file searched both ways: what the thorough frontier has, and what matches it."""
    X = datasets.load(name).X[: options.rows]
    found: dict[bool, Frontier] = {}
    taken = {}
    for thorough in (False, True):
        book = options.books / f"{name}-{options.rows}-{'thorough' if thorough else 'default'}"
        start = processor_seconds()
        found[thorough] = tune(
            X, options.methods.split(",") if options.methods else "all", thorough=thorough,
            n_jobs=options.jobs, resume=book, random_state=1,
        )  # fmt: skip
        taken[thorough] = processor_seconds() - start
    quick, long = found[False].points, found[True].points
    lines = [
        f"## {name}, {len(X):,} x {X.shape[1]}",
        "",
        f"Processor seconds: {taken[False]:.0f} by default, {taken[True]:.0f} thorough.",
        "",
        f"- default: {found[False].sentence}",
        f"- thorough: {found[True].sentence}",
        "",
        "| on the thorough frontier | found | interval | gain | interval | matched by default |",
        "|---|---|---|---|---|---|",
    ]
    for p in long:
        if p.on_frontier:
            lines.append(
                f"| `{p.method}` {p.setting} | {p.detection:.0%} | {p.detection_low:.0%} to "
                f"{p.detection_high:.0%} | {p.gain:.0%} | {p.gain_low:.0%} to {p.gain_high:.0%} | "
                f"{'yes' if matched(p, quick) else 'no'} |"
            )
    return lines


def timed(rows: int, columns: int, jobs: int) -> list[str]:
    """One default search of a large table."""
    X = datasets.flights(rows, n_features=columns, random_state=1).X
    start, used = time.perf_counter(), processor_seconds()
    tune(X, n_jobs=jobs, random_state=1)
    seconds, used = time.perf_counter() - start, processor_seconds() - used
    return [
        f"`tune` of {rows:,} x {columns} flights, all methods, defaults, {jobs} processes.",
        "",
        "| seconds | processor seconds | bar, s | met |",
        "|---|---|---|---|",
        f"| {seconds:.0f} | {used:.0f} | ≤ {BAR_S:.0f} | {'yes' if seconds <= BAR_S else 'no'} |",
    ]


def main() -> None:
    """Measure, print, and write docs/benchmarks/tune.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", default=",".join(FILES))
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--methods", default="", help="default: all")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--books", type=Path, default=Path("tune-books"))
    parser.add_argument("--large", default="200000x18", help="rows x columns; none: leave it out")
    options = parser.parse_args()
    options.books.mkdir(exist_ok=True)
    warnings.simplefilter("ignore", PrivacyWarning)
    lines, given = [], []
    for name in ("files", "rows", "methods", "large"):
        value = getattr(options, name)
        given += [] if value == parser.get_default(name) else [f"--{name} {value}"]
    if options.large != "none":
        rows, columns = map(int, options.large.split("x"))
        lines += [*timed(rows, columns, options.jobs), ""]
    for name in options.files.split(","):
        lines += [*compared(name, options), ""]
    command = " ".join(["python -m benchmarks.tune", *given])
    publish("tune", command, "\n".join(lines).rstrip())


if __name__ == "__main__":
    main()
