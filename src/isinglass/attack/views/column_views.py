"""Views that combine columns: sums, differences, products of two released columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics

Array = NDArray[Any]
Turn = Callable[[Array, ColumnStatistics], Array]

#: Whole numbers beyond this are not exact in a float.
_WHOLE = 2.0**53


def shares(n_columns: int) -> Iterator[tuple[str, Turn]]:
    """Ways to put a value together of two columns: neighbors, or half of the columns apart."""
    if n_columns % 2 or n_columns < 2:
        return
    for where, apart in (("neighboring columns", False), ("columns half a row apart", True)):
        for name, operation in _OPERATIONS.items():
            yield f"{name} of {where}", _of_two(operation, apart=apart)


def _of_two(operation: Callable[[Array, Array], Array], *, apart: bool) -> Turn:
    def turn(Z: Array, known: ColumnStatistics) -> Array:
        half = Z.shape[1] // 2
        first, second = (Z[:, :half], Z[:, half:]) if apart else (Z[:, ::2], Z[:, 1::2])
        return np.asarray(operation(first, second))

    return turn


def _quotients(a: Array, b: Array) -> Array:
    return np.asarray(a / np.where(b != 0, b, 1.0))


def _bits_that_differ(a: Array, b: Array) -> Array:
    whole = (np.abs(a) < _WHOLE) & (np.abs(b) < _WHOLE)
    one, other = (np.where(whole, m, 0.0).astype(np.int64) for m in (a, b))
    return (one ^ other).astype(np.float64)


_OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "sums": np.add,
    "differences": np.subtract,
    "products": np.multiply,
    "quotients": _quotients,
    "differing bits": _bits_that_differ,
}


def without_partners(Z: Array, known: ColumnStatistics) -> Array:
    """Columns put together with the one that is most like them, or most opposed to them.

    Two columns that strong noise makes alike give up what they differ by.
    """
    d = Z.shape[1]
    if d < 2:
        return Z
    centered = Z - Z.mean(axis=0)
    size = np.sqrt(np.square(centered).sum(axis=0))
    unit = centered / np.where(size > 0, size, 1.0)
    alike = unit.T @ unit
    np.fill_diagonal(alike, 0.0)
    partner = np.abs(alike).argmax(axis=1)
    pairs = [(i, int(j)) for i, j in enumerate(partner) if i < j and partner[j] == i]
    if not pairs:
        return Z
    return np.column_stack([Z[:, i] - np.sign(alike[i, j]) * Z[:, j] for i, j in pairs])


def shares_beside() -> Iterator[tuple[str, Callable[[Array], Turn]]]:
    """The same where the other share left beside the release, and is given with its rows."""
    for name, operation in _OPERATIONS.items():
        yield f"{name} with what left beside", _with(operation)


def _with(operation: Callable[[Array, Array], Array]) -> Callable[[Array], Turn]:
    def made_of(other: Array) -> Turn:
        return lambda Z, known: np.asarray(operation(Z, other))

    return made_of


def without_group_means(groups: Array) -> Turn:
    """Rows less the mean of all that agree in some column, which may have one noise in common."""
    _, where = np.unique(groups, return_inverse=True)
    where = where.reshape(-1)
    count = np.bincount(where)[where][:, np.newaxis]

    def turn(Z: Array, known: ColumnStatistics) -> Array:
        sums = np.stack([np.bincount(where, column) for column in Z.T], axis=1)
        found = Z - sums[where] / count
        return np.asarray(found + known.mean if Z.shape[1] == len(known.mean) else found)

    return turn
