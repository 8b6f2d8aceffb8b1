"""Verification of a ledger: seals, numbering, spends under their caps, noted head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from isinglass.curate.ledger.backends.base import Database
from isinglass.curate.ledger.entries import START, follows
from isinglass.curate.ledger.head import Head
from isinglass.curate.ledger.model_charge import counts_digest, digest_matches
from isinglass.curate.ledger.replay import Replay, pieces
from isinglass.curate.ledger.transaction import Keeper

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


def verified(keeper: Keeper, heads: list[Head]) -> Verified:
    """Check the whole ledger against the heads noted beside it, and against `heads`."""
    with keeper.alone():
        db = keeper.db
        if db.last() is None:
            return Verified(0, "", [f"{db.name} has no contract: nobody has asked"])
        if db.entry(1) is None:
            return Verified(0, "", ["entry 1, the contract, is missing"])
        # The note first: entries that are added meanwhile are no contradiction.
        noted, doubt = keeper.noted()
        found = _checked(db, keeper.secret, [*heads, *noted])
        return found if doubt is None else replace(found, problems=[*found.problems, doubt])


def _checked(database: Database, secret: bytes, noted: list[Head]) -> Verified:
    """Read the whole ledger and check it against `noted`, heads that were seen before."""
    problems: list[str] = []
    replay, pending = Replay(secret), set(noted)
    seq, before, count = 0, START, 0
    kept: dict[int, str | None] = {}  # digests of noised counts
    for entries in pieces(database):
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
            if entry.kind == "model":
                kept[seq] = counts_digest(entry)
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
        problems += [] if problems else _counts(database, kept, seq)
    return Verified(count, str(Head(seq, before)) if count else "", problems[:_MOST])


def _counts(database: Database, kept: dict[int, str | None], seq: int) -> Iterator[str]:
    """What is wrong with the noised counts of models: nothing but their digests is chained."""
    held = {number for number in database.counted() if number <= seq}
    for number, digest in kept.items():
        if digest is None:
            continue
        if number not in held:
            yield f"the noised counts of entry {number} are missing"
        elif not digest_matches(database.counts(number), digest):
            yield f"the noised counts of entry {number} were changed"
    for number in sorted(held):
        if kept.get(number) is None:
            yield f"there are noised counts of entry {number}, which has none"
