"""Blocks of numbers and codes, the same on every pass over a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.errors import TableError
from isinglass.messages import spell
from isinglass.progress import Progress, quiet
from isinglass.table.batches import prefetch
from isinglass.table.columns import Columns, is_numeric, listed, refuse_text, refuse_unknown
from isinglass.table.prepare import Source, plain_numbers
from isinglass.table.read import Table, open_table
from isinglass.table.survey import Surveyor

Array = NDArray[Any]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


def choose_features(
    table: Table,
    *,
    discrete: Sequence[str] = (),
    drop: Sequence[str] = (),
    label: str | None = None,
) -> Columns:
    """Every numeric column, and those named as discrete; neither the label nor what is dropped."""
    names = table.schema.names
    out = {*drop, *([] if label is None else [label])}
    refuse_unknown(table, [*discrete, *sorted(out)])
    both = [name for name in names if name in out and name in discrete]
    if both:
        raise TableError(f"column {listed(both)} cannot be both discrete and left out")
    rest = [name for name in names if name not in out and name not in discrete]
    refuse_text(
        table,
        rest,
        f"leave them out with {spell('drop')}, or compare them by equality with "
        f"{spell('discrete')}",
    )
    if not rest and not discrete:
        raise TableError(f"{table.name} has no numeric column left to compare rows by")
    coded = tuple(name for name in names if name in discrete)
    return Columns(tuple(rest), coded=coded)


def read_blocks(
    source: Any,
    *,
    discrete: Sequence[str] = (),
    drop: Sequence[str] = (),
    label: str | None = None,
    missing: str = "error",
    scale: bool = False,
    encoding: str = "utf8",
    delimiter: str | None = None,
) -> TableBlocks:
    """The rows of a path, a frame or an array, ready to be searched."""
    table = open_table(source, encoding=encoding, delimiter=delimiter)
    columns = choose_features(table, discrete=discrete, drop=drop, label=label)
    return TableBlocks(table, columns, missing=missing, scale=scale)


class TableBlocks:
    """A table's features as blocks of rows, read as often as needed in bounded memory.

    Numeric columns come first, then the discrete ones as codes in the order in which their values
    first appear. With `missing="median"` a missing number is its column's median, and a missing
    discrete value is a value of its own; medians take passes of their own. So does `scale`, which
    brings numeric columns from their range in the file to [0, 1], a constant one to 0.
    """

    def __init__(
        self,
        table: Table,
        columns: Columns,
        *,
        missing: str = "error",
        scale: bool = False,
        progress: Progress = quiet,
    ) -> None:
        self._source = Source(table, columns, missing=missing, by_rows=True, progress=progress)
        self.name = table.name
        self.names = self._source.names
        self.discrete = list(range(len(columns.numeric), len(self.names)))
        self.dtype: type[np.floating[Any]] = self._source.dtype
        self.n_rows: int | None = None if missing == "drop" else table.n_rows
        order = [name for name in table.schema.names if name in self.names]
        self.places = [order.index(name) for name in self.names]  # among the file's features
        self._n_numeric = len(columns.numeric)
        self._left_out = _LeftOut()
        self._range: tuple[Array, Array] | None = None
        if scale:
            self._range = self._learn_range(progress)

    @property
    def n_left_out(self) -> int:
        """Rows with missing values that were passed over, as far as the file was read."""
        return self._left_out.count

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Consecutive rows, laid out by rows, all finite; every block but the last is full."""
        if max_rows < 1:
            raise ValueError(f"max_rows must be >= 1, got {max_rows}")
        given = filled = 0
        block = self._empty(max_rows, given)
        for X in prefetch(self._clean()):
            start = 0
            while start < len(X):
                if filled == len(block):
                    yield block
                    given, filled = given + filled, 0
                    block = self._empty(max_rows, given)
                part = X[start : start + len(block) - filled]
                block[filled : filled + len(part)] = part
                filled += len(part)
                start += len(part)
        yield block[:filled]

    def row_numbers(self, rows: Rows) -> Rows:
        """The numbers in the file, from 0, of rows that were read."""
        return self._left_out.numbers(np.asarray(rows, dtype=np.int64))

    def _empty(self, max_rows: int, given: int) -> Array:
        left = max_rows if self.n_rows is None else max(self.n_rows - given, 1)
        return np.empty((min(max_rows, left), len(self.names)), dtype=self.dtype)

    def _clean(self) -> Iterator[Array]:
        """Rows as they are to be compared, in the batches the table is read in."""
        seen = given = 0
        for block, n_read in self._source.parts():
            if self._source.missing == "drop":
                self._left_out.add(seen, n_read, block.rows)
            seen += n_read
            given += len(block.X)
            if len(block.X):
                yield self._scaled(block.X)
        if seen == 0:
            raise TableError(f"{self.name} has no rows")
        if given == 0:
            raise TableError(
                f"{self.name} has a missing value in every row; fill them in with "
                f"{spell('missing', 'median')}, or leave columns out with {spell('drop')}"
            )
        if self.n_rows is not None and self.n_rows != given:
            raise TableError(f"{self.name} changed while it was read")
        self.n_rows = given

    def _learn_range(self, progress: Progress) -> tuple[Array, Array]:
        gather = Surveyor(self._n_numeric, deviation=False)
        seen = 0
        for X in prefetch(self._clean()):
            progress("looking", seen, self.n_rows)
            gather.add(X[:, : self._n_numeric])
            seen += len(X)
        facts = gather.result()
        return facts.low, facts.high

    def _scaled(self, X: Array) -> Array:
        if self._range is None:
            return X
        low, high = self._range
        with np.errstate(over="ignore"):
            half = np.where(np.isfinite(high - low), 1.0, 0.5)  # a range may be too wide to hold
        span = high * half - low * half
        span[span == 0] = 1.0
        width = len(low)
        # In float64, rounded once to the table's own kind of number.
        X[:, :width] = (X[:, :width].astype(np.float64) * half - low * half) / span
        return X


