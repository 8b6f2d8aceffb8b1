"""Summary of a ledger for `ledger show`."""

from __future__ import annotations

from typing import Any

from isinglass.curate.ledger.backends.base import Database
from isinglass.curate.ledger.contract import Contract
from isinglass.curate.ledger.entries import Entry
from isinglass.curate.ledger.head import Head
from isinglass.curate.ledger.model_spend import FEMTO, ModelSpend
from isinglass.documents import read_json
from isinglass.epsilon import as_float


def summarized(database: Database, contract: Contract, version: int) -> dict[str, Any]:
    """The contract and its changes, entries by kind, and what they cost; never a record."""
    terms, last = contract.to_json(), database.last()
    for name in ("cap", "user_cap"):
        terms[name] = None if terms[name] is None else as_float(terms[name])
    terms |= _in_epsilon(terms)
    totals, changes = database.totals(), database.changes()
    models = [_model(entry) for entry in database.models()]
    return {
        "ledger": database.name,
        "version": version,
        "contract": terms,
        "amendments": [_told(entry) for entry in changes if entry.kind == "amend"],
        "versions": [_told(entry) for entry in changes if entry.kind == "version"],
        "entries": {kind: count for kind, count, _ in totals},
        "spent": as_float(sum(micro for _, _, micro in totals)),
        **({"models": models} if models else {}),
        "last": last.at if last else "",
        "head": str(Head(last.seq, last.hash)) if last else "",
    }


def _told(change: Entry) -> dict[str, Any]:
    """A change of the terms or of the table, for people."""
    facts = read_json(change.facts or "{}", infinite=True)
    terms = dict(facts.get("terms", {"version": change.version}))
    if "cap" in terms:
        terms["cap"] = as_float(terms["cap"])
    terms |= _in_epsilon(terms)
    return {"entry": change.seq, "at": change.at, "reason": facts["reason"]} | terms


def _model(entry: Entry) -> dict[str, Any]:
    """What a model cost; never its counts, and never its request."""
    facts = read_json(entry.facts or "{}")
    spend = ModelSpend.from_json(entry.micro, facts)
    return {
        "entry": entry.seq,
        "at": entry.at,
        "epsilon": as_float(spend.micro),
        "delta": spend.femto / FEMTO,
        "rho": None if spend.rho is None else float(spend.rho),
        "records_per_person": spend.records_per_person,
        "stored": "sha256" in facts,
    }


def _in_epsilon(terms: dict[str, Any]) -> dict[str, Any]:
    """The parts of the budget that are not the curator's, where there are any."""
    found: dict[str, Any] = {}
    if "shares" in terms:
        found["shares"] = {user: as_float(share) for user, share in terms["shares"].items()}
    if "elsewhere" in terms:
        found["elsewhere"] = as_float(terms["elsewhere"])
    for name in ("delta_cap", "delta_elsewhere"):
        if name in terms:
            found[name] = terms[name] / FEMTO
    return found
