"""Writing of a guaranteed model: a table is counted with noise, paid for, and only then written."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isinglass import model
from isinglass.detect.private.card import Payment, card_page
from isinglass.detect.private.columns import CategoryColumn, PublicColumn
from isinglass.detect.private.detector import PrivateDetector
from isinglass.detect.private.document import column_facts, read_document, write_document
from isinglass.detect.private.file_parts import packed, price_of
from isinglass.detect.private.guarantee import ModelGuarantee
from isinglass.detect.private.layout import Layout
from isinglass.detect.private.noise import ModelPrice
from isinglass.detect.private.table_records import table_records
from isinglass.documents import canonical_json, read_json
from isinglass.errors import ModelError, TableError
from isinglass.files import refuse_targets, whole_file
from isinglass.messages import spell
from isinglass.publish.declared import Declared
from isinglass.publish.persons import only, refuse_repeated, rows_to_keep
from isinglass.release_register import Register
from isinglass.signing import SigningKey
from isinglass.table.columns import as_float64, is_numeric, listed
from isinglass.table.read import Table, open_table

#: Pays for a model before it leaves: takes the price, a digest of the request, and what draws the
#: document; gives the document drawn, now or the first time the same request was paid.
Pay = Callable[[ModelPrice, bytes, Callable[[], bytes]], bytes]


@dataclass(frozen=True, slots=True)
class WrittenModel:
    """What was written, and where."""

    model: Path
    name: str
    columns: int
    guarantee: ModelGuarantee
    threshold: float | None
    fingerprint: str | None
    warnings: tuple[str, ...]


def write_model(
    table: Any,
    out: str | Path,
    *,
    declared: Declared,
    epsilon: Any,
    delta: Any = 1e-6,
    drop: Sequence[str] = (),
    person: str | None = None,
    records_per_person: int | None = None,
    threshold_share: float | None = None,
    rounds: int = 2,
    name: str | None = None,
    key: SigningKey | None = None,
    pay: Pay | None = None,
    payment: Payment | None = None,
    card: str | Path | None = None,
    owner_card: str | Path | None = None,
    reads: Sequence[str | Path | None] = (),
    force: bool = False,
    encoding: str = "utf8",
    delimiter: str | None = None,
    n_jobs: int | None = None,
) -> WrittenModel:
    """Count a table with noise in bounded memory, pay, and write the model and its cards.

    Every column must be declared or dropped. With `person`, that column is dropped, and no more
    than `records_per_person` records of anybody are counted. Without `pay` nothing is charged.
    """
    out = Path(out)
    targets = {"the model": out}
    targets |= {"the card": Path(card)} if card is not None else {}
    targets |= {"the owner's card": Path(owner_card)} if owner_card is not None else {}
    refuse_targets(targets, [table, *reads], force=force)
    name = out.stem if name is None else name
    try:
        model.check_name(name)
    except ValueError as error:
        raise ModelError(str(error)) from None
    opened = open_table(table, encoding=encoding, delimiter=delimiter)
    names = _names(opened, drop, person)
    given = declared.only(names)
    detector = PrivateDetector(
        epsilon,
        delta,
        given.bounds,
        given.categories or None,
        steps=given.steps or None,
        log=given.log,
        records_per_person=1 if records_per_person is None else records_per_person,
        threshold_share=threshold_share,
        rounds=rounds,
        n_jobs=n_jobs,
    )
    layout, price = detector.priced(names)  # what is wrong with a setting shows here
    _refuse_unfit(opened, layout.columns)
    payment = payment or Payment()
    if not payment.also_released and _has_left(opened, [c.name for c in layout.numbers]):
        raise ModelError(
            f"rows of {opened.name} have left as a release, by your register; pass "
            f"{spell('also_released', True)}, so that the card says that this is not covered"
        )
    counted: dict[str, str] = {}

    reader = _reader(opened, detector, names, drop, person, records_per_person, counted)

    def draw() -> bytes:
        detector.fit_parts(names, reader)
        return write_document(detector._document)

    if isinstance(table, str | Path):  # before it is paid: what can fail does so first
        Register().note_counted(table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        request = _request(layout, detector, name, person)
        document = draw() if pay is None else pay(price, request, draw)
    data = packed(document, name=name, key=key, payment=payment)
    model.write(out, data, force=force)
    facts = read_json(model.unpack(data).entries["card.json"])
    fingerprint = None if key is None else key.signer.fingerprint
    for target, owner in ((card, None), (owner_card, counted)):
        if target is not None:
            with whole_file(target, force=force) as temporary:
                page = card_page(facts, signer=fingerprint, owner=owner)
                temporary.write_text(page, encoding="utf-8")
    found = read_document(document)
    return WrittenModel(
        out,
        name,
        len(names),
        ModelGuarantee(price_of(found)),
        found.threshold,
        fingerprint,
        tuple(str(w.message) for w in caught),
    )


def _names(table: Table, drop: Sequence[str], person: str | None) -> list[str]:
    """The columns that are counted, in the table's order."""
    names = table.schema.names
    out = [*drop, *([] if person is None else [person])]
    if unknown := [n for n in dict.fromkeys(out) if n not in names]:
        raise TableError(
            f"{table.name} has no column named {listed(unknown)}; it has {listed(names)}"
        )
    found = [n for n in names if n not in out]
    if not found:
        raise TableError(f"{table.name} has no column left to count")
    return found


def _refuse_unfit(table: Table, columns: Sequence[PublicColumn]) -> None:
    """Refuse text where numbers were declared, before anything is counted or paid."""
    kinds = {field.name: field.type for field in table.schema}
    text = [
        column.name
        for column in columns
        if not isinstance(column, CategoryColumn) and not is_numeric(kinds[column.name])
    ]
    if text:
        raise TableError(
            f"{table.name} has columns that are not numbers: {listed(text)}; declare their "
            "categories, or leave them out"
        )


def _has_left(table: Table, numbers: Sequence[str]) -> bool:
    """Whether the table has left as a release, by the owner's register, where there is one."""
    if not numbers or not Register.begun():
        return False
    register = Register()
    prints = register.fingerprinter(numbers)
    for batch in table.batches(numbers):
        columns = [as_float64(c).to_numpy(zero_copy_only=False) for c in batch.columns]
        prints.add(np.column_stack(columns))
    return bool(register.earlier(prints.result()))


def _reader(
    table: Table,
    detector: PrivateDetector,
    names: Sequence[str],
    drop: Sequence[str],
    person: str | None,
    most: int | None,
    counted: dict[str, str],
) -> Any:
    """Reads the records that count, once a person's share of them is settled."""

    def read(columns: Sequence[PublicColumn]) -> Any:
        return table_records(table, columns)

    if person is None:
        if most is None:
            refuse_repeated(table, drop, names)
        counted["counted"] = "all rows" if table.n_rows is None else f"{table.n_rows:,} rows"
        return read
    keep, n_more = rows_to_keep(table, person, detector.records_per_person)
    counted["counted"] = f"{int(keep.sum()):,} of {len(keep):,} rows"
    counted["persons with more records than are counted"] = f"{n_more:,}"
    return only(read, keep)


def _request(layout: Layout, detector: PrivateDetector, name: str, person: str | None) -> bytes:
    """A digest of all that makes a request, but for its price: public settings alone."""
    facts = [
        name,
        person,
        [column_facts(column) for column in layout.columns],
        layout.rounds,
        detector.threshold_share,
    ]
    return hashlib.sha256(canonical_json(facts)).digest()
