"""Detection rates at the paper's full 32,640,967 rows, on generated flights (Figure 10b)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.datasets import flight_batches
from isinglass.detect.distance import DistanceOutliers
from isinglass.perturb.distortion import Distortion
from isinglass.progress import Progress
from isinglass_papers.core.result import How, Missing, Number
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.rules import CHANCE, Repeated
from isinglass_papers.distortion.setting import ExperimentPart, PreparedTable, network, seeds
from isinglass_papers.distortion.sizes import BySize

#: As many hidden units and released columns as the table has, so that one array holds either.
SIZE = printed.ARCHIVE_COLUMNS
#: Keys for each kind; the note on the page says how long more of them would take.
KEYS = 1


@dataclass(frozen=True, slots=True)
class Searched:
    """What became of the strongest `top` of so many rows.

    `level` is the last one's score over that of the middle one: near 1, they are a crowd.
    """

    rows: int
    top: int
    level: float
    rates: Mapping[str, Repeated]


def archive(
    how: How, tell: Progress, table: PreparedTable, known: BySize, rows: int = printed.ARCHIVE_ROWS
) -> ExperimentPart:
    """Each kind at full length, beside `table` under networks of the same size.

    Takes some 9 GiB of memory.
    """
    if not how.archive:
        why = "needs about 9 GiB of memory and two quiet cores; ask for it with --archive"
        return ExperimentPart(missing=[Missing(f"Figure 10(b) at {rows:,} rows", why)])
    begin = time.perf_counter()
    part = ExperimentPart()
    low, high = _ranges(how, rows, tell)
    original = _strongest(_made(how, rows, low, high, None, tell))
    before, level, rates = original.outliers_, _level(original), {}
    del original  # it holds the rows
    keyed = time.perf_counter()
    for kind in printed.ENGINES:
        shares = []
        for seed in seeds(how, 90, KEYS):
            key = network(kind, seed=seed, size=SIZE)
            key.fit(np.zeros((2, SIZE), dtype=np.float32))  # only the width counts
            after = _strongest(_made(how, rows, low, high, key, tell)).outliers_
            shares.append(100 * len(np.intersect1d(before, after)) / len(before))
        rates[kind] = Repeated.of(shares)
    done = time.perf_counter()
    long = Searched(rows, printed.TOP, level, rates)
    short = Searched(
        len(table.X), table.top, _level(table.strongest()), {f: known[f, SIZE] for f in rates}
    )
    part.numbers += [_number(kind, long, short, table.unlike) for kind in rates]
    part.notes.append(archive_note(long, short, done - begin, (done - keyed) / (KEYS * len(rates))))
    return part


def _number(kind: str, long: Searched, short: Searched, unlike: str) -> Number:
    rate = long.rates[kind]
    return Number(
        "Figure 10(b)",
        f"detection rate, %, {printed.KINDS[kind]}, {long.rows:,} generated rows, "
        f"{_keys(rate.keys)}, m = p = {SIZE}",
        printed.ENGINES[kind][0],
        rate.mean,
        rate.low if rate.keys > 1 else None,
        rate.high if rate.keys > 1 else None,
        f"{unlike}; {_keys(rate.keys)}; networks of the same size keep "
        f"{short.rates[kind].mean:.1f} % of the top {short.top} of {short.rows:,} rows",
    )


def archive_note(long: Searched, short: Searched, seconds: float, each: float) -> str:
    """The page's paragraph: what was found, beside fewer rows, and why over so few keys.

    `seconds` is what all of it took, `each` one release and its search.
    """
    falls = all(a.mean > b.mean for a, b in pairwise(long.rates.values()))
    keys = next(iter(long.rates.values())).keys
    # A few keys only: each strays by the deviation of one, not by that of a mean over many.
    fewer = [
        f
        for f, rate in long.rates.items()
        if rate.mean < short.rates[f].mean - CHANCE * short.rates[f].deviation
    ]
    said = (
        f"With `--archive`, {long.rows:,} generated rows were searched as well, with "
        f"{_keys(keys)} for each kind and m = p = {SIZE} ({seconds:.0f} s for that part). Of the "
        f"top {long.top}, {_listed(long.rates)} are found again; the order of the three is "
        f"{'' if falls else 'not '}the paper's. Networks of the same size keep of the top "
        f"{short.top} of {short.rows:,} rows: {_listed(short.rates)}."
    )
    if fewer:
        crowd = long.level > short.level
        said += (
            f" The sizes being the same, the fewer found ({_named(fewer)}) come from the number "
            f"of rows: the last of the top {long.top} scores {long.level:.2f} of the middle one, "
            f"where that of the top {short.top} of {short.rows:,} rows scores {short.level:.2f}, "
            + (
                "so that the longer table's list ends in a denser crowd of like scores, which any "
                "noise reorders."
                if crowd
                else "so that it is not a denser crowd of like scores; unexplained."
            )
        )
    else:
        said += " So the number of rows makes it no lower."
    total = each * printed.TRIALS * len(long.rates) / 3600
    return said + (
        f" One release and its search took {each:.0f} s; the paper's {printed.TRIALS} trials of "
        f"each kind would take {total:.2g} hours, and were not run."
    )


def _keys(count: int) -> str:
    return "one key" if count == 1 else f"{count} keys"


def _listed(rates: Mapping[str, Repeated]) -> str:
    return ", ".join(f"{rate.mean:.1f} % ({printed.KINDS[f]})" for f, rate in rates.items())


def _named(kinds: Sequence[str]) -> str:
    return ", ".join(printed.KINDS[f] for f in kinds)


def _level(found: DistanceOutliers) -> float:
    scores = found.outlier_scores_
    return float(scores[-1] / scores[len(scores) // 2 - 1])


def _ranges(how: How, rows: int, tell: Progress) -> tuple[NDArray[Any], NDArray[Any]]:
    low = np.full(SIZE, np.inf, dtype=np.float32)
    high = -low
    done = 0
    for batch in flight_batches(rows, random_state=how.seed):
        low = np.minimum(low, batch.X.min(axis=0))
        high = np.maximum(high, batch.X.max(axis=0))
        done += len(batch.X)
        tell("archive: looking at rows", done, rows)
    return low, high


def _made(
    how: How,
    rows: int,
    low: NDArray[Any],
    high: NDArray[Any],
    key: Distortion | None,
    tell: Progress,
) -> NDArray[np.float32]:
    """The rows in [0, 1], or their release; made anew each time, so that only one is held."""
    X = np.empty((rows, SIZE), dtype=np.float32)
    first = 0
    for batch in flight_batches(rows, random_state=how.seed):
        last = first + len(batch.X)
        scaled = np.clip((batch.X - low) / (high - low), 0, 1)
        X[first:last] = scaled if key is None else key.transform(scaled)
        first = last
        tell("archive: making rows", first, rows)
    return X


def _strongest(X: NDArray[np.float32]) -> DistanceOutliers:
    return DistanceOutliers(printed.TOP, printed.NEIGHBORS, n_jobs=-1).fit(X)
