"""`python -m benchmarks.outliers`: exact outliers against other libraries' exact neighbor searches.

Bars: flights with many planted outliers, 50 times the fastest peer at 1M rows and time growing
like rows^1.15 at most; with 50 planted, 8 times at 150k and 320k and 50 times at 1M; no outliers
at all, 10 times; every data file above 10,000 rows, 2 times; on shapes that are awkward for an
index, never slower. Rows of the results file are written as they finish, and a rerun skips them.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.measure import publish
from benchmarks.tables import (
    FEW,
    FEW_RAW,
    FILES,
    FLIGHTS,
    NONE,
    PLANTED,
    PLANTED_RAW,
    SHAPES,
    SIZES,
    Data,
    catalog,
)

COMMAND = "python -m benchmarks.outliers"
RESULTS = Path(__file__).parent / "results" / "outliers.csv"
ALL_PEERS_UP_TO = 320_000  # flights above that: the two fastest peers at the size before
NO_PEERS_FROM = 3_200_000
GROWTH_BAR = 1.15
BARS = {
    **{(family, 1_000_000): 50.0 for family in FLIGHTS},
    **{(family, rows): 8.0 for family in (FEW, FEW_RAW) for rows in (150_000, 320_000)},
}
FAMILY_BARS = {NONE: 10.0, FILES: 2.0, SHAPES: 1.0}


# --- the results file -----------------------------------------------------------------------------

DONE = "done"


@dataclass(frozen=True, slots=True)
class Result:
    """One contender on one table. A stopped one has the limit as its seconds."""

    run: str  # when the run began; ratios within one run have the same
    data: str
    family: str
    rows: int
    columns: int
    contender: str
    status: str  # "done", "stopped at 240 s", "not run: ..." or "failed: ..."
    seconds: float | None = None
    times: int | None = None
    peak_mib: float | None = None
    above_mib: float | None = None
    rows_agree: int | None = None
    order_agrees: bool | None = None
    score_error: float | None = None

    @property
    def done(self) -> bool:
        """Whether the seconds are those of a finished search."""
        return self.status == DONE

    @property
    def stopped(self) -> bool:
        """Whether the seconds are only a lower bound."""
        return self.status.startswith("stopped")


Results = dict[tuple[str, str], Result]


def read_results(path: Path) -> Results:
    """What is known, by data and contender; nothing where there is no file yet."""
    if not path.exists():
        return {}
    kinds = {field.name: str(field.type) for field in fields(Result)}
    with path.open(encoding="utf-8", newline="") as file:
        found = [
            Result(**{name: _parse(kinds[name], text) for name, text in line.items()})
            for line in csv.DictReader(file)
        ]
    return {(result.data, result.contender): result for result in found}


def _parse(kind: str, text: str) -> Any:
    if kind.startswith("str"):
        return text
    if text == "":
        return None
    if kind.startswith("bool"):
        return text == "True"
    return int(text) if kind.startswith("int") else float(text)


def write_results(path: Path, results: Results) -> None:
    """Replace the file whole, so that a run broken off leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.tmp")
    with draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Result)])
        writer.writeheader()
        for result in results.values():
            line = asdict(result)
            for name, value in line.items():
                if isinstance(value, float):
                    line[name] = f"{value:.6g}"
            writer.writerow(line)
    os.replace(draft, path)


def is_known(results: Results, data: str, contender: str, limit: float) -> bool:
    """Whether a rerun may skip it: it finished, or was stopped no earlier than it would be now."""
    result = results.get((data, contender))
    if result is None:
        return False
    return result.done or (result.stopped and (result.seconds or 0.0) >= limit)


def why_not(data: Data, contender: str, results: Results) -> str | None:
    """The reason for which a peer is spared this table, or None where it runs."""
    if contender == peers.OURS or data.family not in FLIGHTS:
        return None
    if data.rows >= NO_PEERS_FROM:
        return "not run: too large for every peer"
    smaller = [r for r in results.values() if r.family == data.family and r.rows < data.rows]
    stopped = [r.rows for r in smaller if r.contender == contender and r.stopped]
    if data.rows > ALL_PEERS_UP_TO:
        at = [r for r in smaller if r.rows == ALL_PEERS_UP_TO and r.contender != peers.OURS]
        done = sorted((r for r in at if r.done), key=lambda r: r.seconds or 0.0)
        fastest = [r.contender for r in done[:2]]
        if fastest and contender not in fastest:
            return f"not run: not among the two fastest at {ALL_PEERS_UP_TO:,} rows"
    return f"not run: stopped at {min(stopped):,} rows already" if stopped else None


