"""Guaranteed model of a table: counted with noise, paid for, then written."""

from __future__ import annotations

import datetime
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from isinglass import model
from isinglass.detect.private.card import Payment, card_page
from isinglass.detect.private.columns import PublicColumn
from isinglass.detect.private.detector import PrivateDetector
from isinglass.detect.private.document import read_document, write_document
from isinglass.detect.private.file_parts import packed, price_of, refuse_unwritable
from isinglass.detect.private.for_everyone import weak_promise
from isinglass.detect.private.guarantee import ModelGuarantee
from isinglass.detect.private.layout import Layout
from isinglass.detect.private.noise import ModelPrice
from isinglass.detect.private.records import CodedRecords
from isinglass.detect.private.table_records import prepare, table_records
from isinglass.detect.private.validity import Validity
from isinglass.documents import read_json
from isinglass.errors import ModelError, TableError
from isinglass.files import refuse_targets, whole_file
from isinglass.messages import spell
from isinglass.progress import Progress, quiet
from isinglass.publish.declared import Declared
from isinglass.publish.model_request import ModelRequest
from isinglass.publish.persons import only, refuse_repeated, rows_to_keep
from isinglass.release_register import Register
from isinglass.signing import SigningKey
from isinglass.table.columns import as_float64, names_to_drop, not_numbers, refuse_unknown
from isinglass.table.csv_file import CsvTable
from isinglass.table.number_format import NumberFormat
from isinglass.table.read import Table, open_table
from isinglass.table.text_numbers import TextNumbers


