"""`python -m benchmarks.soak_release`: releases killed at random moments, again and again.

After each kill the target must be absent or whole, and a whole one must be what its key makes of
the table. The register must still open, and know every release that exists.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import isinglass as ig

METHODS = ("tanh", "gaussian", "geometric", "projection", "multiplicative")
MAIN = "from isinglass.cli import main; main()"


def one_kill(folder: Path, rows: np.ndarray, chance: random.Random) -> str:
    """Start a release, kill it some time later, and look at what is left."""
    method, shuffle = chance.choice(METHODS), chance.random() < 0.3
    out, key = folder / "out.parquet", folder / "out.key"
    home = folder / "home"
    for path in (out, key):
        path.unlink(missing_ok=True)
    arguments = ["release", str(folder / "t.parquet"), "-o", str(out), "--method", method,
                 "--again", *(["--shuffle"] if shuffle else [])]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"ISINGLASS_HOME": str(home)},
    )  # fmt: skip
    time.sleep(chance.uniform(0.5, 5.0))
    process.kill()
    process.wait()
    for leftover in [*folder.glob(".*.tmp"), *folder.glob(".shuffle-*")]:
        # A kill that cannot be caught leaves hidden temporaries, never a half-written target.
        subprocess.run(["rm", "-rf", str(leftover)], check=True)
    if not out.exists():
        return "absent"
    release = ig.Release.read(out)
    assert release.facts.rows == len(rows), "a release with rows missing"
    assert key.exists(), "a release without its key"
    noted = (home / "releases.jsonl").read_text().count('"out.parquet"')
    assert noted >= 1, "a release the register does not know"
    if not shuffle:
        expected = ig.load_key(key).transform_rows(rows[:500], 0)
        np.testing.assert_array_equal(release.to_numpy()[:500], expected)
    return "whole"


def main() -> None:
    """Kill many times; write docs/soak/release.log."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ig.PrivacyWarning)
    chance = random.Random(options.seed)
    counts = {"absent": 0, "whole": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = np.random.default_rng(0).random((150_000, 12), dtype=np.float32)
        columns = {f"c{i}": rows[:, i] for i in range(rows.shape[1])}
        pq.write_table(pa.table(columns), folder / "t.parquet")
        for _ in range(options.kills):
            counts[one_kill(folder, rows, chance)] += 1
    text = (
        f"python -m benchmarks.soak_release --kills {options.kills} --seed {options.seed}\n"
        f"{options.kills} releases killed outright after 0.5 to 5 s: target absent "
        f"{counts['absent']} times, whole and matching its key {counts['whole']} times, "
        "half-written never.\n"
    )
    print(text)
    log = Path(__file__).parent.parent / "docs" / "soak" / "release.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
