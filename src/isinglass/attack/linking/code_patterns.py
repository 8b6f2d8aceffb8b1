"""Features of coded tables: which cells are equal, and how often a value occurs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Rounds after which colors hardly ever tell more.
ROUNDS = 5
#: Columns whose counts are compared with those of all others; a table this wide keeps its order.
_MOST_MATCHED = 200
#: Fewer values than this share that come back tell next to nothing.
_REPEATED = 0.002


def counts_of(column: Array) -> tuple[Array, Array]:
    """The number of each cell's value, from 0, and how often each value occurs."""
    _, where, counts = np.unique(column, return_inverse=True, return_counts=True)
    return where.reshape(-1), counts


def has_patterns(table: Array) -> bool:
    """Whether values come back in some column, and not in a few rows by the rounding of floats."""
    return any(len(np.unique(column)) < (1 - _REPEATED) * len(table) for column in table.T)


def same_columns(released: Array, table: Array) -> Rows:
    """For each column of the table the released one whose values occur as often; -1: none left.

    Codes keep how often a value occurs, so the sorted counts of a column and of its codes agree.
    """
    from scipy.optimize import linear_sum_assignment

    d, p = table.shape[1], released.shape[1]
    if d == p and d > _MOST_MATCHED:
        return np.arange(d)
    sizes = 2 ** np.arange(int(np.log2(max(len(table), len(released), 2))) + 1)
    ours, theirs = (_profiles(m, sizes) for m in (table, released))
    cost = np.abs(ours[:, np.newaxis] - theirs).sum(axis=2)
    # Of columns that look alike the one in the same place is the better guess.
    cost += 1e-9 * (np.arange(d)[:, np.newaxis] != np.arange(p))
    found = np.full(d, -1, dtype=np.intp)
    mine, other = linear_sum_assignment(cost)
    found[mine] = other
    return found


def _profiles(table: Array, sizes: Array) -> Array:
    """Shares of the rows that hold so many of the most frequent values of each column."""
    profiles = []
    for column in table.T:
        shares = np.sort(counts_of(column)[1])[::-1].cumsum() / len(table)
        profiles.append(shares[np.minimum(sizes, len(shares)) - 1])
    return np.asarray(profiles)


def row_colors(released: Array, table: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Colors of released rows and of records, round by round: (rounds, rows) each.

    Color refinement (Weisfeiler and Leman 1968): a row's color is those of its values, a value's
    color is how often it occurs, and then in rows of which colors. Codes change no color, so a
    row has the color of its record in every round, and later rounds tell more rows apart. The
    columns must correspond.
    """
    sides = (released, table)
    cells = [[counts_of(column) for column in side.T] for side in sides]
    # The first colors of values: how often they occur, as a share, in their column.
    of_values = [
        np.column_stack([counts[where] for where, counts in side]).astype(np.uint64)
        for side in cells
    ]
    rounds: tuple[list[Array], list[Array]] = ([], [])
    n_before = 0
    for _ in range(ROUNDS):
        # One number a row: sums of random multiples, of which two are hardly ever the same.
        weights = rng.integers(1, 2**63, size=released.shape[1], dtype=np.uint64)
        both = np.concatenate([(m * weights).sum(axis=1, dtype=np.uint64) for m in of_values])
        _, colors = np.unique(both, return_inverse=True)
        colors = colors.reshape(-1)
        for found, part in zip(
            rounds, (colors[: len(released)], colors[len(released) :]), strict=True
        ):
            found.append(part)
        n_colors = int(colors.max()) + 1
        if n_colors == n_before:
            break
        n_before = n_colors
        secret = rng.integers(1, 2**63, size=n_colors, dtype=np.uint64)
        of_values = [
            np.column_stack([_sums(secret[part[-1]], *cell) for cell in side])
            for part, side in zip(rounds, cells, strict=True)
        ]
    return np.stack(rounds[0]), np.stack(rounds[1])


def _sums(hashes: Array, where: Array, counts: Array) -> Array:
    """For each cell the sum, modulo 2^64, of the hashes of all rows that hold its value.

    Sums do not depend on the order of rows, and two sets of rows hardly ever share one.
    """
    order = np.argsort(where, kind="stable")
    starts = np.concatenate([[0], counts.cumsum()[:-1]])
    return np.asarray(np.add.reduceat(hashes[order], starts)[where])
