"""Verification of a ledger: seals, numbering, spends under their caps, noted head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isinglass.curate.ledger.backends.base import PIECE, Database
from isinglass.curate.ledger.contract import CURATOR
from isinglass.curate.ledger.entries import KINDS, START, Entry, follows
from isinglass.curate.ledger.head import Head
from isinglass.curate.ledger.spend_index import Reach
from isinglass.curate.ledger.state import Books, read_metric, spends
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


def largest_sum(database: Database, secret: bytes) -> int:
    """The most that spends from the curator's part touch any one place with, in millionths."""
    replay = _Replay(secret)
    for entries in _pieces(database):
        replay.take(entries)
    return replay.largest


class _Replay:
    """The rules that writers keep, checked again from the entries alone."""

    def __init__(self, secret: bytes) -> None:
        self._books = Books(secret)
        self._table: Reach | None = None
        self._users: dict[str, Reach] = {}
        self.largest = 0

    def take(self, entries: list[Entry]) -> list[str]:
        """What is wrong with the next entries, whose chain is whole."""
        problems: list[str] = []
        limits: list[int] = []  # the curator's part when an entry was written
        shares: list[int | None] = []  # the share of who wrote it
        gave: list[bool] = []  # whether it gave somebody a share
        for entry in entries:
            if (entry.seq == 1) != (entry.kind == "contract") or entry.kind not in KINDS:
                return [*problems, f"entry {entry.seq} has no business where it is"]
            before = self._books.contract
            if entry.facts is not None:  # the terms only: spends are added up below
                try:
                    self._books.apply([entry._replace(micro=0)])
                except LedgerError as error:
                    return [*problems, str(error)]
            if self._books.version != entry.version:
                problems.append(f"entry {entry.seq} is of another version than its place says")
            terms = self._books.contract
            limits.append(terms.curators if terms else 0)
            shares.append(terms.shares.get(entry.user) if terms else None)
            gave.append(bool(terms and before and terms.shares != before.shares and terms.shares))
        return problems + self._spends(entries, np.array(limits), shares, np.array(gave))

    def _spends(
        self,
        entries: list[Entry],
        limits: NDArray[np.int64],
        shares: list[int | None],
        gave: NDArray[np.bool_],
    ) -> list[str]:
        """Which entries spend more than they may, or give away what is spent already."""
        metric = read_metric(self._books.distance)
        places, radii, micro = spends([_placed(entry) for entry in entries], len(metric.weights))
        paid = micro > 0
        over = np.zeros(len(entries), dtype=bool)
        self._table = self._table or Reach(metric)
        ours = paid & np.array([share is None for share in shares], dtype=bool)
        part = places[ours], radii[ours], micro[ours]
        sums = np.zeros(len(entries), dtype=np.int64)
        sums[ours] = self._table.in_order(*part) + micro[ours]
        self._table.extend(*part)
        over[ours] = sums[ours] > limits[ours]
        largest = np.maximum.accumulate(np.append(self.largest, sums))[1:]
        self.largest = int(largest[-1])
        over |= gave & (largest > limits)
        user_cap = self._books.contract.user_cap if self._books.contract else None
        most = np.array([2**62 if share is None else share for share in shares])
        most = most if user_cap is None else np.minimum(most, user_cap)
        for user in {entry.user for entry in entries if entry.micro}:
            if user == CURATOR and user_cap is None:
                continue
            own = paid & np.array([entry.user == user for entry in entries], dtype=bool)
            reach = self._users.setdefault(user, Reach(metric))
            part = places[own], radii[own], micro[own]
            over[own] |= reach.in_order(*part) + micro[own] > most[own]
            reach.extend(*part)
        return [
            f"entry {entries[i].seq} "
            + ("gives away what is spent already" if gave[i] else "spends more than the cap")
            for i in np.flatnonzero(over)
        ]


def _placed(entry: Entry) -> Entry:
    """Terms have no reach; what has no price is left out of every sum."""
    return entry if entry.micro else entry._replace(place=None, influence=0.0)
