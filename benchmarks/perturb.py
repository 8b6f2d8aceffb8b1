"""`python -m benchmarks.perturb`: a release against plain copies of the same file, and its memory.

Bars: at most 1.0 times pyarrow's default copy, 2.5 times a copy with the release's own writer
settings, and at most 1 GiB of memory at any size, one huge row group included.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import child, publish
from isinglass.datasets import flight_batches

SYNC = "import os; h = os.open(sys.argv[2], os.O_RDONLY); os.fsync(h); os.close(h)"

PEERS = {
    "pyarrow's default copy": (
        "import pyarrow.parquet as pq\n"
        "START = time.perf_counter()\n"
        f"pq.write_table(pq.read_table(sys.argv[1]), sys.argv[2]); {SYNC}"
    ),
    "default copy, in batches": (
        "import pyarrow.parquet as pq\n"
        "START = time.perf_counter()\n"
        "f = pq.ParquetFile(sys.argv[1])\n"
        "with pq.ParquetWriter(sys.argv[2], f.schema_arrow) as w:\n"
        f"    [w.write_batch(b) for b in f.iter_batches(batch_size=262144)]\n{SYNC}"
    ),
    "copy with our writer settings": (
        "import pyarrow.parquet as pq\n"
        "START = time.perf_counter()\n"
        "f = pq.ParquetFile(sys.argv[1], pre_buffer=False, buffer_size=1 << 20)\n"
        "with pq.ParquetWriter(sys.argv[2], f.schema_arrow, use_dictionary=False) as w:\n"
        f"    [w.write_batch(b) for b in f.iter_batches(batch_size=262144)]\n{SYNC}"
    ),
}
OURS = (
    "import isinglass as ig, tempfile, isinglass.publish, isinglass.perturb.distortion\n"
    "START = time.perf_counter()\n"
    "ig.write_release(sys.argv[1], sys.argv[2], ig.Distortion('tanh'), force=True,\n"
    "                 caller=isinglass.publish.Caller(home=tempfile.mkdtemp()))"
)


def write_table(path: Path, rows: int, *, one_group: bool = False) -> None:
    """Flights as float32, snappy, in row groups of 262,144 rows or in a single one."""
    writer = None
    gathered: list[pa.RecordBatch] = []
    for batch in flight_batches(rows, batch_rows=1 << 18, random_state=0):
        arrays = [pa.array(column) for column in batch.X.T]
        record = pa.RecordBatch.from_arrays(arrays, names=list(batch.column_names))
        if one_group:
            gathered.append(record)
            continue
        writer = writer or pq.ParquetWriter(path, record.schema)
        writer.write_batch(record)
    if one_group:
        pq.write_table(pa.Table.from_batches(gathered), path, row_group_size=rows)
    if writer is not None:
        writer.close()


def main() -> None:
    """Measure, print, and write docs/benchmarks/perturb.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--folder", type=Path, default=None, help="where the files go")
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        big, out = folder / "big.parquet", folder / "out.parquet"
        write_table(big, options.rows)
        runs: dict[str, list[dict[str, float]]] = {n: [] for n in [*PEERS, "release"]}
        for _ in range(options.times):  # in turn, so that a noisy spell hits all alike
            for name_, code in [*PEERS.items(), ("release", OURS)]:
                runs[name_].append(child(code, str(big), str(out)))
        lines = [
            f"{options.rows:,} rows of 29 float32 columns, tanh, learned bounds, snappy, synced; "
            f"best of {options.times}. The file has {big.stat().st_size >> 20} MiB.",
            "",
            "| what | seconds | peak MiB | release / this |",
            "|---|---|---|---|",
        ]
        ours = min(r["seconds"] for r in runs["release"])
        for name_, found in runs.items():
            seconds = min(r["seconds"] for r in found)
            memory = max(r["mib"] for r in found)
            lines.append(f"| {name_} | {seconds:.2f} | {memory:.0f} | {ours / seconds:.2f} |")
        lines += [
            "",
            "Peak memory of a release:",
            "",
            "| rows | row groups | peak MiB |",
            "|---|---|---|",
        ]
        for rows, one_group in (
            (options.rows // 10, False),
            (options.rows, False),
            (options.rows, True),
        ):
            table = folder / "m.parquet"
            write_table(table, rows, one_group=one_group)
            memory = child(OURS, str(table), str(out))["mib"]
            groups = pq.read_metadata(table).num_row_groups
            lines.append(f"| {rows:,} | {groups} | {memory:.0f} |")
        os.unlink(out)
    publish("perturb", "python -m benchmarks.perturb", "\n".join(lines))


if __name__ == "__main__":
    main()
