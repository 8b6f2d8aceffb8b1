"""A search above its memory limit takes the same memory for longer tables."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MEASURE = """
import re, sys
from pathlib import Path
import numpy as np
import isinglass as ig

def memory(name):
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\\s+(\\d+)", status)[1]) * 1024

path, limit = sys.argv[1], int(sys.argv[2])
# Kernels and readers are loaded first; both ways of searching, in memory and in blocks.
few = Path(path).with_name("few.parquet")
for bytes_ in (None, 100_000):
    ig.DistanceOutliers(20, memory_limit=bytes_).fit(few)
Path("/proc/self/clear_refs").write_text("5")  # the highest so far is forgotten
before = memory("VmRSS")
found = ig.DistanceOutliers(20, memory_limit=limit or None).fit(path)
print(memory("VmHWM") - before, *found.outliers_)
"""


def peak(path, limit):
    """Bytes above what was held before, and the rows found."""
    command = [sys.executable, "-c", MEASURE, str(path), str(limit)]
    used, *rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(used), rows


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_above_the_limit_memory_does_not_grow_with_the_table(tmp_path):
    rng = np.random.default_rng(3)
    rows, columns, limit = 1_000_000, 24, 16 << 20
    X = rng.normal(size=(rows, columns)).astype(np.float32)
    X[rng.integers(0, rows, 200)] *= 4  # outliers, so that one more reading is enough
    frame = pa.table({f"x{c}": X[:, c] for c in range(columns)})
    for name, n in (("few", 5_000), ("some", rows // 4), ("many", rows)):
        pq.write_table(frame.slice(0, n), tmp_path / f"{name}.parquet", row_group_size=20_000)
    some, _ = peak(tmp_path / "some.parquet", limit)
    many, found = peak(tmp_path / "many.parquet", limit)
    whole, expected = peak(tmp_path / "many.parquet", 0)
    assert found == expected
    # Of every row its bound is kept, and for a moment which are left: about 25 bytes of 96. What
    # allocators hold back varies by tens of megabytes.
    added = X.nbytes - X.nbytes // 4
    assert many - some < 0.85 * added
    assert whole - many > X.nbytes  # all at once: the rows, and an index of about their size
