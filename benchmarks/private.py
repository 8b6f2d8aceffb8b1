"""`python -m benchmarks.private`: how well private models rank, beside detectors without privacy.

Bars, over the 13 labeled files: mean AUC at least .925 and mean average precision at least .52 at
epsilon 1 with bounds twice a file's range; AUC .91 at .3, .85 at .1, .895 for ten owners in one
round, .92 at pure epsilon 1. `--speed` measures 1,000,000 x 29 float32 instead: counts, noise and
scores within 1.5 s each, 1 GiB; and the commands on files of as many rows and of five times as
many, whose memory must not grow with them.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

import isinglass as ig
from benchmarks.measure import child, publish
from isinglass.detect.private.columns import NumberColumn
from isinglass.detect.private.layout import Layout, usual_projections
from isinglass.detect.private.noise import price_rounds
from isinglass.detect.private.records import CodedRecords
from isinglass.detect.private.rounds import one_round, one_round_model

Array = NDArray[Any]
Score = Callable[[Array, Array, Array, int], Array]  # trained, scored, bounds, seed: scores

FILES = (
    "breast_w", "cardio", "thyroid", "satellite", "pendigits", "annthyroid", "mammography",
    "aps_test_pca12", "credit_fraud", "shuttle", "smtp", "cover", "http",
)  # fmt: skip
MOST_ROWS = 50_000
SMALL = 20_000  # rows of a file that gets all draws; of a larger one, a split gets one
MICRO, FEMTO = 10**6, 10**9  # epsilon 1, delta 1e-6


@dataclass(frozen=True, slots=True)
class Contender:
    """A detector in the table: how its line is called, and how wide its bounds are."""

    name: str
    score: Score
    width: float = 2.0
    random: bool = True  # whether another draw gives another answer


def ours(**settings: Any) -> Score:
    def score(trained: Array, scored: Array, bounds: Array, seed: int) -> Array:
        return (
            ig.PrivateDetector(bounds=bounds, n_jobs=-1, **settings)
            .fit(trained)
            .anomaly_score(scored)
        )

    return score


def owners(n: int) -> Score:
    """So many owners, each with a part of the rows and all of the noise, in one round."""

    def score(trained: Array, scored: Array, bounds: Array, seed: int) -> Array:
        columns = [NumberColumn(str(j), *pair) for j, pair in enumerate(bounds.T.tolist())]
        layout = Layout(tuple(columns), 1, usual_projections(1, pure=False))
        noise = price_rounds(MICRO, FEMTO, layout.moved).rounds[0]
        counts = (
            one_round(layout, noise, lambda rows=rows: [plain(rows)], n_jobs=-1)
            for rows in np.array_split(trained, n)
        )
        return one_round_model(layout, functools.reduce(add, counts)).scores(plain(scored))

    return score


def plain(rows: Array) -> CodedRecords:
    return CodedRecords(rows, np.empty((len(rows), 0), dtype=np.int64))


def isolation_forest(trained: Array, scored: Array, bounds: Array, seed: int) -> Array:
    from sklearn.ensemble import IsolationForest

    return -IsolationForest(random_state=seed, n_jobs=-1).fit(trained).score_samples(scored)


def autoencoder(trained: Array, scored: Array, bounds: Array, seed: int) -> Array:
    fitted = ig.Autoencoder(bounds=bounds, max_epochs=50, random_state=seed).fit(trained)
    return fitted.anomaly_score(scored)


def pyods(name: str) -> Score:
    def score(trained: Array, scored: Array, bounds: Array, seed: int) -> Array:
        from importlib import import_module

        model = getattr(import_module(f"pyod.models.{name.lower()}"), name)()
        return np.asarray(model.fit(trained).decision_function(scored))

    return score


CONTENDERS = (
    *(Contender(f"ε = {e}", ours(epsilon=e)) for e in ("3", "1", "0.3", "0.1")),
    Contender("ε = 1, bounds 20 times", ours(), 20.0),
    Contender("ε = 1, bounds 200 times", ours(), 200.0),
    Contender("ε = 1, one round", ours(rounds=1)),
    Contender("ε = 1, one round, 10 owners", owners(10)),
    Contender("pure ε = 1", ours(delta=0)),
    Contender("isolation forest", isolation_forest),
    *(Contender(name, pyods(name), random=False) for name in ("ECOD", "HBOS", "KNN")),
    Contender("our autoencoder", autoencoder),
)


@dataclass(frozen=True, slots=True)
class Split:
    """Half of a file's rows to train on, without labels, and the other half to score."""

    trained: Array
    scored: Array
    outlier: NDArray[np.bool_]
    low: Array
    high: Array

    def bounds(self, width: float) -> Array:
        """So many times as wide as the file's range; a column without a range gets 1."""
        span = np.where(self.high > self.low, self.high - self.low, 1.0)
        middle = (self.low + self.high) / 2
        return np.array([middle - width / 2 * span, middle + width / 2 * span])


