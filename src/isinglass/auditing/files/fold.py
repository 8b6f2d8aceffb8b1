"""Folding of releases with several rows per record into one row per record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass.attack.views.row_transforms import from_frequencies, is_power_of_two, signs
from isinglass.auditing.files.align import Loaded, Rows, flattened
from isinglass.auditing.files.dependence import dependence
from isinglass.auditing.files.row_order import reshapes
from isinglass.auditing.notes import AuditNote, Kind

Array = NDArray[Any]

#: Columns that a transposed table may have before those of its records, as a number for each row.
_MOST_BEFORE = 2


@dataclass(frozen=True, slots=True)
class Folded:
    """A release with one row a record, further numbers of the same rows, and what was done."""

    release: Loaded
    others: tuple[Array, ...] = field(repr=False)
    note: AuditNote


def fold(table: Array, release: Loaded) -> Folded | None:
    """The way to fold a release in which its rows depend on the records most.

    None where its size allows none, or where rows depend on records no more than by chance.
    """
    best, found = 1.0, None
    for folded in _ways(len(table), table.shape[1], release):
        strength = dependence(table, np.column_stack([folded.release.X, *folded.others]))
        if strength > best or (found is None and strength >= best):
            best, found = strength, folded
    return found


def _ways(n: int, d: int, release: Loaded) -> Iterator[Folded]:
    n_rows, n_columns = release.X.shape
    if n_rows != n and n <= n_columns <= n + _MOST_BEFORE:
        note = AuditNote.of(Kind.TRANSPOSED)
        turned = np.ascontiguousarray(release.X[:, n_columns - n :].T)
        yield Folded(Loaded(release.name, turned, pa.table({})), (), note)
    if n_rows != n and release.X.size == n * d:
        note = AuditNote.of(Kind.OTHER_SHAPE)
        for numbers in reshapes((n, d), release.X):
            yield Folded(Loaded(release.name, numbers, pa.table({})), (), note)
    for numbers in _transformed(n, d, release.X):
        note = AuditNote.of(Kind.ROWS_TRANSFORMED)
        yield Folded(Loaded(release.name, numbers, pa.table({})), (), note)
    k, over = divmod(n_rows, n)
    if over or k < 2:
        return
    for places in _places(n, k, release.X):
        yield _folded(places, d, release)


def _transformed(n: int, d: int, Z: Array) -> Iterator[Array]:
    """Rows before a transform along them that takes, or makes, another number of rows."""
    if len(Z) == n // 2 + 1 and Z.shape[1] == 2 * d:
        yield from_frequencies(Z[:, :d], Z[:, d:], n)
        yield from_frequencies(Z[:, ::2], Z[:, 1::2], n)
    if is_power_of_two(len(Z)) and len(Z) // 2 < n < len(Z):
        yield signs(Z)[:n]  # filled up with zeros before


def _places(n: int, k: int, Z: Array) -> Iterator[Rows]:
    """The k rows of each record: one below the other, whole tables so, or told by a column."""
    everything = np.arange(n * k)
    yield everything.reshape(k, n).T
    yield everything.reshape(n, k)
    distinct = [np.unique(column, return_counts=True)[1] for column in Z.T]
    within = [j for j, counts in enumerate(distinct) if len(counts) == k and (counts == n).all()]
    for j, counts in enumerate(distinct):
        if len(counts) == n and (counts == k).all():
            # Rows of a record, by a column that numbers them where there is one.
            order = np.lexsort((*(Z[:, i] for i in within), Z[:, j]))
            yield order.reshape(n, k)


def _folded(places: Rows, d: int, release: Loaded) -> Folded:
    n, k = places.shape
    blocks = release.X[places]  # record, copy, column
    varies = np.ptp(blocks, axis=0).max(axis=0) > 0
    once = (np.ptp(blocks, axis=1) == 0).all(axis=0)  # the same in all rows of a record
    several = blocks[:, :, varies & ~once]
    same = blocks[:, 0, varies & once]
    # A column that numbers the records tells no more than their order does.
    same = same[:, ~(np.diff(same, axis=0) == 1).all(axis=0)]
    if several.shape[2] >= d:
        first, others = several[:, 0], [several[:, i] for i in range(1, k)]
        note = AuditNote.of(Kind.SEVERAL_ROWS_TOGETHER, n=k)
    else:
        first, others = several.transpose(0, 2, 1).reshape(n, -1), []
        note = AuditNote.of(Kind.SEVERAL_ROWS_AS_ONE, n=k)
    if not first.shape[1]:
        first, same = same, same[:, :0]
    others += [same] if same.size else []
    beside = release.beside.take(pa.array(places[:, 0]))
    for name in release.beside.column_names:
        read = flattened(release.beside.column(name))
        if read is not None:
            more = read[places[:, 1:]].reshape(n, -1)
            more = more[:, np.ptp(more, axis=0) > 0]
            others += [more] if more.size else []
    if not first.shape[1]:
        first = release.X[places[:, 0]]
    return Folded(Loaded(release.name, first, beside), tuple(others), note)
