"""Is a ledger whole? Every seal, every number, every spend under its cap, and the noted head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isinglass.curate.books import Books, read_metric, spends
from isinglass.curate.chain import KINDS, START, Entry, follows
from isinglass.curate.head import Head
from isinglass.curate.reach import Reach
from isinglass.curate.store import PIECE, Database
from isinglass.errors import LedgerError

_MOST = 20  # problems that are told


@dataclass(frozen=True, slots=True)
class Verified:
    """What `verify` found: how many entries, the head of the chain, and what is wrong.

    Problems name entries by number, never by what they hold. No problem means that nobody without
    the ledger's secret changed, dropped, added or moved an entry up to the head; that nothing was
    cut off after it shows only against a head that was noted elsewhere.
    """

    entries: int
    head: str
    problems: list[str]

    @property
    def whole(self) -> bool:
        """Nothing is wrong."""
        return not self.problems


def verified(database: Database, secret: bytes, noted: list[Head]) -> Verified:
    """Read the whole ledger and check it against `noted`, heads that were seen before."""
    problems: list[str] = []
    replay, pending = _Replay(secret), set(noted)
    seq, before, count = 0, START, 0
    for entries in _pieces(database):
        for entry in entries:
            problem = follows(secret, entry, seq, before)
            if problem is not None and entry.seq > seq + 2:
                problem = f"entries {seq + 1} to {entry.seq - 1} are missing"
            problems += [] if problem is None else [problem]
            for head in [head for head in pending if head.seq == entry.seq]:
                pending.remove(head)
                if head.hash != entry.hash:
                    problems.append(f"entry {entry.seq} is not the one that was noted as head")
            seq, before = entry.seq, entry.hash
        count += len(entries)
        if not problems:
            problems += replay.take(entries)
        if len(problems) > _MOST:
            break
    else:
        # Entries missing in between are told already.
        newest = max((head.seq for head in pending), default=0)
        if newest > seq:
            problems.append(
                f"the ledger ends at entry {seq}, before entry {newest}, which was noted as its "
                "head: it is an old copy, or its end was cut off"
            )
    return Verified(count, str(Head(seq, before)) if count else "", problems[:_MOST])


def _pieces(database: Database) -> Iterator[list[Entry]]:
    seq: int | None = None
    while entries := database.since(-(2**62) if seq is None else seq + 1):
        yield entries
        if len(entries) < PIECE:
            return
        seq = entries[-1].seq


class _Replay:
    """The rules that writers keep, checked again from the entries alone."""

    def __init__(self, secret: bytes) -> None:
        self._books = Books(secret)
        self._table: Reach | None = None
        self._users: dict[str, Reach] = {}

    def take(self, entries: list[Entry]) -> list[str]:
        """What is wrong with the next entries, whose chain is whole."""
        problems: list[str] = []
        caps: list[int] = []
        for entry in entries:
            if (entry.seq == 1) != (entry.kind == "contract") or entry.kind not in KINDS:
                return [*problems, f"entry {entry.seq} has no business where it is"]
            if entry.facts is not None:  # the terms only: spends are added up below
                try:
                    self._books.apply([entry._replace(micro=0)])
                except LedgerError as error:
                    return [*problems, str(error)]
            if self._books.version != entry.version:
                problems.append(f"entry {entry.seq} is of another version than its place says")
            caps.append(self._books.contract.cap if self._books.contract else 0)
        return problems + self._spends(entries, np.array(caps))

    def _spends(self, entries: list[Entry], caps: NDArray[np.int64]) -> list[str]:
        paid = np.array([entry.micro > 0 for entry in entries], dtype=bool)
        rows = [entry for entry in entries if entry.micro > 0]
        metric = read_metric(self._books.distance)
        places, radii, micro = spends(rows, len(metric.weights))
        self._table = self._table or Reach(metric)
        over = self._table.in_order(places, radii, micro) + micro > caps[paid]
        self._table.extend(places, radii, micro)
        user_cap = self._books.contract.user_cap if self._books.contract else None
        if user_cap is not None:
            for user in {entry.user for entry in rows}:
                own = np.array([entry.user == user for entry in rows])
                reach = self._users.setdefault(user, Reach(metric))
                part = places[own], radii[own], micro[own]
                over[own] |= reach.in_order(*part) + micro[own] > user_cap
                reach.extend(*part)
        return [f"entry {rows[i].seq} spends more than the cap" for i in np.flatnonzero(over)]
