"""Neighbor index: a table prepared for nearest-row searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.float32_proxy import RowSpace
from isinglass.kernels import bounds, leaves, nearest, pruned_search
from isinglass.kernels.leaves import FAN
from isinglass.threads import available, one_thread, spread

Array = NDArray[Any]
Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

QUERIES = 1 << 15  # searched at a time; they take memory, and the cutoff stands still meanwhile
_LEAF_ROWS, _LEAF_ROWS_AT_MOST = 64, 512
_MANY_NEIGHBORS = 0.02  # share of the rows from which on all distances are taken
_MANY = 0.2  # share of the leaves from which on it is faster to pass by all of them together
_LOOK, _CLOSE = 8, 64  # leaves that bound a query before it is compared with everything
_BATCH, _BATCH_WANTED = 128, 64  # queries of some leaves that are bounded together
_SHARE_OUTLIERS, _SHARE_ROWS = 20, 20_000  # from which a column's share in distances is told
_BATCH_PRODUCT = 256  # queries that are compared with everything together, at most


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Scores of searched rows: exact where `done`, elsewhere only a bound."""

    rows: Rows
    scores: Doubles
    done: NDArray[np.bool_]


class Searcher:
    """A table, its index, and how its rows are scored."""

    def __init__(
        self,
        X: Array,
        space: RowSpace,
        k: int,
        kind: int,
        *,
        n_jobs: int | None = None,
        first_row: int = 0,
    ) -> None:
        if len(X) >= 1 << 31:
            raise ValueError(f"a table must have fewer than 2^31 rows in memory, got {len(X):,}")
        self.X, self.space, self.k, self.n_jobs = X, space, k, n_jobs
        self.first_row = first_row  # where the table begins in a larger one
        self.index = leaves.build(
            space.stand_ins(X, n_jobs=n_jobs),
            X,
            leaf_rows=max(_LEAF_ROWS, min(2 * k, _LEAF_ROWS_AT_MOST)),
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
        bound = np.full(len(self.X), np.inf, dtype=np.float32)
        if self._takes_all(self.k):
            return bound
        index, measure = self.index, self.measure
        with one_thread():
            spread(
                lambda a, b: bounds.leaf_bounds(index, a, b, measure, self.k, bound),
                index.n_leaves,
                n_jobs=self.n_jobs,
                step=max(16, index.n_leaves // 64),
            )
        return bound

    def clear_copies(self, bound: NDArray[np.float32]) -> None:
        """Bound rows by 0, exactly, that have enough copies in their leaf."""
        X, index, measure = self.X, self.index, self.measure
        spread(
            lambda a, b: bounds.clear_copies(X, index, a, b, measure, self.k, bound),
            index.n_leaves,
            n_jobs=self.n_jobs,
            step=max(16, index.n_leaves // 64),
        )

    def own(self, places: Rows, cutoff: float = -np.inf) -> SearchResult:
        """Search for the neighbors of the table's own rows at these places of the index."""
        rows = self.index.order[places].astype(np.int64)
        home = self._leaf(places)
        return self.search(self._rows(rows), rows + self.first_row, home, cutoff)

    def anywhere(
        self,
        A: Array,
        cutoff: float = -np.inf,
        *,
        skip: Rows | None = None,
        best: Doubles | None = None,
    ) -> SearchResult:
        """Search for the neighbors of any rows; `skip` are their own row numbers, if they are
        of this table or of the larger one it is part of."""
        Q = self.space.stand_ins(A)
        order = np.argsort(leaves.bucket_of(self.index, Q), kind="stable")  # neighbors together
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
        return SearchResult(skip, score, done)

    def column_shares(self, outliers: Rows) -> Doubles:
        """How much of the squared distance to its neighbors each column makes, on average.

        Of the strongest outliers only, and to neighbors among some rows of a large table: enough
        to see that one column rules.
        """
        X, space = self.X, self.space
        counted = space.columns  # those of weight 0 are none
        some = X[:: -(-len(X) // _SHARE_ROWS)][:, counted].astype(np.float64)
        shares = []
        for row in X[outliers[:_SHARE_OUTLIERS]][:, counted].astype(np.float64):
            apart = (some - row) ** 2
            parts = np.where(space.mismatch > 0, space.mismatch * (apart > 0), space.weight * apart)
            total = parts.sum(axis=1)
            near = np.argsort(total, kind="stable")
            near = near[total[near] > 0][: self.k]  # neither the row itself nor copies of it
            if len(near) and np.isfinite(total[near]).all():
                shares.append((parts[near] / total[near, np.newaxis]).mean(axis=0))
        found = np.zeros(X.shape[1])
        if shares:
            found[counted] = np.mean(shares, axis=0)
        return found

    def _rows(self, rows: Rows) -> Array:
        """Some rows of the table, collected by all threads: they lie far apart."""
        A = np.empty((len(rows), self.X.shape[1]), dtype=self.X.dtype)

        def take(a: int, b: int) -> None:
            np.take(self.X, rows[a:b], axis=0, out=A[a:b], mode="clip")  # other modes copy twice

        spread(take, len(rows), n_jobs=self.n_jobs, step=4096)
        return A

    def _takes_all(self, k: int) -> bool:
        """Whether so many neighbors count that looking for them saves nothing."""
        return k > _LEAF_ROWS_AT_MOST // 2 and k > _MANY_NEIGHBORS * len(self.X)

    def _leaf(self, places: Rows) -> Rows:
        return np.searchsorted(self.index.start, places, side="right") - 1

    def refine(self, places: Rows, bound: NDArray[np.float32], n_leaves: int) -> None:
        """Better the bounds of rows of the table by some leaves near to their own."""
        places = np.sort(places)
        for a in range(0, len(places), QUERIES):
            part = places[a : a + QUERIES]
            rows = self.index.order[part].astype(np.int64)
            queries = nearest.Queries(*self.space.queries(self._rows(rows)), rows, self._leaf(part))
            score, _ = self._near(queries, n_leaves, self.k, at_home=True)
            with np.errstate(over="ignore"):
                better = np.nextafter(score.astype(np.float32), np.float32(np.inf))
            bound[part] = np.minimum(bound[part], better)

    def search(
        self, A: Array, skip: Rows, home: Rows, cutoff: float, best: Doubles | None = None
    ) -> SearchResult:
        """Search for the neighbors of any rows, beginning in their `home` leaves.

        `best` holds the squared distances found in other parts of the table, and is improved.
        """
        n = len(A)
        if best is None:
            best = np.full((n, self.k), np.inf)
        if not n:
            return SearchResult(skip, np.empty(0), np.empty(0, dtype=bool))
        queries = nearest.Queries(*self.space.queries(A), skip - self.first_row, home)
        score, state = np.empty(n), np.empty(n, dtype=np.uint8)
        if self._takes_all(best.shape[1]):
            from isinglass.kernels import brute  # only for small tables of many columns

            pair = nearest.RowNumbers(A, self.X)
            spread(
                lambda a, b: brute.all_rows(
                    pair, queries.skip, a, b, self.measure, best, score, state
                ),
                n,
                n_jobs=self.n_jobs,
                step=16,
            )
        elif not self.unprunable:
            self._search_alone(A, queries, cutoff, best, score, state)
        else:
            self._search_together(A, queries, cutoff, best, score, state)
        return SearchResult(skip, score, state == nearest.EXACT)

    def _search_alone(
        self, A: Array, queries: nearest.Queries, cutoff: float, best: Doubles, score: Doubles,
        state: NDArray[np.uint8],
    ) -> None:  # fmt: skip
        n = len(A)
        pair, visited = nearest.RowNumbers(A, self.X), np.zeros(n, dtype=np.int64)

        def work(a: int, b: int) -> None:
            visited[a] = nearest.search(
                pair, queries, a, b, self.index, self.measure, cutoff, best, score, state
            )

        spread(work, n, n_jobs=self.n_jobs, step=max(1, min(256, n // 8)))
        self.unprunable = bool(visited.sum() > _MANY * self.index.n_leaves * n)

    def _search_together(
        self, A: Array, queries: nearest.Queries, cutoff: float, best: Doubles, score: Doubles,
        state: NDArray[np.uint8],
    ) -> None:  # fmt: skip
        """First the leaves close by, where most queries fall below the cutoff; then everything."""
        # More leaves pay where many queries share them.
        n_leaves = _CLOSE if len(A) > self.index.n_leaves else _LOOK
        score[:], reach = self._near(queries, n_leaves, best.shape[1])
        if np.isfinite(best).any():  # distances from another part of the table are known
            reach = np.minimum(reach, np.sqrt(best[:, -1]) * self.space.scale * (1 + 1e-12))
            score[:] = np.inf
        state[:] = nearest.BELOW
        long = np.flatnonzero(score >= cutoff)
        parts: list[Any] = [part[long] for part in queries]
        again, scores, reach = best[long], score[long], reach[long]
        states = np.full(len(long), nearest.EXACT, dtype=np.uint8)
        pair, few = nearest.RowNumbers(A[long], self.X), nearest.Queries(*parts)
        batches = _even(len(long), _BATCH_PRODUCT, available(self.n_jobs))
        with one_thread():
            spread(
                lambda a, b: pruned_search.sift(
                    pair, few, batches, a, b, self.index, self.measure, cutoff, reach, again,
                    scores, states,
                ),
                len(batches) - 1,
                n_jobs=self.n_jobs,
                step=1,
            )  # fmt: skip
        best[long], score[long], state[long] = again, scores, states

    def _near(
        self, queries: nearest.Queries, n_leaves: int, k: int, *, at_home: bool = False
    ) -> tuple[Doubles, Doubles]:
        """Bounds on the score and on the k-th distance from some leaves close by.

        Up to 16 of them are those beside a query's own leaf, if all queries are `at_home`: nearly
        as good as the nearest ones, and nothing has to be looked for.
        """
        beside = at_home and n_leaves <= FAN
        if beside:
            batches = _runs(queries.home // n_leaves)
        else:
            wanted = _BATCH_WANTED if n_leaves > _LOOK else FAN
            batches = _close_by(queries.home, self.index.n_leaves, wanted)
        n_leaves = min(n_leaves, self.index.n_leaves)
        score, reach = np.empty(len(queries.Q)), np.empty(len(queries.Q))
        with one_thread():
            spread(
                lambda a, b: bounds.near_bounds(
                    queries, batches, a, b, self.index, self.measure, k, n_leaves, beside, reach,
                    score,
                ),
                len(batches) - 1,
                n_jobs=self.n_jobs,
                step=max(1, min(16, len(batches) // 16)),
            )  # fmt: skip
        return score, reach


def _even(n: int, size: int, workers: int) -> Rows:
    """Where batches of up to `size` queries begin, and the end: as many for every worker."""
    n_batches = workers * -(-n // (size * workers))
    return np.unique(np.linspace(0, n, n_batches + 1).astype(np.int64))


def _close_by(home: Rows, n_leaves: int, wanted: int) -> Rows:
    """Where batches of queries begin, and the end: of one leaf, or of a few where queries are rare.

    Leaves with neighboring numbers are neighbors, up to 16 of them and somewhat beyond.
    """
    n, together = len(home), 1
    while together < wanted and n * together < wanted * n_leaves:
        together *= 2
    return _runs(home // together)


def _runs(place: Rows) -> Rows:
    """Where batches of equal places begin, and the end."""
    n = len(place)
    first = np.flatnonzero(np.diff(place, prepend=place[0] - 1))
    within = np.arange(n) - np.repeat(first, np.diff(np.append(first, n)))
    return np.append(np.flatnonzero(within % _BATCH == 0), n)
