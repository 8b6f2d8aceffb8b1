"""Records of a table's file for private models, part by part.

A record's cells must follow from the record alone. The kind of a column does not: it follows from
all rows, so what a value means must be the same whichever kind the others give it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from isinglass.detect.private.categories import Places, may_be_categories
from isinglass.detect.private.columns import CategoryColumn, NumberColumn, PublicColumn
from isinglass.detect.private.records import CodedRecords, coded
from isinglass.errors import TableError
from isinglass.table.batches import prefetch
from isinglass.table.columns import as_float64, is_numeric, listed, not_numbers
from isinglass.table.csv_file import CsvTable
from isinglass.table.read import Table
from isinglass.table.text_numbers import TextNumbers


def table_records(table: Table, columns: Sequence[PublicColumn]) -> Iterator[CodedRecords]:
    """The declared columns of a table, found by their names; others are passed over."""
    names = table.schema.names
    if lacking := [c.name for c in columns if c.name not in names]:
        raise TableError(f"{table.name} lacks columns of the model: {listed(lacking)}")
    numbers = [c.name for c in columns if isinstance(c, NumberColumn)]
    categories = [c for c in columns if isinstance(c, CategoryColumn)]
    if text := prepare(table, columns):
        where = " where the model expects them"
        raise not_numbers(table.name, text, "bring them into the form of the model", where=where)
    places = [Places(column.values) for column in categories]
    for batch in prefetch(table.batches(numbers, [c.name for c in categories])):
        X = np.empty((batch.num_rows, len(numbers)))
        for j in range(len(numbers)):
            X[:, j] = as_float64(batch.column(j)).to_numpy(zero_copy_only=False)
        codes = np.empty((batch.num_rows, len(categories)), dtype=np.int64)
        for k, place in enumerate(places):
            codes[:, k] = place.of_column(batch.column(len(numbers) + k))
        yield coded(X, codes, columns)


def prepare(table: Table, columns: Sequence[PublicColumn]) -> list[str]:
    """Have a table read as counts and scores need it; given back are columns that are no numbers.

    A column of another kind than its declaration is its owner's mistake, and not one record's: a
    CSV file's column counts as one of numbers if there is any at the beginning of the file.
    """
    numbers = [c.name for c in columns if isinstance(c, NumberColumn)]
    categories = [c.name for c in columns if isinstance(c, CategoryColumn)]
    text: list[str] = []
    if isinstance(table, CsvTable):
        table.keep_as_text(categories)
        return table.read_singly(numbers)
    if isinstance(table, TextNumbers):
        table.keep_as_text(categories)
        text = table.read_singly(numbers)
        if table.is_csv:
            return text
        numbers = [n for n in numbers if n not in text]
    kinds = {name: table.schema.field(name).type for name in [*numbers, *categories]}
    if wrong := [f"{n} ({kinds[n]})" for n in categories if not may_be_categories(kinds[n])]:
        raise TableError(
            f"{table.name} has columns of a kind that cannot be categories: {listed(wrong)}; turn "
            "them into text or numbers, or leave them out"
        )
    return [*text, *(name for name in numbers if not is_numeric(kinds[name]))]
