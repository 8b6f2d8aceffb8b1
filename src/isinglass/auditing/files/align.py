"""Alignment of a release's rows with the table's, by order or by a key column."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from isinglass.auditing.notes import AuditNote, Kind, OwnersFile
from isinglass.errors import AuditError
from isinglass.memory import available_bytes, format_bytes
from isinglass.progress import Progress
from isinglass.table.batches import prefetch
from isinglass.table.columns import as_float64, is_numeric
from isinglass.table.prepare import Source

Array = NDArray[Any]
Rows = NDArray[np.intp]
#: Numbers in text beyond it are none: their squares are not to be computed.
LARGEST = 1e150
#: Texts of no more different values are told apart by a column for each.
_MOST_CATEGORIES = 64


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file's numbers in memory, and the columns read beside them."""

    name: str
    X: Array = field(repr=False)
    beside: pa.Table = field(repr=False)
    #: Their numbers in the file, where rows were left out or moved; None: as they stand.
    numbers: Rows | None = field(default=None, repr=False)

    def take(self, rows: Rows) -> Loaded:
        numbers = rows if self.numbers is None else self.numbers[rows]
        return Loaded(self.name, self.X[rows], self.beside.take(pa.array(rows)), numbers)

    def number(self, row: int) -> int:
        """The number in the file of a row here."""
        return row if self.numbers is None else int(self.numbers[row])


def load(source: Source, tell: Progress, stage: str, *, with_holes: bool = False) -> Loaded:
    """Read a whole file; an audit compares every row with every other, so it holds them all.

    Missing numbers are settled as the source says, or are NaN.
    """
    table = source.table
    width = source.n_columns * np.dtype(source.dtype).itemsize
    # Once as blocks and once as the whole they are joined to.
    if table.n_rows is not None and 2 * width * table.n_rows > available_bytes():
        raise AuditError(
            f"{table.name} takes about {format_bytes(2 * width * table.n_rows)} of memory, more "
            "than there is; audit a release of fewer rows made in the same way"
        )
    blocks, beside, numbers, done = [], [], [], 0
    for block in prefetch(source.blocks(with_holes=with_holes)):
        blocks.append(np.ascontiguousarray(block.X))
        beside.append(block.kept)
        if source.missing == "drop":
            numbers.append(block.numbers())
        done += len(block.X)
        tell(stage, done, table.n_rows)
    if not done:
        raise AuditError(f"{table.name} has no row that could be compared")
    names = list(source.columns.kept)
    together = pa.Table.from_batches(beside).combine_chunks() if names else pa.table({})
    left = np.concatenate(numbers) if numbers else None
    return Loaded(table.name, np.concatenate(blocks), together, left)


def match(table: Loaded, release: Loaded, column: str) -> tuple[Rows, Rows]:
    """Rows of both that hold the same identifier, in the table's order."""
    mine, theirs = table.beside.column(column), release.beside.column(column)
    both_numbers = is_numeric(mine.type) and is_numeric(theirs.type)
    whole = pa.types.is_integer(mine.type) and pa.types.is_integer(theirs.type)
    kind = pa.int64() if whole else pa.float64() if both_numbers else pa.string()
    try:
        mine, theirs = (_cast(ids, kind).combine_chunks() for ids in (mine, theirs))
    except pa.ArrowException:
        raise AuditError(
            f"column {column} holds values by which rows cannot be matched; use numbers or text"
        ) from None
    for name, ids in ((table.name, mine), (release.name, theirs)):
        known = ids.drop_null()
        extra = len(known) - len(known.unique())
        if extra:
            raise AuditError(
                f"{name}, column {column}: {extra:,} rows repeat an identifier of another row; "
                "each must stand once"
            )
    places = pc.index_in(mine, value_set=theirs.drop_null())
    # `drop_null` moved the rows behind a missing identifier up.
    behind, found = _valid(theirs), _valid(places)
    if not len(found):
        raise AuditError(
            f"no identifier in column {column} of {release.name} is in {table.name} too"
        )
    return found, behind[places.to_numpy(zero_copy_only=False)[found].astype(np.intp)]


def _valid(column: pa.Array) -> Rows:
    return np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return as_float64(column) if pa.types.is_floating(kind) else column.cast(kind, safe=False)


def undo(release: Loaded, order: Rows) -> Loaded:
    """A shuffled release in its table's order; `order[i]` is the table's row at place i."""
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return release.take(back)


def other_length(table: Loaded, release: Loaded) -> AuditNote | None:
    """What to tell about rows that cannot be matched by order; None where they are as many."""
    if len(table.X) == len(release.X):
        return None
    return AuditNote.of(
        Kind.OTHER_LENGTH,
        table=OwnersFile(Path(table.name).name),
        n_table=len(table.X),
        release=Path(release.name).name,
        n_release=len(release.X),
    )


