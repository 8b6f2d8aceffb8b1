"""Standing of a ledger: what is promised, what is spent where it is most, and who asked."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from isinglass.curate.guarantee import Guarantee
from isinglass.curate.ledger.contract import CURATOR
from isinglass.curate.ledger.replay import replayed
from isinglass.curate.ledger.state import agreed
from isinglass.curate.ledger.transaction import Keeper
from isinglass.curate.plain_words import about_all
from isinglass.epsilon import as_float


@dataclass(frozen=True, slots=True)
class AccountStanding:
    """One account: its part of the budget, and the most it has spent at any one place.

    Both are millionths of epsilon. `first` and `last` say when it asked, as people read it.
    """

    user: str
    part: int
    most: int
    answers: int
    first: str
    last: str

    @property
    def left(self) -> int:
        """What is left where most was asked; elsewhere it is more."""
        return max(0, self.part - self.most)

    def to_json(self) -> dict[str, Any]:
        """For JSON, in epsilon."""
        return {
            "user": self.user, "answers": self.answers, "part": as_float(self.part),
            "most_at_one_place": as_float(self.most), "left_there": as_float(self.left),
            "first": self.first, "last": self.last,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class LedgerStanding:
    """What a ledger has promised so far, and to whom answers went; never what was asked about."""

    promises: tuple[str, ...]
    accounts: tuple[AccountStanding, ...]
    everywhere: int
    models: int

    def days_left(self, account: AccountStanding, now: datetime.datetime) -> float | None:
        """Days until nothing fits where this account asked most, if it goes on as it did.

        None where that was less than a day ago, or nothing was spent at any one place.
        """
        local = account.most - (self.everywhere if account.user == CURATOR else 0)
        if local <= 0 or not account.first:
            return None
        days = (now - datetime.datetime.fromisoformat(account.first)).total_seconds() / 86_400
        return None if days < 1 else account.left / local * days

    def to_json(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "promises": list(self.promises),
            "accounts": [account.to_json() for account in self.accounts],
        }


def standing(keeper: Keeper) -> LedgerStanding:
    """Where a ledger stands, from all of its entries."""
    contract = agreed(keeper.books())
    replay = replayed(keeper.db, keeper.secret)
    books = replay.books
    asked = {user: (n, first, last) for user, n, first, last in keeper.db.askers()}
    accounts = []
    for user in dict.fromkeys([CURATOR, *contract.shares, *asked]):
        answers, first, last = asked.get(user, (0, "", ""))
        most, part = replay.most(user)
        accounts.append(AccountStanding(user, part, most, answers, first, last))
    promise = Guarantee(
        mode=next(iter(contract.modes), "sparse"), privacy="differential", micro=1,
        cap=contract.cap, beta=0, r=0.0, records_per_person=contract.records_per_person,
        also_released=contract.also_released, k_min=contract.k_min, beta_max=contract.beta_max,
        r_min=contract.r_min, rule=contract.rule, models=books.models,
        delta_cap=contract.delta_cap, delta_elsewhere=contract.delta_elsewhere,
    )  # fmt: skip
    return LedgerStanding(
        tuple(about_all(promise)),
        tuple(accounts),
        replay.curators.everywhere,
        len(books.models.spends),
    )
