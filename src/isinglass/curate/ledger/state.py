"""Ledger state replayed from its entries: contract, table version, spends."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.curate.ledger import entries as chain
from isinglass.curate.ledger.budget import SpatialBudget
from isinglass.curate.ledger.contract import CURATOR, Contract
from isinglass.curate.ledger.entries import Entry
from isinglass.curate.ledger.model_spend import NO_MODELS, ModelSpend, ModelTotals
from isinglass.curate.query import Query
from isinglass.detect.metric import Metric
from isinglass.documents import read_json
from isinglass.errors import LedgerError


def metric_facts(metric: Metric) -> dict[str, Any]:
    """A distance as the contract's entry keeps it, so that spends can be added up without it."""
    return {
        "name": metric.name,
        "power": metric.power,
        "weights": metric.weights.tolist(),
        "weighted": metric.weighted,
    }


def read_metric(facts: dict[str, Any]) -> Metric:
    """The distance again, bit for bit; of a contract that has none yet, any."""
    if not facts:
        return _NOWHERE
    weights = np.array(facts["weights"], dtype=np.float64)
    return Metric(facts["name"], float(facts["power"]), weights, bool(facts["weighted"]))


def warm(metric: Metric) -> None:
    """Load what pricing needs, which may take a second, before others wait at the lock for it."""
    nowhere = Query(np.zeros(len(metric.weights)), "warm", 1, 0.0, 1, influence=0.0)
    for n in (1, 2):
        SpatialBudget(metric, n).price([nowhere] * n, "curator")


def spends(
    entries: Sequence[Entry], width: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Places, radii and prices; what is paid everywhere has no place, and gets the origin."""
    nowhere = bytes(8 * width)
    m = len(entries)
    places = b"".join([nowhere if entry.place is None else entry.place for entry in entries])
    radii = np.fromiter((entry.influence for entry in entries), np.float64, m)
    micro = np.fromiter((entry.micro for entry in entries), np.int64, m)
    return np.frombuffer(places, dtype="<f8").reshape(m, width), radii, micro


class Books:
    """The state that entries lead to. It can be thrown away and computed again from them."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self.seq, self.hash = 0, chain.START
        self.ledger = ""
        self.contract: Contract | None = None
        self.distance: dict[str, Any] = {}
        self.budget = SpatialBudget(_NOWHERE, 1)
        self.models = NO_MODELS
        self.table = ""
        self.version = 0

    def take(self, entries: list[Entry]) -> None:
        """Go on with entries read from the ledger, once their chain is seen to be whole."""
        chain.refuse_broken(self._secret, entries, self.seq, self.hash)
        self.apply(entries)

    def apply(self, entries: list[Entry]) -> None:
        """Go on with entries whose chain is whole."""
        paid: list[Entry] = []
        for entry in entries:
            if entry.facts is not None:
                if entry.kind in ("amend", "completion"):
                    self._spend(paid)  # shares are of what is spent from then on
                    paid = []
                self.read(entry)
            if entry.micro:
                paid.append(entry)
        self._spend(paid)
        if entries:
            self.seq, self.hash = entries[-1].seq, entries[-1].hash

    def _spend(self, paid: list[Entry]) -> None:
        width = len(self.budget.metric.weights)
        if len(paid) == 1 and paid[0].place is not None and paid[0].influence is not None:
            place = np.frombuffer(paid[0].place, dtype="<f8")
            self.budget.add_one(place, paid[0].influence, paid[0].micro, paid[0].user)
        elif paid:
            self.budget.add(*spends(paid, width), [entry.user for entry in paid])

    def read(self, entry: Entry) -> None:
        """Take in what an entry says of terms, table and models; its price is `apply`'s."""
        facts = read_json(entry.facts or "{}", infinite=True)
        if entry.kind == "contract":
            self.ledger, self.version = facts["ledger"], 1
            self._fix(Contract.from_json(facts["contract"]), facts)
        elif entry.kind == "completion" and self.contract is not None:
            self._fix(self.contract.completed(Contract.from_json(facts["contract"])), facts)
        elif entry.kind == "model":
            self._add_model(entry, facts)
        elif entry.kind == "version":
            self.table, self.version = facts["table"], self.version + 1
        elif entry.kind == "amend" and self.contract is not None:
            try:
                self.contract = self.contract.amended(**facts["terms"])
            except ValueError:
                raise LedgerError(f"entry {entry.seq} does not make the terms weaker") from None
            self._divide(self.contract)

    def _fix(self, contract: Contract, facts: dict[str, Any]) -> None:
        """The terms with their distance. What was spent before there was one, models did."""
        self.contract, self.distance, self.table = contract, facts["distance"], facts["table"]
        metric = read_metric(self.distance)
        self.budget = SpatialBudget(metric, contract.cap, contract.user_cap)
        self._divide(contract)
        m, models = len(self.models.spends), self.models
        self.budget.models = models.micro
        nowhere = np.zeros((m, len(metric.weights)))
        micro = [spend.micro for spend in models.spends]
        self.budget.add(nowhere, np.full(m, np.inf), micro, [CURATOR] * m)

    def _divide(self, contract: Contract) -> None:
        self.budget.cap, self.budget.shares = contract.curators, contract.shares
        self.budget.divided = self.budget.cap < contract.cap

    def _add_model(self, entry: Entry, facts: dict[str, Any]) -> None:
        try:
            spend = ModelSpend.from_json(entry.micro, facts)
            spend.refuse_unsound()
            paid_by_curator = entry.user == CURATOR and entry.influence == np.inf
        except (LookupError, ValueError, TypeError, ArithmeticError):
            paid_by_curator = False
        if not paid_by_curator:
            raise LedgerError(f"entry {entry.seq} is not what a model costs")
        self.models = ModelTotals((*self.models.spends, spend))
        self.budget.models = self.models.micro

    def sealed(self, rows: Iterable[Entry]) -> list[Entry]:
        """Entries that go on from here, in order, each sealed with the one before it."""
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        seq, before = self.seq, self.hash
        entries: list[Entry] = []
        for row in rows:
            seq += 1
            facts = (seq, at, *row[2:11], row.version or self.version, row.facts, before)
            before = chain.seal(self._secret, Entry(*facts, b""))
            entries.append(Entry(*facts, before))
        return entries


def agreed(books: Books | None) -> Contract:
    """The contract; raise LedgerError where there is none yet."""
    if books is None or books.contract is None:
        raise LedgerError("the ledger has no contract yet: nobody has asked")
    return books.contract


_NOWHERE = Metric("euclidean", 2.0, np.ones(1))
