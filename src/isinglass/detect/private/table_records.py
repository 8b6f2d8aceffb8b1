"""Records of a table's file for private models, part by part.

A record's cells must follow from the record alone: numbers are read as float64, and categories of a
CSV file as they are written, whatever the rows around them hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass.detect.private.columns import CategoryColumn, NumberColumn, PublicColumn
from isinglass.detect.private.records import CodedRecords, coded
from isinglass.errors import TableError
from isinglass.table.batches import prefetch
from isinglass.table.columns import as_float64, is_numeric, listed
from isinglass.table.csv_file import CsvTable
from isinglass.table.read import Table


def table_records(table: Table, columns: Sequence[PublicColumn]) -> Iterator[CodedRecords]:
    """The declared columns of a table, found by their names; others are passed over."""
    names = table.schema.names
    if lacking := [c.name for c in columns if c.name not in names]:
        raise TableError(f"{table.name} lacks columns of the model: {listed(lacking)}")
    numbers = [c.name for c in columns if isinstance(c, NumberColumn)]
    categories = [c for c in columns if isinstance(c, CategoryColumn)]
    if text := [n for n in numbers if not is_numeric(table.schema.field(n).type)]:
        raise TableError(
            f"{table.name} has columns that are not numbers where the model expects them: "
            f"{listed(text)}"
        )
    if isinstance(table, CsvTable):
        table.keep_as_text([c.name for c in categories])
    places = [_Places(column) for column in categories]
    for batch in prefetch(table.batches(numbers, [c.name for c in categories])):
        X = np.empty((batch.num_rows, len(numbers)))
        for j in range(len(numbers)):
            X[:, j] = as_float64(batch.column(j)).to_numpy(zero_copy_only=False)
        codes = np.empty((batch.num_rows, len(categories)), dtype=np.int64)
        for k, place in enumerate(places):
            codes[:, k] = place.codes(batch.column(len(numbers) + k))
        yield coded(X, codes, columns)


class _Places:
    """Where the entries of a column stand in the list of its declared values."""

    def __init__(self, column: CategoryColumn) -> None:
        self._other = len(column.values)
        self._text: dict[str, int] = {}
        self._number: dict[float, int] = {}
        self._truth: dict[str, int] = {}
        for place, value in enumerate(column.values):
            if isinstance(value, bool):
                self._truth[str(value).lower()] = place
            elif isinstance(value, int | float):
                self._number[float(value)] = place
            else:
                self._text[str(value)] = place

    def codes(self, column: pa.Array) -> NDArray[np.int64]:
        """The place of every entry; that after the last for other values and missing ones."""
        if pa.types.is_null(column.type):
            return np.full(len(column), self._other, dtype=np.int64)
        encoded = column
        if not pa.types.is_dictionary(column.type):
            encoded = column.dictionary_encode()
        found = np.array([self._place(v) for v in encoded.dictionary.to_pylist()], dtype=np.int64)
        at = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return np.asarray(np.append(found, self._other)[at])

    def _place(self, value: Any) -> int:
        """The place of a value as a file may hold it: 4, "4" and "4.0" are one number."""
        if isinstance(value, bool):
            value = str(value).lower()
        written = _written(value)
        if written in self._text:
            return self._text[written]
        if isinstance(value, str) and value.lower() in self._truth:
            return self._truth[value.lower()]
        try:
            return self._number.get(float(value), self._other)
        except (TypeError, ValueError, OverflowError):
            return self._other


def _written(value: Any) -> str:
    """A value as it would stand in a CSV file."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
