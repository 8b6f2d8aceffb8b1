"""Replay of a ledger: the rules that writers keep, checked again from the entries alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isinglass.curate.ledger.backends.base import PIECE, Database
from isinglass.curate.ledger.contract import CURATOR
from isinglass.curate.ledger.entries import KINDS, START, Entry, refuse_broken
from isinglass.curate.ledger.spend_index import Reach
from isinglass.curate.ledger.state import Books, agreed, read_metric, spends
from isinglass.detect.metric import Metric
from isinglass.epsilon import delta_text, text
from isinglass.errors import BudgetError, LedgerError
from isinglass.messages import spell_call


def pieces(database: Database) -> Iterator[list[Entry]]:
    """All entries, some thousands at a time."""
    seq: int | None = None
    while entries := database.since(-(2**62) if seq is None else seq + 1):
        yield entries
        if len(entries) < PIECE:
            return
        seq = entries[-1].seq


def replayed(database: Database, secret: bytes) -> Replay:
    """All entries again, their chain checked: what is decided by sums over all spends."""
    replay, seq, before = Replay(secret), 0, START
    for entries in pieces(database):
        refuse_broken(secret, entries, seq, before)
        replay.take(entries)
        seq, before = entries[-1].seq, entries[-1].hash
    return replay


class Account:
    """Spends under one cap: those paid everywhere, and those at a place.

    Let E be the sum of the former, and M the largest sum of local spends that any query had at its
    turn, its own price included. Any place is touched by at most M of the latter: of the queries
    that touch it, the last one counted all others at its turn. So E + M bounds what touches any
    place, and what is paid everywhere fits if E + M and its price are within the cap.
    """

    def __init__(self) -> None:
        self.everywhere = self.largest_local = 0
        self._local: Reach | None = None

    @property
    def most(self) -> int:
        """The most that touches any one place."""
        return self.everywhere + self.largest_local

    def pay(
        self,
        metric: Metric,
        places: NDArray[np.float64],
        radii: NDArray[np.float64],
        micro: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Take local spends in; what is spent within reach of each at its turn, itself included."""
        if not len(micro):
            return micro
        if self._local is None:
            self._local = Reach(metric)
        sums = self._local.in_order(places, radii, micro) + micro
        self._local.extend(places, radii, micro)
        self.largest_local = max(self.largest_local, int(sums.max()))
        return sums + self.everywhere

    def pay_everywhere(self, micro: int) -> int:
        """Take an everywhere-spend in; the most that touches any place from then on."""
        self.everywhere += micro
        return self.most


@dataclass(frozen=True, slots=True)
class EverywhereBudget:
    """What may still be spent at every place at once, by whoever keeps the table.

    Epsilon is in millionths: `everywhere` is the sum of what was paid at every place, `local` the
    largest sum of local spends that any query had at its turn, and `left` what fits beside them.
    Delta is in parts of 1e-15.
    """

    cap: int
    everywhere: int
    local: int
    left: int
    delta_cap: int
    delta: int
    delta_left: int


