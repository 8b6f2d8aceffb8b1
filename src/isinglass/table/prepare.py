"""Batches made numeric: missing values settled, categories encoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

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

Array = NDArray[Any]
MISSING = ("error", "drop", "median")
MOST_CATEGORIES = 256


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
    is used again brings its own). With `missing="median"` so are the medians. `advice` says what
    to do about missing values to whoever did not choose, in the words of the command they gave.
    """

    def __init__(
        self,
        table: Table,
        columns: Columns,
        *,
        missing: str = "error",
        categories: dict[str, list[Any]] | None = None,
        advice: str | None = None,
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
        self.dtype = number_type(table, columns)
        self.categories = self._learn_categories() if categories is None else categories
        self.names = list(columns.numeric) + [
            f"{name}#{i}" for name in columns.one_hot for i in range(len(self.categories[name]))
        ]
        self._medians = None
        if missing == "median":
            self._medians = self._learn_medians()

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
        return range(len(self.columns.numeric), self.n_columns)

    def blocks(self, *, with_holes: bool = False) -> Iterator[Block]:
        """Clean blocks, in row order; one pass over the table. Holes, if asked for, are NaN."""
        width = len(self.columns.numeric)
        stream = self._raw()
        for block in stream:
            if with_holes or all_finite(block.X):
                yield block
                continue
            finite = np.isfinite(block.X)
            if self.missing == "drop":
                rows = finite.all(axis=1)
                if not rows.any():
                    continue
                whole = np.asfortranarray(block.X[rows])
                kept = block.kept.filter(pa.array(rows))
                yield Block(whole, kept, block.first, np.flatnonzero(rows))
            elif self.missing == "median":
                for j in np.flatnonzero(~finite.all(axis=0)):
                    # A missing category belongs to none of them.
                    fill = self._medians[j] if self._medians is not None and j < width else 0.0
                    block.X[~finite[:, j], j] = fill
                yield block
            else:
                counts = (~finite).sum(axis=0)
                row = block.first + int(np.argmin(finite.all(axis=1)))
                for later in stream:
                    counts += (~np.isfinite(later.X)).sum(axis=0)
                raise TableError(
                    f"row {row} (from 0) of {self.table.name} is the first with missing or "
                    f"non-finite values: {self._holes(counts)}; {self._advice}"
                )

    def _holes(self, counts: NDArray[np.intp]) -> str:
        """Counts by the table's own columns; all those a column is encoded in lack the same."""
        width = len(self.columns.numeric)
        own = list(counts[:width])
        place = width
        for name in self.columns.one_hot:
            own.append(counts[place])
            place += len(self.categories[name])
        return per_column(own, [*self.columns.numeric, *self.columns.one_hot])

    def _raw(self) -> Iterator[Block]:
        columns = self.columns
        width, first = len(columns.numeric), 0
        for batch in self.table.batches(columns.numeric, [*columns.one_hot, *columns.kept]):
            if batch.num_rows == 0:
                continue
            X = np.empty((self.n_columns, batch.num_rows), dtype=self.dtype)
            for j in range(width):
                X[j] = plain_numbers(batch.column(j))
            place = width
            for offset, name in enumerate(columns.one_hot):
                known = self.categories[name]
                X[place : place + len(known)] = self._encode(batch.column(width + offset), name)
                place += len(known)
            yield Block(X.T, batch.select(list(columns.kept)), first)
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

    def _learn_medians(self) -> NDArray[np.float64]:
        def blocks(names: Sequence[str]) -> Iterator[Array]:
            return (block.X for block in Source(self.table, Columns(tuple(names)))._raw())

        remedy = f"leave them out with {spell('drop')}"
        return medians_to_fill(self.table.name, self.columns.numeric, blocks, remedy)


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
