"""Spatial budget: what may still be spent at a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.curate.ledger.contract import CURATOR
from isinglass.curate.ledger.spend_index import Reach
from isinglass.curate.query import Query
from isinglass.detect.metric import Metric
from isinglass.epsilon import micro as parsed
from isinglass.epsilon import text
from isinglass.errors import BudgetError

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PriceQuote:
    """Price quote of queries: spent within reach of each before it, and left there afterwards.

    Millionths of epsilon. `left_after` is what the tighter of the two caps leaves once all of them
    are paid for, later ones included.
    """

    spent_before: Counts
    left_after: Counts


class SpatialBudget:
    """Keeps the spends that touch any one place within a cap, with no look at the table.

    A record's presence changes the chances of an answer only within that answer's radius of
    influence. So a query is allowed while the prices of all earlier queries within reach, its own
    included, stay within the cap, and no place in space, asked about or not, is ever touched by
    more than the cap: any two balls that share a place are within reach of each other, so the
    last query whose ball holds the place counted all the others when it was asked.

    `cap` holds for all together who have no share of their own; `user_cap`, where given, keeps
    each of them below it. `shares` are set apart from the cap, by user: whoever has one is held to
    it by their own spends and by nothing else, so that nothing they are told depends on others'
    queries. Shares and cap together are the most that touches any place. All are millionths of
    epsilon. `models` counts against every user's `user_cap`, which bounds what one may know.
    """

    def __init__(self, metric: Metric, cap: int, user_cap: int | None = None) -> None:
        for name, given in (("cap", cap), ("user_cap", user_cap)):
            if given is not None and given < 1:
                raise ValueError(f"{name} must be >= 1 millionth of epsilon, got {given}")
        self.metric = metric
        self.cap = cap
        self.user_cap = user_cap
        self.shares: dict[str, int] = {}
        self.divided = False  # whether a part of the budget is somebody else's
        self.models = 0  # what the curator paid for models, which everybody may see
        self._table = Reach(metric)
        self._users: dict[str, Reach] = {}
        # Spends of users who have not asked since: most never do, so they get no index yet.
        self._waiting: dict[str, list[tuple[Array, Array, Counts]]] = {}

    def __len__(self) -> int:
        return len(self._table)

    def add(
        self, places: ArrayLike, radii: ArrayLike, micro: ArrayLike, users: Sequence[str]
    ) -> None:
        """Add spends read from the ledger, with who paid each; nothing is checked again."""
        where = np.asarray(places, dtype=np.float64)
        m = len(users)
        reaches = np.broadcast_to(np.asarray(radii, dtype=np.float64), (m,))
        prices = np.broadcast_to(np.asarray(micro, dtype=np.int64), (m,))
        rows: dict[str, list[int]] = {}
        for row, user in enumerate(users):
            rows.setdefault(user, []).append(row)
        if self.shares.keys().isdisjoint(rows):
            self._table.extend(where, reaches, prices)
        else:
            ours = [row for row, user in enumerate(users) if user not in self.shares]
            self._table.extend(where[ours], reaches[ours], prices[ours])
        if self.user_cap is None:
            rows.pop(CURATOR, None)
        for user, own in rows.items():
            part = where[own], reaches[own], prices[own]
            if user in self._users:
                self._users[user].extend(*part)
            else:
                self._waiting.setdefault(user, []).append(part)

    def add_one(self, place: Array, radius: float, micro: int, user: str) -> None:
        """`add` for one spend, whose price was asked for before."""
        if user not in self.shares:
            self._table.append(place, radius, micro)
        if user in self._users:
            self._users[user].append(place, radius, micro)
        elif self.user_cap is not None or user != CURATOR:
            part = place.reshape(1, -1), np.array([radius]), np.array([micro])
            self._waiting.setdefault(user, []).append(part)

    def spent(self, places: ArrayLike, radii: ArrayLike, user: str | None = None) -> Counts:
        """What was spent within reach of each place and radius, by one user or from the cap."""
        return (self._table if user is None else self._of(user)).sums(places, radii)

    def _of(self, user: str) -> Reach:
        """A user's own spends."""
        if self.user_cap is None and user not in self.shares:
            raise ValueError("user must be None where no user_cap is set")
        if user not in self._users:
            index = Reach(self.metric)
            if parts := self._waiting.get(user, []):
                index.extend(*(np.concatenate(column) for column in zip(*parts, strict=True)))
            # Whatever interrupts this, the spends are in one of the two.
            self._users[user] = index
            self._waiting.pop(user, None)
        return self._users[user]

    def price(self, queries: Sequence[Query], user: str) -> PriceQuote:
        """What queries cost, in order, each counting the earlier ones; nothing is spent yet.

        All or nothing: raises `BudgetError` for the first that does not fit. One that costs nothing
        (its answer is stored) always fits, even where later neighbors left less than nothing.
        """
        if user in self.shares:
            return self._price_share(queries, user)
        m = len(queries)
        if m == 1 and queries[0].place.shape == self.metric.weights.shape and queries[0].micro >= 0:
            return self._price_one(queries[0], user)
        places, radii, micro = columns(queries, self.metric)
        before = self._table.in_order(places, radii, micro)
        left = self.cap - before
        own_left = left
        if self.user_cap is not None:
            own_before = self._of(user).in_order(places, radii, micro)
            own_left = self._own_cap(user, self.user_cap) - own_before
        tighter = np.minimum(left, own_left)
        if (over := np.flatnonzero((micro > tighter) & (micro > 0))).size:
            row = int(over[0])
            by_table = bool(micro[row] > left[row])
            cap, spent, index = self.cap, int(before[row]), self._table
            if not by_table and self.user_cap is not None:
                cap = max(0, self._own_cap(user, self.user_cap))
                spent, index = int(own_before[row]), self._of(user)
            past = index.at(places[row], float(radii[row]))
            facts = int(micro[row]), spent, past, cap, int(tighter[row])
            raise _refusal(row, m, *facts, self._whose(by_table))
        return PriceQuote(
            before, np.maximum(0, tighter - micro - self._later(places, radii, micro))
        )

    def _price_share(self, queries: Sequence[Query], user: str) -> PriceQuote:
        """`price` for a user with a share: by their own spends and that share alone."""
        places, radii, micro = columns(queries, self.metric)
        own, share = self._of(user), self.shares[user]
        if self.user_cap is not None:
            share = max(0, min(share, self._own_cap(user, self.user_cap)))
        before = own.in_order(places, radii, micro)
        left = share - before
        if (over := np.flatnonzero((micro > left) & (micro > 0))).size:
            row = int(over[0])
            past = own.at(places[row], float(radii[row]))
            facts = int(micro[row]), int(before[row]), past, share, int(left[row])
            raise _refusal(row, len(queries), *facts, "the user's own budget")
        return PriceQuote(before, np.maximum(0, left - micro - self._later(places, radii, micro)))

    def _later(self, places: Array, radii: Array, micro: Counts) -> Counts:
        """What the later ones of a list will have spent around each: reach goes both ways."""
        if len(places) < 2:
            return np.zeros_like(micro)
        return Reach(self.metric).in_order(places[::-1], radii[::-1], micro[::-1])[::-1]

    def _price_one(self, query: Query, user: str) -> PriceQuote:
        """`price` for one query, the common case, in plain numbers."""
        before = own_before = self._table.at(query.place, query.influence)
        left = tighter = self.cap - before
        own_cap = self.cap
        if self.user_cap is not None:
            own_before = self._of(user).at(query.place, query.influence)
            own_cap = self._own_cap(user, self.user_cap)
            tighter = min(left, own_cap - own_before)
        if query.micro > tighter and query.micro > 0:
            by_table = query.micro > left
            spent, cap = (before, self.cap) if by_table else (own_before, max(0, own_cap))
            facts = query.micro, spent, spent, cap, tighter
            raise _refusal(0, 1, *facts, self._whose(by_table))
        return PriceQuote(np.array([before]), np.array([max(0, tighter - query.micro)]))

    def _own_cap(self, user: str, user_cap: int) -> int:
        """What `user_cap` leaves a user beside the models; the curator's own spends hold them."""
        return user_cap if user == CURATOR else user_cap - self.models

    def _whose(self, by_table: bool) -> str:
        if not by_table:
            return "the user's own budget"
        return "the curator's part of the budget" if self.divided else "the table's budget"