class _LeftOut:
    """Which rows of a file were passed over: a bit for every row of a part that lacks some."""

    def __init__(self) -> None:
        self._seen = 0
        self._given = 0
        self._first: list[int] = []  # of each part: its first row in the file,
        self._start: list[int] = []  # its first row in the stream,
        self._bits: list[NDArray[np.uint8] | None] = []  # and which of its rows are there

    @property
    def count(self) -> int:
        return self._seen - self._given

    def add(self, first: int, n_rows: int, rows: NDArray[np.intp] | None) -> None:
        """Note a part; one that was noted in an earlier pass is passed over."""
        if first < self._seen:
            return
        self._first.append(first)
        self._start.append(self._given)
        kept: NDArray[np.uint8] | None = None
        if rows is not None:
            flags = np.zeros(n_rows, dtype=bool)
            flags[rows] = True
            kept = np.packbits(flags)
        self._bits.append(kept)
        self._seen += n_rows
        self._given += n_rows if rows is None else len(rows)

    def numbers(self, rows: Rows) -> Rows:
        if self.count == 0:
            return rows
        # Of parts that begin at one row all but the last are empty.
        part = np.searchsorted(self._start, rows, side="right") - 1
        numbers = np.empty_like(rows)
        for p in np.unique(part):
            here, bits = part == p, self._bits[p]
            places = rows[here] - self._start[p]
            if bits is not None:
                places = np.flatnonzero(np.unpackbits(bits))[places]
            numbers[here] = self._first[p] + places
        return numbers


def count_marked(table: Table, column: str, rows: Rows) -> tuple[int, int] | None:
    """How many of some rows, and of all, hold 1 in a column of zeros and ones; else None."""
    if not is_numeric(table.schema.field(column).type):
        return None
    rows = np.sort(rows)
    first = found = total = 0
    try:
        for batch in table.batches([column]):
            values = plain_numbers(batch.column(0))
            if not np.isin(values, (0, 1)).all():
                return None
            a, b = np.searchsorted(rows, [first, first + len(values)])
            found += int(values[rows[a:b] - first].sum())
            total += int(values.sum())
            first += len(values)
    except TableError:  # it begins like numbers and is not
        return None
    return found, total
