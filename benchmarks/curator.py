"""`python -m benchmarks.curator`: what an answer costs beside the commit it cannot do without.

Bars: one durable answer at most 2 times a bare one-row commit (WAL, synchronous=FULL) in the same
folder, medians of 300, padding off, the middle of 9 rounds; 10,000 distinct answers in one batch
on mammography at 10,000 a second or more; one check against 1,000,000 past queries, all within
reach, in 1 ms.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import isinglass as ig
from benchmarks.measure import publish
from isinglass.curate.ledger.spend_index import Reach
from isinglass.datasets import load
from isinglass.detect.metric import declare

BETA, R = 55, 1.7  # of mammography, as the paper has them
BATCH = 10_000
ROUNDS = 9  # the disk has its moods
PAST = 1_000_000


def main() -> None:
    """Measure, print, and write docs/benchmarks/curator.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=300, help="single answers and commits")
    options = parser.parse_args()
    table = load("mammography").X.astype(np.float64)
    with tempfile.TemporaryDirectory(dir=".") as folder:  # a disk, not a file system in memory
        os.environ["ISINGLASS_HOME"] = str(Path(folder, "home").absolute())
        text = "\n\n".join(
            (single(table, Path(folder), options.times), batch(table, Path(folder)), check(table))
        )
    publish("curator", "python -m benchmarks.curator", text)


def single(table: NDArray[np.float64], folder: Path, times: int) -> str:
    """Rounds of answers and bare commits, each with files of its own; the middle one counts."""
    rounds = [_round(table, folder / f"round{number}", times) for number in range(ROUNDS)]
    rounds.sort(key=_ratio)
    middle = rounds[ROUNDS // 2]
    lines = [
        "| one at a time | median ms | 95 % ms |",
        "|---|---|---|",
        row("bare one-row commit, WAL, synchronous=FULL", middle[0]),
        row("durable answer, padding off", middle[1]),
    ]
    ratios = ", ".join(f"{_ratio(found):.2f}" for found in rounds)
    met = "met" if _ratio(middle) <= 2 else "not met"
    return "\n".join(lines) + (
        f"\n\nRatio of medians **{_ratio(middle):.2f}×** (bar 2: {met}), the middle of {ROUNDS} "
        f"rounds of {times}: {ratios}."
    )


def _ratio(found: tuple[list[float], list[float]]) -> float:
    commits, answers = found
    return statistics.median(answers) / statistics.median(commits)


def _round(table: NDArray[np.float64], folder: Path, times: int) -> tuple[list[float], list[float]]:
    """One answer and one bare commit, in turn, so that both meet the same disk."""
    folder.mkdir()
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute("PRAGMA synchronous=FULL")
    bare.execute("CREATE TABLE rows(seq INTEGER PRIMARY KEY, place BLOB)")
    places = queries(table, times + 20)

    def commit(place: NDArray[np.float64]) -> None:
        bare.execute("BEGIN IMMEDIATE")
        bare.execute("INSERT INTO rows(place) VALUES (?)", (place.tobytes(),))
        bare.execute("COMMIT")

    with curator(table, folder / "single.db") as asked:
        commits, answers = [], []
        for number, place in enumerate(places):
            pair = (
                timed(lambda p=place: commit(p)),
                timed(lambda p=place: asked.ask(p, epsilon="0.1")),
            )
            if number >= 20:  # compiled, and the files made
                commits.append(pair[0])
                answers.append(pair[1])
    bare.close()
    return commits, answers


def batch(table: NDArray[np.float64], folder: Path) -> str:
    """Distinct answers in one transaction, on an empty ledger, best of three ledgers."""
    places = queries(table, BATCH)
    found = []
    for number in range(3):
        with curator(table, folder / f"batch{number}.db") as asked:
            found.append(timed(lambda a=asked: a.ask(places, epsilon="0.1")))
    rate = BATCH / min(found)
    return (
        f"{BATCH:,} distinct answers in one batch, mammography ({len(table):,} × "
        f"{table.shape[1]}), empty ledger, cap 1000: {min(found):.3f} s, **{rate:,.0f} a second** "
        "(bar 10,000); best of 3."
    )


def check(table: NDArray[np.float64]) -> str:
    """One look at what was spent around a place, among a million past queries."""
    rng = np.random.default_rng(2)
    metric = declare("euclidean", None, None, table.shape[1])
    lines = ["| one check against 1,000,000 past queries | median ms | 95 % ms |", "|---|---|---|"]
    for name, spread in (("all within reach", 0.1), ("spread out", 100.0)):
        reach = Reach(metric)
        past = rng.normal(scale=spread, size=(PAST, table.shape[1]))
        spends = past, np.full(PAST, R), np.full(PAST, 100_000, np.int64)
        built = timed(lambda r=reach, s=spends: r.extend(*s))
        probes = rng.normal(scale=spread, size=(220, 1, table.shape[1]))
        times = [timed(lambda r=reach, p=probe: r.sums(p, np.full(1, R))) for probe in probes][20:]
        lines.append(row(f"{name} (read in once, in {built:.1f} s)", times))
    return "\n".join(lines) + "\n\nBar: 1 ms, all within reach."


def curator(table: NDArray[np.float64], ledger: Path) -> ig.Curator:
    """Padding off: what is measured is the work."""
    return ig.Curator(table, BETA, R, 1000, ledger, pad=False)


def queries(table: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Places like the table's, no two alike."""
    rng = np.random.default_rng(1)
    return table[rng.integers(len(table), size=n)] + rng.normal(scale=0.1, size=(n, table.shape[1]))


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def row(name: str, seconds: list[float]) -> str:
    return (
        f"| {name} | {statistics.median(seconds) * 1e3:.3f} | "
        f"{np.quantile(seconds, 0.95) * 1e3:.3f} |"
    )


if __name__ == "__main__":
    main()
