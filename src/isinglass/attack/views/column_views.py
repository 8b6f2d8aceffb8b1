"""Views of columns: two put together, and columns of two values read by their odds."""

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
#: How far the variance may be from that of two values, as a share; and means of a choice from 1.
_NEAR, _ONE = 0.02, 0.01


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


def two_values_read(Z: Array, known: ColumnStatistics) -> Array:
    """The mean of each value given its noisy one, where a column has two values only.

    That its variance is (mean - low) (high - mean) says so. Neighboring columns of 0 and 1 whose
    means add up to 1 are one choice, read together. Other columns stay as they are.
    """
    if Z.shape[1] != len(known.mean):
        return Z
    low, span = known.low, known.high - known.low
    share = np.where(span > 0, (known.mean - low) / np.where(span > 0, span, 1.0), 0.0)
    variance = np.square(known.deviation)
    two = (span > 0) & (np.abs(variance - span**2 * share * (1 - share)) < _NEAR * variance)
    noise = Z.var(axis=0) - variance
    two &= noise > 1e-9 * variance
    if not two.any():
        return Z
    found = np.array(Z, dtype=np.float64)
    # Logarithm of how much likelier the high value makes what was released.
    evidence = ((Z - low) * span - span**2 / 2) / np.where(noise > 0, noise, 1.0)
    for columns in _choices(share, two & (low == 0) & (span == 1)):
        odds = np.log(np.maximum(share[columns], 1e-12)) + evidence[:, columns]
        weights = np.exp(odds - odds.max(axis=1, keepdims=True))
        found[:, columns] = weights / weights.sum(axis=1, keepdims=True)
        two[columns] = False
    for j in np.flatnonzero(two):
        odds = np.log(share[j] / (1 - share[j])) + evidence[:, j]
        found[:, j] = low[j] + span[j] / (1 + np.exp(-np.clip(odds, -700.0, 700.0)))
    return found


def _choices(share: Array, possible: Array) -> list[Array]:
    """Runs of columns whose means add up to one, the longest first."""
    found, start = [], 0
    while start < len(share):
        total, stop = 0.0, start
        while stop < len(share) and possible[stop] and total + share[stop] < 1 + _ONE:
            total += share[stop]
            stop += 1
        if stop - start > 2 and abs(total - 1) < _ONE:
            found.append(np.arange(start, stop))
            start = stop
        else:
            start += 1
    return found