@dataclass(frozen=True, slots=True)
class KeptColumn:
    """One column that left as it was: of the released rows, and of the table's own."""

    released: Array = field(repr=False)
    own: Array = field(repr=False)
    is_category: bool  # numbers are codes
    #: The texts of codes, or the unit of numbers that count time since 1970.
    meaning: Array | str | None = field(default=None, repr=False)


def as_kept(released: pa.ChunkedArray, own: pa.ChunkedArray) -> KeptColumn | None:
    """A kept column as an attacker would use it: numbers, times, or codes of categories.

    Codes are the same on both sides. None where values cannot be compared at all.
    """
    first, second = as_numbers(released), as_numbers(own)
    if first is not None and second is not None:
        return KeptColumn(first, second, is_category=False, meaning=_unit(released, own))
    try:
        mine, theirs = (
            column.cast(pa.string()).fill_null("").to_numpy().astype(str)
            for column in (released, own)
        )
    except (pa.ArrowException, ValueError):
        return None
    texts, places = np.unique(np.concatenate([mine, theirs]), return_inverse=True)
    codes = places.astype(np.float64)
    return KeptColumn(codes[: len(mine)], codes[len(mine) :], is_category=True, meaning=texts)


def other_spellings(
    released: pa.ChunkedArray, own: pa.ChunkedArray, read: KeptColumn
) -> KeptColumn | None:
    """What reading a kept column took together: which of the values of one number stands there.

    A missing value is read as the mean, 1 and 01 as one number, whole numbers beyond 2**53 as the
    nearest float64. None where every number has one spelling, or values cannot be compared.
    """
    try:
        sides = (released.cast(own.type), own)
        written = [
            np.array([v if v is None else f"={v}" for v in side.cast(pa.string()).to_pylist()])
            for side in sides
        ]
    except (pa.ArrowException, ValueError):
        return None
    texts = np.concatenate(written).astype(str)  # of a missing value None, without the sign
    numbers = np.concatenate([read.released, read.own])
    _, place = np.unique(texts, return_inverse=True)
    pairs, pair_of = np.unique(np.column_stack([numbers, place]), axis=0, return_inverse=True)
    first = np.searchsorted(pairs[:, 0], pairs[:, 0])  # of the pairs with the same number
    rank = (np.arange(len(pairs)) - first)[pair_of.ravel()].astype(np.float64)
    if not rank.any():
        return None
    meaning = np.arange(int(rank.max()) + 1).astype(str)
    n = len(read.released)
    return KeptColumn(rank[:n], rank[n:], is_category=True, meaning=meaning)


def _unit(released: pa.ChunkedArray, own: pa.ChunkedArray) -> str | None:
    """The unit in which both columns count days or moments since 1970; None where they do not."""
    kind = released.type
    if kind != own.type:
        return None
    if pa.types.is_timestamp(kind):
        return str(kind.unit)
    return {pa.date32(): "D", pa.date64(): "ms"}.get(kind)


def flattened(column: pa.ChunkedArray) -> Array | None:
    """Any column as numbers, one or several a row; None where nobody can read it.

    Lists of as many numbers in every row are columns of their own; text is codes, and a mark for
    each of a few values.
    """
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        try:
            values = np.array(column.to_pylist(), dtype=np.float64)
        except (TypeError, ValueError):
            return None
        return values if values.ndim == 2 and np.isfinite(values).all() else None
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return None
    marks = indicators(column)
    if marks is not None:
        return marks
    read = as_kept(column, column)
    return None if read is None else read.released[:, np.newaxis]


def indicators(column: pa.ChunkedArray) -> Array | None:
    """Codes of a text of few values, and a mark for each of them; None for other columns.

    The order of the alphabet is no order of what the texts stand for; marks have none.
    """
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        return None
    read = as_kept(column, column)
    if read is None or not read.is_category:
        return None
    values = np.unique(read.released)
    if not 2 < len(values) <= _MOST_CATEGORIES:
        return None
    codes = read.released[:, np.newaxis]
    return np.column_stack([codes, (codes == values).astype(np.float64)])


def as_numbers(column: pa.ChunkedArray) -> Array | None:
    """Numbers, times, or numbers written as text; None for any other text."""
    kind = column.type
    try:
        if pa.types.is_temporal(kind):
            column = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())
        if is_numeric(column.type):
            values = as_float64(column).to_numpy().astype(np.float64)
            known = np.isfinite(values)
            return np.where(known, values, values[known].mean() if known.any() else 0.0)
        written = column.cast(pa.string()).fill_null("").to_numpy().astype(str).astype(np.float64)
        return np.asarray(written) if (np.abs(written) < LARGEST).all() else None
    except (pa.ArrowException, ValueError):
        return None


def as_labels(loaded: Loaded, column: str) -> Array:
    """A column of zeros and ones."""
    values = loaded.beside.column(column)
    if is_numeric(values.type) and not values.null_count:
        numbers = as_float64(values).to_numpy()
        if np.isin(numbers, (0, 1)).all():
            return np.asarray(numbers, dtype=np.int64)
    raise AuditError(f"{loaded.name}, column {column} must hold 0 or 1 in every row to be a label")
