"""Rows of each person: no more than a model's guarantee counts, chosen person by person.

Of each row, eight bytes are kept that say whose it is: a digest by a key that is drawn for this
table and forgotten. Of n persons, two that share one would be taken for one, who has fewer rows
counted then; for anybody, the chance of it is below n / 2**64.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow.compute as pc
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
Digests = NDArray[np.uint64]
_BYTES = 8  # of a digest
_ROWS_AT_ONCE = 1 << 19  # about, of which sorting takes memory
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
        if repeats(_digests(table, name, secrets.token_bytes(32)), fewest):
            raise TableError(
                f"column {name} of {table.name} looks like an identifier, and repeats: name it in "
                f"{spell('person')}, or say in {spell('records_per_person')} how many records one "
                "person has at most"
            )


def rows_to_keep(
    table: Table, person: str, most: int, *, key: bytes | None = None
) -> tuple[Flags, int]:
    """Which rows are counted: at most `most` of each person's; and how many persons have more.

    Which of a person's rows are chosen follows from a keyed digest of who it is and from the place
    among that person's own rows, so nobody else's rows change it. The key is forgotten.
    """
    if person not in table.schema.names:
        raise TableError(
            f"{table.name} has no column named {person}; it has {listed(table.schema.names)}"
        )
    key = secrets.token_bytes(32) if key is None else key
    who = _digests(table, person, key, complete=True)
    keep, n_more = np.ones(len(who), dtype=bool), 0
    parts = -(-len(who) // _ROWS_AT_ONCE)  # of the range of digests: each person is in one
    for part in range(parts):
        within = who >= np.uint64((part << 64) // parts)
        if part + 1 < parts:
            within &= who < np.uint64((part + 1 << 64) // parts)
        rows = np.flatnonzero(within)
        left_out, more = _left_out(who[rows], most, key)
        keep[rows[left_out]] = False
        n_more += more
    return keep, n_more


def _left_out(who: Digests, most: int, key: bytes) -> tuple[NDArray[np.int64], int]:
    """Which rows of these persons are not counted, and how many persons have such rows."""
    order = np.argsort(who, kind="stable")
    first, place = _places(who[order])
    sizes = np.diff(np.append(np.flatnonzero(first), len(who)))
    crowded = np.repeat(sizes > most, sizes)  # of persons with rows to choose from
    rows, whose = order[crowded], who[order[crowded]]
    drawn = np.lexsort((_drawn(whose, place[crowded], key), whose))
    return rows[drawn[_places(whose[drawn])[1] >= most]], int((sizes > most).sum())


def _places(sorted_by_person: Digests) -> tuple[Flags, NDArray[np.int64]]:
    """Where a person's rows begin, and the place of each row among that person's own."""
    first = np.ones(len(sorted_by_person), dtype=bool)
    first[1:] = sorted_by_person[1:] != sorted_by_person[:-1]
    starts = np.flatnonzero(first)
    lengths = np.diff(np.append(starts, len(first)))
    return first, np.arange(len(first)) - np.repeat(starts, lengths)


def _drawn(who: Digests, place: NDArray[np.int64], key: bytes) -> Digests:
    """A number for each row, from whose it is, its place among that person's rows, and the key."""
    secret = np.frombuffer(hashlib.blake2b(b"draw", key=key, digest_size=16).digest(), "<u8")
    return _mixed(_mixed(who ^ secret[0]) ^ _mixed(place.astype(np.uint64) ^ secret[1]))


def _mixed(x: Digests) -> Digests:
    """Every bit of a number spread over all of it (the last steps of SplitMix64); one to one."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


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


def _digests(table: Table, name: str, key: bytes, *, complete: bool = False) -> Digests:
    """A keyed digest for each row of whose it is; missing values are all different."""
    if isinstance(table, CsvTable | TextNumbers):
        table.keep_as_text([name])
    found, n_rows = bytearray(), 0
    for batch in table.batches([], [name]):
        encoded = plain_identifiers(batch.column(0)).dictionary_encode()
        names = encoded.dictionary.to_pylist()
        hashed = b"".join(_digest(_spelled(value), key) for value in names)
        nobody = np.array([_is_nobody(value) for value in [*names, None]])
        codes = pc.fill_null(encoded.indices, len(names)).to_numpy(zero_copy_only=False)
        part = np.append(np.frombuffer(hashed, "<u8"), np.uint64(0))[codes]
        missing = np.flatnonzero(nobody[codes])
        if complete and len(missing):
            raise TableError(
                f"{table.name} has rows whose column {name} is empty, NaN or a word such as NA, so "
                "nobody can say whose they are; fill it in, or leave those rows out"
            )
        if len(missing):
            alone = b"".join(_digest(b"%d" % (n_rows + i), key + b"alone") for i in missing)
            part[missing] = np.frombuffer(alone, "<u8")
        found += part.tobytes()
        n_rows += len(part)
    return np.frombuffer(found, "<u8")


def _digest(value: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(value, key=key, digest_size=_BYTES).digest()


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
