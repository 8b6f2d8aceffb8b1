"""`python -m benchmarks.archive`: exact outliers of an archive of 32,640,967 flights' rows.

Bars: at most half the time the fastest peer needs for 1M rows of the same flights, and at most
12 GiB of memory, the array included.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import outliers, peers
from benchmarks.measure import publish
from isinglass.datasets import flight_batches
from isinglass.detect.float32_proxy import ranges

COMMAND = "python -m benchmarks.archive"
RESULTS = Path(__file__).parent / "results" / "archive.csv"
ROWS, COLUMNS = 32_640_967, 29
PEER_DATA = "flights-1M"
SHARE_BAR, MEMORY_BAR_GIB = 0.5, 12.0


def make(rows: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The flights, written straight into their place, and which of them were planted."""
    X = np.empty((rows, COLUMNS), dtype=np.float32)
    is_planted = np.empty(rows, dtype=bool)
    first = shown = 0
    for batch in flight_batches(rows, random_state=0):
        last = first + len(batch.X)
        X[first:last] = batch.X
        is_planted[first:last] = batch.is_outlier
        first = last
        if first * 10 // rows > shown:
            shown = first * 10 // rows
            say(f"made {first:,} of {rows:,} rows")
    low, high = ranges(X)
    for first in range(0, rows, 1 << 16):  # columns to [0, 1], as in the other benchmark
        X[first : first + (1 << 16)] -= low.astype(np.float32)
        X[first : first + (1 << 16)] /= (high - low).astype(np.float32)
    return X, is_planted


def measure_ours(rows: int, times: int) -> dict[str, Any]:
    """Time ours on the archive, then check every score it gave by brute force."""
    X, is_planted = make(rows)
    say("searching")
    find = peers.CONTENDERS[peers.OURS]()
    facts, found, scores = peers.measure(find, X, times=times, limit=0.0, patient=True)
    say(f"{facts['seconds']:.2f} s, peak {facts['peak_mib'] / 1024:.2f} GiB; checking the scores")
    exact = peers.exact_scores(X, found, peers.N_NEIGHBORS)
    return {
        "rows": rows,
        "planted": int(is_planted.sum()),
        **facts,
        "found_planted": int(is_planted[found].sum()),
        "scores_equal": int((scores == exact).sum()),
    }


def peer_at_1m(path: Path, limit: float) -> outliers.Result:
    """The fastest peer on 1M rows, from the results of the other benchmark or measured now."""
    results = outliers.read_results(path)

    def keep(result: outliers.Result) -> None:
        results[result.data, result.contender] = result
        outliers.write_results(path, results)

    if outliers.fastest_peer(results, PEER_DATA) is None:
        say(f"no peer has a result for {PEER_DATA} yet; measuring")
        data = next(d for d in outliers.catalog() if d.name == PEER_DATA)
        settings = outliers.Settings(now(), 1, limit, 0)
        outliers.measure_unknown(data, peers.PEERS, results, settings, keep)
    found = outliers.fastest_peer(results, PEER_DATA)
    if found is None:
        sys.exit(f"no peer finished {PEER_DATA}")
    return found


def append(path: Path, line: dict[str, Any]) -> list[dict[str, str]]:
    """Add a line to the results file; give back all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    begin = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(line))
        if begin:
            writer.writeheader()
        writer.writerow(line)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def report(line: dict[str, str]) -> str:
    """The page for one line of the results file."""
    seconds, peer = float(line["seconds"]), float(line["peer_seconds"])
    stopped = line["peer_status"] != outliers.DONE
    share = seconds / peer
    gib = float(line["peak_mib"]) / 1024
    times = int(line["times"])
    # A peer that was stopped needs longer than its limit, so the true share is smaller still.
    fast = "yes" if share <= SHARE_BAR else "unknown" if stopped else "no"
    whole = int(line["rows"]) == ROWS
    note = "" if whole else " A try with fewer rows: the bars are meant for the whole archive."
    return "\n".join(
        [
            f"{int(line['rows']):,} rows of {COLUMNS} float32 columns in memory, "
            f"{int(line['planted']):,} planted outliers; the {peers.N_OUTLIERS} strongest by mean "
            f"distance to {peers.N_NEIGHBORS} neighbors, exactly. Making the rows is not timed; "
            f"{'one run' if times == 1 else f'best of {times}'} after a warm-up. The run began "
            f"{line['run']}, the peer's {line['peer_run']}.{note}",
            "",
            "| what | measured | bar | met |",
            "|---|---|---|---|",
            f"| seconds | {seconds:.2f} | | |",
            f"| fastest peer on 1M rows ({line['peer']}), s | {'> ' * stopped}{peer:.2f} | | |",
            f"| ours / that peer | {'≤ ' * stopped}{share:.3f} | ≤ {SHARE_BAR} | {fast} |",
            f"| peak memory, array included, GiB | {gib:.2f} | ≤ {MEMORY_BAR_GIB:g} "
            f"| {'yes' if gib <= MEMORY_BAR_GIB else 'no'} |",
            f"| memory above the array, GiB | {float(line['above_mib']) / 1024:.2f} | | |",
            f"| found rows that were planted | {line['found_planted']} | | |",
            f"| scores equal to float64 brute force over all rows | {line['scores_equal']} "
            f"| {peers.N_OUTLIERS} "
            f"| {'yes' if int(line['scores_equal']) == peers.N_OUTLIERS else 'no'} |",
        ]
    )


def say(text: str) -> None:
    """Progress, apart from the report."""
    print(text, file=sys.stderr, flush=True)


def now() -> str:
    """The moment, as runs are named."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def main() -> None:
    """Measure, print, and write docs/benchmarks/archive.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="fewer for a try")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for a peer on 1M rows")
    parser.add_argument("--csv", type=Path, default=RESULTS, help="the results file")
    parser.add_argument("--peers-csv", type=Path, default=outliers.RESULTS)
    options = parser.parse_args()
    began = now()
    peer = peer_at_1m(options.peers_csv, options.limit)
    line = {
        "run": began,
        **measure_ours(options.rows, options.times),
        "peer": peer.contender,
        "peer_run": peer.run,
        "peer_status": peer.status,
        "peer_seconds": peer.seconds,
    }
    text = report(append(options.csv, line)[-1])
    if options.csv == RESULTS and options.rows == ROWS:
        publish("archive", COMMAND, text)
    else:  # a try: leave the documentation alone
        print(text)


if __name__ == "__main__":
    main()