class Pay(Protocol):
    """Pays for a model before it leaves."""

    validity: Validity

    def stored(self, request: ModelRequest) -> bytes | None:
        """What was drawn when this request was paid for, if it was; found without the table."""

    def __call__(
        self, price: ModelPrice, request: ModelRequest, layout: Layout, draw: Callable[[], bytes]
    ) -> bytes:
        """Pay, and give what `draw` draws now or drew the first time."""

    def finish(self) -> None:
        """Called once all is written."""


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
    validity: Validity


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
    priced_for: int = 1,
    threshold_share: float | None = None,
    rounds: int = 2,
    name: str | None = None,
    key: SigningKey | None = None,
    pay: Pay | None = None,
    payment: Payment | None = None,
    expires: datetime.date | None = None,
    card: str | Path | None = None,
    owner_card: str | Path | None = None,
    reads: Sequence[str | Path | None] = (),
    force: bool = False,
    encoding: str = "utf8",
    delimiter: str | None = None,
    decimal: str | NumberFormat | None = None,
    n_jobs: int | None = None,
    progress: Progress = quiet,
) -> WrittenModel:
    """Count a table with noise in bounded memory, pay, and write the model and its cards.

    Every column must be declared or dropped. With `person`, that column is dropped, and no more
    than `records_per_person` records of anybody are counted. Where its owner does not say how many,
    `priced_for` is what the price covers; it says nothing of the table, so that an identifier which
    repeats is refused all the same. Without `pay` nothing is charged. A request that was paid for
    before is written as it was stored, and the table is not opened.
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
    request = ModelRequest(
        name, declared, epsilon, delta, drop, person, records_per_person, threshold_share, rounds,
        priced_for,
    )  # fmt: skip
    payment = payment or Payment()
    document = None if pay is None else pay.stored(request)
    said: tuple[str, ...] = ()
    if document is not None:
        counted = {"counted": "nothing now; this is what was stored when it was paid for"}
    else:
        if expires is not None and expires < datetime.date.today():
            raise ModelError(f"{spell('expires')} is over: {expires}")
        opened = open_table(table, encoding=encoding, delimiter=delimiter, decimal=decimal)
        document, counted, said = _counted(opened, request, pay, payment, table, n_jobs, progress)
    validity = Validity(expires=expires) if pay is None else pay.validity
    data = packed(document, name=name, key=key, payment=payment, validity=validity)
    model.write(out, data, force=force)
    facts = read_json(model.unpack(data).entries["card.json"])
    fingerprint = None if key is None else key.signer.fingerprint
    for target, owner in ((card, None), (owner_card, counted)):
        if target is not None:
            with whole_file(target, force=force) as temporary:
                page = card_page(facts, signer=fingerprint, owner=owner)
                temporary.write_text(page, encoding="utf-8")
    if pay is not None:
        pay.finish()
    found = read_document(document)
    weak = weak_promise(found.micro, found.femto)
    if weak is not None and weak not in said:  # as of what was stored
        said = (*said, weak)
    return WrittenModel(
        out,
        name,
        len(found.model.layout.columns),
        ModelGuarantee(price_of(found)),
        found.threshold,
        fingerprint,
        said,
        validity,
    )


def _counted(
    opened: Table,
    request: ModelRequest,
    pay: Pay | None,
    payment: Payment,
    table: Any,
    n_jobs: int | None,
    progress: Progress,
) -> tuple[bytes, dict[str, str], tuple[str, ...]]:
    """The document, drawn and paid for; what only the owner may see of it; and warnings."""
    drop = names_to_drop(request.drop, opened.schema.names)
    names = _names(opened, drop, request.person)
    detector = request.detector(names, n_jobs)
    layout, price = detector.priced(names)  # what is wrong with a setting shows here
    _refuse_unfit(opened, layout.columns)
    if not payment.also_released and _has_left(opened, [c.name for c in layout.numbers]):
        raise ModelError(
            f"rows of {opened.name} have left as a release, by your register; pass "
            f"{spell('also_released', True)}, so that the card says that this is not covered"
        )
    refuse_unwritable(
        layout, price, name=request.name, threshold_share=request.threshold_share, payment=payment
    )
    counted: dict[str, str] = {}
    most = request.records_per_person
    reader = _reader(opened, detector, names, drop, request.person, most, counted, progress)

    def draw() -> bytes:
        detector.fit_parts(names, reader)
        return write_document(detector._document)

    if isinstance(table, str | Path):  # before it is paid: what can fail does so first
        Register().note_counted(table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        document = draw() if pay is None else pay(price, request, layout, draw)
    return document, counted, tuple(str(w.message) for w in caught)


def _names(table: Table, drop: Sequence[str], person: str | None) -> list[str]:
    """The columns that are counted, in the table's order."""
    names = table.schema.names
    out = [*drop, *([] if person is None else [person])]
    refuse_unknown(table, out)
    found = [n for n in names if n not in out]
    if not found:
        raise TableError(f"{table.name} has no column left to count")
    return found


def _refuse_unfit(table: Table, columns: Sequence[PublicColumn]) -> None:
    """Refuse text where numbers were declared, before anything is counted or paid."""
    if isinstance(table, CsvTable | TextNumbers):
        table.allow_no_rows()  # as one row more or less decides nothing
    if text := prepare(table, columns):
        raise not_numbers(table.name, text, "declare their categories, or leave them out")


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
    progress: Progress,
) -> Any:
    """Reads the records that count, once a person's share of them is settled."""
    passes = itertools.count(1)

    def read(columns: Sequence[PublicColumn]) -> Iterator[CodedRecords]:
        stage, done = f"counting, pass {next(passes)}", 0
        for part in table_records(table, columns):
            yield part
            done += len(part)
            progress(stage, done, table.n_rows)

    if person is None:
        if most is None:
            refuse_repeated(table, drop, names)
        counted["counted"] = "all rows" if table.n_rows is None else f"{table.n_rows:,} rows"
        return read
    keep, n_more = rows_to_keep(table, person, detector.records_per_person)
    if most is None and n_more == 0:  # a row number, perhaps, and another column says whose it is
        refuse_repeated(table, [n for n in drop if n != person], names)
    counted["counted"] = f"{int(keep.sum()):,} of {len(keep):,} rows"
    counted["persons with more records than are counted"] = f"{n_more:,}"
    return only(read, keep)
