"""Columns of row numbers (lists of near rows) read as a graph, and its slow vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics

Array = NDArray[Any]

#: Vectors that are taken, at most; beyond so many rows they are found by smoothing random ones.
_VECTORS, _EXACT_ROWS = 30, 5_000
_SMOOTHINGS, _BETWEEN = 60, 6
#: Rows of which a file must have more, and share of them that its row numbers must name.
_FEWEST, _NAMED = 20, 0.25
#: The fastest vector counts that much less than the slowest.
_SLOWEST_TO_FASTEST = 5.0


def row_numbers(Z: Array) -> NDArray[np.intp] | None:
    """The columns that hold numbers of rows, counted from 0; None where no column does."""
    n = len(Z)
    if n <= _FEWEST:
        return None
    first = Z[: min(n, 64)]
    some = np.flatnonzero(((first == np.round(first)) & (first >= 0) & (first <= n)).all(axis=0))
    some = some[[_names_rows(Z[:, j]) for j in some]] if len(some) else some
    if not len(some):
        return None
    found = Z[:, some].astype(np.intp)
    own = np.arange(n)[:, np.newaxis]
    # Rows seldom name themselves, and there is none of number n.
    named, named_from_one = (found == own).sum(), (found - 1 == own).sum()
    from_one = found.max() == n or (found.min() > 0 and named > named_from_one)
    return np.asarray(found - 1 if from_one else found)


def _names_rows(column: Array) -> bool:
    n = len(column)
    if not ((column == np.round(column)) & (column >= 0) & (column <= n)).all():
        return False
    if column.min() == 0 and column.max() == n:
        return False  # neither counted from 0 nor from 1
    named = np.unique(column)
    # One that names each row once is an order; a label names a few only.
    return bool(_NAMED * n <= len(named) < n)


def slow_vectors(Z: Array, known: ColumnStatistics) -> Array:
    """Functions on rows that change least from a row to those it names.

    They are the eigenvectors of a random walk on the graph that are the slowest to die out, the
    slower the larger. Z itself where no column names rows.
    """
    numbers = row_numbers(Z)
    if numbers is None:
        return Z
    from scipy.sparse import csr_array

    n, k = numbers.shape
    rows = np.repeat(np.arange(n), k)
    names = csr_array((np.ones(n * k), (rows, numbers.ravel())), shape=(n, n))
    names.data[:] = 1.0
    both = names.maximum(names.T)
    size = np.sqrt(np.maximum(np.asarray(both.sum(axis=1)).ravel(), 1.0))
    walk = both.multiply(1.0 / size[:, np.newaxis]).multiply(1.0 / size[np.newaxis, :]).tocsr()
    most = min(_VECTORS, max(1, n // 10))
    values, vectors = _slowest(walk, most)
    vectors = vectors / size[:, np.newaxis]
    vectors = vectors / np.maximum(vectors.std(axis=0), 1e-300)
    # As if slow functions were the likelier ones: by a walk that stops now and then.
    weight = 1.0 / np.sqrt(np.maximum(1.0 - values, 0.0) + 0.05)
    weight = np.maximum(weight / weight.max(), 1.0 / _SLOWEST_TO_FASTEST)
    varies = np.ptp(vectors, axis=0) > 1e-9
    return np.asarray((vectors * weight)[:, varies]) if varies.any() else Z


def _slowest(walk: Any, most: int) -> tuple[Array, Array]:
    """The largest eigenvalues and their vectors, or nearly so where rows are many."""
    n, rng = walk.shape[0], np.random.default_rng(0)
    if n <= _EXACT_ROWS:
        from scipy.sparse.linalg import eigsh

        values, vectors = eigsh(walk, k=most, which="LA", v0=rng.normal(size=n))
        return np.asarray(values), np.asarray(vectors)
    space = rng.normal(size=(n, most + 2))
    for step in range(_SMOOTHINGS):
        space = (space + walk @ space) / 2
        if step % _BETWEEN == _BETWEEN - 1:
            space, _ = np.linalg.qr(space)
    values, turn = np.linalg.eigh(space.T @ (walk @ space))
    return values[-most:], np.asarray(space @ turn[:, -most:])