def columns(queries: Sequence[Query], metric: Metric) -> tuple[Array, Array, Counts]:
    """Places, radii of influence and prices of queries, side by side."""
    m, width = len(queries), len(metric.weights)
    places = np.empty((m, width))
    for row, query in enumerate(queries):
        if query.place.shape != (width,):
            raise ValueError(f"place must have {width} numbers, got {query.place.shape}")
        places[row] = query.place
    radii = np.fromiter((query.influence for query in queries), np.float64, m)
    return places, radii, np.fromiter((query.micro for query in queries), np.int64, m)


def _refusal(
    row: int, m: int, asked: int, spent: int, past: int, cap: int, left: int, whose: str
) -> BudgetError:
    """One sentence that keeps asked, spent and left apart, and says which cap refused."""
    left = max(0, left)
    query = "the query" if m == 1 else f"row {row} of the batch"
    details = [] if spent == past else [f"{text(spent - past)} of it by earlier rows of this batch"]
    if spent > cap > 0:  # no place is touched by more than the cap, but not all these share one
        details.append("more than the budget, as they do not all reach each other")
    hope = (
        f"a query of epsilon {text(left)} or less still fits here"
        if left
        else "no query fits here any more" + ("; those farther away may" if cap else "")
    )
    more = f" ({', '.join(details)})" if details else ""
    end = "nothing was spent" if m == 1 else "the batch was refused whole: nothing was spent"
    return BudgetError(
        f"{query} asked for epsilon {text(asked)}, but around this record {text(spent)} of {whose} "
        f"of {text(cap)} is already used{more} and {text(left)} is left; {hope}; {end}",
        asked=asked,
        spent=spent,
        left=left,
        row=row,
    )


def fits(
    places: ArrayLike, r: ArrayLike, epsilon: object, cap: object, metric: Metric
) -> NDArray[np.bool_]:
    """For each query, taken in order, whether it fits under a cap; the sum is how many do.

    All are asked with influence `r` (one for all, or one each) and price `epsilon`. A query that
    the cap refuses is skipped and costs nothing. Reads queries only: for a plan, not a promise
    about any table.
    """
    limit = parsed(cap, "cap")
    return Reach(metric).taken(places, r, parsed(epsilon), limit) > 0
