"""Batch of queries in a ledger transaction: known answers, new ones, and their price."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from isinglass.curate.ledger.budget import SpatialBudget
from isinglass.curate.ledger.contract import CURATOR
from isinglass.curate.ledger.entries import Entry, unsealed
from isinglass.curate.ledger.state import Books
from isinglass.curate.ledger.transaction import Keeper
from isinglass.curate.query import Query
from isinglass.errors import CuratorError, LedgerError

Draw = Callable[[Sequence[Query]], Sequence[bool]]
Known = Mapping[bytes, int | None]


@dataclass(frozen=True, slots=True)
class MicroPrice:
    """What a query costs now, and what that leaves at its place: millionths of epsilon."""

    spent: int
    left: int


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that is written down, what it cost now, and what is left at its place."""

    anomalous: bool
    spent: int
    left: int


class Batch:
    """Queries that one user asks together, perhaps under a key, which names their order too."""

    def __init__(
        self, queries: Sequence[Query], user: str, *, key: str | None = None, fresh: bool = False
    ) -> None:
        self.queries, self.fresh = queries, fresh
        for row, query in enumerate(queries):
            if type(query.micro) is not int or query.micro < 1 or type(query.beta) is not int:
                raise ValueError(
                    f"micro and beta of row {row} must be whole numbers >= 1, "
                    f"got {query.micro} and {query.beta}"
                )
        self.user, self.key = check_printable("user", user), key
        self.digests = [query.digest() for query in queries]
        self.request: bytes | None = None
        if key is not None:
            check_printable("key", key)
            self.request = hashlib.sha256(bytes([fresh]) + b"".join(self.digests)).digest()
        self.different = list(dict.fromkeys(self.digests))
        self.known: dict[bytes, int | None] = {}
        self.new: list[int] = []
        self.prices: list[MicroPrice] = []

    def price(self, known: Known, budget: SpatialBudget) -> None:
        """Price the queries in order, each counting the earlier ones; what is known is free.

        Identical queries are drawn and paid for once. Raises `BudgetError` if one does not fit.
        """
        self.known = dict(known)
        if not self.queries:
            return
        first: dict[bytes, int] = {}
        for i, digest in enumerate(self.digests):
            if digest not in known:
                first.setdefault(digest, i)
        self.new = list(first.values())
        priced = self.queries
        if len(self.new) < len(priced):
            charged = set(self.new)
            priced = [q if i in charged else replace(q, micro=0) for i, q in enumerate(priced)]
        left = budget.price(priced, self.user).left_after.tolist()
        self.prices = [MicroPrice(q.micro, rest) for q, rest in zip(priced, left, strict=True)]

    def draw(self, draw: Draw) -> BaseException | None:
        """Draw what is new, once; where that fails, it is known to have no answer."""
        if not self.new:
            return None
        answers: list[int | None] = [None] * len(self.new)
        failed: BaseException | None = None
        try:
            found = [int(bool(answer)) for answer in draw([self.queries[i] for i in self.new])]
            if len(found) != len(answers):
                raise CuratorError("as many answers as queries")
            answers = list(found)
        except BaseException as error:
            failed = error
        self.known.update(zip((self.digests[i] for i in self.new), answers, strict=True))
        return failed

    def rows(self) -> list[Entry]:
        """What the ledger writes: what is new; under a key also what was known, at no price."""
        positions = self.new
        if self.key is not None:
            at = dict(zip(reversed(self.digests), reversed(range(len(self.digests))), strict=True))
            positions = [at[digest] for digest in self.different]
        rows: list[Entry] = []
        for i in positions:
            query, digest = self.queries[i], self.digests[i]
            rows.append(unsealed(
                "answer", self.user, self.key, self.request, digest,
                (query.place + 0.0).astype("<f8", copy=False).tobytes(), float(query.influence),
                self.prices[i].spent, self.known[digest],
            ))  # fmt: skip
        return rows

    def answers(self) -> list[Answered]:
        """What leaves, once it is committed."""
        return [
            Answered(bool(self.known[digest]), price.spent, price.left)
            for digest, price in zip(self.digests, self.prices, strict=True)
        ]


def answered_earlier(keeper: Keeper, batch: Batch) -> Known | None:
    """What this user was answered under this key; None if the key is new."""
    rows = [] if batch.key is None else keeper.db.by_key(batch.user, batch.key)
    if not rows:
        return None
    known = keeper.answers(rows)
    if any(row.request != batch.request or row.kind != "answer" for row in rows):
        raise LedgerError("the key was used for another request; use a new one")
    if None in known.values():
        raise CuratorError(
            "this request was paid for but could not be computed; use a new key to pay again"
        )
    return known


def stored(keeper: Keeper, batch: Batch, books: Books) -> Known:
    """Answers to the same queries that are in the ledger, unless new ones are to be drawn."""
    if batch.fresh or not batch.queries:
        return {}
    # That somebody else has asked the same is not told to an end user.
    user = None if batch.user == CURATOR else batch.user
    return keeper.answers(keeper.db.by_query(batch.different, books.version, user))


def check_printable(name: str, given: str) -> str:
    """Raise ValueError unless a text may enter the ledger as it is; return it."""
    if not (isinstance(given, str) and 0 < len(given) <= 1000 and given.isprintable()):
        raise ValueError(f"{name} must be 1 to 1000 printable characters")
    return given
