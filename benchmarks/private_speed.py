"""Speed of private models beside others: `python -m benchmarks.private --speed`.

Counts, noise and scores of 1,000,000 x 29 float32 must take at most 1.5 s each, in 1 GiB.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.measure import child
from benchmarks.private_bars import Bar, bars_table

Array = NDArray[Any]
MOST_SECONDS, MOST_MIB = 1.5, 1024


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
    """Seconds of each step beside other detectors, and the peak memory of all of it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "seconds.json")
        peak = child(SPEED, str(options.rows), str(file))["mib"]
        took = json.loads(file.read_text())
    X = np.random.default_rng(0).standard_normal((options.rows, 29), dtype=np.float32)
    steps = ("counts", "noise", "scores")
    bars = [
        *(Bar(f"{step}, seconds", MOST_SECONDS, took[step], at_most=True) for step in steps),
        Bar("peak memory, MiB", MOST_MIB, peak, at_most=True),
    ]
    return [
        f"{options.rows:,} × 29 float32, best of 3; the peak is that of the whole process, table "
        "and libraries included.",
        "",
        "| | seconds |",
        "|---|---|",
        f"| counts, both rounds | {took['counts']:.2f} |",
        f"| noise, both rounds | {took['noise']:.2f} |",
        f"| scores | {took['scores']:.2f} |",
        *peer("isolation forest", isolation_forest, X),
        *peer("HBOS", hbos, X),
        "",
        f"Peak memory: {peak:,.0f} MiB.",
        "",
        *bars_table(bars),
        "",
        "The commands as typed, on Parquet files of 29 columns; the table is read twice for a "
        "model. Libraries are loaded in these seconds, and count in this memory.",
        "",
        "| | seconds | peak MiB |",
        "|---|---|---|",
        *commands(options.rows),
        *commands(5 * options.rows),
    ]


def peer(name: str, made: Callable[[], tuple[Any, str]], X: Array) -> list[str]:
    """The lines of a detector without privacy; what is not installed is said."""
    try:
        model, score = made()
    except ImportError as missing:
        return [f"| {name} | not measured: {missing.name} is not installed |"]
    begin = time.perf_counter()
    model.fit(X)
    fitted = time.perf_counter()
    getattr(model, score)(X)
    scored = time.perf_counter()
    return [
        f"| {name}, fit | {fitted - begin:.2f} |",
        f"| {name}, scores | {scored - fitted:.2f} |",
    ]


def isolation_forest() -> tuple[Any, str]:
    from sklearn.ensemble import IsolationForest

    return IsolationForest(random_state=0, n_jobs=-1), "score_samples"


def hbos() -> tuple[Any, str]:
    from pyod.models.hbos import HBOS

    return HBOS(), "decision_function"
