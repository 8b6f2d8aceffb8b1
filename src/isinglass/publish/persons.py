"""Rows of each person: no more than a model's guarantee counts, chosen person by person."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass.auditing.files.persons import (
    FEWEST_UNNAMED,
    TELLING_NAMES,
    may_identify,
    may_name_persons,
    plain_identifiers,
    repeats,
)
from isinglass.detect.private.records import CodedRecords
from isinglass.errors import TableError
from isinglass.messages import spell
from isinglass.table.columns import listed
from isinglass.table.csv_file import CsvTable
from isinglass.table.number_text import null_words
from isinglass.table.read import Table
from isinglass.table.text_numbers import TextNumbers

Flags = NDArray[np.bool_]
_FEWEST_NAMED = 5  # values of a column whose name says what it is


def refuse_repeated(table: Table, dropped: Sequence[str], declared: Sequence[str]) -> None:
    """Refuse a table in which a column looks like an identifier of persons, and repeats.

    A person with several records is promised less than one with a single record, so the owner must
    say how many there may be. Columns of the model count only where their name is telling.
    """
    named = [n for n in declared if may_identify(n)]
    for name in [*dropped, *named]:
        if not may_name_persons(table.schema.field(name).type):
            continue
        telling = bool(TELLING_NAMES.search(name))
        fewest = _FEWEST_NAMED if telling and name in dropped else FEWEST_UNNAMED
        if repeats(_values(table, name)[0], fewest):
            raise TableError(
                f"column {name} of {table.name} looks like an identifier, and repeats: name it in "
                f"{spell('person')}, or say in {spell('records_per_person')} how many records one "
                "person has at most"
            )


def rows_to_keep(
    table: Table, person: str, most: int, *, key: bytes | None = None
) -> tuple[Flags, int]:
    """Which rows are counted: at most `most` of each person's; and how many persons have more.

    Which of a person's rows are chosen follows from a keyed hash of who it is and of the place
    among that person's own rows, so nobody else's rows change it. The key is forgotten.
    """
    if person not in table.schema.names:
        raise TableError(
            f"{table.name} has no column named {person}; it has {listed(table.schema.names)}"
        )
    codes, names = _values(table, person, complete=True)
    key = secrets.token_bytes(32) if key is None else key
    keep = np.ones(len(codes), dtype=bool)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    n_more = 0
    for start, stop in zip(starts, np.append(starts[1:], len(codes)), strict=True):
        if stop - start <= most:
            continue
        n_more += 1
        rows = order[start:stop]
        who = hashlib.blake2b(_spelled(names[codes[rows[0]]]), key=key).digest()
        drawn = [hashlib.blake2b(b"%d" % i, key=who).digest() for i in range(len(rows))]
        chosen = sorted(range(len(rows)), key=drawn.__getitem__)[:most]
        keep[rows] = False
        keep[rows[chosen]] = True
    return keep, n_more


def only(
    read: Callable[[Any], Iterable[CodedRecords]], keep: Flags
) -> Callable[[Any], Iterator[CodedRecords]]:
    """The same records, without those of rows that are not to be counted."""

    def kept(columns: Any) -> Iterator[CodedRecords]:
        seen = 0
        for part in read(columns):
            here = keep[seen : seen + len(part)]
            seen += len(part)
            yield CodedRecords(part.numbers[here], part.codes[here])

    return kept


def _values(table: Table, name: str, *, complete: bool = False) -> tuple[NDArray[np.int64], Any]:
    """A code for each row, and what each code stands for; missing values are all different."""
    if isinstance(table, CsvTable | TextNumbers):
        table.keep_as_text([name])
    parts = [plain_identifiers(batch.column(0)) for batch in table.batches([], [name])]
    encoded = pa.chunked_array(parts).combine_chunks().dictionary_encode() if parts else None
    if encoded is None:
        return np.empty(0, dtype=np.int64), []
    names = encoded.dictionary.to_pylist()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    missing = (codes < 0) | np.isin(codes, [i for i, v in enumerate(names) if _is_nobody(v)])
    if complete and missing.any():
        raise TableError(
            f"{table.name} has rows whose column {name} is empty, NaN or a word such as NA, so "
            "nobody can say whose they are; fill it in, or leave those rows out"
        )
    codes[missing] = len(names) + np.arange(int(missing.sum()))
    return codes, names


def _is_nobody(identifier: Any) -> bool:
    """Whether an identifier says no more than that there is none: all such rows look like one's."""
    if isinstance(identifier, bytes):
        return not identifier.strip(b" \t\0")
    if isinstance(identifier, str):
        return identifier.strip() in null_words()
    return identifier is None or identifier != identifier  # NaN


def _spelled(identifier: Any) -> bytes:
    """An identifier as bytes, the same whichever kind of column a whole number stands in."""
    if isinstance(identifier, bytes):
        return identifier
    if isinstance(identifier, float | Decimal) and identifier == identifier // 1:
        identifier = int(identifier)
    return str(identifier).encode()
