"""Modules of isinglass that a command executes: how many doors a reader passes.

`python -m benchmarks.modules` runs each journey in a fresh process and counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

#: What this script counted on the last commit before modules were regrouped.
BEFORE = {"release": 66, "detect": 51, "audit": 258, "ask": 92}
JOURNEYS = {
    "release": "release t.csv -o r.parquet --bounds b.json --force --again",
    "detect": "detect r.parquet",
    "audit": "audit t.csv r.parquet --key r.key",
    "ask": "ask t.csv q.csv --beta 9 --r 0.1 --epsilon 0.1 --budget 1 --ledger l.db "
    "--bounds b.json",
}
_COUNT = """
import json, sys
from isinglass.cli import main
sys.argv = ["isinglass", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit:
    pass
ours = {n for n in sys.modules if n.split(".")[0] in ("isinglass", "isinglass_papers")}
whole = {n for n in ours if not hasattr(sys.modules[n], "__path__")}
print("COUNTED", len(whole))
"""


def main() -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, rows in (("t", rng.normal(size=(200, 3))), ("q", np.zeros((1, 3)))):
            lines = ["a,b,c", *(",".join(map(str, row)) for row in rows)]
            (folder / f"{file}.csv").write_text("\n".join(lines) + "\n")
        (folder / "b.json").write_text(json.dumps({c: [-9, 9] for c in "abc"}))
        print("| journey | before | now |\n|---|---|---|")
        for journey, line in JOURNEYS.items():
            told = subprocess.run(
                [sys.executable, "-c", _COUNT, json.dumps(line.split())],
                cwd=folder, capture_output=True, text=True, check=True,
            )  # fmt: skip
            count = told.stdout.rsplit("COUNTED", 1)[1].strip()
            print(f"| `{journey}` | {BEFORE[journey]} | {count} |")


if __name__ == "__main__":
    main()
