"""Check of a file's places outside its rows: metadata, categories, stray bytes."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from isinglass.documents import DocumentError, read_json
from isinglass.errors import AuditError
from isinglass.release import METADATA_KEY, Facts

#: Characters of a column's name or type; bytes of one note in a file's metadata, and of all.
LONGEST_NAME, LONGEST_NOTE, LONGEST_NOTES = 256, 256, 1024
#: Bytes that a file may spend on itself: without columns, and for each column.
_BASE, _PER_COLUMN = 4096, 256
_UNUSED = 1024  # bytes of categories that no row holds
_PANDAS = {
    "attributes", "column_indexes", "columns", "creator", "index_columns", "pandas_version",
    "partition_columns",
}  # fmt: skip
_SCHEMA = b"ARROW:schema"
_AGAIN = "audit the very file that isinglass wrote"


def refuse_hidden(path: str | Path) -> None:
    """Refuse a release that could carry records where no attack looks.

    What Parquet, Arrow and pandas write about a file of so many columns is let through. Messages
    show nothing of what was found.
    """
    with Path(path).open("rb") as file:
        start = file.read(6)
    if start.startswith(b"PAR1"):
        _look_into_parquet(Path(path))
    elif start == b"ARROW1" or Path(path).suffix.lower() in (".arrow", ".ipc", ".feather"):
        _look_into_arrow(Path(path))


def refuse_long_names(path: str | Path, schema: pa.Schema, known: Container[str] = ()) -> None:
    """Refuse columns whose names, or the names of their types, are as long as records.

    Names that the table has, too, are `known`: they were there before any record was hidden.
    """
    named = [name for name in schema.names if name not in known]
    longest = max(map(len, [*named, *(str(kind) for kind in schema.types)]), default=0)
    if longest > LONGEST_NAME or sum(map(len, named)) > _BASE + 64 * len(named):
        _refuse(path, f"column names or types of up to {longest:,} characters", "shorten them")


def _refuse(path: str | Path, what: str, advice: str) -> NoReturn:
    raise AuditError(
        f"{Path(path).name} has {what}, which an audit cannot look at and which may hold records; "
        f"{advice}"
    )


def _look_into_parquet(path: Path) -> None:
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            said, schema = file.metadata, file.schema_arrow
    except (OSError, pa.ArrowException):
        return  # whoever reads the rows says what is wrong
    notes = dict(said.metadata or {})
    _check_notes(path, notes, schema)
    sizes = {said.row_group(g).num_rows for g in range(said.num_row_groups - 1)}
    if METADATA_KEY in notes and len(sizes) > 1:
        _refuse(path, "row groups of uneven size, as isinglass does not write them", _AGAIN)
    chunks = [
        said.row_group(g).column(c)
        for g in range(said.num_row_groups)
        for c in range(said.num_columns)
    ]
    # Magic numbers and the footer's length take 12 bytes; an index of pages is small.
    used = sum(chunk.total_compressed_size for chunk in chunks) + said.serialized_size + 12
    if path.stat().st_size - used > LONGEST_NOTES + _PER_COLUMN * len(chunks):
        _refuse(path, "bytes that belong to no column", "write it again")
    if len(said.created_by or "") > LONGEST_NOTE:
        _refuse(path, "a maker's name of more than 256 characters", "write it again")
    text = [f.name for f in schema if _may_be_coded(f.type)]
    if not text:
        return
    with pq.ParquetFile(path, read_dictionary=text) as file:
        for group in range(said.num_row_groups):
            _check_categories(path, file.read_row_group(group, columns=text))


def _look_into_arrow(path: Path) -> None:
    try:
        with pa.memory_map(str(path)) as source:
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            reader = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(source)
            _check_notes(path, dict(reader.schema.metadata or {}), reader.schema)
            table = reader.read_all()
            coded = [f.name for f in table.schema if pa.types.is_dictionary(f.type)]
            used = sum(batch.get_total_buffer_size() for batch in table.to_batches())
            # Each buffer of a batch is described, and filled up to a multiple of 64 bytes.
            parts = sum(len(c.chunks) for c in table.columns)
            own = 3 * len(table.schema.serialize()) + _BASE + 4 * _PER_COLUMN * parts
            _check_categories(path, table.select(coded))
    except (OSError, pa.ArrowException):
        return
    if path.stat().st_size > used + own:
        _refuse(path, "bytes that belong to no column", "write it again")


def _check_notes(path: Path, notes: dict[bytes, bytes], schema: pa.Schema) -> None:
    """Metadata of the file, of its columns, and of the schema that Arrow stores in it."""
    names = sum(len(name.encode()) for name in schema.names)
    enough = _BASE + _PER_COLUMN * len(schema.names) + 4 * names
    others = [*notes.items(), *_field_notes(schema)]
    stored = notes.get(_SCHEMA)
    if stored is not None:
        others.remove((_SCHEMA, stored))
        others += _stored_notes(path, stored)
    left, seen = 0, set()
    for key, value in others:
        if (key, value) in seen:  # as in the schema that is stored beside
            continue
        seen.add((key, value))
        if key == METADATA_KEY:
            _check_own(path, value)
            continue
        if key == b"pandas" and len(value) <= enough:
            value = _beyond_pandas(value)
            key = b"" if not value else key
        elif key == b"PARQUET:field_id" and len(value) <= 11:
            continue
        if METADATA_KEY in notes and value:
            _refuse(path, "notes in its metadata that isinglass does not write", _AGAIN)
        left += len(key) + len(value)
        if len(key) + len(value) > LONGEST_NOTE or left > LONGEST_NOTES:
            _refuse(path, "notes in its metadata", "remove the metadata that no reader needs")
    # In base64, with whatever was looked at above.
    told = sum(len(key) + len(value) for key, value in seen)
    if stored is not None and len(stored) > 2 * (enough + told):
        _refuse(path, "a stored schema larger than its columns", "write it again")


def _stored_notes(path: Path, stored: bytes) -> list[tuple[bytes, bytes]]:
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored)))
    except (binascii.Error, pa.ArrowException, OSError):
        _refuse(path, "a stored schema that cannot be read", "write it again")
    return [*(schema.metadata or {}).items(), *_field_notes(schema)]


def _field_notes(schema: pa.Schema) -> Iterator[tuple[bytes, bytes]]:
    fields = list(schema)
    while fields:
        one = fields.pop()
        yield from (one.metadata or {}).items()
        fields += [one.type.field(i) for i in range(one.type.num_fields)]


def _beyond_pandas(value: bytes) -> bytes:
    """What stands among the notes of pandas and is not its own."""
    try:
        said = read_json(value)
    except DocumentError:
        return value
    if not isinstance(said, Mapping):
        return value
    more: dict[str, Any] = {k: v for k, v in said.items() if k not in _PANDAS}
    if said.get("attributes"):
        more["attributes"] = said["attributes"]
    return json.dumps(more).encode() if more else b""


def _check_own(path: Path, value: bytes) -> None:
    """What a release of ours says of itself: fields that exist, and no longer than they need."""
    try:
        said = read_json(value)
    except DocumentError:
        return  # whoever reads the facts says what is wrong
    if not isinstance(said, Mapping):
        return
    if any(name not in Facts.__slots__ for name in said):
        _refuse(path, "facts about itself that isinglass does not write", "remove them")
    named = [n for f in ("columns", "kept", "bounds") for n in said.get(f) or ()]
    names = sum(len(str(name)) for name in named)
    if len(value) > _BASE + _PER_COLUMN * len(named) + 4 * names:
        _refuse(path, "more to say about itself than isinglass writes", "remove it")


def _may_be_coded(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)
    )


def _check_categories(path: Path, table: pa.Table) -> None:
    """A list of categories may hold many that no row has."""
    left = 0
    for column in table.columns:
        coded = [c for c in column.chunks if pa.types.is_dictionary(c.type)]
        if not coded:
            continue
        every = pa.chunked_array([c.dictionary for c in coded]).unique()
        used = pa.chunked_array([c.dictionary_decode() for c in coded]).unique()
        unused = every.filter(pc.invert(pc.is_in(every, value_set=used)))
        left += unused.nbytes
    if left > _UNUSED:
        _refuse(path, "categories that no row holds", "leave them out")
