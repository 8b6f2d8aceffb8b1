"""Enumeration of value combinations whose images lie near a released row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import MOST_LEVELS, few_combinations
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]
#: Rows, their combinations, and squared distances of the images in units of the map's error.
Found = tuple[Rows, Rows, Array]

#: Combinations that are listed one by one.
_MOST_LISTED = 2_000_000
#: Entries of the longer list; pairs of a row and an entry of the shorter one.
_LONG, _LOOKUPS = 1_000_000, 8_000_000
#: A tree is built of no more images; it gives so many neighbors of a row.
_TREE, _NEIGHBORS = 1_100_000, 128
#: Candidates a row, on average over the first rows, from which a tree is faster than a window.
_CANDIDATES, _TRIED_ROWS = 1_000, 20
#: Images farther off than so many errors of the map are not those of the row.
RADIUS = 10.0
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Levels:
    """The values of each column, and the logarithm of how common each of them is."""

    values: tuple[Array, ...] = field(repr=False)
    logs: tuple[Array, ...] = field(repr=False)

    @classmethod
    def of(cls, records: Array, low: Array | None = None, high: Array | None = None) -> Levels:
        """The values that records have; of whole numbers, all between the bounds known.

        An `AttackError` where columns have too many values.
        """
        seen = [np.unique(column) for column in records.T]
        if not few_combinations(seen):
            raise AttackError("decoding needs columns of few values, and these have many")
        if low is not None and high is not None:
            ends = zip(seen, low, high, strict=True)
            filled = [_filled(values, float(a), float(b)) for values, a, b in ends]
            seen = filled if few_combinations(filled) else seen
        logs = []
        for values, column in zip(seen, records.T, strict=True):
            # Half a record more of each, as a value that was not seen is not impossible.
            counts = 0.5 + np.bincount(np.searchsorted(values, column), minlength=len(values))
            logs.append(np.log(counts / counts.sum()))
        return cls(tuple(seen), tuple(logs))

    def among(self, records: Array) -> Levels:
        """The same without values that none of these records has."""
        kept = [np.isin(v, column) for v, column in zip(self.values, records.T, strict=True)]
        return Levels(
            tuple(v[k] for v, k in zip(self.values, kept, strict=True)),
            tuple(v[k] for v, k in zip(self.logs, kept, strict=True)),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.values))

    @property
    def can_be_listed(self) -> bool:
        """Whether there are few enough combinations to list them one by one."""
        return prod(self.shape) <= _MOST_LISTED

    def records(self, numbers: Array) -> Array:
        """The combinations of these numbers, the last column's value changing first."""
        places = np.unravel_index(numbers, self.shape)
        return np.column_stack([v[i] for v, i in zip(self.values, places, strict=True)])

    def common(self, numbers: Array) -> Array:
        """The logarithm of how common combinations are if columns are independent."""
        places = np.unravel_index(numbers, self.shape)
        return np.asarray(sum(v[i] for v, i in zip(self.logs, places, strict=True)))


def _filled(values: Array, low: float, high: float) -> Array:
    """All whole numbers of the range, where the values seen are whole."""
    whole = bool((values == np.round(values)).all()) and low == round(low)
    if not whole or low > values[0] or high < values[-1] or high - low >= MOST_LEVELS:
        return values
    return np.arange(low, high + 1.0)


