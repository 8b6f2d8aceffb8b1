"""`python -m benchmarks.soak_ledger`: processes that ask a ledger, killed again and again.

Eight processes ask one ledger at once, on each database. One after another is killed outright at a
random moment and replaced. After each kill: every answer that anybody received was paid for and is
in the ledger, no query was drawn twice at one price, what was under way returns one answer under
its key for ever, no place is above the cap, and the chain is whole and holds its noted head. On
PostgreSQL the server itself is made to crash now and then.

With `--models` processes charge models instead: every model that anybody received was paid for once
and is stored as it was received; one whose maker was killed is paid for and returned by its
request id, or neither.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.curate import postgres
from tests.curate.askers import Askers
from tests.curate.modelers import Modelers
from tests.curate.postgres import Server

LOG = Path(__file__).parent.parent / "docs" / "soak" / "ledger.log"
ROUND = 25  # kills on one ledger, so that looking at all of it stays quick


def soak(
    where: Callable[[], str], folder: Path, kills: int, seed: int, server: Server | None = None
) -> Counter[str]:
    """Kill so many, checking after each; what was counted in all."""
    found: Counter[str] = Counter()
    while found["kills"] < kills:
        logs = folder / str(found["kills"])
        logs.mkdir(parents=True)
        askers = Askers(where(), logs, seed + found["kills"])
        try:
            askers.wait(50)
            for _ in range(min(ROUND, kills - found["kills"])):
                askers.kill_one()
                found["kills"] += 1
                askers.check()
                found["again"] += askers.retry(2)
        finally:
            askers.stop()
        if server is not None:
            server.stop()
            server.start()
            found["crashes"] += 1
        found["again"] += askers.retry(1000)
        found += askers.check()
        print(dict(found), flush=True)
    return found


def soak_models(
    where: Callable[[], str], folder: Path, kills: int, seed: int, server: Server | None = None
) -> Counter[str]:
    """Kill makers of models so many times, checking after each; what was counted in all."""
    found: Counter[str] = Counter()
    while found["kills"] < kills:
        logs = folder / f"models {found['kills']}"
        logs.mkdir(parents=True)
        modelers = Modelers(where(), logs, seed + found["kills"])
        try:
            modelers.wait(5)
            for _ in range(min(ROUND, kills - found["kills"])):
                modelers.kill_one()
                found["kills"] += 1
                modelers.check()
                found += modelers.retry()
        finally:
            modelers.stop()
        if server is not None:
            server.stop()
            server.start()
            found["crashes"] += 1
        found += modelers.retry()
        found += modelers.check()
        print(dict(found), flush=True)
    return found


def main_models(kills: int, seed: int) -> None:
    """Soak both databases with models; print what was counted, to be put into the log."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["ISINGLASS_HOME"] = str(folder / "home")
        paths = (str(folder / f"{i}.db") for i in itertools.count())
        print("SQLite", dict(soak_models(lambda: next(paths), folder / "sqlite", kills, seed)))
        if (reason := postgres.missing()) is not None:
            print(f"PostgreSQL not run: {reason}")
            return
        with postgres.running() as server:
            found = soak_models(server.schema, folder / "postgresql", kills, seed, server)
            print("PostgreSQL", dict(found))


def sentence(name: str, found: Counter[str], seconds: float) -> str:
    """What happened on one database."""
    crashes = f", and the server {found['crashes']} times" if found["crashes"] else ""
    return (
        f"| {name} | {found['kills']}{crashes} | {found['received']:,} | {found['entries']:,} | "
        f"{found['refused']:,} | {found['failed']:,} | {found['again']:,} | {seconds:.0f} s |\n"
    )


def main() -> None:
    """Soak both databases; write docs/soak/ledger.log."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200, help="on each database")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", action="store_true", help="charge models, and no log")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nobody is left asking
    if options.models:
        main_models(options.kills, options.seed)
        return
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["ISINGLASS_HOME"] = str(folder / "home")
        start = time.monotonic()
        paths = (str(folder / f"{i}.db") for i in itertools.count())
        found = soak(lambda: next(paths), folder / "sqlite", options.kills, options.seed)
        lines.append(sentence("SQLite", found, time.monotonic() - start))
        if (reason := postgres.missing()) is None:
            with postgres.running() as server:
                start = time.monotonic()
                found = soak(
                    server.schema, folder / "postgresql", options.kills, options.seed, server
                )
                lines.append(sentence("PostgreSQL", found, time.monotonic() - start))
        else:
            lines.append(f"| PostgreSQL | not run: {reason} | | | | | | |\n")
    text = (
        "# The ledger, killed\n\n"
        f"`python -m benchmarks.soak_ledger --kills {options.kills} --seed {options.seed}`, "
        f"{datetime.date.today().isoformat()}.\n\n"
        "Eight processes ask one ledger at once; one after another is killed outright (`kill -9`) "
        "at a random moment and replaced. After every kill, while the others go on:\n\n"
        "- every answer that a process received has a spend of its own in the ledger, and is the "
        "answer written there (spent ≥ answered);\n"
        "- no query was drawn twice at one price: once, and again only for `fresh`;\n"
        "- a key returns what it returned, for nothing; one whose asker was killed while asking "
        "returns one answer from then on;\n"
        "- no place on the line is touched by more than the cap, by a sweep over all spends;\n"
        "- the chain is whole, every spend is under the cap of its time, and the noted head is in "
        "it.\n\n"
        "| database | kills | answers received | entries written | batches refused by budget | "
        "failed draws | found under the key of a killed asker | time |\n"
        "|---|---|---|---|---|---|---|---|\n" + "".join(lines) + "\nViolations: none.\n"
    )
    print(text)
    LOG.parent.mkdir(exist_ok=True)
    LOG.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
