"""Blocks of numbers and codes, the same on every pass over a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from isinglass.errors import TableError
from isinglass.messages import spell
from isinglass.progress import Progress, quiet
from isinglass.table.batches import prefetch
from isinglass.table.columns import Columns, is_numeric, listed, number_type
from isinglass.table.prepare import MISSING, all_finite, plain_numbers
from isinglass.table.read import Table, open_table
from isinglass.table.scale import per_column
from isinglass.table.survey import Surveyor, medians_to_fill

Array = NDArray[Any]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_VALUES = 1 << 20  # of a discrete column; more are names, and every row has its own
_STRIP = 1 << 12  # rows turned at a time, so that they stay in cache


@dataclass(frozen=True, slots=True)
class Features:
    """The columns that rows are compared by, each kind in the file's order."""

    numeric: tuple[str, ...]
    discrete: tuple[str, ...] = ()


def choose_features(
    table: Table,
    *,
    discrete: Sequence[str] = (),
    drop: Sequence[str] = (),
    label: str | None = None,
) -> Features:
    """Every numeric column, and those named as discrete; neither the label nor what is dropped."""
    names = table.schema.names
    out = {*drop, *([] if label is None else [label])}
    unknown = [name for name in dict.fromkeys([*discrete, *sorted(out)]) if name not in names]
    if unknown:
        raise TableError(
            f"{table.name} has no column named {listed(unknown)}; it has {listed(names)}"
        )
    both = [name for name in names if name in out and name in discrete]
    if both:
        raise TableError(f"column {listed(both)} cannot be both discrete and left out")
    rest = [name for name in names if name not in out and name not in discrete]
    text = [name for name in rest if not is_numeric(table.schema.field(name).type)]
    if text:
        raise TableError(
            f"{table.name} has columns that are not numbers: {listed(text)}; compare them by "
            f"equality with {spell('discrete')}, or leave them out with {spell('drop')}"
        )
    if not rest and not discrete:
        raise TableError(f"{table.name} has no numeric column left to compare rows by")
    return Features(tuple(rest), tuple(name for name in names if name in discrete))


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
    features = choose_features(table, discrete=discrete, drop=drop, label=label)
    return TableBlocks(table, features, missing=missing, scale=scale)


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
        features: Features,
        *,
        missing: str = "error",
        scale: bool = False,
        progress: Progress = quiet,
    ) -> None:
        if missing not in MISSING:
            raise ValueError(f"missing must be one of {', '.join(MISSING)}, got {missing!r}")
        self.name = table.name
        self.names = [*features.numeric, *features.discrete]
        self.discrete = list(range(len(features.numeric), len(self.names)))
        self.dtype: type[np.floating[Any]] = number_type(table, Columns(features.numeric))
        self.n_rows: int | None = None if missing == "drop" else table.n_rows
        order = [name for name in table.schema.names if name in self.names]
        self.places = [order.index(name) for name in self.names]  # among the file's features
        self._table = table
        self._features = features
        self._missing = missing
        self._codes = [
            _Codes(table.name, name, nulls=missing == "median") for name in features.discrete
        ]
        self._left_out = _LeftOut()
        self._medians = self._learn_medians(progress) if missing == "median" else None
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
        stream = self._raw()
        for X in stream:
            keep: Flags | None = None
            if not all_finite(X):
                finite = np.isfinite(X)
                if self._missing == "error":
                    raise TableError(self._holes(finite, stream))
                if self._missing == "drop":
                    keep = np.asarray(finite.all(axis=1))
                elif self._medians is not None:
                    for j in np.flatnonzero(~finite.all(axis=0)):
                        X[~finite[:, j], j] = self._medians[j]
            if self._missing == "drop":
                self._left_out.add(seen, len(X), keep)
            seen += len(X)
            X = X if keep is None else X[keep]
            given += len(X)
            if len(X):
                yield self._scaled(X)
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

    def _raw(self) -> Iterator[Array]:
        """Rows as they are; what is missing is NaN."""
        numeric, discrete = self._features.numeric, self._features.discrete
        for batch in self._table.batches(numeric, discrete):
            if batch.num_rows == 0:
                continue
            numbers = [plain_numbers(batch.column(j)) for j in range(len(numeric))]
            codes = [
                known.of(batch.column(len(numeric) + i)) for i, known in enumerate(self._codes)
            ]
            yield _by_rows([*numbers, *codes], self.dtype)

    def _holes(self, finite: Flags, rest: Iterator[Array]) -> str:
        counts = (~finite).sum(axis=0)
        for X in rest:
            counts += (~np.isfinite(X)).sum(axis=0)
        return (
            f"{self.name} has missing or non-finite values: {per_column(counts, self.names)}; "
            f"leave those rows out with {spell('missing', 'drop')} or fill them in with "
            f"{spell('missing', 'median')}"
        )

    def _learn_medians(self, progress: Progress) -> Array:
        numeric = self._features.numeric

        def blocks(names: Sequence[str]) -> Iterator[Array]:
            # A pass over all columns looks for gaps, the others at columns that have some.
            seen, stage = 0, "looking" if names is numeric else "finding medians"
            for X in TableBlocks(self._table, Features(tuple(names)))._raw():
                progress(stage, seen, self.n_rows)
                yield X
                seen += len(X)

        remedy = f"leave them out with {spell('drop')}"
        return medians_to_fill(self.name, numeric, blocks, remedy)

    def _learn_range(self, progress: Progress) -> tuple[Array, Array]:
        gather = Surveyor(len(self._features.numeric), deviation=False)
        seen = 0
        for X in prefetch(self._clean()):
            progress("looking", seen, self.n_rows)
            gather.add(X[:, : len(self._features.numeric)])
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


