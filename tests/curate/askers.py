"""Processes that ask one ledger at once and can be killed, and what must hold whenever they are."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Barrier
from typing import Any

from tests.curate.ledgers import TERMS, never, opened, query, rows, yes

from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.query import Query
from isinglass.errors import BudgetError, CuratorError

CAP = 30
ASKED = dataclasses.replace(TERMS, cap=CAP)
RADIUS = 0.5
ROUND = 20  # places that are raced for between two waits
ROOT = Path(__file__).parents[2]


def main() -> None:
    """`python -m tests.curate.askers LEDGER LOG SEED`: ask until killed, noting each answer.

    Half of the places lie so close together that their balls share places and the budget runs
    out; the rest is wide. Before asking, the request is noted, and an answer as soon as it comes.
    """
    where, log, seed = sys.argv[1:]
    chance = random.Random(seed)
    with opened(where, ASKED) as ledger:
        note = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        while True:
            time.sleep(chance.uniform(0, 0.03))  # or looking at all answers would take long
            narrow = chance.random() < 0.5
            asked = [
                (0.75 * chance.randrange(12 if narrow else 10**6), chance.randint(1, 3))
                for _ in range(chance.choice([1, 1, 2, 4]))
            ]
            key = secrets.token_hex(8) if chance.random() < 0.5 else None
            fresh = chance.random() < 0.3
            about = {"user": "ann", "key": key, "fresh": fresh, "asked": asked}
            os.write(note, json.dumps({"before": about}).encode() + b"\n")
            try:
                found = ledger.answer(_queries(asked), _draw, key=key, fresh=fresh)
            except BudgetError:
                about["refused"] = True
            except CuratorError:
                about["failed"] = True
            else:
                about["answers"] = [(a.anomalous, a.spent) for a in found]
            os.write(note, json.dumps({"after": about}).encode() + b"\n")


def _queries(asked: Sequence[tuple[float, int]]) -> list[Query]:
    return [query(x, micro, r=RADIUS) for x, micro in asked]


@functools.cache
def _digest(x: float, micro: int) -> bytes:
    return query(x, micro, r=RADIUS).digest()


def _draw(queries: Sequence[Query]) -> list[bool]:
    if secrets.randbelow(50) == 0:
        raise RuntimeError("now and then an answer cannot be computed")
    return [bool(secrets.randbits(1)) for _ in queries]


class Askers:
    """Eight of them, any of which can be killed; a new one takes its place."""

    def __init__(self, where: str, folder: Path, seed: int, n: int = 8) -> None:
        self._where, self._folder, self._chance = where, folder, random.Random(seed)
        self._started = 0
        self._retried: set[str] = set()
        opened(where, ASKED).close()
        self.processes = [self._start() for _ in range(n)]

    def _start(self) -> tuple[subprocess.Popen[bytes], Path]:
        self._started += 1
        log = self._folder / f"{self._started}.log"
        seed = str(self._chance.random())
        command = [sys.executable, "-m", "tests.curate.askers", self._where, str(log), seed]
        return subprocess.Popen(command, cwd=ROOT), log

    def logs(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """What was asked so far, and what came back."""
        before, after = [], []
        for path in self._folder.glob("*.log"):
            for line in path.read_text().splitlines():
                with contextlib.suppress(ValueError):  # cut short by the kill
                    found = json.loads(line)
                    (before if "before" in found else after).append(*found.values())
        return before, after

    def wait(self, answers: int) -> None:
        """Wait until so many requests came back."""
        until = time.monotonic() + 120
        while len(self.logs()[1]) < answers:
            assert time.monotonic() < until, "nobody answers"
            time.sleep(0.05)

    def kill_one(self, *, replace: bool = True, wait: float = 0.15) -> None:
        """Kill one outright at a random moment, and start another."""
        time.sleep(self._chance.uniform(0, wait))
        until = time.monotonic() + 120
        while not (asking := [i for i, (_, log) in enumerate(self.processes) if log.exists()]):
            assert time.monotonic() < until, "nobody asks"
            time.sleep(0.05)
        i = self._chance.choice(asking)  # not one that is still starting
        process, _ = self.processes[i]
        assert process.poll() is None, "an asker ended by itself"
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        if replace:
            self.processes[i] = self._start()
        else:
            del self.processes[i]

    def stop(self) -> None:
        """Kill all."""
        for process, _ in self.processes:
            process.kill()
        for process, _ in self.processes:
            process.wait(timeout=60)

    def check(self) -> Counter[str]:
        """What must hold at any moment, while the others go on; returns what was counted."""
        _, after = self.logs()  # first: whatever was received must be in the ledger already
        with Ledger(self._where) as ledger:
            found = ledger.verify()
            assert found.problems == []
        columns = '"user", "key", query, place, influence, micro, anomalous'
        entries = rows(self._where, columns, "WHERE kind = 'answer' ORDER BY seq")
        before, _ = self.logs()
        _spent_covers_answers(entries, after)
        _drawn_once(entries, before)
        _nowhere_above_the_cap(entries)
        return Counter(
            entries=len(entries),
            received=sum(len(a["answers"]) for a in after if "answers" in a),
            refused=sum("refused" in a for a in after),
            failed=sum("failed" in a for a in after),
        )

    def retry(self, most: int) -> int:
        """Ask again what was under way when its asker was killed: one answer, ever, under a key."""
        before, _ = self.logs()
        _, after = self.logs()
        heard = {a["key"] for a in after}
        lost = [b for b in before if b["key"] is not None and b["key"] not in heard]
        kept = [a for a in after if a["key"] is not None and "answers" in a]
        with opened(self._where, ASKED) as ledger:
            for about in self._chance.sample(kept, min(most, len(kept))):
                again = _again(ledger, about, never)
                assert [a.anomalous for a in again] == [a for a, _ in about["answers"]]
                assert [a.spent for a in again] == [0] * len(again)
            stored = 0
            new = [about for about in lost if about["key"] not in self._retried]
            for about in new[-most:]:
                self._retried.add(about["key"])
                try:
                    first = _again(ledger, about, yes)
                except (BudgetError, CuratorError):
                    continue
                stored += not any(a.spent for a in first)
                second = _again(ledger, about, never)
                assert [a.anomalous for a in first] == [a.anomalous for a in second]
                assert [a.spent for a in second] == [0] * len(second)
        return stored


def _again(ledger: Ledger, about: dict[str, Any], draw: Any) -> list[Any]:
    return ledger.answer(_queries(about["asked"]), draw, key=about["key"], fresh=about["fresh"])


def _spent_covers_answers(entries: list[tuple[Any, ...]], after: list[dict[str, Any]]) -> None:
    """Each answer that was paid for has a spend of its own that says the same."""
    paid = Counter((bytes(e[2]), e[5], e[6]) for e in entries if e[5])
    known = {(bytes(e[2]), e[6]) for e in entries}
    heard: Counter[Any] = Counter()
    for about in after:
        for asked, (answer, spent) in zip(about["asked"], about.get("answers", []), strict=False):
            if spent:
                heard[_digest(*asked), spent, int(answer)] += 1
            else:
                assert (_digest(*asked), int(answer)) in known, "an answer out of nowhere"
    assert not heard - paid, "an answer left that nobody paid for"
    spent = sum(s for a in after for _, s in a.get("answers", []))
    assert sum(e[5] for e in entries) >= spent


def _drawn_once(entries: list[tuple[Any, ...]], before: list[dict[str, Any]]) -> None:
    """No query is drawn twice at one price: once, and again for `fresh`."""
    keyed = Counter((e[0], e[1], bytes(e[2])) for e in entries if e[1] is not None)
    assert max(keyed.values(), default=1) == 1
    allowed: Counter[bytes] = Counter()
    for about in before:
        if about["fresh"]:
            allowed.update({_digest(*asked) for asked in about["asked"]})
    drawn = Counter(bytes(e[2]) for e in entries if e[5] and e[6] is not None)
    for digest, times in drawn.items():
        assert times <= 1 + allowed[digest]


def _nowhere_above_the_cap(entries: list[tuple[Any, ...]]) -> None:
    """No place on the line is touched by more than the cap, by a sweep over all ends of balls."""
    ends = []
    for *_, place, influence, micro, _ in entries:
        (x,) = memoryview(bytes(place)).cast("d")
        ends += [(x - influence, 0, micro), (x + influence, 1, -micro)]
    total = 0
    for _, _, micro in sorted(ends):
        total += micro
        assert total <= CAP


def race(where: str, barrier: Barrier, places: int, number: int, out: Path) -> None:
    """Ask for all that is left at one place after another, all of them at the same ones.

    They wait for each other every few places only: in between, whoever is behind loses, and
    whoever is ahead meets the rest at the lock.
    """
    won = []
    with opened(where, ASKED) as ledger:
        for i in range(places):
            if i % ROUND == 0:
                barrier.wait(timeout=300)
            with contextlib.suppress(BudgetError):
                asked = [query(3.0 * i, 3, r=RADIUS)]
                ledger.answer(asked, yes, fresh=True)
                won.append(i)
    out.write_text(json.dumps(won))


if __name__ == "__main__":
    main()
