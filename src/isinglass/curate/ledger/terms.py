"""Terms of a ledger: its contract is signed, completed and amended; who may ask under it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from isinglass.curate.ledger.batch import check_printable
from isinglass.curate.ledger.contract import Agreement, Contract
from isinglass.curate.ledger.entries import Entry, keyed, unsealed
from isinglass.curate.ledger.state import Books, agreed, metric_facts, warm
from isinglass.curate.ledger.transaction import Keeper
from isinglass.curate.query import Query
from isinglass.detect.metric import Metric
from isinglass.epsilon import text
from isinglass.errors import LedgerError


def entry_of(kind: str, version: int, facts: Mapping[str, Any]) -> Entry:
    """An entry that states facts, and answers nothing."""
    return unsealed(kind, version=version, facts=json.dumps(facts, sort_keys=True))


def sign(
    keeper: Keeper, contract: Contract, metric: Metric, table: bytes, new_version: str | None
) -> Agreement:
    """Agree to the contract, write the first one, or complete one that began with a model."""
    asked = Contract.from_json(json.loads(json.dumps(contract.to_json())))
    distance = metric_facts(metric)
    warm(metric)
    with keeper.writing(make=True) as books:
        first = books is None
        if books is None:
            contract.refuse_unsound()
            books = keeper.begin()
            facts = {"ledger": books.ledger, "contract": asked.to_json(), "distance": distance}
            keeper.add([entry_of("contract", 1, facts | {"table": _named(keeper, table)})])
        elif not (terms := agreed(books)).complete:  # a model was the first use
            asked.refuse_unsound()
            terms.completed(asked)
            facts = {"contract": asked.to_json(), "distance": distance}
            facts["table"] = _named(keeper, table)
            keeper.add([entry_of("completion", books.version, facts)])
        else:
            terms.refuse(asked)
            if distance != books.distance:
                raise LedgerError("the ledger's contract fixes another distance")
            if _named(keeper, table) != books.table:
                if new_version is None:
                    raise LedgerError(
                        "the table is not the one this ledger answered about last; if records "
                        "were added or removed, declare a new version and say why: what was "
                        "spent stays spent"
                    )
                reason = check_printable("new_version", new_version)
                facts = {"reason": reason, "table": _named(keeper, table)}
                keeper.add([entry_of("version", books.version + 1, facts)])
    return Agreement(first, _named(keeper, table))


def sign_models(keeper: Keeper, given: Mapping[str, Any]) -> tuple[Contract, bool]:
    """The contract, once it agrees with the terms given; and whether it is a new one."""
    terms = {name: value for name, value in given.items() if value is not None}
    with keeper.writing(make=True) as books:
        if books is not None:
            ours = agreed(books)
            ours.refuse_model_terms(replace(ours, **terms))
            return ours, False
        if "cap" not in terms:
            raise ValueError("cap must be given when a ledger is first used, got None")
        contract = Contract(**({"modes": (), "columns": (), "metric": {}} | terms))
        contract.refuse_unsound()
        books = keeper.begin()
        facts = {"ledger": books.ledger, "contract": contract.to_json(), "distance": {}}
        keeper.add([entry_of("contract", 1, facts | {"table": ""})])
    return contract, True


def amend(keeper: Keeper, given: Mapping[str, Any], reason: str) -> None:
    """Make the terms weaker; those that are None stay."""
    terms = {name: value for name, value in given.items() if value is not None}
    facts = {"terms": terms, "reason": check_printable("reason", reason)}
    with keeper.writing() as books:
        agreed(books).amended(**given)
        keeper.add([entry_of("amend", books.version, facts)] if books else [])


def admit(keeper: Keeper, user: str, share: int | None, reason: str) -> None:
    """Give an end user a share, or a larger one, if it fits beside what the curator spent."""
    from isinglass.curate.ledger.replay import replayed  # an answer has no use for it

    check_printable("user", user)
    with keeper.writing() as books:
        terms = agreed(books)
        amount = terms.user_cap if share is None else share
        if amount is None:
            raise ValueError("share must be given where the contract has no budget for a user")
        after = terms.amended(shares={user: amount})
        spent = replayed(keeper.db, keeper.secret).curators.most
        if spent > after.curators:
            raise LedgerError(
                f"a share of {text(amount)} does not fit: at some place {text(spent)} is spent "
                f"of the curator's part, which would be {text(after.curators)}; a smaller "
                "share, or a larger budget, may"
            )
        changed = {"shares": {user: amount}}
        facts = {"terms": changed, "reason": check_printable("reason", reason)}
        keeper.add([entry_of("amend", books.version, facts)] if books else [])


def spend_elsewhere(keeper: Keeper, reason: str) -> None:
    """Note the head anew, with an entry that counts the whole budget as spent elsewhere."""
    why = check_printable("reason", reason)

    def elsewhere(books: Books) -> Entry:
        facts = {"terms": {"elsewhere": agreed(books).cap}, "reason": why}
        return entry_of("amend", books.version, facts)

    keeper.note_anew(elsewhere)


def may_ask(
    books: Books | None, queries: Sequence[Query], agreement: Agreement | None, user: str
) -> Books:
    """The books, if this user may ask `queries` under the contract now."""
    contract = agreed(books)
    contract.refuse_stranger(user)
    assert books is not None  # for it has a contract
    if agreement is None:
        raise LedgerError("agree to the ledger's contract before asking (`Ledger.sign`)")
    if agreement.table != books.table:
        raise LedgerError(
            "another version of the table was declared meanwhile; read it and ask again"
        )
    width = len(books.distance["weights"])
    seen: set[tuple[Any, ...]] = set()
    for row, query in enumerate(queries):
        rule = (query.mode, query.privacy, query.k, query.beta, query.r)
        if rule not in seen:
            contract.refuse_query(query)
            seen.add(rule)
        if query.place.shape != (width,):
            raise ValueError(f"row {row} must have {width} columns, got shape {query.place.shape}")
    return books


def _named(keeper: Keeper, table: bytes) -> str:
    """What the ledger calls a table: an HMAC, under a secret that begins with the ledger."""
    return keyed(keeper.secret, b"table" + table).hex()