class _Codes:
    """The values of a discrete column met so far; a value's code is its place among them."""

    def __init__(self, table: str, column: str, *, nulls: bool) -> None:
        self._where = f"{table}, column {column}"
        self._nulls = nulls  # whether a missing value is one of them
        self._known: pa.Array | None = None

    def of(self, column: pa.Array) -> NDArray[np.float64]:
        """Codes of a column's entries, NaN for missing ones unless they count as a value."""
        try:
            codes = self._look_up(_comparable(column))
        except pa.ArrowException:  # its text quotes a value
            raise TableError(
                f"{self._where} holds neither text nor numbers and cannot be discrete; leave it "
                f"out with {spell('drop')}"
            ) from None
        return np.asarray(codes.cast(pa.float64()).to_numpy(zero_copy_only=False))

    def _look_up(self, values: pa.Array) -> pa.Array:
        if self._known is None:
            self._known = pa.array([], type=values.type)
        codes = pc.index_in(values, value_set=self._known)
        new = pc.is_null(codes) if self._nulls else pc.and_(pc.is_null(codes), values.is_valid())
        if not pc.any(new).as_py():
            return codes
        self._known = pa.concat_arrays([self._known, values.filter(new).unique()])
        if len(self._known) > MOST_VALUES:
            raise TableError(
                f"{self._where} has more than {MOST_VALUES:,} different values, too many for a "
                f"discrete one; leave it out with {spell('drop')}"
            )
        return pc.index_in(values, value_set=self._known)


def _comparable(column: pa.Array) -> pa.Array:
    """The same entries; an empty text and a number that is not finite are missing."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_floating(kind):
        numbers = pc.add(column.cast(pa.float64()), 0.0)  # which turns -0.0 into 0.0
        return pc.if_else(pc.is_finite(numbers), numbers, None)
    if pa.types.is_null(kind) or kind in (pa.string(), pa.large_string(), pa.string_view()):
        texts = column.cast(pa.large_string())
        return pc.if_else(pc.equal(texts, ""), None, texts)
    return column


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

    def add(self, first: int, n_rows: int, keep: Flags | None) -> None:
        """Note a part; one that was noted in an earlier pass is passed over."""
        if first < self._seen:
            return
        self._first.append(first)
        self._start.append(self._given)
        self._bits.append(None if keep is None else np.packbits(keep))
        self._seen += n_rows
        self._given += n_rows if keep is None else int(keep.sum())

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


def _by_rows(columns: Sequence[Array], dtype: Any) -> Array:
    X = np.empty((len(columns[0]), len(columns)), dtype=dtype)
    for start in range(0, len(X), _STRIP):
        strip = X[start : start + _STRIP]
        for j, column in enumerate(columns):
            strip[:, j] = column[start : start + _STRIP]
    return X
