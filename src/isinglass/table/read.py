"""Table reader: Parquet, Arrow, CSV, frames and arrays in batches."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass.errors import TableError
from isinglass.table.batches import batch_rows, checked_schema
from isinglass.table.csv_file import CsvTable

if TYPE_CHECKING:
    from isinglass.table.number_format import NumberFormat


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


def open_table(
    source: Any,
    *,
    encoding: str = "utf8",
    delimiter: str | None = None,
    decimal: str | NumberFormat | None = None,
) -> Table:
    """Open a path, a pandas/polars/pyarrow frame, or a two-dimensional array.

    With `decimal`, columns of text that are numbers with this decimal mark are read as such.
    """
    table = _opened(source, encoding, delimiter)
    if decimal is None:
        return table
    from isinglass.table.number_format import NumberFormat  # only where numbers are in texts
    from isinglass.table.text_numbers import TextNumbers

    return TextNumbers(table, NumberFormat.of(decimal))


def _opened(source: Any, encoding: str, delimiter: str | None) -> Table:
    if isinstance(source, str | Path):
        return _open_path(Path(source), encoding, delimiter)
    if isinstance(source, np.ndarray):
        return MemoryTable(_from_array(source), "the array")
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return MemoryTable(source, "the table")
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(source, eager_only=True)
        # A pandas index is not a column.
        table = frame.to_arrow().select([str(name) for name in frame.columns])
        return MemoryTable(table, "the frame")
    except TypeError:
        raise TableError(
            "a table must be a path, a pandas, polars or pyarrow frame, or an array, "
            f"got {type(source).__name__}"
        ) from None
    except DuplicateError:
        raise TableError("the frame has columns of the same name; rename them first") from None
    except pa.ArrowException:
        # The reason quotes a value.
        raise TableError("the frame has a column that mixes kinds of values; mend it") from None


def _from_array(source: NDArray[Any]) -> pa.Table:
    if source.ndim != 2:
        raise TableError(f"an array must have two dimensions, got {source.ndim}")
    native = source.astype(source.dtype.newbyteorder("="), copy=False)
    mask = np.ma.getmaskarray(native) if np.ma.isMaskedArray(native) else None
    columns = {}
    try:
        for i in range(native.shape[1]):
            values = np.ascontiguousarray(np.ma.getdata(native)[:, i])
            columns[f"x{i}"] = pa.array(values, mask=None if mask is None else mask[:, i])
    except pa.ArrowException:
        raise TableError(f"an array must hold numbers, got dtype {source.dtype}") from None
    return pa.table(columns)


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
    if start.startswith(b"FEA1"):
        raise TableError(f"{path} is Feather of version 1; save it again as version 2")
    if start.startswith(b"ARROW1") or suffix in (".arrow", ".ipc", ".feather", ".arrows"):
        return IpcTable(path)
    if suffix in (".csv", ".tsv", ".txt", ".gz", ".bz2", ".zst"):
        if delimiter is None and suffix == ".tsv":
            delimiter = "\t"
        return CsvTable(path, encoding, delimiter)
    known = "save it as .csv, .tsv, .parquet, .arrow or .feather"
    if not suffix:
        raise TableError(f"{path} has no ending that says what it is; {known}")
    raise TableError(f"{path} cannot be read, for isinglass reads no {suffix} files; {known}")


class MemoryTable:
    """A table that is in memory already."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self.name = name
        self.schema = checked_schema(table.schema, name)
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
        with _reading_as("Parquet", self.name), self._file(1) as file:
            self.schema = checked_schema(file.schema_arrow, self.name)
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
        with _reading_as("Parquet", self.name), self._file(len(columns)) as file:
            for batch in file.iter_batches(batch_size=batch_rows(len(columns)), columns=columns):
                yield batch.select(columns)


class IpcTable:
    """An Arrow IPC file (Feather version 2) or stream, mapped into memory.

    Pages that were read are given back as reading goes on, so that even one huge batch needs
    little memory; a compressed batch is unpacked whole.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        with _reading_as("Arrow", self.name), self._mapped() as pages:
            is_file = pages[:6] == b"ARROW1"
            self._open = pa.ipc.open_file if is_file else pa.ipc.open_stream
            self.schema = checked_schema(self._open(pa.py_buffer(pages)).schema, self.name)
        self.n_rows: int | None = None

    def batches(
        self, numeric: Sequence[str], other: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        columns = [*numeric, *other]
        step = batch_rows(len(columns))
        with _reading_as("Arrow", self.name), self._mapped() as pages:
            # Asking the reader for some fields only would copy them; leaving them out is free.
            reader = self._open(pa.py_buffer(pages))
            count = getattr(reader, "num_record_batches", None)
            stream = reader if count is None else map(reader.get_batch, range(count))
            seen = 0
            for batch in stream:
                chosen = batch.select(columns)
                for start in range(0, chosen.num_rows, step):
                    part = chosen.slice(start, step)
                    part.validate(full=True)  # a damaged text would crash whoever touches it
                    yield part
                    seen += part.nbytes
                    if seen > 32 << 20 and hasattr(mmap, "MADV_DONTNEED"):
                        pages.madvise(mmap.MADV_DONTNEED)  # read again from disk if asked for
                        seen = 0

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[mmap.mmap]:
        # Closed by whoever holds the last batch, not here: batches look into it.
        with self._path.open("rb") as file:
            yield mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@contextlib.contextmanager
def _reading_as(kind: str, name: str) -> Iterator[None]:
    """Turn a reader's errors, which may quote what they met, into a sentence that does not."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError):
        raise TableError(
            f"{name} cannot be read as {kind}: it is truncated, damaged or something else"
        ) from None