# --- measuring ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run was asked for."""

    run: str
    times: int
    limit: float
    check_up_to: int


def measure(
    data: Data, contenders: Iterable[str], settings: Settings, keep: Callable[[Result], None]
) -> None:
    """Run `contenders` on one table, one process each, and hand over each result as it comes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X = np.ascontiguousarray(data.make(), dtype=np.float32)
        np.save(folder / "data.npy", X)
        truth: tuple[Any, Any] | None = None
        for contender in contenders:
            status, facts = run_child(contender, folder, settings)
            if status == DONE and len(X) <= settings.check_up_to:
                if truth is None:
                    truth = peers.reference(X, peers.N_OUTLIERS, peers.N_NEIGHBORS)
                with np.load(folder / "found.npz") as found:
                    agreed = peers.agreement((found["rows"], found["scores"]), truth)
                names = ("rows_agree", "order_agrees", "score_error")
                facts |= dict(zip(names, agreed, strict=True))
            place = (settings.run, data.name, data.family, *X.shape, contender, status)
            result = Result(*place, **facts)
            print(describe(result), file=sys.stderr, flush=True)
            keep(result)


def run_child(contender: str, folder: Path, settings: Settings) -> tuple[str, dict[str, Any]]:
    """One contender in a process of its own: how it ended, and what it measured."""
    (folder / "found.npz").unlink(missing_ok=True)
    arguments = [contender, str(folder / "data.npy"), str(folder / "found.npz")]
    arguments += [f"--times={settings.times}", f"--limit={settings.limit}"]
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.peers", *arguments],
        cwd=Path(__file__).parent.parent,
        check=False,
        capture_output=True,
        text=True,
    )
    if ended.returncode == -signal.SIGALRM:
        return f"stopped at {settings.limit:g} s", {"seconds": settings.limit}
    if ended.returncode != 0:
        print(ended.stderr, file=sys.stderr)
        last = (ended.stderr.strip().splitlines() or [f"exit status {ended.returncode}"])[-1]
        return f"failed: {re.split(':', last)[0]}", {}
    return DONE, json.loads(ended.stdout.splitlines()[-1])


def describe(result: Result) -> str:
    """A line of progress."""
    text = f"{result.data:20} {result.rows:>9,} x {result.columns:<3} {result.contender:16}"
    if result.done:
        text += f" {result.seconds:9.3f} s  {result.above_mib:7.0f} MiB"
        if result.rows_agree is not None:
            order = "in order" if result.order_agrees else "out of order"
            text += f"  {result.rows_agree} right, {order}, error {result.score_error:.1e}"
        return text
    return f"{text} {result.status}"


# --- verdicts -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """Ours against the fastest peer on one table."""

    ours: Result
    peer: Result | None  # the fastest, or a stopped one where none finished
    bar: float | None

    @property
    def ratio(self) -> float | None:
        """How many times faster ours is; a lower bound where the peer was stopped."""
        if self.peer is None or not self.ours.done:
            return None
        return (self.peer.seconds or 0.0) / (self.ours.seconds or np.inf)

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None where there is no bar or the limit hides the answer."""
        if self.bar is None or self.ratio is None:
            return None
        if self.ratio >= self.bar:
            return True
        return None if self.peer is not None and self.peer.stopped else False


def fastest_peer(results: Results, data: str) -> Result | None:
    """The peer to beat: the fastest that finished, else one that was stopped."""
    found = [r for r in results.values() if r.data == data and r.contender != peers.OURS]
    ended = [r for r in found if r.done] or [r for r in found if r.stopped]
    return min(ended, key=lambda r: r.seconds or 0.0, default=None)


def verdicts(results: Results) -> list[Verdict]:
    """One for every table on which ours has a result."""
    return [
        Verdict(
            ours,
            fastest_peer(results, ours.data),
            BARS.get((ours.family, ours.rows), FAMILY_BARS.get(ours.family)),
        )
        for ours in results.values()
        if ours.contender == peers.OURS
    ]


