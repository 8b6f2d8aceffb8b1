"""Reader of CSV files in blocks; errors quote no value."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from isinglass.errors import TableError
from isinglass.messages import spell
from isinglass.table.batches import batch_rows, checked_schema

# How the reader's messages begin. What follows quotes the file, so nothing else is looked at.
_RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
_NO_NUMBER = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+)")

# A longer whole number does not fit, and one that begins with 0 is a name: 007 is not 7.
_WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
_NAME = r"^[+-]?(0[0-9]|[0-9]{16,}$)"
_SWITCH = r"^(true|false|True|False|TRUE|FALSE)$"


class _NotANumberError(Exception):
    """Something that is no number stands in a column that was read as numbers."""


class CsvTable:
    """A CSV file with a header line."""

    def __init__(self, path: Path, encoding: str, delimiter: str | None) -> None:
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise TableError(f"the delimiter must be one character, got {delimiter!r}")
        self.name = str(path)
        self._path = path
        self._encoding = encoding
        self.n_rows: int | None = None
        header = self._header()
        self._delimiter = delimiter or max(",;\t|", key=header.count)
        # A header of ten thousand names must fit into the first block.
        self._block = max(1 << 20, 16 * len(header))
        self._names: list[str] = []  # in the file's order; errors give a column's place in it
        self._types: dict[str, pa.DataType] = {}
        self._single: set[str] = set()  # columns of numbers that are read value by value
        self._as_text = False  # whether one of them is known to hold something else
        self._may_be_empty = False
        with self._reading({}), self._reader({}) as reader:
            inferred, first = reader.schema, next(iter(reader), None)
        self._refuse_headerless(inferred.names)
        self.schema = checked_schema(inferred, self.name)
        self._empty = first is None or first.num_rows == 0
        if any(pa.types.is_binary(kind) for kind in inferred.types):
            raise TableError(self._wrong_encoding())
        self._names = inferred.names

    def _header(self) -> str:
        """The first line, as text."""
        with self._reading({}), self._stream() as file:
            data = b""
            while not (b"\n" in data or b"\r" in data) and len(data) < 1 << 26:
                more = file.read(1 << 20)
                if not more:
                    break
                data += more
        try:
            text = codecs.getincrementaldecoder(self._encoding)().decode(data)
        except LookupError:
            raise TableError(f"there is no encoding named {self._encoding}") from None
        except UnicodeError:
            raise TableError(self._wrong_encoding()) from None
        lines = text.split(None, 1) and text.splitlines()
        if not lines:
            raise TableError(f"{self.name} is empty")
        return lines[0]

    def _refuse_headerless(self, names: list[str]) -> None:
        """Without a header the first record would be taken for names, and shown in messages."""
        # 0, 1, 2, … are names that a frame without any is saved with.
        counted = [[str(i + first) for i in range(len(names))] for first in (0, 1)]
        if any(_number(name) is not None for name in names) and names not in counted:
            raise TableError(
                f"{self.name} seems to have no header: there are numbers among its column names; "
                "put a line of names before the records"
            )

    def _stream(self) -> Any:
        return pa.input_stream(str(self._path), compression="detect")

    def _reader(
        self, types: dict[str, pa.DataType], *, threads: bool = True, nulls: bool = False
    ) -> Any:
        from pyarrow import csv

        from isinglass.table.number_text import FREQUENT_WORDS, null_words

        # A column that is passed on says what it says; one of numbers lacks a value by any word.
        words = null_words() if nulls else {*null_words(), *FREQUENT_WORDS}
        return csv.open_csv(
            self._stream(),
            read_options=csv.ReadOptions(
                block_size=self._block, encoding=self._encoding, use_threads=threads
            ),
            parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=list(types) or None,
                strings_can_be_null=nulls,
                null_values=sorted(words),
            ),
        )

    def batches(
        self, numeric: Sequence[str], other: Sequence[str] = (), *, as_text: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Batches of the columns named; those of `as_text` come last, as they are written."""
        # Types are settled by the first block only, so a whole number there may become a
        # fraction later: numbers are read as float64 throughout.
        if self._empty:
            if self._may_be_empty:
                return
            raise TableError(f"{self.name} has a header but no rows")
        single = [name for name in numeric if name in self._single]
        types = {name: self._number_type(name) for name in numeric}
        self._settle([name for name in other if name not in self._types])
        types |= {name: self._types[name] for name in other}
        types |= dict.fromkeys(as_text, pa.string())
        given = 0
        if not self._as_text:
            # Arrow is quickest with numbers, and stops at the first value that is none.
            try:
                for batch in self._read(types, stop_at_text=bool(single)):
                    given += batch.num_rows
                    yield batch
                return
            except _NotANumberError:
                self._as_text = True
        from isinglass.table.number_text import numbers_in  # only where texts are read singly

        types |= dict.fromkeys(single, pa.string())
        for batch in self._read(types, skip=given):
            for place, name in enumerate(batch.schema.names):
                if name in single:
                    batch = batch.set_column(place, name, numbers_in(batch.column(place)))
            yield batch

    def _read(
        self, types: dict[str, pa.DataType], *, skip: int = 0, stop_at_text: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Batches of columns of these types, without the first `skip` rows."""
        step = batch_rows(len(types))
        with self._reading(types, stop_at_text), self._reader(types) as reader:
            for batch in reader:
                passed = min(skip, batch.num_rows)
                skip -= passed
                for start in range(passed, batch.num_rows, step):
                    yield batch.slice(start, step)

    def read_singly(self, names: Sequence[str]) -> list[str]:
        """Read columns of numbers value by value: what is no number is missing.

        What a value means then depends on itself alone. Given back are columns that hold something
        at the beginning of the file, and no number: they were never meant to be numbers.
        """
        self._single |= set(names)
        if self._empty or not names:
            return []
        types = {name: pa.string() for name in names}
        with self._reading(types), self._reader(types, nulls=True) as reader:
            first = next(iter(reader))
        return [
            name
            for name in names
            if first.column(name).null_count < first.num_rows
            and not _any_number(first.column(name))
        ]

    def allow_no_rows(self) -> None:
        """Let a file without rows be a table like others; without this it is an error."""
        self._may_be_empty = True

    def keep_as_text(self, names: Sequence[str]) -> None:
        """Read columns that are not numbers as they are written, whatever else stands in them.

        What a value means then depends on itself alone, and not on the rows around it.
        """
        self._types |= dict.fromkeys(names, pa.string())

    def _number_type(self, name: str) -> pa.DataType:
        kind = self.schema.field(name).type
        if name in self._single:
            return pa.float64()
        return kind if pa.types.is_boolean(kind) else pa.float64()

    def _settle(self, names: Sequence[str]) -> None:
        """Find what columns that are passed on hold: text, unless all of it is plainly numbers."""
        if not names:
            return
        left = {name: {"int64": _WHOLE, "bool": _SWITCH, "double": None} for name in names}
        seen = dict.fromkeys(names, False)
        types = {name: pa.string() for name in names}
        with self._reading(types), self._reader(types, nulls=True) as reader:
            for batch in reader:
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    texts = column.drop_null()
                    seen[name] |= len(texts) > 0
                    for kind, pattern in list(left[name].items()):
                        if not (_fraction(texts) if pattern is None else _all(texts, pattern)):
                            del left[name][kind]
        for name in names:
            kind = next(iter(left[name]), "string") if seen[name] else "string"
            self._types[name] = pa.type_for_alias(kind)

    def _wrong_encoding(self) -> str:
        return (
            f"{self.name} is not {self._encoding.upper().replace('UTF8', 'UTF-8')} text; "
            f"name its encoding, as in {spell('encoding', 'latin-1')}"
        )

    @contextlib.contextmanager
    def _reading(self, types: dict[str, pa.DataType], stop_at_text: bool = False) -> Iterator[None]:
        """Turn the reader's errors, which quote values, into sentences that do not."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeError) as error:
            found = error
        else:
            return
        wrong = _NO_NUMBER.match(str(found))
        if stop_at_text and wrong and wrong[3] == "double":
            raise _NotANumberError from None
        raise TableError(self._sentence(self._with_row(found, types))) from None

    def _with_row(self, error: Exception, types: dict[str, pa.DataType]) -> Exception:
        """The same error with the row's number: only reading in one thread counts rows."""
        if not (_RAGGED.match(str(error)) or _NO_NUMBER.match(str(error))):
            return error
        try:
            with self._reader(types, threads=False) as reader:
                for _ in reader:
                    pass
        except (pa.ArrowException, OSError, UnicodeError) as again:
            return again
        return error

    def _sentence(self, error: Exception) -> str:
        text = str(error)
        if ragged := _RAGGED.match(text):
            reason = (
                f"{_row(ragged[1])} has {ragged[3]} fields where the header has {ragged[2]}; mend "
                "it, or close the quotation mark that opens there"
            )
        elif wrong := _NO_NUMBER.match(text):
            if wrong[3] == "string":
                return self._wrong_encoding()
            place = int(wrong[1])
            column = f" {self._names[place]}" if place < len(self._names) else ""
            reason = (
                f"column{column} began as numbers and holds something else in {_row(wrong[2])}; "
                f"mend it, leave the column out, or say by {spell('decimal')} how its numbers are "
                "written"
            )
        elif isinstance(error, UnicodeError) or "invalid UTF8" in text:
            return self._wrong_encoding()
        elif text.startswith("CSV parse error: Empty CSV"):
            return f"{self.name} has a header but no rows"
        elif text.startswith("straddling"):
            reason = "a row is too long, or a quotation mark is never closed"
        elif isinstance(error, OSError) and self._path.suffix.lower() in (".gz", ".bz2", ".zst"):
            reason = "its compressed data are truncated or damaged"
        else:
            reason = "it is not a well-formed table"
        return f"{self.name} cannot be read as CSV: {reason}"


def _row(number: str | None) -> str:
    return f"row {number} (the header is row 1)" if number else "a row"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _any_number(texts: pa.Array) -> bool:
    from isinglass.table.number_text import numbers_in  # only where texts are read singly

    return bool(pc.any(pc.invert(pc.is_nan(numbers_in(texts))), min_count=0).as_py())


def _all(texts: pa.Array, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


def _fraction(texts: pa.Array) -> bool:
    """Can all be read as float64 without losing what they say?"""
    if pc.any(pc.match_substring_regex(texts, _NAME)).as_py():
        return False
    try:
        texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
