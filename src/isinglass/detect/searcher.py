"""A table with its index: searches for the nearest rows, in the way that suits the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.space import Space, some_rows
from isinglass.kernels import leaves, nearest, sweep
from isinglass.threads import one_thread, spread

Array = NDArray[Any]
Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

QUERIES = 1 << 14  # searched at a time; they take memory, and the cutoff stands still meanwhile
_LEAF_ROWS = 64
_MANY = 0.2  # share of the leaves from which on it is faster to pass by all of them together
_PATIENCE = 128  # leaves that queries of one leaf visit together before they pass by everything
_BATCH = 32  # queries that visit leaves together
_BATCH_PRODUCT = 128  # queries and rows of one matrix product: it stays in the cache
_BLOCK = 1024
_ROWS = 16 * _BLOCK  # rows that are made ready for products at a time


@dataclass(frozen=True, slots=True)
class Found:
    """Scores of searched rows: exact where `done`, elsewhere only a bound."""

    rows: Rows
    scores: Doubles
    done: NDArray[np.bool_]


class Searcher:
    """A table, its index, and how its rows are scored."""

    def __init__(
        self,
        X: Array,
        space: Space,
        k: int,
        kind: int,
        *,
        n_jobs: int | None = None,
        first_row: int = 0,
    ) -> None:
        self.X, self.space, self.k, self.n_jobs = X, space, k, n_jobs
        self.first_row = first_row  # where the table begins in a larger one
        self.index = leaves.build(
            space.stand_ins(X, n_jobs=n_jobs),
            X,
            leaf_rows=max(_LEAF_ROWS, 2 * k),
            k=k,
            exact=space.exact,
            n_jobs=n_jobs,
        )
        self.measure = nearest.Measure(
            space.columns,
            space.weight,
            space.mismatch,
            space.gap,
            space.slack,
            nearest.dust_of(len(space.columns)),
            space.scale,
            kind,
        )
        self.unprunable = False  # whether searches were seen to visit a good part of all leaves

    def bounds(self) -> NDArray[np.float32]:
        """A score each row cannot exceed, in the index's order."""
        bound = np.empty(len(self.X), dtype=np.float32)
        index, measure = self.index, self.measure
        spread(
            lambda a, b: nearest.leaf_bounds(index, a, b, measure, self.k, bound),
            index.n_leaves,
            n_jobs=self.n_jobs,
            step=max(16, index.n_leaves // 64),
        )
        return bound

    def own(self, places: Rows, cutoff: float = -np.inf) -> Found:
        """Search for the neighbours of the table's own rows at these places of the index."""
        rows = self.index.order[places].astype(np.int64)
        home = self._leaf(places)
        return self.search(self.X[rows], rows + self.first_row, home, cutoff)

    def anywhere(
        self,
        A: Array,
        cutoff: float = -np.inf,
        *,
        skip: Rows | None = None,
        best: Doubles | None = None,
    ) -> Found:
        """Search for the neighbours of any rows; `skip` are their own row numbers, if they are
        of this table or of the larger one it is part of."""
        Q = self.space.stand_ins(A)
        order = np.argsort(leaves.bucket_of(self.index, Q), kind="stable")  # neighbours together
        if skip is None:
            skip = np.full(len(A), -1 - len(self.X), dtype=np.int64)
        if best is None:
            best = np.full((len(A), self.k), np.inf)
        sorted_best = best[order]
        nowhere = np.full(len(A), -1, dtype=np.int64)
        found = self.search(A[order], skip[order], nowhere, cutoff, sorted_best)
        best[order] = sorted_best
        score, done = np.empty(len(A)), np.empty(len(A), dtype=bool)
        score[order], done[order] = found.scores, found.done
        return Found(skip, score, done)

    def _leaf(self, places: Rows) -> Rows:
        return np.searchsorted(self.index.start, places, side="right") - 1

    def refine(
        self,
        places: Rows,
        bound: NDArray[np.float32],
        n_leaves: int,
        cutoff: float = -np.inf,
    ) -> None:
        """Better the bounds of rows of the table by the few leaves nearest to their own."""
        places = np.sort(places)
        for a in range(0, len(places), QUERIES):
            part = places[a : a + QUERIES]
            rows = self.index.order[part].astype(np.int64)
            A, home = self.X[rows], self._leaf(part)
            queries = nearest.Queries(*self.space.queries(A), rows, home)
            best = np.full((len(part), self.k), np.inf)
            score, state = np.empty(len(part)), np.empty(len(part), dtype=np.uint8)
            self._sweep(A, queries, cutoff, n_leaves, np.empty(len(part)), best, score, state)
            better = np.nextafter(score.astype(np.float32), np.float32(np.inf))
            bound[part] = np.minimum(bound[part], better)

    def search(
        self, A: Array, skip: Rows, home: Rows, cutoff: float, best: Doubles | None = None
    ) -> Found:
        """Search for the neighbours of any rows, beginning in their `home` leaves.

        `best` holds the squared distances found in other parts of the table, and is improved.
        """
        n = len(A)
        if best is None:
            best = np.full((n, self.k), np.inf)
        if not n:
            return Found(skip, np.empty(0), np.empty(0, dtype=bool))
        queries = nearest.Queries(*self.space.queries(A), skip - self.first_row, home)
        score, state = np.empty(n), np.empty(n, dtype=np.uint8)
        if not self.unprunable:
            self._search_alone(A, queries, cutoff, best, score, state)
        else:
            self._search_together(A, queries, cutoff, best, score, state)
        return Found(skip, score, state == nearest.EXACT)

    def _search_alone(
        self, A: Array, queries: nearest.Queries, cutoff: float, best: Doubles, score: Doubles,
        state: NDArray[np.uint8],
    ) -> None:  # fmt: skip
        n = len(A)
        pair, visited = nearest.Pair(A, self.X), np.zeros(n, dtype=np.int64)

        def work(a: int, b: int) -> None:
            visited[a] = nearest.search(
                pair, queries, a, b, self.index, self.measure, cutoff, best, score, state
            )

        spread(work, n, n_jobs=self.n_jobs, step=max(1, min(64, n // 16)))
        self.unprunable = bool(visited.sum() > _MANY * self.index.n_leaves * n)

    def _search_together(
        self, A: Array, queries: nearest.Queries, cutoff: float, best: Doubles, score: Doubles,
        state: NDArray[np.uint8],
    ) -> None:  # fmt: skip
        """First the leaves close by, where most queries fall below the cutoff; then everything."""
        known, reach = best.copy(), np.empty(len(A))
        patience = min(_PATIENCE, self.index.n_leaves // 64 + 1)
        self._sweep(A, queries, cutoff, patience, reach, known, score, state)
        sure = state == nearest.EXACT
        best[sure] = known[sure]
        long = np.flatnonzero(state == nearest.UNDECIDED)
        if not len(long):
            return
        parts: list[Any] = [part[long] for part in queries]
        again, scores, reach = best[long], score[long], reach[long]
        states = np.full(len(long), nearest.EXACT, dtype=np.uint8)
        self._sift(A[long], nearest.Queries(*parts), cutoff, reach, again, scores, states)
        best[long], score[long], state[long] = again, scores, states

    def _sweep(
        self,
        A: Array,
        queries: nearest.Queries,
        cutoff: float,
        patience: int,
        reach: Doubles,
        best: Doubles,
        score: Doubles,
        state: NDArray[np.uint8],
    ) -> None:
        pair, batches = nearest.Pair(A, self.X), _same_leaf(queries.home)
        spread(
            lambda a, b: sweep.sweep(
                pair, queries, batches, a, b, self.index, self.measure, cutoff, patience, reach,
                best, score, state,
            ),
            len(batches) - 1,
            n_jobs=self.n_jobs,
            step=max(1, min(16, len(batches) // 16)),
        )  # fmt: skip

    def _sift(
        self,
        A: Array,
        queries: nearest.Queries,
        cutoff: float,
        reach: Doubles,
        best: Doubles,
        score: Doubles,
        state: NDArray[np.uint8],
    ) -> None:
        """Compare queries with all rows by matrix products, a block of each at a time."""
        pair, numeric = nearest.Pair(A, self.X), self.measure.gap == 0
        centre = self.space.stand_ins(some_rows(self.X))[:, numeric].mean(axis=0)
        lost = 1 - (numeric.sum() + 8) * 2.0**-23  # what a sum of products may round off
        Q = queries.Q[:, numeric] - centre
        q_square = np.square(Q, dtype=np.float64).sum(axis=1)
        blur = queries.blur + np.sqrt(q_square) * 2.0**-23  # of the subtraction
        queries = queries._replace(blur=blur.astype(np.float32) * np.float32(1 + 2.0**-22))
        Q *= -2
        q_square *= lost
        for first in range(0, len(self.X), _ROWS):
            alive = np.flatnonzero(state == nearest.EXACT)
            Y = self.space.stand_ins(self.X[first : first + _ROWS])
            own = 0.0 if self.space.exact else _longest(Y)
            Y = Y[:, numeric] - centre
            square = np.einsum("ij,ij->i", Y, Y)
            off = (own + np.sqrt(float(square.max()))) * 2.0**-23 * (1 + 2.0**-22)
            length = np.full(len(Y) + _BLOCK, np.inf, dtype=np.float32)
            length[: len(Y)] = square * np.float32(lost)

            def work(
                i: int, j: int, first: int = first, off: float = off, alive: Rows = alive,
                Y: Array = Y, length: Array = length,
            ) -> None:  # fmt: skip
                who = alive[i:j]
                product = np.empty((j - i, _BLOCK), dtype=np.float32)
                for a in range(0, len(Y), _BLOCK):
                    n = min(_BLOCK, len(Y) - a)
                    np.matmul(Q[who], Y[a : a + n].T, out=product[:, :n])
                    sweep.sift(
                        product, who, length[a : a + _BLOCK], n, first + a, pair, queries,
                        q_square, off, self.measure, cutoff, reach, best, score, state,
                    )  # fmt: skip

            with one_thread():
                spread(work, len(alive), n_jobs=self.n_jobs, step=_BATCH_PRODUCT)


def _longest(Y: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.square(Y, dtype=np.float64).sum(axis=1).max()))


def _same_leaf(home: Rows) -> Rows:
    """Where batches of queries begin, and the end: those of one leaf, not too many."""
    n = len(home)
    first = np.flatnonzero(np.diff(home, prepend=home[0] - 1))
    within = np.arange(n) - np.repeat(first, np.diff(np.append(first, n)))
    return np.append(np.flatnonzero(within % _BATCH == 0), n)