def splits(name: str, n: int) -> Iterator[Split]:
    data = ig.datasets.load(name)
    outlier = np.asarray(data.labels) == 1  # in all of these files
    X = np.asarray(data.X, dtype=np.float64)
    for seed in range(n):
        rows = np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]
        half = len(rows) // 2
        trained, scored = rows[:half], rows[half:]
        yield Split(X[trained], X[scored], outlier[scored], X.min(axis=0), X.max(axis=0))


def measured(contender: Contender, file: str, n_splits: int, n_draws: int) -> tuple[float, float]:
    """Mean AUC and average precision over splits and draws, which their numbers seed."""
    found = []
    for split in splits(file, n_splits):
        many = contender.random and 2 * len(split.trained) <= SMALL
        for draw in range(n_draws if many else 1):
            bounds = split.bounds(contender.width)
            scores = contender.score(split.trained, split.scored, bounds, draw)
            auc = roc_auc_score(split.outlier, scores)
            found.append((auc, average_precision_score(split.outlier, scores)))
    auc, precision = np.mean(found, axis=0)
    return float(auc), float(precision)


def kept(
    contender: Contender, files: Sequence[str], options: argparse.Namespace
) -> list[tuple[float, float]]:
    """What was measured of each file, now or by an earlier run with the same settings."""
    found = []
    for file in files:
        name = f"{contender.name} {file} {options.splits} {options.draws}".replace(" ", "_")
        stored = Path(options.keep, f"{name}.json")
        if stored.exists():
            auc, precision = json.loads(stored.read_text())
            found.append((auc, precision))
            continue
        if options.only and options.only not in contender.name:
            raise LookupError(contender.name)
        try:
            found.append(measured(contender, file, options.splits, options.draws))
        except (ValueError, FloatingPointError) as failure:
            print(f"{contender.name} failed on {file}: {type(failure).__name__}")
            found.append((0.5, 0.0))
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps(found[-1]))
    return found


def ranking(options: argparse.Namespace) -> list[str]:
    """The table: a line a contender, the mean over files first."""
    files = options.files.split(",") if options.files else FILES
    lines = [
        f"Half of a file's rows trained on, without labels, the other half scored, at most "
        f"{MOST_ROWS:,} rows; {options.splits} splits, {options.draws} draws of each up to "
        f"{SMALL:,} rows and one above; bounds twice the file's range unless said otherwise. "
        "AUC (average precision); fits that failed count as .5 (0).",
        "",
        f"| | mean | {' | '.join(files)} |",
        f"|---|---|{'---|' * len(files)}",
    ]
    for contender in CONTENDERS:
        try:
            found = kept(contender, files, options)
        except ImportError as missing:
            lines.append(f"| {contender.name} | not measured: {missing.name} is not installed |")
            continue
        except LookupError:  # not asked for, and not measured before
            continue
        auc, precision = np.mean(found, axis=0)
        cells = " | ".join(f"{a:.3f} ({p:.2f})" for a, p in found)
        lines.append(f"| {contender.name} | **{auc:.3f} ({precision:.3f})** | {cells} |")
        print(lines[-1], flush=True)
    return lines


SPEED = """
import numpy as np
from isinglass.detect.private.columns import NumberColumn
from isinglass.detect.private.counts import count_columns, count_projections
from isinglass.detect.private.layout import Layout
from isinglass.detect.private.model import scaled_table
from isinglass.detect.private.noise import price_rounds
from isinglass.detect.private.estimates import model_of, read_columns, read_projections
from isinglass.detect.private.records import CodedRecords

def generated(rows):
    X = np.random.default_rng(0).standard_normal((rows, 29), dtype=np.float32)
    return CodedRecords(X, np.empty((rows, 0), dtype=np.int64))

layout = Layout(tuple(NumberColumn(str(j), -20.0, 20.0) for j in range(29)))
price = price_rounds(10**6, 10**9, layout.moved)
took = {}

def timed(name, work):
    begin = time.perf_counter()
    done = work()
    took[name] = took.get(name, 0.0) + time.perf_counter() - begin
    return done

def run(records):
    first = timed("counts", lambda: count_columns(layout, [records], n_jobs=-1))
    read = read_columns(layout, timed("noise", lambda: first.noised(price.rounds[0], n_jobs=-1)))
    table = scaled_table(read.columns)
    second = timed("counts", lambda: count_projections(layout, table, [records], n_jobs=-1))
    noised = timed("noise", lambda: second.noised(price.rounds[1], n_jobs=-1))
    model = model_of(layout, read, read_projections(layout, noised, read))
    model.scores(records.part(0, 9))  # tables made
    return timed("scores", lambda: model.scores(records, n_jobs=-1))

run(generated(1000))  # compiled
records = generated(int(sys.argv[1]))
least = {}
for _ in range(3):
    took.clear()
    run(records)
    least = {name: min(s, least.get(name, s)) for name, s in took.items()}
print(json.dumps(least), file=open(sys.argv[2], "w"))
"""


