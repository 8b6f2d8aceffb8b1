"""Identifiers of the records asked about, as they stand in their file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
