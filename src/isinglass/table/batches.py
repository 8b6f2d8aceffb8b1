"""Batches of a table: sizes, checks of columns, and read-ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from isinglass.errors import TableError
from isinglass.threads import Errand

# A batch holds about this many bytes, so that a wide table is read in fewer rows at a time.
BATCH_BYTES = 16 << 20
MOST_ROWS = 1 << 16


def batch_rows(n_columns: int) -> int:
    """How many rows of this many numbers fill a batch."""
    return max(1, min(MOST_ROWS, BATCH_BYTES // (8 * max(n_columns, 1))))


def checked_schema(schema: pa.Schema, name: str) -> pa.Schema:
    """The schema, if every column has a name of its own."""
    seen: set[str] = set()
    repeated: set[str] = set()
    for column in schema.names:
        (repeated if column in seen else seen).add(column)
    if repeated:
        raise TableError(
            f"{name} has more than one column named "
            f"{', '.join(map(repr, sorted(repeated)[:8]))}; rename them first"
        )
    if not seen:
        raise TableError(f"{name} has no columns")
    return schema


Item = TypeVar("Item")


def prefetch(items: Iterable[Item]) -> Iterator[Item]:
    """The same items in the same order, the next one produced in another thread meanwhile."""
    source = iter(items)
    end: Any = object()
    pending = Errand(lambda: next(source, end))
    try:
        pending.begin()
        while (item := pending.outcome()) is not end:
            pending = Errand(lambda: next(source, end))
            pending.begin()
            yield item
            del item  # it may go while the next one is waited for
    finally:
        if not pending.cancel():
            pending.wait()  # the items' file may be closed after this
