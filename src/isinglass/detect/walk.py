"""The walk: from cheap bounds for all rows to exact scores of the few that may be strongest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.searcher import LOOK, QUERIES, Doubles, Rows, Searcher
from isinglass.progress import Progress, quiet

Array = NDArray[Any]

_FIRST = 32  # queries of the first round, which has no cutoff yet
_FURTHER = (LOOK, 4 * LOOK, 16 * LOOK)  # leaves that bound a row where boxes exclude little


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
    """
    top = Strongest(min(n, len(table.X)))
    bound = table.bounds()
    places = _highest(bound, largest(bound, 16 * n))
    _search(table, top, places[:_FIRST], bound)  # shows whether boxes exclude anything
    searched, places = places[:_FIRST], places[_FIRST:]
    if table.unprunable:
        table.refine(places, bound, LOOK)
        places = _highest(bound, places)
    for part in np.array_split(places[: 3 * n], 6 if table.unprunable else 3):
        _search(table, top, part, bound)
    left = bound >= _float32_below(top.cutoff)
    left[searched] = left[places[: 3 * n]] = False
    places = np.flatnonzero(left)
    if table.unprunable:
        for n_leaves in _FURTHER:  # dearer each time, for the few that are left
            table.refine(places, bound, n_leaves)
            places = places[bound[places] >= _float32_below(top.cutoff)]
    places = _highest(bound, places)
    a, size = 0, max(2 * n, 1024)
    while a < len(places) and bound[places[a]] >= _float32_below(top.cutoff):
        progress("searching", a, len(places))
        _search(table, top, places[a : a + size], bound)
        a, size = a + size, min(2 * size, QUERIES)
    return top


def _search(table: Searcher, top: Strongest, places: Rows, bound: NDArray[np.float32]) -> None:
    """Search those of some rows that may be among the strongest."""
    for a in range(0, len(places), QUERIES):
        part = places[a : a + QUERIES]
        rows = table.index.order[part].astype(np.int64) + table.first_row
        part = np.sort(part[top.may_hold(rows, bound[part])])
        found = table.own(part, top.cutoff)
        top.add(found.rows[found.done], found.scores[found.done])


def _highest(bound: NDArray[np.float32], places: Rows) -> Rows:
    """Places from the highest bound down."""
    falling: Rows = places[np.argsort(-bound[places], kind="stable")]
    return falling


def largest(values: Array, n: int) -> Rows:
    """Where the n largest values are."""
    if n >= len(values):
        return np.arange(len(values))
    return np.argpartition(values, len(values) - n)[len(values) - n :]


def _float32_below(value: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(np.nextafter(np.float32(value), np.float32(-np.inf)))
