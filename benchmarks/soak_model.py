"""`python -m benchmarks.soak_model`: `isinglass model` killed at random moments, again and again.

After each kill: the ledger verifies; nothing was spent, or one price; no raw count is in any file;
the same command gives the model, for one price in all, and from then on always the same bytes,
even without the table.
"""

from __future__ import annotations

import argparse
import datetime
import os
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.cli.model_kills import SINCE, Kills

LOG = Path(__file__).parent.parent / "docs" / "soak" / "model.log"
OUTCOMES = {
    "unpaid": "killed before it was paid for",
    "paid for": "killed after it was paid for, before its file was there",
    "written": "killed after its file was there",
    "finished": "ended by itself before it could be killed (not counted as a kill)",
}


def soak(folder: Path, kills: int, seed: int) -> Counter[str]:
    """Kill so many, checking after each; how far each had come."""
    chance, machine = random.Random(seed), Kills(folder, seed)
    found: Counter[str] = Counter()
    while sum(found.values()) - found["finished"] < kills:
        found[machine.one(chance.choice(list(SINCE)), renew=chance.random() < 0.5)] += 1
        print(dict(found), flush=True)
    return found


def main() -> None:
    """Kill many times; write docs/soak/model.log."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start, here = time.monotonic(), Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        try:
            found = soak(Path(name), options.kills, options.seed)
        finally:
            os.chdir(here)
    text = (
        "# The model's command, killed\n\n"
        f"`python -m benchmarks.soak_model --kills {options.kills} --seed {options.seed}`, "
        f"{datetime.date.today().isoformat()}.\n\n"
        "`isinglass model`, for half of them `--renew`, killed outright (`kill -9`) at a random "
        "moment, counted from its start, from when it opened the ledger, or from when it had paid; "
        "and typed again. After every kill:\n\n"
        "- the ledger verifies;\n"
        "- nothing was spent, or exactly one price; and a file that is there was paid for;\n"
        "- no file holds the table's raw counts, the folder for temporary files is empty, and what "
        "is left of a file is the beginning of the model that was paid for;\n"
        "- the same command gives the model, for one price in all;\n"
        "- asked twice more, without the table, it gives the same bytes.\n\n"
        "| outcome | times |\n|---|---|\n"
        + "".join(f"| {said} | {found[outcome]} |\n" for outcome, said in OUTCOMES.items())
        + f"\n{time.monotonic() - start:.0f} s. Violations: none.\n"
    )
    print(text)
    LOG.parent.mkdir(exist_ok=True)
    LOG.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