@dataclass(frozen=True)
class Images:
    """Images of all combinations in units of the map's error: each left one plus each right one.

    Where a map adds up what each column contributes, two short lists stand for all combinations.
    """

    left: Array = field(repr=False)
    right: Array = field(repr=False)

    @classmethod
    def added(cls, contributions: list[Array]) -> Images:
        """Of a map that is a sum of columns' contributions, one for each level."""
        first, width = _split([len(c) for c in contributions]), contributions[0].shape[1]
        return cls(_sums(contributions[:first], width), _sums(contributions[first:], width))

    @classmethod
    def listed(cls, levels: Levels, image: Callable[[Array], Array]) -> Images:
        """Of any map, by trying all combinations."""
        n = prod(levels.shape)
        step = _BLOCK // 16
        parts = [image(levels.records(np.arange(i, min(i + step, n)))) for i in range(0, n, step)]
        right = np.vstack(parts)
        return cls(np.zeros((1, right.shape[1])), right)

    def near(self, seen: Array) -> Iterator[Found]:
        """For blocks of rows: rows and combinations whose images lie within the radius.

        None at all where so many lie there that looking at them takes too long.
        """
        line = _Line.through(self, seen)
        if line.per_row(seen[:_TRIED_ROWS]) <= _CANDIDATES:
            step = max(1, _BLOCK // (4 * len(self.left)))
            step = min(step, max(1, _BLOCK // _CANDIDATES))
            for start in range(0, len(seen), step):
                rows, numbers, off = line.within(seen[start : start + step])
                yield start + rows, numbers, off
        elif len(self.left) * len(self.right) <= _TREE:
            yield self._by_tree(seen)

    def _by_tree(self, seen: Array) -> Found:
        from scipy.spatial import cKDTree

        images = (self.left[:, np.newaxis] + self.right).reshape(-1, seen.shape[1])
        # Combinations with the same image would make a balanced tree slow to build.
        tree = cKDTree(images, balanced_tree=False, compact_nodes=False)
        k = min(_NEIGHBORS, len(images))
        off, numbers = tree.query(seen, k=np.arange(1, k + 1), distance_upper_bound=RADIUS)
        rows, places = np.nonzero(np.isfinite(off))
        return rows, numbers[rows, places].astype(np.intp), np.square(off[rows, places])


@dataclass(frozen=True)
class _Line:
    """Images along one direction, sorted, so that near ones are found by bisection."""

    images: Images
    direction: Array
    order: Rows
    sorted: Array
    left: Array

    @classmethod
    def through(cls, images: Images, seen: Array) -> _Line:
        # A direction that is no released column's: many records may agree in one of these.
        weights = np.sqrt(np.arange(2.0, 2.0 + seen.shape[1])) * (seen.std(axis=0) + 1e-300)
        direction = weights / np.sqrt(np.square(weights).sum())
        right = images.right @ direction
        order = np.argsort(right)
        return cls(images, direction, order, right[order], images.left @ direction)

    def _windows(self, rows: Array) -> tuple[Array, Array]:
        middle = ((rows @ self.direction)[:, np.newaxis] - self.left).ravel()
        first = np.searchsorted(self.sorted, middle - RADIUS, "left")
        return first, np.searchsorted(self.sorted, middle + RADIUS, "right") - first

    def per_row(self, rows: Array) -> float:
        """How many images a window of a row holds, on average."""
        return float(self._windows(rows)[1].sum() / len(rows))

    def within(self, rows: Array) -> Found:
        first, counts = self._windows(rows)
        queries = np.repeat(np.arange(len(counts)), counts)
        ahead = np.arange(len(queries)) - np.repeat(np.cumsum(counts) - counts, counts)
        right = self.order[first[queries] + ahead]
        row, left = np.divmod(queries, len(self.left))
        away = rows[row] - self.images.left[left] - self.images.right[right]
        off = np.square(away).sum(axis=1)
        near = off <= RADIUS**2
        return row[near], (left * len(self.order) + right)[near], off[near]


def check_work(levels: Levels, n_rows: int, *, additive: bool) -> None:
    """Raise an `AttackError` if looking through all combinations would take too long."""
    shape = levels.shape
    lookups = prod(shape[: _split(shape)]) * n_rows
    if (lookups > _LOOKUPS) if additive else not levels.can_be_listed:
        raise AttackError("decoding would have to look through too many combinations")


def _split(sizes: Sequence[int]) -> int:
    """The first column of the longer list, which is as long as it may be."""
    return next(j for j in range(len(sizes) + 1) if prod(sizes[j:]) <= _LONG)


def _sums(contributions: list[Array], width: int) -> Array:
    """All sums of one contribution of each column; the last column's changes first."""
    total = np.zeros((1, width))
    for each in contributions:
        total = (total[:, np.newaxis] + each).reshape(-1, width)
    return total
