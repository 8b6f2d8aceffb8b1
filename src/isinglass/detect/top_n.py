"""Best-first search for the top n rows, from cheap bounds to exact scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.neighbor_index import QUERIES, Doubles, Rows, Searcher
from isinglass.kernels.leaves import FAN
from isinglass.progress import Progress, quiet

Array = NDArray[Any]

_AT_MOST = 2 * QUERIES  # of a round: the more of one leaf, the less often it comes from memory
_FIRST = 8  # queries of the first round, which has no cutoff yet
_SEEDS = 16  # times n: rows with the highest bounds, from which the first searches are chosen
# Where boxes exclude little, leaves that bound a row: first a few to choose seeds by, then more
# and more, dearer each time, for the few that are left. Up to a group, those beside it will do.
_FOR_SEEDS, _FOR_ALL = FAN, (8, 32, 128)


@dataclass(slots=True)
class Strongest:
    """The strongest rows so far: by score, then by row number."""

    n: int
    rows: Rows = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    scores: Doubles = field(default_factory=lambda: np.empty(0))

    def add(self, rows: Rows, scores: Doubles) -> None:
        rows, scores = np.concatenate([self.rows, rows]), np.concatenate([self.scores, scores])
        best = np.lexsort((rows, -scores))[: self.n]
        self.rows, self.scores = rows[best], scores[best]

    @property
    def cutoff(self) -> float:
        """A row below this score is not among them."""
        return float(self.scores[-1]) if len(self.scores) == self.n else -np.inf

    def may_hold(self, rows: Rows, bounds: Array) -> NDArray[np.bool_]:
        """Which rows could still be among the strongest, if they score no more than `bounds`."""
        if len(self.scores) < self.n:
            return np.ones(len(rows), dtype=bool)
        bounds = bounds.astype(np.float64)
        tied = (bounds == self.cutoff) & (rows < self.rows[-1])
        return np.asarray((bounds > self.cutoff) | tied)


def strongest(table: Searcher, n: int, *, progress: Progress = quiet) -> Strongest:
    """The `n` strongest rows of a table, exactly.

    Every row is bounded by its score within its leaf. Rows are searched from the highest bound
    down, a round at a time; the n-th best score so far is the cutoff. A search ends as soon as
    its row is known to be below it, and the walk as soon as the next bound is. Where boxes
    exclude little, bounds are refined first: a search is dear then, and a good cutoff spares many.
    At a cutoff of 0 row numbers decide, and the bounds of rows with enough copies become exact.
    """
    top = Strongest(min(n, len(table.X)))
    bound = table.bounds()
    seeds = _highest(bound, largest(bound, _SEEDS * n))
    _search(table, top, seeds[:_FIRST], bound)  # shows whether boxes exclude anything
    searched, seeds = seeds[:_FIRST], seeds[_FIRST:]
    if table.unprunable:
        table.refine(seeds, bound, _FOR_SEEDS)
        seeds = _highest(bound, seeds)[: 3 * n]
    cleared = False
    for part in _rounds(len(seeds), n, alike=3 * n):
        _search(table, top, seeds[part], bound)
        if top.cutoff == 0 and not cleared:
            table.clear_copies(bound)
            cleared = True
    left = bound >= _float32_below(top.cutoff)
    left[searched] = left[seeds] = False
    places = np.flatnonzero(left)
    for n_leaves in _FOR_ALL if table.unprunable else ():
        table.refine(places, bound, n_leaves)
        places = places[bound[places] >= _float32_below(top.cutoff)]
    places = _highest(bound, places)
    for part in _rounds(len(places), max(2 * n, 1024)):
        if bound[places[part.start]] < _float32_below(top.cutoff):
            break
        progress("searching", part.start, len(places))
        _search(table, top, places[part], bound)
    return top


def at_least(table: Searcher, score: float) -> Rows:
    """All rows of a table that score at least `score`, in ascending order."""
    if score <= 0:
        return np.arange(len(table.X)) + table.first_row
    bound = table.bounds()
    places = np.flatnonzero(bound >= _float32_below(score))
    for n_leaves in _FOR_ALL if table.unprunable else ():
        table.refine(places, bound, n_leaves)
        places = places[bound[places] >= _float32_below(score)]
    found = np.empty(0, dtype=np.int64)
    for part in _rounds(len(places), QUERIES):
        some = table.own(places[part], score)
        strong = some.done & (some.scores >= score)
        found = np.append(found, some.rows[strong])
    return np.sort(found)


def _rounds(n: int, size: int, *, alike: int = 0) -> Iterator[slice]:
    """Parts of range(n): the first `alike` of one size, then larger ones, as the cutoff settles."""
    a, size = 0, max(size, 1)
    while a < n:
        yield slice(a, min(a + size, n))
        a += size
        if a >= alike:
            size = min(2 * size, _AT_MOST)


def _search(table: Searcher, top: Strongest, places: Rows, bound: NDArray[np.float32]) -> None:
    """Search those of some rows that may be among the strongest."""
    places = np.sort(places)  # neighbors together
    for a in range(0, len(places), QUERIES):
        part = places[a : a + QUERIES]
        rows = table.index.order[part].astype(np.int64) + table.first_row
        part = part[top.may_hold(rows, bound[part])]
        found = table.own(part, top.cutoff)
        top.add(found.rows[found.done], found.scores[found.done])


def _highest(bound: NDArray[np.float32], places: Rows) -> Rows:
    """Places from the highest bound down."""
    falling: Rows = places[np.argsort(-bound[places])]
    return falling


def largest(values: Array, n: int) -> Rows:
    """Where the n largest values are."""
    if n >= len(values):
        return np.arange(len(values))
    return np.argpartition(values, len(values) - n)[len(values) - n :]


def _float32_below(value: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(np.nextafter(np.float32(value), np.float32(-np.inf)))