COMMAND = """
import sys
from isinglass.cli import main
sys.argv = ["isinglass", *sys.argv[1:]]
try:
    main()
except SystemExit as done:
    assert not done.code
"""


def commands(rows: int) -> list[str]:
    """Seconds and peak memory of `model` and `score`, as typed, on a Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ISINGLASS_HOME"] = folder
        table, file, scores = (str(Path(folder, n)) for n in ("t.parquet", "m.zip", "s.parquet"))
        names = [f"c{j}" for j in range(29)]
        schema = pa.schema([(name, pa.float32()) for name in names])
        rng = np.random.default_rng(0)
        with pq.ParquetWriter(table, schema, use_dictionary=False) as out:
            for start in range(0, rows, 1 << 18):
                block = rng.standard_normal((min(1 << 18, rows - start), 29), dtype=np.float32)
                out.write_table(pa.table(list(block.T), schema=schema))
        bounds = Path(folder, "bounds.csv")
        bounds.write_text("".join(f"{name},-20,20\n" for name in names))
        made = child(
            COMMAND, "model", table, "--epsilon", "1", "--bounds", str(bounds), "--no-ledger",
            "--records-per-person", "1", "-o", file,
        )  # fmt: skip
        told = child(
            COMMAND, "score", table, "--model", file, "--unsigned", "--own-rows", "-o", scores
        )
        size = Path(file).stat().st_size
    return [
        f"| `{name}`, {rows:,} rows | {found['seconds']:.1f} | {found['mib']:,.0f} |"
        for name, found in (("model", made), ("score", told))
    ] + [f"| its file, {size / 1000:.0f} kB | | |"]


def speed(options: argparse.Namespace) -> list[str]:
    """Seconds of each step beside an isolation forest, and the peak memory of all of it."""
    from sklearn.ensemble import IsolationForest

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "seconds.json")
        peak = child(SPEED, str(options.rows), str(file))["mib"]
        took = json.loads(file.read_text())
    X = np.random.default_rng(0).standard_normal((options.rows, 29), dtype=np.float32)
    begin = time.perf_counter()
    forest = IsolationForest(random_state=0, n_jobs=-1).fit(X)
    fitted = time.perf_counter()
    forest.score_samples(X)
    scored = time.perf_counter()
    return [
        f"{options.rows:,} × 29 float32, best of 3; the peak is that of the whole process, table "
        "and libraries included.",
        "",
        "| | seconds |",
        "|---|---|",
        f"| counts, both rounds | {took['counts']:.2f} |",
        f"| noise, both rounds | {took['noise']:.2f} |",
        f"| scores | {took['scores']:.2f} |",
        f"| isolation forest, fit | {fitted - begin:.2f} |",
        f"| isolation forest, scores | {scored - fitted:.2f} |",
        "",
        f"Peak memory: {peak:,.0f} MiB.",
        "",
        "The commands as typed, on Parquet files of 29 columns; the table is read twice for a "
        "model. Libraries are loaded in these seconds, and count in this memory.",
        "",
        "| | seconds | peak MiB |",
        "|---|---|---|",
        *commands(options.rows),
        *commands(5 * options.rows),
    ]


def main() -> None:
    """Measure, print, and write docs/benchmarks/private.md or private-speed.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--files", default="", help="names with commas between; default: all 13")
    parser.add_argument("--only", default="", help="contenders whose name has this in it")
    parser.add_argument(
        "--keep", default="build/private", help="folder of what earlier runs measured; it goes on"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # small files drown in noise, which is what is measured
    if options.speed:
        lines = speed(options)
        publish("private-speed", "python -m benchmarks.private --speed", "\n".join(lines))
        return
    lines = ranking(options)
    given = f" --splits {options.splits} --draws {options.draws}"
    publish("private", f"python -m benchmarks.private{given}", "\n".join(lines))


if __name__ == "__main__":
    main()
