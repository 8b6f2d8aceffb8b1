"""Modules of isinglass that a command executes: how many doors a reader passes.

`python -m benchmarks.modules` runs each journey in a fresh process, counts, and writes
docs/benchmarks/modules.md.
"""

from __future__ import annotations

import json
import os
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
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "modules.md"
HEAD = """# Modules of a command

Made by `python -m benchmarks.modules`.

What somebody who follows one command through the code passes: the modules of isinglass, without
the packages' own `__init__`, that are executed in a fresh process which runs the command on a
table of 200 rows. *Before* is the last commit before the modules were regrouped. The bar: fewer
by a third or more, except `detect`.

"""
FOOT = """
`release` writes a tanh distortion; `audit` has its key and attacks it by its defaults; `ask` is
the first question of a new ledger. Each run draws a key of its own, and what an attack finds
decides what is tried next, so that the count of `audit` varies by up to three. What a command
did not need here is not counted: attacks on noise, one-hot columns, locked keys.
"""
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
        lines = ["| command | before | now | fewer |", "|---|---|---|---|"]
        for journey, line in JOURNEYS.items():
            told = subprocess.run(
                [sys.executable, "-c", _COUNT, json.dumps(line.split())],
                cwd=folder, capture_output=True, text=True, check=True,
                # No key, register or note of whoever runs this is read or written.
                env=os.environ | {"ISINGLASS_HOME": str(folder / "home")},
            )  # fmt: skip
            count = told.stdout.rsplit("COUNTED", 1)[1].strip()
            less = 1 - int(count) / BEFORE[journey]
            lines.append(f"| `{journey}` | {BEFORE[journey]} | {count} | {100 * less:.0f} % |")
            print(lines[-1])
    PAGE.write_text(HEAD + "\n".join(lines) + "\n" + FOOT, encoding="utf-8")


if __name__ == "__main__":
    main()
