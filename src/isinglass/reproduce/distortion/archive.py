"""The paper's own number of rows: 32,640,967 generated flights' rows, distorted and searched."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.datasets import flight_batches
from isinglass.detect.distance import DistanceOutliers
from isinglass.perturb.distortion import Distortion
from isinglass.progress import Progress
from isinglass.reproduce.distortion import printed
from isinglass.reproduce.distortion.setting import Part, network, seeds
from isinglass.reproduce.result import How, Missing, Number

#: As many hidden units and released columns as the table has, so that one array holds either.
SIZE = printed.ARCHIVE_COLUMNS


def archive(how: How, tell: Progress, rows: int = printed.ARCHIVE_ROWS) -> Part:
    """One key for each kind, at full length; some 9 GiB of memory."""
    if not how.archive:
        why = "needs about 9 GiB of memory and two quiet cores; ask for it with --archive"
        return Part(missing=[Missing(f"Figure 10(b) at {rows:,} rows", why)])
    part = Part()
    low, high = _ranges(how, rows, tell)
    before = _strongest(_made(how, rows, low, high, None, tell)).outliers_
    for kind, (theirs, _) in printed.ENGINES.items():
        key = network(kind, seed=seeds(how, 90, 1)[0], size=SIZE)
        key.fit(np.zeros((2, SIZE), dtype=np.float32))  # only the width counts
        after = _strongest(_made(how, rows, low, high, key, tell)).outliers_
        rate = 100 * len(np.intersect1d(before, after)) / len(before)
        part.numbers.append(
            Number(
                "Figure 10(b)",
                f"detection rate, %, {printed.KINDS[kind]}, {rows:,} generated rows, one key, "
                f"m = p = {SIZE}",
                theirs,
                rate,
                note="generated flights stand in for the simulated ones; one key, of small size",
            )
        )
    return part


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
    return DistanceOutliers(printed.TOP, printed.NEIGHBORS).fit(X)
