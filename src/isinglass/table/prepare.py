"""Batches made numeric: missing values settled, categories encoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from isinglass.errors import TableError
from isinglass.formats import shorten
from isinglass.messages import spell
from isinglass.table.columns import Columns, as_float64, number_type
from isinglass.table.read import Table
from isinglass.table.scale import per_column
from isinglass.table.survey import medians_to_fill

if TYPE_CHECKING:
    from isinglass.progress import Progress
    from isinglass.table.value_codes import ValueCodes

Array = NDArray[Any]
MISSING = ("error", "drop", "median")
MOST_CATEGORIES = 256
_STRIP = 1 << 12  # rows turned at a time, so that they stay in cache


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows: the numbers, all finite and laid out by columns, and what is kept."""

    X: Array = field(repr=False)
    kept: pa.RecordBatch = field(repr=False)
    first: int = 0  # the number in the table of the first row read for this block
    #: Which of the rows read these are; None: all of them.
    rows: NDArray[np.intp] | None = field(default=None, repr=False)

    def numbers(self) -> NDArray[np.intp]:
        """The numbers of these rows in the table."""
        return self.first + (np.arange(len(self.X)) if self.rows is None else self.rows)


class Source:
    """A table with its columns' roles, read as clean blocks as often as needed.

    `categories` of one-hot columns are learned in a pass of their own unless given (a key that
    is used again brings its own). With `missing="median"` so are the medians, and a missing value
    of a coded column is a value of its own. `advice` says what to do about missing values, in the
    words of the command at hand. With `by_rows` blocks are laid out by rows.
    """

    def __init__(
        self,
        table: Table,
        columns: Columns,
        *,
        missing: str = "error",
        categories: dict[str, list[Any]] | None = None,
        advice: str | None = None,
        by_rows: bool = False,
        progress: Progress | None = None,
    ) -> None:
        if missing not in MISSING:
            raise ValueError(f"missing must be one of {', '.join(MISSING)}, got {missing!r}")
        self.table = table
        self.columns = columns
        self.missing = missing
        self._advice = advice or (
            f"leave those rows out with {spell('missing', 'drop')} or fill them in with "
            f"{spell('missing', 'median')}"
        )
        self._by_rows = by_rows
        self.dtype = number_type(table, columns)
        self.categories = self._learn_categories() if categories is None else categories
        self.names = list(columns.numeric) + [
            f"{name}#{i}" for name in columns.one_hot for i in range(len(self.categories[name]))
        ]
        self.names += columns.coded
        self._codes: list[ValueCodes] = []
        if columns.coded:
            from isinglass.table.value_codes import ValueCodes  # few tables have such columns

            nulls = missing == "median"
            self._codes = [ValueCodes(table.name, name, nulls=nulls) for name in columns.coded]
        self._medians = self._learn_medians(progress) if missing == "median" else None

    @property
    def n_columns(self) -> int:
        return len(self.names)

    @property
    def labels(self) -> list[str]:
        """The columns as their owner knows them, an encoded one by its category.

        A category is a value of the table: these never leave, as the names may.
        """
        return list(self.columns.numeric) + [
            f"{name} = {category_text(value)}"
            for name in self.columns.one_hot
            for value in self.categories[name]
        ]

    def one_hot_positions(self) -> range:
        """Where the encoded columns stand; their bounds are 0 and 1 whatever the table holds."""
        return range(len(self.columns.numeric), self.n_columns - len(self.columns.coded))

    def blocks(self, *, with_holes: bool = False) -> Iterator[Block]:
        """Clean blocks, in row order; one pass over the table. Holes, if asked for, are NaN."""
        return (block for block, _ in self.parts(with_holes=with_holes) if len(block.X))

    def parts(self, *, with_holes: bool = False) -> Iterator[tuple[Block, int]]:
        """The same, and for how many rows of the table each stands; none may be left of them."""
        stream = self._raw()
        for block in stream:
            n_read = len(block.X)
            if not with_holes and not all_finite(block.X):
                finite = np.isfinite(block.X)
                if self.missing == "error":
                    raise TableError(self._first_hole(block, finite, stream))
                block = self._settled(block, finite)
            yield block, n_read

    def _settled(self, block: Block, finite: NDArray[np.bool_]) -> Block:
        """A block without holes, by the rule for missing values."""
        if self.missing == "drop":
            rows = finite.all(axis=1)
            whole = block.X[rows] if self._by_rows else np.asfortranarray(block.X[rows])
            return Block(
                whole, block.kept.filter(pa.array(rows)), block.first, np.flatnonzero(rows)
            )
        width = len(self.columns.numeric)
        for j in np.flatnonzero(~finite.all(axis=0)):
            # A missing category belongs to none of them.
            fill = self._medians[j] if self._medians is not None and j < width else 0.0
            block.X[~finite[:, j], j] = fill
        return block

    def _first_hole(self, block: Block, finite: NDArray[np.bool_], rest: Iterator[Block]) -> str:
        counts = (~finite).sum(axis=0)
        for later in rest:
            counts += (~np.isfinite(later.X)).sum(axis=0)
        row = block.first + int(np.argmin(finite.all(axis=1)))
        return (
            f"row {row} (from 0) of {self.table.name} is the first with missing or non-finite "
            f"values: {self._holes(counts)}; {self._advice}"
        )

    def _holes(self, counts: NDArray[np.intp]) -> str:
        """Counts by the table's own columns; all those a column is encoded in lack the same."""
        width = len(self.columns.numeric)
        own = list(counts[:width])
        place = width
        for name in self.columns.one_hot:
            own.append(counts[place])
            place += len(self.categories[name])
        own += list(counts[place:])
        columns = self.columns
        return per_column(own, [*columns.numeric, *columns.one_hot, *columns.coded])

    def _raw(self) -> Iterator[Block]:
        columns = self.columns
        beside = [*columns.one_hot, *columns.coded, *columns.kept]
        coded_from = len(columns.numeric) + len(columns.one_hot)
        first = 0
        for batch in self.table.batches(columns.numeric, beside):
            if batch.num_rows == 0:
                continue
            found = [plain_numbers(batch.column(j)) for j in range(len(columns.numeric))]
            for j, name in enumerate(columns.one_hot, len(found)):
                found += list(self._encode(batch.column(j), name))
            found += [codes.of(batch.column(j)) for j, codes in enumerate(self._codes, coded_from)]
            X = (_by_rows if self._by_rows else _by_columns)(found, batch.num_rows, self.dtype)
            yield Block(X, batch.select(list(columns.kept)), first)
            first += batch.num_rows

    def _encode(self, column: pa.Array, name: str) -> Array:
        known = self.categories[name]
        values = self._category_values(column, name)
        try:
            codes = pc.index_in(values, value_set=pa.array(known, type=values.type))
        except (pa.ArrowException, TypeError):  # numbers here and text in the key, or vice versa
            codes = pa.nulls(len(values), pa.int32())
        strange = pc.sum(pc.and_(pc.is_null(codes), pc.is_valid(values))).as_py()
        if strange:
            raise TableError(
                f"{self.table.name}, column {name}: {strange:,} values are not among the "
                f"{len(known)} categories the key was made with"
            )
        place = codes.fill_null(-1).to_numpy()
        encoded = (place == np.arange(len(known))[:, np.newaxis]).astype(self.dtype)
        encoded[:, place < 0] = np.nan
        return np.asarray(encoded)

    def _learn_categories(self) -> dict[str, list[Any]]:
        found: dict[str, set[Any]] = {name: set() for name in self.columns.one_hot}
        if not found:
            return {}
        for batch in self.table.batches([], self.columns.one_hot):
            for name, values in found.items():
                column = self._category_values(batch.column(name), name)
                values |= set(column.drop_null().unique().to_pylist())
                if len(values) > MOST_CATEGORIES:
                    raise TableError(
                        f"{self.table.name}, column {name} has more than {MOST_CATEGORIES} "
                        "different values, too many to one-hot encode; perturb it, or name it in "
                        f"{spell('keep')} or {spell('drop')}"
                    )
        empty = [name for name, values in found.items() if not values]
        if empty:
            raise TableError(
                f"{self.table.name} has columns without a single value: {', '.join(empty)}; "
                f"leave them out with {spell('drop')}"
            )
        return {name: sorted(values) for name, values in found.items()}

    def _category_values(self, column: pa.Array, name: str) -> pa.Array:
        """Categories as float64 or as text; an empty text and a number not finite are missing."""
        kind = column.type
        try:
            if pa.types.is_dictionary(kind):
                kind = kind.value_type
                column = column.cast(kind)
            if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
                values = as_float64(column)
                return pc.if_else(pc.is_finite(values), values, None)
            values = column.cast(pa.string())
            return pc.if_else(pc.equal(values, ""), None, values)
        except pa.ArrowException:
            raise TableError(
                f"{self.table.name}, column {name} holds neither text nor numbers and cannot be "
                f"one-hot encoded; name it in {spell('keep')} or {spell('drop')}"
            ) from None

    def _learn_medians(self, progress: Progress | None) -> NDArray[np.float64]:
        numeric = self.columns.numeric

        def blocks(names: Sequence[str]) -> Iterator[Array]:
            # A pass over all columns looks for gaps, the others at columns that have some.
            stage = "looking" if names is numeric else "finding medians"
            for block in Source(self.table, Columns(tuple(names)))._raw():
                if progress is not None:
                    progress(stage, block.first, self.table.n_rows)
                yield block.X

        remedy = f"leave them out with {spell('drop')}"
        return medians_to_fill(self.table.name, numeric, blocks, remedy)


def category_text(value: Any) -> str:
    """A category, short enough for a message; whole numbers without a fraction."""
    return shorten(f"{value:.15g}" if isinstance(value, float) else str(value), 40)


def all_finite(X: Array) -> bool:
    """A sum meets every NaN and infinity; only where it is not finite must all be looked at."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum())) or bool(np.isfinite(X).all())


def plain_numbers(column: pa.Array) -> Array:
    """A column's values, NaN for nulls; whole numbers without nulls stay whole."""
    kind = column.type
    if not pa.types.is_floating(kind) and (column.null_count or not pa.types.is_integer(kind)):
        column = as_float64(column)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _by_columns(columns: Sequence[Array], n_rows: int, dtype: Any) -> Array:
    X = np.empty((len(columns), n_rows), dtype=dtype)
    for j, column in enumerate(columns):
        X[j] = column
    return X.T


def _by_rows(columns: Sequence[Array], n_rows: int, dtype: Any) -> Array:
    X = np.empty((n_rows, len(columns)), dtype=dtype)
    for start in range(0, len(X), _STRIP):
        strip = X[start : start + _STRIP]
        for j, column in enumerate(columns):
            strip[:, j] = column[start : start + _STRIP]
    return X
