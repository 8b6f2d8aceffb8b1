"""Tables whose columns of text are read as the numbers that people wrote into them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from isinglass.errors import TableError
from isinglass.table.columns import is_numeric
from isinglass.table.csv_file import CsvTable
from isinglass.table.number_format import NumberFormat, blank_missing, numbers_written
from isinglass.table.number_text import numbers_in

#: A whole number in digits; and digits that are rather a name than a number, such as 007.
_PLAIN = r"^-?(0|[1-9][0-9]{0,17})$"
_NAME = r"^[+-]?(0[0-9]|[0-9]{16,}$)"


class TextNumbers:
    """A table like the one inside, with numbers in columns that hold them as text.

    Columns that were declared to hold numbers are read as such, and a value that is none is an
    error. Of others a whole pass decides: all of their values are numbers, or they stay as they
    are. Neither depends on which rows come first.
    """

    def __init__(self, table: Any, written: NumberFormat) -> None:
        self.name = table.name
        self.n_rows: int | None = table.n_rows
        self._inner = table
        self._written = written
        self._single: set[str] = set()
        found = {n: m for n, m in written.columns.items() if self._may_be_text(n)}
        if written.mark is not None:
            rest = [n for n in table.schema.names if n not in found and self._may_be_text(n)]
            found |= dict.fromkeys(self._all_numbers(rest, written.mark), written.mark)
        self._marks = found
        self.schema = self._typed(table.schema)

    @property
    def is_csv(self) -> bool:
        """Whether a column's kind is not stated in the file, but follows from its values."""
        return isinstance(self._inner, CsvTable)

    def batches(
        self, numeric: Sequence[str], other: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Batches of the columns named, in this order."""
        plain = [name for name in numeric if name not in self._marks]
        texts = [name for name in numeric if name in self._marks]
        first = 0
        for batch in self._raw(plain, texts, other):
            columns = {name: batch.column(j) for j, name in enumerate(batch.schema.names)}
            for name in texts:
                columns[name] = self._numbers(columns[name], name, first)
            first += batch.num_rows
            names = [*numeric, *other]
            yield pa.RecordBatch.from_arrays([columns[n] for n in names], names=names)

    def allow_no_rows(self) -> None:
        """Let a CSV file without rows be a table like others."""
        if self.is_csv:
            self._inner.allow_no_rows()

    def keep_as_text(self, names: Sequence[str]) -> None:
        """Read columns as they are written."""
        self._marks = {n: m for n, m in self._marks.items() if n not in names}
        if self.is_csv:
            self._inner.keep_as_text(names)
        self.schema = self._typed(self._inner.schema)

    def read_singly(self, names: Sequence[str]) -> list[str]:
        """Read columns of numbers value by value: what is no number is missing.

        Given back are columns that cannot be read at all.
        """
        mark = self._written.mark
        if mark is not None:
            added = [n for n in names if n not in self._marks and self._may_be_text(n)]
            self._marks |= dict.fromkeys(self._mostly_numbers(added, mark), mark)
            self.schema = self._typed(self._inner.schema)
        single = [n for n in names if n in self._marks]
        self._single |= set(single)
        rest = [n for n in names if n not in self._marks]
        return [*self._without_numbers(single), *self._rest_singly(rest)]

    def _rest_singly(self, rest: Sequence[str]) -> list[str]:
        if self.is_csv:
            return self._inner.read_singly(rest)  # type: ignore[no-any-return]
        return [n for n in rest if not is_numeric(self._inner.schema.field(n).type)]

    def _without_numbers(self, names: Sequence[str]) -> list[str]:
        """Columns that hold something at the beginning of the file, and no number."""
        first = next(iter(self._raw([], names, [])), None) if names else None
        if first is None:
            return []
        found = []
        for name in names:
            numbers = numbers_written(
                _texts(first.column(name)), self._marks[name], self._written.words
            )
            if numbers.null_count < len(numbers) and not _readable(numbers):
                found.append(name)
        return found

    def _mostly_numbers(self, names: Sequence[str], mark: str) -> list[str]:
        """Columns of which this mark reads no fewer values than a plain point does; one pass."""
        marked, plain = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        if not names:
            return []
        for batch in self._raw([], names, []):
            for name in names:
                texts = _texts(batch.column(name))
                marked[name] += _readable(numbers_written(texts, mark))
                plain[name] += _readable(numbers_in(texts))
        return [n for n in names if marked[n] >= plain[n]]

    def _raw(
        self, plain: Sequence[str], texts: Sequence[str], other: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        if not self.is_csv:
            yield from self._inner.batches(plain, [*texts, *other])
            return
        yield from self._inner.batches(plain, other, as_text=texts)

    def _numbers(self, column: Any, name: str, first: int) -> Any:
        numbers = numbers_written(_texts(column), self._marks[name], self._written.words)
        if name in self._single:
            return numbers
        unread = pc.fill_null(pc.is_nan(numbers), False)
        if pc.any(unread).as_py():
            row = first + int(np.argmax(unread.to_numpy(zero_copy_only=False)))
            raise TableError(
                f"{self.name}, column {name}: {self.row(row)} holds neither a number with the "
                f"decimal mark {self._marks[name]} nor a word for a missing one; mend it, or leave "
                "the column out"
            )
        return numbers

    def row(self, number: int) -> str:
        """A row in words, as whoever opens the file counts."""
        if self.is_csv:
            return f"row {number + 2} (the header is row 1)"
        return f"row {number} (from 0)"

    def _may_be_text(self, name: str) -> bool:
        schema = self._inner.schema
        if name not in schema.names:
            return False
        kind = schema.field(name).type
        if self.is_csv:  # whose kinds follow from the first rows only
            return not pa.types.is_boolean(kind)
        return is_text(kind)

    def _all_numbers(self, names: Sequence[str], mark: str) -> list[str]:
        """Columns in which every value is a number in this format; one pass."""
        left, seen, marked = dict.fromkeys(names), set(), set()
        if not left:
            return []
        for batch in self._raw([], list(names), []):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if name not in left:
                    continue
                texts = _texts(column)
                known = blank_missing(texts, self._written.words).drop_null()
                numbers = numbers_written(known, mark)
                named = pc.any(pc.match_substring_regex(known, _NAME)).as_py()
                if named or pc.any(pc.is_nan(numbers)).as_py():
                    del left[name]
                    continue
                if len(known):
                    seen.add(name)
                whole = pc.all(pc.match_substring_regex(known, _PLAIN), min_count=0).as_py()
                if not whole or len(known) < len(column):
                    marked.add(name)
            if not left:
                break
        # Plain whole numbers are the same in any format, and stay what they are.
        return [n for n in left if n in seen and (n in marked or self._is_text_now(n))]

    def _is_text_now(self, name: str) -> bool:
        return is_text(self._inner.schema.field(name).type)

    def _typed(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema(
            [pa.field(f.name, pa.float64()) if f.name in self._marks else f for f in schema],
            metadata=schema.metadata,
        )


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this kind holds text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _readable(numbers: Any) -> int:
    return int(pc.sum(pc.invert(pc.is_nan(numbers)), min_count=0).as_py())


def _texts(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_string())
