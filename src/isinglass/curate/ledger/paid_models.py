"""Models that were paid for from a ledger, in their order."""

from __future__ import annotations

from dataclasses import dataclass

from isinglass.curate.ledger.contract import CURATOR
from isinglass.curate.ledger.entries import intact
from isinglass.curate.ledger.model_charge import ABOUT, counts_digest, stored_counts
from isinglass.curate.ledger.model_spend import ModelSpend
from isinglass.curate.ledger.transaction import Keeper
from isinglass.documents import read_json
from isinglass.errors import LedgerError


@dataclass(frozen=True, slots=True)
class PaidModel:
    """A model that was paid for: its entry, its request, and what it cost.

    `about` are the public settings that were kept with it. `stored` is False where it was paid for
    and could not be computed.
    """

    entry: int
    request_id: str
    spend: ModelSpend
    about: dict[str, str]
    stored: bool


def paid_models(keeper: Keeper) -> list[PaidModel]:
    """All of them; see `Ledger.paid_models`."""
    found = []
    for entry in keeper.db.models():
        if not intact(keeper.secret, entry):
            raise LedgerError(f"entry {entry.seq} of the ledger was edited")
        facts = read_json(entry.facts or "{}")
        spend = ModelSpend.from_json(entry.micro, facts)
        stored = counts_digest(entry) is not None
        found.append(PaidModel(entry.seq, entry.key or "", spend, facts.get(ABOUT, {}), stored))
    return found


def noised_counts(keeper: Keeper, model: PaidModel) -> bytes:
    """The noised counts of a model that was paid for; see `Ledger.noised_counts`."""
    for entry in keeper.db.by_key(CURATOR, model.request_id):
        if entry.seq == model.entry and intact(keeper.secret, entry):
            return stored_counts(keeper, entry)
    raise LedgerError(f"entry {model.entry} of the ledger is missing or was edited")
