"""Processes that charge models to one ledger and can be killed, and what must hold whenever."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.curate.askers import ROOT
from tests.curate.ledgers import TERMS, opened, query, rows, yes
from tests.curate.models import TINY, undrawn

from isinglass.curate.ledger.ledger import Ledger
from isinglass.errors import BudgetError, CuratorError

CAP, DELTA_CAP = 10**9, 10**9
SIZE = 100_000  # bytes of noised counts


def main() -> None:
    """`python -m tests.curate.modelers LEDGER LOG`: charge models until killed, noting each."""
    where, log = sys.argv[1:]
    with _opened(where) as ledger:
        note = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

        def say(what: str, about: dict[str, Any]) -> None:
            os.write(note, json.dumps({what: about}).encode() + b"\n")

        while True:
            about: dict[str, Any] = {
                "name": secrets.token_hex(8),
                "micro": 1 + secrets.randbelow(5),
                "femto": secrets.randbelow(3),
            }
            say("before", about)
            try:
                found = _again(ledger, about, _draw)
            except CuratorError:
                about["failed"] = True
            else:
                about["sha256"] = hashlib.sha256(found).hexdigest()
            say("after", about)
            with contextlib.suppress(BudgetError):
                ledger.answer([query(float(secrets.randbelow(100)))], yes, fresh=True)


def _opened(where: str) -> Ledger:
    return opened(where, dataclasses.replace(TERMS, cap=CAP))


def _again(ledger: Ledger, about: dict[str, Any], draw: Callable[[], bytes]) -> bytes:
    rho = TINY if about["femto"] else None
    return ledger.charge_model(
        draw, micro=about["micro"], femto=about["femto"], rho=rho, records_per_person=1,
        request_id=about["name"], digest=about["name"].encode(),
    )  # fmt: skip


def _draw() -> bytes:
    if secrets.randbelow(20) == 0:
        raise RuntimeError("now and then a model cannot be computed")
    time.sleep(secrets.randbelow(20) / 1000)
    return secrets.token_bytes(SIZE)


class Modelers:
    """A few of them, any of which can be killed; a new one takes its place."""

    def __init__(self, where: str, folder: Path, seed: int, n: int = 3) -> None:
        self._where, self._folder, self._chance = where, folder, random.Random(seed)
        self._started, self._ended = 0, list[Path]()  # logs of those that were killed
        with _opened(where) as ledger:
            ledger.amend(delta_cap=DELTA_CAP, reason="models")
        self.processes = [self._start() for _ in range(n)]

    def _start(self) -> tuple[subprocess.Popen[bytes], Path]:
        self._started += 1
        log = self._folder / f"{self._started}.log"
        command = [sys.executable, "-m", "tests.curate.modelers", self._where, str(log)]
        return subprocess.Popen(command, cwd=ROOT), log

    def _said(self, what: str, logs: Sequence[Path] | None = None) -> Iterator[dict[str, Any]]:
        for path in self._folder.glob("*.log") if logs is None else logs:
            if not path.exists():  # killed before it had begun
                continue
            for line in path.read_text().splitlines():
                with contextlib.suppress(ValueError):  # cut short by the kill
                    if (found := json.loads(line).get(what)) is not None:
                        yield found

    def wait(self, models: int) -> None:
        """Wait until so many models came back."""
        until = time.monotonic() + 120
        while sum(1 for _ in self._said("after")) < models:
            assert time.monotonic() < until, "nobody makes models"
            time.sleep(0.05)

    def kill_one(self) -> None:
        """Kill one outright at a random moment, and start another."""
        until = time.monotonic() + 120
        while not (busy := [i for i, (_, log) in enumerate(self.processes) if log.exists()]):
            assert time.monotonic() < until, "nobody makes models"
            time.sleep(0.05)
        time.sleep(self._chance.uniform(0, 0.2))
        i = self._chance.choice(busy)  # not one that is still starting
        process, log = self.processes[i]
        assert process.poll() is None, "a modeler ended by itself"
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        self._ended.append(log)
        self.processes[i] = self._start()

    def stop(self) -> None:
        """Kill all."""
        for process, _ in self.processes:
            process.kill()
        for process, log in self.processes:
            process.wait(timeout=60)
            self._ended.append(log)

    def check(self) -> Counter[str]:
        """What must hold at any moment, while the others go on; returns what was counted."""
        after = list(self._said("after"))  # first: what was received is in the ledger already
        with Ledger(self._where) as ledger:
            assert ledger.verify().problems == []
        paid = {}
        for name, micro, facts in rows(self._where, '"key", micro, facts', "WHERE kind = 'model'"):
            assert name not in paid, "paid for twice"
            paid[name] = micro, json.loads(facts)
        for about in after:
            micro, facts = paid[about["name"]]  # nothing left unpaid
            assert (micro, facts["delta"]) == (about["micro"], about["femto"])
            assert facts.get("sha256") == about.get("sha256")
        return Counter(models=len(paid), received=len(after))

    def retry(self) -> Counter[str]:
        """Ask again for each model whose maker was killed: one model, ever, paid for once."""
        found: Counter[str] = Counter()
        heard = {about["name"] for about in self._said("after", self._ended)}
        lost = [about for about in self._said("before", self._ended) if about["name"] not in heard]
        self._ended = []
        with _opened(self._where) as ledger:
            for about in lost:
                entries = f"WHERE \"key\" = '{about['name']}'"
                paid = rows(self._where, "count(*)", entries) == [(1,)]
                found["stored" if paid else "unpaid"] += 1
                try:
                    first = _again(ledger, about, undrawn if paid else _draw)
                except CuratorError:  # it could not be computed, and is paid for
                    found["failed"] += 1
                else:
                    assert _again(ledger, about, undrawn) == first
                assert rows(self._where, "count(*)", entries) == [(1,)]
        return found


if __name__ == "__main__":
    main()