class Replay:
    """The sums that entries lead to, and where they break a rule."""

    def __init__(self, secret: bytes) -> None:
        self.books = Books(secret)
        self.curators = Account()  # what everybody without a share has spent
        self._users: dict[str, Account] = {}

    def take(self, entries: list[Entry]) -> list[str]:
        """What is wrong with the next entries, whose chain is whole."""
        problems: list[str] = []
        local: list[Entry] = []  # spends at a place, all under the same terms
        for entry in entries:
            everywhere = bool(entry.micro) and entry.influence == math.inf
            if entry.facts is not None or everywhere or entry.kind not in KINDS:
                problems += self._local(local)
                local = []
            if (entry.seq == 1) != (entry.kind == "contract") or entry.kind not in KINDS:
                return [*problems, f"entry {entry.seq} has no business where it is"]
            if entry.facts is not None:
                try:
                    problems += self._terms(entry)
                except LedgerError as error:
                    return [*problems, str(error)]
            if self.books.version != entry.version:
                problems.append(f"entry {entry.seq} is of another version than its place says")
            if everywhere:
                problems += self._everywhere(entry)
            elif entry.micro and not agreed(self.books).complete:
                return [*problems, f"entry {entry.seq} has no business where it is"]
            elif entry.micro:
                local.append(entry)
        return problems + self._local(local)

    def _terms(self, entry: Entry) -> list[str]:
        before = self.books.contract
        self.books.read(entry)
        terms = self.books.contract
        if before is None or terms is None:
            return []
        if terms.shares and terms.shares != before.shares and self.curators.most > terms.curators:
            return [f"entry {entry.seq} gives away what is spent already"]
        if entry.kind == "model":
            spend = self.books.models.spends[-1]
            if spend.records_per_person != terms.records_per_person:
                return [f"entry {entry.seq} is for another number of records per person"]
            if self.books.models.femto > terms.delta_cap - terms.delta_elsewhere:
                return [f"entry {entry.seq} spends more than the cap of delta"]
        return []

    def _account(self, user: str) -> Account:
        return self._users.setdefault(user, Account())

    def _own_cap(self, user: str) -> int:
        """What one user may spend: the share, and the contract's budget for a user.

        Models are everybody's, so they count against the latter; the curator paid for them.
        """
        terms = agreed(self.books)
        if user == CURATOR:
            return 2**62 if terms.user_cap is None else terms.user_cap
        return min(terms.shares.get(user, 2**62), self._beside_models())

    def _local(self, entries: list[Entry]) -> list[str]:
        """Which spends at a place are more than they may be."""
        if not entries:
            return []
        terms, metric = agreed(self.books), read_metric(self.books.distance)
        places, radii, micro = spends(entries, len(metric.weights))
        over = np.zeros(len(entries), dtype=bool)
        users = np.array([entry.user for entry in entries], dtype=object)
        ours = np.array([entry.user not in terms.shares for entry in entries], dtype=bool)
        sums = self.curators.pay(metric, places[ours], radii[ours], micro[ours])
        over[ours] = sums > terms.curators
        for user in dict.fromkeys(users):
            if user == CURATOR and terms.user_cap is None:
                continue
            own = users == user
            sums = self._account(user).pay(metric, places[own], radii[own], micro[own])
            over[own] |= sums > self._own_cap(user)
        return [f"entry {entries[i].seq} spends more than the cap" for i in np.flatnonzero(over)]

    def _everywhere(self, entry: Entry) -> list[str]:
        """Whether an everywhere-spend is more than it may be."""
        terms, over = agreed(self.books), False
        if entry.user not in terms.shares:
            over = self.curators.pay_everywhere(entry.micro) > terms.curators
        if entry.user != CURATOR or terms.user_cap is not None:
            spent = self._account(entry.user).pay_everywhere(entry.micro)
            over |= spent > self._own_cap(entry.user)
        if entry.kind == "model" and terms.user_cap is not None:  # it is counted already
            over |= any(spent.most > self._beside_models() for spent in self._others())
        return [f"entry {entry.seq} spends more than the cap"] if over else []

    def _others(self) -> list[Account]:
        """What each user but the curator, who paid for the models, has spent."""
        return [account for user, account in self._users.items() if user != CURATOR]

    def _beside_models(self) -> int:
        """What the contract's budget for a user, if there is one, leaves each beside the models."""
        user_cap = agreed(self.books).user_cap
        return 2**62 if user_cap is None else user_cap - self.books.models.micro

    def most(self, user: str) -> tuple[int, int]:
        """The most that an account has spent at any one place, and its part of the budget."""
        terms = agreed(self.books)
        if user in terms.shares:
            return self._account(user).most, terms.shares[user]
        if user == CURATOR:
            return self.curators.most, terms.curators
        # From before there were shares: what was spent then counts as the curator's.
        return self._account(user).most, 0

    def left(self, user: str = CURATOR) -> tuple[Account, int, str]:
        """What bounds an everywhere-spend of a user first: an account, its cap, and whose it is."""
        terms = agreed(self.books)
        own = self._account(user), self._own_cap(user), "the user's own budget"
        if user in terms.shares:
            return own
        whose = "the curator's part" if terms.curators < terms.cap else "the table's budget"
        bounds = [(self.curators, terms.curators, whose), own]
        return min(bounds, key=lambda bound: bound[1] - bound[0].most)

    def refuse_everywhere(self, what: str, micro: int, user: str = CURATOR) -> None:
        """Refuse what does not fit everywhere: its price, E and M are more than the cap."""
        account, cap, whose = self.left(user)
        left = cap - account.most
        if micro > left:
            raise _refusal(what, micro, account, cap, whose)

    def refuse_model(self, micro: int, femto: int) -> None:
        """Refuse a model that does not fit; nobody is ever to know more than their cap."""
        self.refuse_everywhere("the model", micro)
        cap = self._beside_models()
        for account in self._others():
            if account.most + micro > cap:
                raise _refusal("the model", micro, account, cap, "a user's own budget")
        room = self.room()
        if femto > room.delta_left:
            asked, limit, spent, left = map(
                delta_text, (femto, room.delta_cap, room.delta, room.delta_left)
            )
            call = spell_call("Ledger.amend", delta_cap=..., reason=...)
            raise BudgetError(
                f"the model asked for delta {asked}, but of the cap of {limit}, {spent} is spent "
                f"and {left} is left; nothing was spent; {call} raises the cap",
                asked=micro, spent=room.everywhere + room.local, left=room.left,
            )  # fmt: skip

    def room(self) -> EverywhereBudget:
        """What a model may still cost."""
        terms, (account, cap, _) = agreed(self.books), self.left()
        delta = self.books.models.femto + terms.delta_elsewhere
        return EverywhereBudget(
            cap, account.everywhere, account.largest_local, max(0, cap - account.most),
            terms.delta_cap, delta, max(0, terms.delta_cap - delta),
        )  # fmt: skip


def _refusal(what: str, micro: int, account: Account, cap: int, whose: str) -> BudgetError:
    """One sentence that keeps apart what is spent everywhere and what at single places."""
    cap, left = max(0, cap), max(0, cap - account.most)
    return BudgetError(
        f"{what} asked for epsilon {text(micro)} at every place, but of {whose} of {text(cap)} a "
        f"place, {text(account.everywhere)} is spent everywhere, up to "
        f"{text(account.largest_local)} beside it at single places, and {text(left)} is left; "
        "nothing was spent",
        asked=micro,
        spent=account.most,
        left=left,
    )
