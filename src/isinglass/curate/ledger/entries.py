"""Ledger entries, each sealed together with the one before."""

from __future__ import annotations

import functools
import hmac
import struct
from typing import NamedTuple

from isinglass.errors import LedgerError
from isinglass.messages import spell_call

#: what stands before the first entry
START = bytes(32)
#: kinds of entries: the terms; what a first question adds to those that a model began with; a new
#: version of the table; terms made weaker; an answer; a price that is paid at every place, for
#: nothing that is stored; and one for a model
KINDS = ("contract", "completion", "version", "amend", "answer", "everywhere", "model")

_NUMBERS = struct.Struct("<qqqqqd8q")


class Entry(NamedTuple):
    """One row of the ledger, in the order of its columns.

    `at` is the clock's time, for people: nothing is decided by it. `request` is the digest of a
    whole batch asked under a `key`, `query` the digest of one query. An `answer` without
    `anomalous` was paid for and never computed.
    """

    seq: int
    at: str
    kind: str
    user: str
    key: str | None
    request: bytes | None
    query: bytes | None
    place: bytes | None
    influence: float | None
    micro: int
    anomalous: int | None
    version: int
    facts: str | None
    prev: bytes
    hash: bytes

    def __repr__(self) -> str:
        return f"Entry(seq={self.seq}, kind={self.kind!r})"  # never a record or a user's key


def unsealed(
    kind: str,
    user: str = "curator",
    key: str | None = None,
    request: bytes | None = None,
    query: bytes | None = None,
    place: bytes | None = None,
    influence: float | None = None,
    micro: int = 0,
    anomalous: int | None = None,
    version: int = 0,
    facts: str | None = None,
) -> Entry:
    """An entry before it has a number, a time, a seal, and (at 0) the present version."""
    return Entry(
        0, "", kind, user, key, request, query, place, influence, micro, anomalous, version,
        facts, b"", b"",
    )  # fmt: skip


def keyed(secret: bytes, data: bytes) -> bytes:
    """HMAC-SHA256. OpenSSL takes longer over a key than over a row, so keys are kept prepared."""
    begun = _begun(secret).copy()
    begun.update(data)
    return begun.digest()


@functools.lru_cache(maxsize=8)
def _begun(secret: bytes) -> hmac.HMAC:
    """Kept as long as the process lives, or until eight other ledgers were used."""
    return hmac.new(secret, digestmod="sha256")


def seal(secret: bytes, entry: Entry) -> bytes:
    """HMAC-SHA256 of the seal before and of every column, each with its length.

    Lengths and fixed widths keep two different rows from having the same bytes; -1 is the length
    of a column that is absent.
    """
    at, kind, user = entry.at.encode(), entry.kind.encode(), entry.user.encode()
    key = b"" if entry.key is None else entry.key.encode()
    facts = b"" if entry.facts is None else entry.facts.encode()
    request, query, place = entry.request or b"", entry.query or b"", entry.place or b""
    numbers = _NUMBERS.pack(
        entry.seq,
        entry.micro,
        entry.version,
        -1 if entry.anomalous is None else entry.anomalous,
        entry.influence is not None,
        0.0 if entry.influence is None else entry.influence,
        len(at),
        len(kind),
        len(user),
        -1 if entry.key is None else len(key),
        -1 if entry.request is None else len(request),
        -1 if entry.query is None else len(query),
        -1 if entry.place is None else len(place),
        -1 if entry.facts is None else len(facts),
    )
    columns = (entry.prev, numbers, at, kind, user, key, request, query, place, facts)
    return keyed(secret, b"".join(columns))


def intact(secret: bytes, entry: Entry) -> bool:
    """Is this row as it was written? Whoever lacks the secret cannot make another one that is."""
    try:
        # The width of `prev` is fixed, so that it cannot lend bytes to the columns after it.
        return len(entry.prev) == 32 and hmac.compare_digest(seal(secret, entry), entry.hash)
    except (struct.error, TypeError, AttributeError, UnicodeError):  # a column of another type
        return False


def follows(secret: bytes, entry: Entry, seq: int, before: bytes) -> str | None:
    """What is wrong with `entry` as the next one after the entry `seq` sealed by `before`."""
    if entry.seq != seq + 1:
        return f"entry {seq + 1} is missing"
    if not intact(secret, entry):
        return f"entry {entry.seq} was edited"
    if entry.prev != before:
        return f"entry {entry.seq} does not follow the one before it"
    return None


def refuse_broken(secret: bytes, entries: list[Entry], seq: int, before: bytes) -> None:
    """Refuse entries that do not continue the chain; no decision is ever taken on such."""
    for entry in entries:
        if (problem := follows(secret, entry, seq, before)) is not None:
            raise LedgerError(
                f"the ledger's chain is broken: {problem}; {spell_call('Ledger.verify')} says more"
            )
        seq, before = entry.seq, entry.hash
