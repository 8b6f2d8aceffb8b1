"""Output of `isinglass ask`: answers by the records' own ids, prices and refusals."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isinglass.cli import show
from isinglass.formats import counted

if TYPE_CHECKING:
    from isinglass.curate.guarantee import Guarantee
    from isinglass.curate.query import Answer, Price
    from isinglass.errors import BudgetError

SHOWN = 20


@dataclass(frozen=True, slots=True)
class RecordIds:
    """A column of RECORDS that tells the records apart: they are the asker's own, as is it."""

    column: str
    values: tuple[str, ...]


def read_ids(
    records: Path, given: str | None, drop: Sequence[str], **reading: Any
) -> RecordIds | None:
    """The column that was named, or the first that is left out and has a value of its own each.

    A number with a fraction tells nobody's records apart, however different it is; and one record
    needs no name, so that nothing of it is repeated unasked.
    """
    import pyarrow as pa

    from isinglass.errors import TableError
    from isinglass.table.columns import names_to_drop
    from isinglass.table.read import open_table

    opened = open_table(records, **reading)
    names = list(opened.schema.names)
    if given is not None:
        if given not in names:
            raise TableError(f"{records} has no column named {given}")
        return RecordIds(given, tuple(_read(opened, given)))
    for name in names_to_drop(drop, names):
        if name not in names or pa.types.is_floating(opened.schema.field(name).type):
            continue
        values = _read(opened, name)
        if len(values) > 1 and len({*values, ""}) == len(values) + 1:
            return RecordIds(name, tuple(values))
    return None


def _read(opened: Any, name: str) -> list[str]:
    """The column as text; what is missing is empty."""
    return [
        "" if value is None else str(value)
        for batch in opened.batches([], [name])
        for value in batch.column(0).to_pylist()
    ]


def document(answers: list[Answer]) -> dict[str, Any]:
    """Answers, as `--json` prints them."""
    return {
        "answers": [
            {"row": row, "anomalous": a.anomalous, "epsilon": a.epsilon}
            for row, a in enumerate(answers)
        ],
        "spent": _total(answers),
        "left": min(a.left for a in answers),
        "guarantee": answers[0].guarantee.to_json(),
    }


def price_document(prices: Sequence[Price], promise: Guarantee) -> dict[str, Any]:
    """Prices, as `--dry-run --json` prints them."""
    return {
        "prices": [
            {"row": row, "epsilon": price.epsilon, "spent": price.spent, "left": price.left}
            for row, price in enumerate(prices)
        ],
        "spent": _total(prices),
        "left": min(price.left for price in prices),
        "guarantee": promise.to_json(),
    }


def refusal_document(refused: BudgetError, *, dry_run: bool) -> dict[str, Any]:
    """A refusal: the same keys with nothing in them, and why."""
    from isinglass.epsilon import as_float

    facts = {name: as_float(getattr(refused, name)) for name in ("asked", "spent", "left")}
    return {
        "prices" if dry_run else "answers": [],
        "spent": 0.0,
        "left": facts["left"],
        "guarantee": None,
        "refused": {"row": refused.row, **facts},
    }


def write(out: Path, answers: list[Answer], ids: RecordIds | None = None) -> None:
    """A line for every answer, whole or not at all: by row, and by the records' own column."""
    from isinglass.curate.answer_page import word
    from isinglass.files import whole_file

    header = ["row", "anomalous", "answer", "epsilon"]
    named = [] if ids is None else ["id" if ids.column in header else ids.column]
    with whole_file(out) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*header[:1], *named, *header[1:]])
        for row, a in enumerate(answers):
            own = [] if ids is None else [ids.values[row]]
            writer.writerow([row, *own, int(a.anomalous), word(a), a.epsilon])


def write_page(
    out: Path,
    answers: list[Answer],
    ids: RecordIds | None,
    *,
    columns: Sequence[str],
    count_query: bool,
) -> None:
    """The page that may be forwarded."""
    from isinglass.curate.answer_page import answer_page
    from isinglass.files import whole_file

    own = {} if ids is None else {"ids": ids.values, "id_name": ids.column}
    text = answer_page(answers, columns=columns, count_query=count_query, **own)  # type: ignore[arg-type]
    with whole_file(out) as aside:
        aside.write_text(text, encoding="utf-8")


def tell(answers: list[Answer], out: Path | None, ids: RecordIds | None = None) -> None:
    """Answers to a person: the first few of many."""
    named = () if ids is None else (ids.column,)
    lines: list[tuple[str, ...]] = [("row", *named, "answer", "spent", "left", "queries left here")]
    for row, a in enumerate(answers[:SHOWN]):
        said = "sparse" if a.anomalous else "not sparse"
        if a.guarantee.mode != "sparse":
            said = "anomaly" if a.anomalous else "no anomaly"
        own = () if ids is None else (ids.values[row],)
        lines.append((str(row), *own, said, f"{a.spent:g}", f"{a.left:g}", str(a.queries_left)))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        show.echo("  ".join(word.rjust(w) for word, w in zip(line, widths, strict=True)))
    if out is not None:
        show.echo(f"all {len(answers):,} are in {out}")
    elif len(answers) > SHOWN:
        more = len(answers) - SHOWN
        show.echo(f"and {more:,} more; -o FILE or --json gives all {len(answers):,}")
    show.echo("")
    show.echo(f"spent {_total(answers):g} in all; guarantee: {answers[0].guarantee.sentence()}")


def tell_prices(prices: Sequence[Price], promise: Guarantee) -> None:
    """Prices to a person."""
    left = min(price.left for price in prices)
    show.echo(
        f"{counted(len(prices), 'record')} would cost {_total(prices):g} in all, and leave "
        f"{left:g} or more at each place; nothing was asked"
    )
    show.echo(f"guarantee: {promise.sentence()}")


def _total(answers: Sequence[Answer | Price]) -> float:
    from isinglass.epsilon import MICRO

    return sum(round(a.spent * MICRO) for a in answers) / MICRO
