"""`python -m benchmarks.curator_timing`: when answers leave, by how many records are near.

No bar: a curator promises that the time of an answer is fixed by the number of queries, and this
shows how well a machine keeps it.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import publish
from isinglass.curate.curator import Curator
from isinglass.curate.mechanisms.mechanism import sparse_mechanism
from isinglass.curate.padding import Deadline

Array = NDArray[np.float64]
BETA, R, WIDTH, EPSILON = 20, 1.0, 6, 0.01
BATCH = 100
NEAR = {"0": 0, "β": BETA, "50 β": 50 * BETA}


def table_and_places(n_rows: int) -> tuple[Array, dict[str, Array]]:
    """A cloud of records, and three places far from it and each other with so many near."""
    rng = np.random.default_rng(0)
    parts, places = [rng.normal(size=(n_rows, WIDTH)) * 5], {}
    for i, (name, count) in enumerate(NEAR.items()):
        place = np.full(WIDTH, 1000.0 * (i + 1))
        places[name] = place
        around = rng.normal(size=(count, WIDTH))
        # Up to the radius, so that records have to be looked at one by one.
        around *= R * rng.uniform(0.5, 0.999, (count, 1)) / np.linalg.norm(around, axis=1)[:, None]
        parts.append(place + around)
    return np.concatenate(parts), places


def times(work: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Array]:
    """Milliseconds of each, in random order so that a noisy spell hits all alike."""
    order = [name for name in work for _ in range(rounds)]
    random.Random(1).shuffle(order)
    found: dict[str, list[float]] = {name: [] for name in work}
    for name in order:
        start = time.perf_counter()
        work[name]()
        found[name].append((time.perf_counter() - start) * 1e3)
    return {name: np.array(values) for name, values in found.items()}


def gap(a: Array, b: Array) -> float:
    """The largest difference of the two shares below any threshold (Kolmogorov, Smirnov)."""
    both = np.sort(np.concatenate([a, b]))
    shares = [np.searchsorted(np.sort(x), both, "right") / len(x) for x in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())


def lines_of(title: str, found: Mapping[str, Array], digits: int) -> list[str]:
    """A row for each number of records near."""
    lines = []
    for name, values in found.items():
        cells = [f"{x:.{digits}f}" for x in np.percentile(values, [5, 50, 95, 99, 100])]
        apart = "" if name == "0" else f"{gap(found['0'], values):.2f}"
        lines.append(f"| {title} | {name} | {' | '.join(cells)} | {apart} |")
    return lines


def counting(curator: Curator, places: Mapping[str, Array]) -> dict[str, Callable[[], object]]:
    """What depends on the table: the count and the coin, without ledger and deadline."""
    mechanism = sparse_mechanism(BETA, R, EPSILON)

    def answer(at: Array) -> bool:
        counts = mechanism.question.look(curator._neighbors, at[np.newaxis], mechanism.cap)
        return mechanism.answer(*counts[0].tolist())

    return {name: partial(answer, at) for name, at in places.items()}


def asking(curator: Curator, places: Mapping[str, Array]) -> dict[str, Callable[[], object]]:
    """Fresh answers about one record each."""
    ask = partial(curator.ask, epsilon=EPSILON, fresh=True)
    return {name: partial(ask, at) for name, at in places.items()}


def asking_many(curator: Curator, places: Mapping[str, Array]) -> dict[str, Callable[[], object]]:
    """Batches at one place each, their records a hair apart so that each of them is drawn."""
    ask = partial(curator.ask, epsilon=EPSILON / 10, fresh=True)
    steps = np.arange(BATCH)[:, np.newaxis] * 1e-9
    return {name: partial(ask, at + steps) for name, at in places.items()}


def main() -> None:
    """Measure, print, and write docs/benchmarks/curator-timing.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    rounds, fewer = options.rounds, max(1, options.rounds // 4)
    table, places = table_and_places(options.rows)
    chance = [f"{1.63 * math.sqrt(2 / n):.2f}" for n in (rounds, fewer)]
    lines = [
        "Milliseconds from `ask` to the answer, for a place with no record within r, with β and "
        f"with 50 β of them; β = {BETA}, {options.rows:,} × {WIDTH} records, SQLite ledger. Fresh "
        f"answers in random order, {rounds} of each kind, and {fewer} batches. *Apart* is the "
        "largest difference to the first of its kind in the share of answers that left before "
        "some moment: 0 tells nothing, 1 everything, and equal distributions reach "
        f"{chance[0]} ({chance[1]} for batches) once in a hundred times. *Counting alone* is what "
        "the ledger's commit and the deadline are to hide.",
        "",
        "| | records near | 5 % | median | 95 % | 99 % | most | apart |",
        "|---|---|---|---|---|---|---|---|",
    ]
    late = []
    with tempfile.TemporaryDirectory(dir=".") as folder:  # a disk, not a file system in memory
        os.environ["ISINGLASS_HOME"] = folder
        for title, pad in (("not padded", False), ("padded", True)):
            ledger = Path(folder) / f"{title}.db"
            with Curator(table, BETA, R, 100_000, ledger, pad=pad) as curator:
                if not pad:
                    lines += lines_of("counting alone", times(counting(curator, places), rounds), 3)
                singles = times(asking(curator, places), rounds)
                late.append(curator.overruns)
                batches = times(asking_many(curator, places), fewer)
                late.append(curator.overruns - late[-1])
                lines += lines_of(f"one record, {title}", singles, 2)
                lines += lines_of(f"{BATCH} records, {title}", batches, 2)
    slot = Deadline()
    lines += [
        "",
        f"The deadline is {slot.slot * 1e3:g} ms and {slot.each * 1e3:g} ms more for each record. "
        f"{late[2]} of {3 * rounds} single answers and {late[3]} of {3 * fewer} batches missed "
        "theirs and left at the next multiple. What is above a deadline is the way to it and how "
        "late the machine wakes a sleeper; neither looks at the table.",
    ]
    publish("curator-timing", "python -m benchmarks.curator_timing", "\n".join(lines))


if __name__ == "__main__":
    main()
