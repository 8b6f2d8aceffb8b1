"""Charge for a guaranteed model, and its noised counts, in one transaction."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from collections.abc import Callable, Mapping

from isinglass.curate.ledger.batch import check_printable
from isinglass.curate.ledger.contract import CURATOR
from isinglass.curate.ledger.entries import Entry, intact, keyed, unsealed
from isinglass.curate.ledger.model_spend import ModelSpend
from isinglass.curate.ledger.replay import replayed
from isinglass.curate.ledger.state import agreed
from isinglass.curate.ledger.transaction import Keeper
from isinglass.documents import read_json
from isinglass.errors import CuratorError, LedgerError

#: what an entry's facts call the public settings that are kept with a model
ABOUT = "about"
#: no noised counts are larger, in bytes
LARGEST_COUNTS = 1 << 28


def charge(
    keeper: Keeper,
    spend: ModelSpend,
    draw: Callable[[], bytes],
    request_id: str,
    digest: bytes,
    about: Mapping[str, str],
) -> bytes:
    """Noised counts, of this request's first time or drawn now; see `Ledger.charge_model`."""
    check_printable("request_id", request_id)
    if not isinstance(digest, bytes) or not digest:
        raise ValueError("digest must be bytes, at least one")
    for name, setting in about.items():
        check_printable(name, setting)
    spend.refuse_unsound()
    with keeper.writing() as books:
        contract = agreed(books)
        assert books is not None  # for it has a contract
        # Keyed: a digest of a request may be one of settings that few others have.
        request = keyed(keeper.secret, b"model\0" + spend.to_bytes() + digest)
        failed: BaseException | None = None
        data: bytes | None = None
        if earlier := keeper.db.by_key(CURATOR, request_id):
            data = _stored(keeper, earlier, request)
        else:
            contract.refuse_records(spend.records_per_person)
            replayed(keeper.db, keeper.secret).refuse_model(spend.micro, spend.femto)
            keeper.db.prepare_counts()  # what can fail does so before anything is drawn
            try:
                data = _checked(draw())
            except BaseException as error:
                failed = error
            row = _row(spend, request_id, request, data, about)
            keeper.add([row._replace(version=books.version)], counts=data)
    if failed is not None and not isinstance(failed, Exception):  # an interrupt goes its way
        raise failed
    if data is None:
        raise CuratorError(
            "the model could not be computed; what it costs is spent, because the attempt may have "
            "told something"
        ) from None
    return data


def _checked(data: bytes) -> bytes:
    if not isinstance(data, bytes) or not 0 < len(data) <= LARGEST_COUNTS:
        raise CuratorError("noised counts must be bytes, and not too many")
    return data


def _row(
    spend: ModelSpend,
    request_id: str,
    request: bytes,
    data: bytes | None,
    about: Mapping[str, str],
) -> Entry:
    facts = spend.to_json() | ({ABOUT: dict(about)} if about else {})
    if data is not None:  # else it was paid for, and never computed
        facts["sha256"] = hashlib.sha256(data).hexdigest()
    return unsealed(
        "model", CURATOR, request_id, request, influence=math.inf, micro=spend.micro,
        facts=json.dumps(facts, sort_keys=True),
    )  # fmt: skip


def _stored(keeper: Keeper, rows: list[Entry], request: bytes) -> bytes:
    """What a request returned the first time; nothing is drawn or paid."""
    for row in rows:
        if not intact(keeper.secret, row):
            raise LedgerError(f"entry {row.seq} of the ledger was edited")
        if row.kind != "model" or row.request != request:
            raise LedgerError("request_id was used for another request; use a new one")
    return stored_counts(keeper, rows[0])


def stored_counts(keeper: Keeper, entry: Entry) -> bytes:
    """The noised counts of an entry that is seen to be intact."""
    digest = counts_digest(entry)
    if digest is None:
        raise CuratorError(
            "this model was paid for but could not be computed; use a new request_id to pay again"
        )
    data = keeper.db.counts(entry.seq)
    if data is None or not digest_matches(data, digest):
        lost = "are missing" if data is None else "were changed"
        raise LedgerError(f"the noised counts of entry {entry.seq} {lost}")
    return data


def counts_digest(entry: Entry) -> str | None:
    """The digest of the noised counts that belong to an entry; None where it has none."""
    try:
        found = read_json(entry.facts or "{}")["sha256"]
    except (ValueError, LookupError, TypeError):  # none, or edited, which its seal says
        return None
    return found if isinstance(found, str) else None


def digest_matches(data: bytes | None, digest: str) -> bool:
    """Whether these are the noised counts that an entry was written with."""
    return data is not None and hmac.compare_digest(hashlib.sha256(data).hexdigest(), digest)
