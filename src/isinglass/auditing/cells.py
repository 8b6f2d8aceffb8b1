"""Share of released cells that hold the record's own value, beyond chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.auditing.chance_tables import fresh_copy, shuffled_columns
from isinglass.auditing.scoring import over_baseline

Array = NDArray[Any]

_MOST_ROWS = 5_000
_SOUGHT = (50, 300)  # released rows that are looked for among the records, at least and at most
_MOST_PAIRS = 1 << 29  # values compared when looking for them
_ERRORS = 4.0  # standard errors that chance is granted
#: A column shares enough values with the table's to be compared with it.
_SHARED = 0.05


def unchanged_cells(
    table: Array, released: Array, rows_correspond: bool | None, rng: np.random.Generator
) -> float:
    """Share of cells that left as they were; both ways where nobody said whose row is whose."""
    found = [] if rows_correspond else [exact_cells_anywhere(table, released, rng)]
    if rows_correspond is not False:
        found.append(exact_cells(table, released, rng))
    return max(found)


def exact_cells(table: Array, released: Array, rng: np.random.Generator) -> float:
    """Share of the table's cells that stand unchanged in the row of the same number.

    In whichever released column holds most of them; what rows in any order would hold is chance.
    """
    rows = rng.permutation(len(table))[:_MOST_ROWS]
    X, Z = _single(table[rows]), _single(released[rows])
    X = X[:, np.ptp(X, axis=0) > 0]
    n, gains = len(rows), []
    for column in X.T:
        same = (Z == column[:, np.newaxis]).mean(axis=0)
        best = 0.0
        for c in np.flatnonzero(same > 0):
            luck = _by_chance(column, Z[:, c])
            luck = min(luck + _ERRORS * np.sqrt(luck * (1 - luck) / n), 1.0)
            best = max(best, float(over_baseline(same[c], luck)))
        gains.append(best)
    return float(np.mean(gains)) if gains else 0.0


def exact_cells_anywhere(table: Array, released: Array, rng: np.random.Generator) -> float:
    """Share of a row's cells that stand together in one record, where rows are in any order.

    Rows of shuffled columns, and fresh rows of the same values, agree with some record by chance.
    """
    X, Z = _single(table), _single(released[rng.permutation(len(released))[:_MOST_ROWS]])
    pairs = same_columns(X, Z)
    if len(pairs) < 2:
        return 0.0
    mine, theirs = (list(side) for side in zip(*pairs, strict=True))
    X, sought = X[:, mine], Z[:, theirs]
    blind = (shuffled_columns(sought, rng), fresh_copy(sought, rng))
    few, many = _SOUGHT
    rows = rng.permutation(len(Z))[: min(max(_MOST_PAIRS // X.size, few), many)]
    found, *luck = (_most_equal(m[rows], X) / table.shape[1] for m in (sought, *blind))
    lucky = max(float(m.mean() + _ERRORS * m.std() / np.sqrt(len(m))) for m in luck)
    return float(over_baseline(found.mean(), min(lucky, 1.0)))


def _single(m: Array) -> Array:
    """Other tools write single precision; what agrees in it is the same value."""
    return np.asarray(m, dtype=np.float32)


def _by_chance(a: Array, b: Array) -> float:
    """How often a value of one column equals one of another, in rows drawn at random."""
    (x, n_x), (z, n_z) = (np.unique(m, return_counts=True) for m in (a, b))
    _, i, j = np.intersect1d(x, z, assume_unique=True, return_indices=True)
    return float((n_x[i] / len(a)) @ (n_z[j] / len(b)))


def same_columns(X: Array, Z: Array) -> list[tuple[int, int]]:
    """For each column of the table the released one most of whose values are among its own."""
    some, found = Z[:: max(1, len(Z) // _MOST_ROWS)], []
    for j, column in enumerate(X.T):
        own = np.unique(column)
        near = own[np.minimum(np.searchsorted(own, some), len(own) - 1)]
        shares = (near == some).mean(axis=0)
        best = int(np.argmax(shares))
        if j < len(shares) and shares[j] >= 0.9 * shares[best]:
            best = j  # many columns share values such as whole numbers; its own comes first
        if len(own) > 1 and shares[best] >= _SHARED:
            found.append((j, best))
    return found


def _most_equal(rows: Array, records: Array) -> Array:
    """For each row the number of cells in which it agrees with the record most like it."""
    return np.array([(records == row).sum(axis=1).max() for row in rows], dtype=np.float64)
