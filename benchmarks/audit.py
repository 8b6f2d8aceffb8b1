"""`python -m benchmarks.audit`: a whole audit, beside one FastICA on the same table.

Bars: `isinglass audit` of a tanh release of 100,000 x 29, defaults, report written, kernels warm,
in at most 90 s, or 20 times FastICA(29) where that is longer; randomization levels in the times
of `benchmarks.randomization`, which runs here too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import randomization
from benchmarks.measure import best, publish
from isinglass import datasets

ISINGLASS = [sys.executable, "-W", "ignore", "-c", "from isinglass.cli import main; main()"]


def run(folder: Path, *words: str) -> str:
    """Run a command of ours in a folder of its own, register included."""
    done = subprocess.run(
        [*ISINGLASS, *words], check=True, capture_output=True, text=True, cwd=folder,
        env=os.environ | {"ISINGLASS_HOME": str(folder)},
    )  # fmt: skip
    return done.stdout


def released(folder: Path, name: str, n_rows: int) -> np.ndarray:
    """Write flights and their release; give the flights back."""
    data = datasets.flights(n_rows, random_state=n_rows)
    columns = [pa.array(column) for column in data.X.T]
    pq.write_table(pa.table(columns, names=list(data.column_names)), folder / f"{name}.parquet")
    run(folder, "release", f"{name}.parquet", "-o", f"{name}.release.parquet")
    return data.X


def audited(folder: Path, name: str) -> dict[str, object]:
    """One audit from the command line, report and all."""
    document: dict[str, object] = json.loads(
        run(
            folder, "audit", f"{name}.parquet", f"{name}.release.parquet", "-o", f"{name}.html",
            "--force", "--seed", "1", "--json",
        )
    )  # fmt: skip
    return document


def main() -> None:
    """Measure, print, and write docs/benchmarks/audit.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        warm = folder / "warm"  # a register of its own, so that no row left before
        warm.mkdir()
        released(warm, "warm", 2000)
        audited(warm, "warm")
        X = released(folder, "flights", options.rows).astype(np.float64)
        taken, document = float("inf"), {}
        for _ in range(options.times):
            start = time.perf_counter()
            document = audited(folder, "flights")
            taken = min(taken, time.perf_counter() - start)
        size = (folder / "flights.html").stat().st_size / 2**20
    from sklearn.decomposition import FastICA

    warnings.simplefilter("ignore")
    ica = best(lambda: FastICA(X.shape[1], random_state=0).fit(X), options.times)
    limit = max(90.0, 20 * ica)
    attacks = document["attacks"]
    assert isinstance(attacks, list)
    lines = [
        f"`isinglass audit` of a tanh release of {len(X):,} x {X.shape[1]} flights, defaults "
        f"({len(attacks)} attackers), reading, report ({size:.1f} MiB) and start of Python "
        f"included; best of {options.times}. Verdict: {document['verdict']}.",
        "",
        "| | seconds | times FastICA | bar, s | met |",
        "|---|---|---|---|---|",
        f"| FastICA({X.shape[1]}), float64, in memory | {ica:.1f} | 1.0 | | |",
        f"| the audit | {taken:.1f} | {taken / ica:.1f} | ≤ {limit:.0f} | "
        f"{'yes' if taken <= limit else 'no'} |",
        "",
        "Randomization levels, in the same run:",
        "",
        randomization.measured(10_000, 100, options.times),
    ]
    publish("audit", "python -m benchmarks.audit", "\n".join(lines))


if __name__ == "__main__":
    main()
