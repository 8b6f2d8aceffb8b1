"""Outlier search in tables larger than memory, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.float32_proxy import RowSpace, ranges, refuse_unbounded, some_rows, space_of
from isinglass.detect.neighbor_index import Doubles, Rows, Searcher, SearchResult
from isinglass.detect.top_n import Strongest, largest
from isinglass.errors import TableError
from isinglass.progress import Progress, quiet

Array = NDArray[Any]


class Blocks(Protocol):
    """Rows of numbers that can be read more than once, in blocks, always the same."""

    name: str
    names: list[str]
    dtype: type[np.floating[Any]]
    discrete: list[int]  # columns that hold codes 0, 1, 2, …
    n_rows: int | None  # None where only reading tells

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Consecutive rows, laid out by rows, all finite."""
        ...

    def row_numbers(self, rows: Rows) -> Rows:
        """The numbers that rows of this stream have in the file."""
        ...


def row_bytes(n_columns: int, dtype: Any) -> int:
    """What a row needs in memory: itself, its stand-in, its place in a tile, and a little more."""
    return int(n_columns * (np.dtype(dtype).itemsize + 4 + 5) + 32)


def gather(rows: Blocks, most: int) -> Array | None:
    """All rows in one array, or None if there are more than `most`."""
    if rows.n_rows is not None:
        if rows.n_rows > most:
            return None
        X = np.empty((rows.n_rows, len(rows.names)), dtype=rows.dtype)
        n = 0
        for block in rows.blocks(_block_rows(rows, 32 << 20)):
            if n + len(block) > len(X):
                raise TableError(f"{rows.name} changed while it was read")
            X[n : n + len(block)] = block
            n += len(block)
        return X[:n]
    parts, n = [], 0
    for block in rows.blocks(_block_rows(rows, 32 << 20)):
        parts.append(block)
        n += len(block)
        if n > most:
            return None
    return np.concatenate(parts) if parts else np.empty((0, len(rows.names)), dtype=rows.dtype)


def _block_rows(rows: Blocks, size: int) -> int:
    return max(1, size // row_bytes(len(rows.names), rows.dtype))


def survey(
    rows: Blocks, max_rows: int, weights: Doubles | None, n_jobs: int | None
) -> tuple[int, RowSpace]:
    """Count the rows and choose how they are represented: one pass."""
    n, low, high, samples = 0, [], [], []
    for block in rows.blocks(max_rows):
        n += len(block)
        least, most = ranges(block, n_jobs)
        low.append(least)
        high.append(most)
        samples.append(some_rows(block))
    lowest, highest = np.min(low, axis=0), np.max(high, axis=0)
    refuse_unbounded(lowest, highest, rows.name)
    sample = np.concatenate(samples)
    space = space_of(lowest, highest, sample, weights=weights, discrete=rows.discrete)
    return n, space


def strongest_in_blocks(
    rows: Blocks,
    wanted: Callable[[int], int],
    k: int,
    kind: int,
    *,
    memory_limit: int,
    weights: Doubles | None = None,
    n_jobs: int | None = None,
    progress: Progress = quiet,
) -> tuple[Strongest, int]:
    """What `strongest` gives, in bounded memory, and the number of rows.

    `wanted` says how many rows to find among so many as there turn out to be.

    A first pass bounds every row by its score within a leaf of its own block. Then the rows of
    the highest bounds are gathered, as many as fit, and carried past all blocks; each is dropped
    as soon as it is below the cutoff. This goes on until no bound reaches the cutoff.
    """
    max_rows = _block_rows(rows, memory_limit // 2)
    n_rows, space = survey(rows, max_rows, weights, n_jobs)
    if n_rows == 1:
        return Strongest(1, np.zeros(1, dtype=np.int64), np.zeros(1)), 1
    n, k = wanted(n_rows), min(k, n_rows - 1)
    bounds = np.empty(n_rows, dtype=np.float32)
    first = 0
    for block in rows.blocks(max_rows):
        progress("bounding", first, n_rows)
        if first + len(block) > n_rows:
            break
        table = Searcher(block, space, k, kind, n_jobs=n_jobs, first_row=first)
        bound = table.bounds()
        table.clear_copies(bound)  # little beside the reading, and it may spare whole passes
        bounds[first : first + len(block)][table.index.order] = bound
        first += len(block)
        del table, block  # before the next is read
    if first != n_rows:
        raise TableError(f"{rows.name} changed while it was read")
    top = Strongest(min(n, n_rows))
    left = np.ones(n_rows, dtype=bool)
    carried = max(1, memory_limit // 4 // (space_bytes(space, k)))
    size = min(3 * n, carried)  # few at first: they are searched without a cutoff
    while True:
        places = np.flatnonzero(left)
        places = places[top.may_hold(places, bounds[places])]
        if not len(places):
            return top, n_rows
        places = np.sort(places[largest(bounds[places], size)])
        left[places] = False
        found = _carry(rows, places, space, k, kind, top.cutoff, max_rows, n_jobs, progress)
        top.add(found.rows[found.done], found.scores[found.done])
        size = carried


def space_bytes(space: RowSpace, k: int) -> int:
    """What a carried row needs."""
    return 8 * len(space.live) + 8 * len(space.columns) + 16 * k + 64


def _carry(
    rows: Blocks,
    places: Rows,
    space: RowSpace,
    k: int,
    kind: int,
    cutoff: float,
    max_rows: int,
    n_jobs: int | None,
    progress: Progress,
) -> SearchResult:
    """Search for the neighbors of some rows in all blocks, one after the other."""
    A = np.empty((len(places), len(rows.names)), dtype=rows.dtype)
    first = 0
    for block in rows.blocks(max_rows):
        here = slice(*np.searchsorted(places, [first, first + len(block)]))
        A[here] = block[places[here] - first]
        first += len(block)
    best = np.full((len(places), k), np.inf)
    scores = np.full(len(places), np.inf)
    alive = np.arange(len(places))
    n_rows, first, unprunable = first, 0, False
    for block in rows.blocks(max_rows):
        progress("searching", first, n_rows)
        table = Searcher(block, space, k, kind, n_jobs=n_jobs, first_row=first)
        table.unprunable = unprunable  # what one block showed holds for the next
        part = best[alive]
        found = table.anywhere(A[alive], cutoff, skip=places[alive], best=part)
        best[alive], scores[alive] = part, found.scores
        alive = alive[found.done]
        first, unprunable = first + len(block), table.unprunable
        del table, block
    done = np.zeros(len(places), dtype=bool)
    done[alive] = True
    return SearchResult(places, scores, done)
