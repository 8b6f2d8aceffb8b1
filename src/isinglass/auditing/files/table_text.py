"""Text columns of the table, and columns that left without being attacked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass.auditing.files.align import Loaded
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.errors import AuditError
from isinglass.messages import spell
from isinglass.table.columns import as_float64, is_numeric, listed
from isinglass.table.read import MemoryTable, Table

Array = NDArray[Any]

#: Rows that must repeat a value for codes of them to say anything; a column of values that are
#: all different is a code of any other.
_REPEATED = 10
#: Share of rows that must agree, and how many different numbers a column in any order must share.
_SAME, _MANY = 0.9, 20


def with_numbers(table: Table, out: Iterable[str], notes: list[AuditNote]) -> Table:
    """A table in which text that is numbers, or dates, is numbers; `out` are left alone."""
    apart = set(out)
    texts = [
        n for n in table.schema.names
        if n not in apart and _is_text(table.schema.field(n).type)
    ]  # fmt: skip
    if not texts:
        return table
    from isinglass.auditing.files.read_numbers import single_numbers  # only where text is read

    written = held(table, texts)
    read = {name: single_numbers(written.column(name)) for name in texts}
    found = {name: values for name, values in read.items() if values is not None}
    if not found:
        return table
    whole = held(table, table.schema.names)
    for name, values in found.items():
        at = whole.schema.get_field_index(name)
        whole = whole.set_column(at, name, pa.array(values, from_pandas=True))
    notes.append(AuditNote.of(Kind.TEXT_AS_NUMBERS, columns=tuple(found)))
    return MemoryTable(whole, table.name)


def refuse_dropped(drop: Sequence[str], release: Table) -> None:
    """Whoever leaves a column out of an audit says that it was not released."""
    if there := [n for n in drop if n in release.schema.names]:
        raise AuditError(
            f"{release.name} has columns that {spell('drop')} says were not released: "
            f"{listed(there)}; leave them out of the release, or attack them, too"
        )


def refuse_as_it_was(
    table: Table, release: Table, mine: Loaded, theirs: Loaded,
    missed: Sequence[str], allowed: Iterable[str],
) -> None:  # fmt: skip
    """A column that no attack looks for must not stand in the release, under whatever name.

    `missed` are the table's columns that are not attacked; `allowed` are released columns that
    the audit knows to have left as they were.
    """
    names = [n for n in release.schema.names if n not in set(allowed)]
    if not missed or not names:
        return
    own, others = held(table, missed), held(release, names)
    aligned = len(mine.X) == len(theirs.X) and others.num_rows >= len(theirs.X)
    for name in missed:
        first = own.column(name)
        for other in names:
            second = others.column(other)
            if _same(first, second, (mine, theirs) if aligned else None):
                raise AuditError(
                    f"{release.name}, column {other} is the table's column {name}, left as it was "
                    "or in codes; it was not attacked: leave it out of the release, or give it "
                    f"the name {name} there, so that it is attacked as a column that was kept"
                )


def _same(own: pa.ChunkedArray, other: pa.ChunkedArray, rows: tuple[Loaded, Loaded] | None) -> bool:
    text = not is_numeric(own.type)
    a, b = _values(own), _values(other)
    if a is None or b is None or len(np.unique(a)) < (2 if text else 3):
        return False
    if rows is not None:
        a, b = (
            values if loaded.numbers is None else values[loaded.numbers]
            for values, loaded in zip((a, b), rows, strict=True)
        )
        if len(a) == len(b):
            if a.dtype.kind == b.dtype.kind and (a == b).mean() > _SAME and len(np.unique(a)) > 1:
                return True
            return _one_to_one(a, b, least=2 if text else 3)
    if a.dtype.kind != b.dtype.kind:
        return False
    values, theirs = np.unique(a), np.unique(b)
    enough = len(theirs) >= (3 if text else _MANY)
    return bool(enough and np.isin(theirs, values, assume_unique=True).mean() > _SAME)


def _one_to_one(a: Array, b: Array, *, least: int) -> bool:
    mine, first = np.unique(a, return_inverse=True)
    theirs, second = np.unique(b, return_inverse=True)
    n = len(mine)
    if n != len(theirs) or n < least or len(a) - n < _REPEATED:
        return False
    return len(np.unique(first.astype(np.int64) * n + second)) == n


def _values(column: pa.ChunkedArray) -> Array | None:
    """Values to compare: numbers as such, all else as it is written; None where it cannot be."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        if is_numeric(column.type):
            return np.asarray(as_float64(column).fill_null(0.0).to_numpy())
        return np.asarray(column.cast(pa.string()).fill_null("").to_numpy()).astype(str)
    except pa.ArrowException:
        return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def held(table: Table, names: Sequence[str]) -> pa.Table:
    """Columns of a table in memory."""
    numeric = [n for n in names if is_numeric(table.schema.field(n).type)]
    others = [n for n in names if n not in numeric]
    batches = list(table.batches(numeric, others))
    if not batches:
        raise AuditError(f"{Path(table.name).name} has no row that could be compared")
    return pa.Table.from_batches(batches).select(list(names))
