"""Opening tables: Parquet, Arrow, CSV, frames and arrays, read in batches of bounded memory."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from isinglass.errors import TableError

# A batch holds about this many bytes, so that a wide table is read in fewer rows at a time.
BATCH_BYTES = 8 << 20
MOST_ROWS = 1 << 16


class Table(Protocol):
    """A table that can be read again and again, in batches."""

    name: str
    schema: pa.Schema
    n_rows: int | None  # None where only reading tells

    def batches(
        self, numeric: Sequence[str], other: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Batches of the columns named; those in `numeric` hold numbers or nulls."""
        ...


def batch_rows(n_columns: int) -> int:
    """How many rows of this many numbers fill a batch."""
    return max(1, min(MOST_ROWS, BATCH_BYTES // (8 * max(n_columns, 1))))


def open_table(source: Any, *, encoding: str = "utf8", delimiter: str | None = None) -> Table:
    """Open a path, a pandas/polars/pyarrow frame, or a two-dimensional array."""
    if isinstance(source, str | Path):
        return _open_path(Path(source), encoding, delimiter)
    if isinstance(source, np.ndarray):
        if source.ndim != 2:
            raise TableError(f"an array must have two dimensions, got {source.ndim}")
        columns = {f"x{i}": np.ascontiguousarray(source[:, i]) for i in range(source.shape[1])}
        return MemoryTable(pa.table(columns), "the array")
    if isinstance(source, pa.Table):
        return MemoryTable(source, "the table")
    import narwhals as nw

    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        raise TableError(
            "a table must be a path, a pandas, polars or pyarrow frame, or an array, "
            f"got {type(source).__name__}"
        ) from None
    # A pandas index is not a column.
    return MemoryTable(frame.to_arrow().select(frame.columns), "the frame")


def _open_path(path: Path, encoding: str, delimiter: str | None) -> Table:
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except IsADirectoryError:
        raise TableError(f"{path} is a folder, not a table; name one file") from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}") from None
    if not start:
        raise TableError(f"{path} is empty")
    suffix = path.suffix.lower()
    if start.startswith(b"PAR1") or suffix in (".parquet", ".pq"):
        return ParquetTable(path)
    if start.startswith(b"ARROW1") or suffix in (".arrow", ".ipc", ".feather", ".arrows"):
        return IpcTable(path)
    if suffix in (".csv", ".tsv", ".txt", ".gz", ".bz2", ".zst"):
        return CsvTable(path, encoding, "\t" if suffix == ".tsv" else delimiter)
    raise TableError(
        f"{path} has an ending that says nothing; use .csv, .tsv, .parquet, .arrow or .feather"
    )


class MemoryTable:
    """A table that is in memory already."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self.name = name
        self.schema = _checked(table.schema, name)
        self.n_rows: int | None = table.num_rows
        self._table = table

    def batches(
        self, numeric: Sequence[str], other: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        chosen = self._table.select([*numeric, *other])
        yield from chosen.to_batches(max_chunksize=batch_rows(chosen.num_columns))


class ParquetTable:
    """A Parquet file; one huge row group needs no more memory than many small ones."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        with self._reading(), self._file(1) as file:
            self.schema = _checked(file.schema_arrow, self.name)
            self.n_rows: int | None = file.metadata.num_rows

    def _file(self, n_columns: int) -> Any:
        import pyarrow.parquet as pq

        # Without pre-buffering, and with a small buffer per column, pages are read as needed.
        size = max(1 << 14, min(1 << 20, (64 << 20) // max(n_columns, 1)))
        return pq.ParquetFile(self._path, pre_buffer=False, buffer_size=size)

    def batches(
        self, numeric: Sequence[str], other: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        columns = [*numeric, *other]
        with self._reading(), self._file(len(columns)) as file:
            yield from file.iter_batches(batch_size=batch_rows(len(columns)), columns=columns)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise TableError(
                f"{self.name} cannot be read as Parquet: it is truncated, damaged or something else"
            ) from error


class IpcTable:
    """An Arrow IPC file (Feather version 2) or stream."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        with self._reading():
            with path.open("rb") as file:
                is_file = file.read(6) == b"ARROW1"
            self._open = pa.ipc.open_file if is_file else pa.ipc.open_stream
            with pa.memory_map(str(path)) as source:
                reader = self._open(source)
                self.schema = _checked(reader.schema, self.name)
        self.n_rows: int | None = None

    def batches(
        self, numeric: Sequence[str], other: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        columns = [*numeric, *other]
        step = batch_rows(len(columns))
        with self._reading(), pa.memory_map(str(self._path)) as source:
            reader = self._open(source)
            count = getattr(reader, "num_record_batches", None)
            stream = reader if count is None else map(reader.get_batch, range(count))
            for batch in stream:
                chosen = batch.select(columns)
                for start in range(0, chosen.num_rows, step):
                    yield chosen.slice(start, step)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise TableError(
                f"{self.name} cannot be read as Arrow: it is truncated, damaged or something else"
            ) from error


class CsvTable:
    """A CSV file with a header line, plain or compressed."""

    def __init__(self, path: Path, encoding: str, delimiter: str | None) -> None:
        self.name = str(path)
        self._path = path
        self._encoding = encoding
        self.n_rows: int | None = None
        header = self._header()
        self._delimiter = delimiter or max(",;\t|", key=header.count)
        # A header of ten thousand names must fit into the first block.
        self._block = max(1 << 20, 16 * len(header))
        with self._reading(), self._reader({}) as reader:
            inferred = reader.schema
            first = next(iter(reader), None)
        if first is None or first.num_rows == 0:
            raise TableError(f"{self.name} has a header but no rows")
        self.schema = _checked(inferred, self.name)
        self._first = first

    def _header(self) -> str:
        with self._reading(), pa.input_stream(str(self._path), compression="detect") as file:
            text = b""
            while b"\n" not in text and (more := file.read(1 << 20)) and len(text) < 1 << 26:
                text += more
        if not text.strip():
            raise TableError(f"{self.name} is empty")
        try:
            return text.partition(b"\n")[0].decode(self._encoding)
        except (UnicodeDecodeError, LookupError):
            raise TableError(self._wrong_encoding()) from None

    def _reader(self, types: dict[str, pa.DataType]) -> Any:
        from pyarrow import csv

        return csv.open_csv(
            pa.input_stream(str(self._path), compression="detect"),
            read_options=csv.ReadOptions(block_size=self._block, encoding=self._encoding),
            parse_options=csv.ParseOptions(delimiter=self._delimiter),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=list(types) or None
            ),
        )

    def batches(
        self, numeric: Sequence[str], other: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        # Types are settled by the first block only, so a whole number there may become a
        # fraction later: numbers are read as float64 throughout.
        types = {name: pa.float64() for name in numeric}
        types |= {name: self._faithful(name) for name in other}
        step = batch_rows(len(types))
        with self._reading(), self._reader(types) as reader:
            for batch in reader:
                for start in range(0, batch.num_rows, step):
                    yield batch.slice(start, step)

    def _faithful(self, name: str) -> pa.DataType:
        """The type a passed-through column is read as: text, unless it is plainly numbers."""
        column = self._first.column(self._first.schema.get_field_index(name))
        if pa.types.is_floating(column.type) or pa.types.is_boolean(column.type):
            return column.type
        if pa.types.is_integer(column.type):
            with self._reading(), self._reader({name: pa.string()}) as reader:
                texts = next(iter(reader)).column(0)
            # 007 is a name, not a number.
            written = texts.cast(pa.int64()).cast(pa.string())
            return column.type if written.equals(texts) else pa.string()
        return pa.string()

    def _wrong_encoding(self) -> str:
        return (
            f"{self.name} is not {self._encoding.upper().replace('UTF8', 'UTF-8')} text; "
            "name its encoding with --encoding, such as latin-1"
        )

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn the reader's errors, which quote values, into sentences that do not."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeError) as error:
            text = str(error)
        else:
            return
        row = re.search(r"Row #(\d+)", text)
        where = f" in row {row[1]}" if row else ""
        if wanted := re.search(r"Expected (\d+) columns, got (\d+)", text):
            reason = f"a row{where} has {wanted[2]} fields where the header has {wanted[1]}"
        elif column := re.search(r"CSV column #(\d+)", text):
            # The reader counts the columns it was asked for, so the name is not certain.
            reason = (
                f"a column that began as numbers holds text further down{where}; mend that row, "
                "or --keep or --drop the column"
            )
            named = re.search(r"CSV column #\d+ \(([^)]*)\)", text) or column
            if named is not column:
                reason = reason.replace("a column", f"the column {named[1]}", 1)
        elif "UTF8" in text or "UTF-8" in text or "codec" in text:
            raise TableError(self._wrong_encoding()) from None
        elif "Empty CSV" in text:
            reason = "it is empty"
        elif "straddling" in text or "block size" in text:
            reason = "a row is too long, or a quotation mark is never closed"
        else:
            reason = f"it is not a well-formed table{where}"
        raise TableError(f"{self.name} cannot be read as CSV: {reason}") from None


def _checked(schema: pa.Schema, name: str) -> pa.Schema:
    seen: set[str] = set()
    repeated = sorted({n for n in schema.names if n in seen or seen.add(n)})  # type: ignore[func-returns-value]
    if repeated:
        raise TableError(
            f"{name} has more than one column named {', '.join(map(repr, repeated[:8]))}; "
            "rename them first"
        )
    if not schema.names:
        raise TableError(f"{name} has no columns")
    return schema