def growth_exponent(rows: Iterable[float], seconds: Iterable[float]) -> float:
    """Slope of log seconds on log rows, by least squares."""
    x, y = np.log(list(rows)), np.log(list(seconds))
    x = x - x.mean()
    return float(x @ (y - y.mean()) / (x @ x))


def growth(results: Results, family: str, contender: str) -> tuple[float, int, int] | None:
    """The exponent over the sizes of a family that finished, and the smallest and largest."""
    found = [
        r for r in results.values() if (r.family, r.contender) == (family, contender) and r.done
    ]
    if len(found) < 2:
        return None
    sizes = [r.rows for r in found]
    return growth_exponent(sizes, [r.seconds or 0.0 for r in found]), min(sizes), max(sizes)


# --- the report -----------------------------------------------------------------------------------


def report(results: Results) -> str:
    """The page: verdicts, growth, all times, agreement and memory."""
    order = {data: place for place, data in enumerate(sorted_data(results))}
    found = sorted(verdicts(results), key=lambda v: order[v.ours.data])
    runs = {r.run for r in results.values() if r.done or r.stopped}
    parts = [
        f"The {peers.N_OUTLIERS} rows with the largest mean distance to their "
        f"{peers.N_NEIGHBORS} nearest others, exactly. Float32 arrays in memory, a process per "
        "contender, warmed up; best of 3 for ours and for whatever takes "
        f"{peers.LONG:.0f} s or less, else a single run. A peer is stopped at its limit, and the "
        "ratio is then a lower bound (≥). Flights have their columns scaled to [0, 1], except "
        "`raw-`: in their own units altitude and weight outweigh all else, and every tree has it "
        "easy.",
        _table(
            ["data", "rows", "columns", "ours, s", "fastest peer", "its s", "ratio", "bar", "met"],
            [_verdict_cells(v) for v in found],
        ),
    ]
    if any(v.peer is not None and v.peer.run != v.ours.run for v in found):
        parts.append("† ours and the peer come from different runs.")
    parts += ["Growth, as the power of the number of rows that fits the seconds best:"]
    parts.append(
        _table(
            ["flights", "contender", "from", "to", "exponent", "bar", "met"],
            list(_growth_cells(results)),
        )
    )
    parts.append("![Seconds over rows, ours and the peers](outliers.png)")
    names = [c for c in peers.CONTENDERS if any(r.contender == c for r in results.values())]
    for title, cell in (
        ("Seconds of all contenders (> means stopped, – not run):", _seconds_cell),
        (
            f"Rows found that are among the true {peers.N_OUTLIERS} (float64 brute force), and = "
            "where they also stand in the true order; in brackets the largest relative error of "
            "a score:",
            _agreement_cell,
        ),
        (
            "Peak memory above what the process held before (libraries and array), MiB:",
            _memory_cell,
        ),
    ):
        lines = [
            [data, *(cell(results.get((data, contender))) for contender in names)] for data in order
        ]
        parts += [title, _table(["data", *names], lines)]
    parts.append(f"Measured in {len(runs)} run{'s' if len(runs) > 1 else ''}.")
    return "\n\n".join(parts)


def sorted_data(results: Results) -> list[str]:
    """Names of the tables, families in the order of the bars, small tables first."""
    families = [*FLIGHTS, NONE, FILES, SHAPES]
    keys = {r.data: (families.index(r.family), r.rows, r.data) for r in results.values()}
    return sorted(keys, key=keys.__getitem__)


def _verdict_cells(verdict: Verdict) -> list[str]:
    ours, peer, ratio = verdict.ours, verdict.peer, verdict.ratio
    stopped = peer is not None and peer.stopped
    mark = "†" if peer is not None and peer.run != ours.run else ""
    met = {True: "yes", False: "no", None: "unknown" if verdict.bar else ""}[verdict.met]
    return [
        ours.data,
        f"{ours.rows:,}",
        str(ours.columns),
        f"{ours.seconds:.3f}" if ours.done else ours.status,
        "–" if peer is None else peer.contender,
        "–" if peer is None else f"{'>' * stopped}{peer.seconds:.2f}",
        "–" if ratio is None else f"{'≥ ' * stopped}{ratio:.1f}{mark}",
        f"{verdict.bar:g}" if verdict.bar else "",
        met,
    ]


def _growth_cells(results: Results) -> Iterator[list[str]]:
    for family in FLIGHTS:
        for contender in peers.CONTENDERS:
            found = growth(results, family, contender)
            if found is None:
                continue
            exponent, smallest, largest = found
            whole = (smallest, largest) == (SIZES["100k"], SIZES["3.2M"])
            judged = contender == peers.OURS and family in (PLANTED, PLANTED_RAW) and whole
            met = "yes" if exponent <= GROWTH_BAR else "no"
            yield [
                family,
                contender,
                f"{smallest:,}",
                f"{largest:,}",
                f"{exponent:.2f}",
                f"{GROWTH_BAR}" if judged else "",
                met if judged else "",
            ]


def _seconds_cell(result: Result | None) -> str:
    if result is None or not (result.done or result.stopped):
        return "–"
    return f"{result.seconds:.3g}" if result.done else f"> {result.seconds:g}"


def _agreement_cell(result: Result | None) -> str:
    if result is None or result.rows_agree is None:
        return "–"
    return f"{'=' * bool(result.order_agrees)}{result.rows_agree} ({result.score_error:.0e})"


def _memory_cell(result: Result | None) -> str:
    return "–" if result is None or result.above_mib is None else f"{result.above_mib:.0f}"


def _table(head: list[str], lines: Iterable[list[str]]) -> str:
    """Markdown whose columns also line up in a terminal."""
    cells = [head, *lines]
    widths = [max(len(line[c]) for line in cells) for c in range(len(head))]
    text = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in cells]
    text.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(text)


# --- the command ----------------------------------------------------------------------------------


def main() -> None:
    """Measure what is not known yet, print the report, and write docs/benchmarks/outliers.*."""
    options = _options()
    results = read_results(options.csv)

    def keep(result: Result) -> None:
        results[result.data, result.contender] = result
        write_results(options.csv, results)

    if not options.report:
        began = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        settings = Settings(began, options.times, options.limit, options.check_up_to)
        for data in _chosen(options.only):
            measure_unknown(data, options.contenders, results, settings, keep, options.fresh)
    if not results:
        sys.exit("no results yet")
    text = report(results)
    if options.csv != RESULTS:  # a try: leave the documentation alone
        print(text)
        return
    from benchmarks import plot  # needs the bench extra

    plot.seconds_over_rows(results)
    publish("outliers", COMMAND, text)


def measure_unknown(
    data: Data,
    contenders: Iterable[str],
    results: Results,
    settings: Settings,
    keep: Callable[[Result], None],
    fresh: bool = False,
) -> None:
    """Measure the contenders whose result is missing, or all of them if `fresh`."""
    wanted = []
    for contender in contenders:
        if is_known(results, data.name, contender, settings.limit) and not fresh:
            continue
        reason = why_not(data, contender, results)
        if reason is None:
            wanted.append(contender)
        else:
            keep(Result(settings.run, data.name, data.family, data.rows, 29, contender, reason))
    if wanted:
        measure(data, wanted, settings, keep)


def _chosen(only: list[str] | None) -> list[Data]:
    found = {data.name: data for data in catalog()}
    unknown = sorted(set(only or []) - set(found))
    if unknown:
        sys.exit(f"--only takes {', '.join(found)}; got {', '.join(unknown)}")
    return [data for name, data in found.items() if only is None or name in only]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=_names, help="names of data, with commas between")
    parser.add_argument("--contenders", type=_names, default=list(peers.CONTENDERS))
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for one search")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--csv", type=Path, default=RESULTS, help="the results file")
    parser.add_argument("--fresh", action="store_true", help="measure known results again")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument(
        "--check-up-to", type=int, default=NO_PEERS_FROM, help="rows; larger tables go unchecked"
    )
    options = parser.parse_args()
    unknown = sorted(set(options.contenders) - set(peers.CONTENDERS))
    if unknown:
        parser.error(f"--contenders takes {', '.join(peers.CONTENDERS)}; got {', '.join(unknown)}")
    return options


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


if __name__ == "__main__":
    main()
