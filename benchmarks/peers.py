"""The contenders for exact outliers, each in a process of its own, and the reference for all."""

from __future__ import annotations

import argparse
import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from isinglass import threads

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]
Find = Callable[[NDArray[Any], int, int], tuple[Rows, Scores]]  # data, n_outliers, n_neighbors

N_OUTLIERS, N_NEIGHBORS = 500, 5
WARM_UP_ROWS, WARM_UP_OUTLIERS = 200, 20
LONG = 20.0  # a peer whose first run takes more seconds than this runs once


# --- contenders: a function that imports the library and gives back a `Find` ----------------------


def _ours() -> Find:
    import isinglass as ig

    def find(X: NDArray[Any], n: int, k: int) -> tuple[Rows, Scores]:
        top = ig.DistanceOutliers(n_outliers=n, n_neighbors=k, n_jobs=-1).fit(X)
        return top.outliers_, top.outlier_scores_

    return find


def _sklearn(algorithm: str) -> Find:
    from sklearn.neighbors import NearestNeighbors

    def find(X: NDArray[Any], n: int, k: int) -> tuple[Rows, Scores]:
        model = NearestNeighbors(n_neighbors=k, algorithm=algorithm, n_jobs=-1).fit(X)
        return _strongest(model.kneighbors()[0].mean(axis=1), n)

    return find


def _intelex(algorithm: str) -> Find:
    from sklearnex.neighbors import NearestNeighbors

    def find(X: NDArray[Any], n: int, k: int) -> tuple[Rows, Scores]:
        model = NearestNeighbors(n_neighbors=k, algorithm=algorithm).fit(X)
        if not hasattr(model, "_onedal_estimator"):
            raise RuntimeError("scikit-learn-intelex fell back to scikit-learn")
        return _strongest(model.kneighbors()[0].mean(axis=1), n)

    return find


def _scipy() -> Find:
    from scipy.spatial import cKDTree

    def find(X: NDArray[Any], n: int, k: int) -> tuple[Rows, Scores]:
        distances = cKDTree(X).query(X, k + 1, workers=-1)[0]
        return _strongest(distances[:, 1:].mean(axis=1), n)  # the first is the row itself

    return find


def _faiss() -> Find:
    import faiss

    def find(X: NDArray[Any], n: int, k: int) -> tuple[Rows, Scores]:
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        squares = index.search(X, k + 1)[0][:, 1:]
        return _strongest(np.sqrt(squares.clip(min=0)).mean(axis=1), n)

    return find


def _pyod() -> Find:
    from pyod.models.knn import KNN

    def find(X: NDArray[Any], n: int, k: int) -> tuple[Rows, Scores]:
        model = KNN(method="mean", n_neighbors=k, n_jobs=-1).fit(X)
        return _strongest(model.decision_scores_, n)

    return find


def _strongest(scores: NDArray[Any], n: int) -> tuple[Rows, Scores]:
    rows = np.argsort(-scores, kind="stable")[:n]
    return rows, scores[rows].astype(np.float64)


OURS = "ours"
PEERS: dict[str, Callable[[], Find]] = {
    "intelex-kd_tree": lambda: _intelex("kd_tree"),
    "intelex-brute": lambda: _intelex("brute"),
    "faiss-flat": _faiss,
    "scipy-ckdtree": _scipy,
    "sklearn-kd_tree": lambda: _sklearn("kd_tree"),
    "sklearn-brute": lambda: _sklearn("brute"),
    "pyod-knn": _pyod,
}
CONTENDERS: dict[str, Callable[[], Find]] = {OURS: _ours, **PEERS}


# --- the reference: float64 brute force, less the rows that provably do not matter ---------------

TILE = 1024  # points whose columns fit the cache
LEAF = 128  # rows at which halving ends


@numba.njit(nogil=True, cache=True)
def _scan(points: Any, begin: int, end: int, queries: Any, own: Any, nearest: Any) -> None:
    """Merge the squared distances from `queries` to some of the points into `nearest`.

    `points` has a column per point, and squares are summed in the order of its rows; `own` says
    which point is the query itself.
    """
    k = nearest.shape[1]
    squares = np.empty(TILE)
    for first in range(begin, end, TILE):
        count = min(TILE, end - first)
        for q in range(queries.shape[0]):
            squares[:count] = 0.0
            for c in range(points.shape[0]):
                value = queries[q, c]
                column = points[c, first : first + count]  # an index of plain j makes it a vector
                for j in range(count):
                    difference = value - column[j]
                    squares[j] += difference * difference
            for j in range(count):
                if squares[j] < nearest[q, k - 1] and first + j != own[q]:
                    place = k - 1
                    while place > 0 and nearest[q, place - 1] > squares[j]:
                        nearest[q, place] = nearest[q, place - 1]
                        place -= 1
                    nearest[q, place] = squares[j]


def _mean_distance(nearest: NDArray[np.float64]) -> Scores:
    """Score from ascending squares; added one by one, which `mean` does not promise."""
    total = np.zeros(len(nearest))
    for square in nearest.T:
        total += np.sqrt(square)
    return total / nearest.shape[1]


class _Search:
    """Every row's nearest so far, among the points seen so far, which come in random order."""

    def __init__(self, X: NDArray[Any], k: int) -> None:
        order = np.random.default_rng(0).permutation(len(X))
        self.X = X
        self.place = np.argsort(order)
        self.points = np.ascontiguousarray(X[order].T, dtype=np.float64)
        self.nearest = np.full((len(X), k), np.inf)

    def see(self, rows: Rows, first: int, last: int) -> None:
        """Show the points from `first` to `last` to `rows`."""

        def work(start: int, stop: int) -> None:
            part = rows[start:stop]
            nearest = self.nearest[part]
            queries = self.X[part].astype(np.float64)
            _scan(self.points, first, last, queries, self.place[part], nearest)
            self.nearest[part] = nearest

        threads.spread(work, len(rows), n_jobs=None, step=64)


def _halved(Z: NDArray[Any], leaf: int) -> Rows:
    """Row numbers such that neighbors in this list tend to be neighbors in space.

    The rows are halved at the median of their widest column, again and again.
    """
    done: list[Rows] = []
    parts = [np.arange(len(Z))]
    while parts:
        rows = parts.pop()
        if len(rows) <= leaf:
            done.append(rows)
            continue
        few = Z[rows[:: max(1, len(rows) // 1000)]]
        values = Z[rows, np.argmax(few.std(axis=0))]
        order = np.argpartition(values, len(rows) // 2)
        parts += [rows[order[len(rows) // 2 :]], rows[order[: len(rows) // 2]]]
    return np.concatenate(done)


def _bounds(X: NDArray[Any], k: int) -> Scores:
    """No score is above this: it compares every row with some two hundred likely neighbors."""
    rng = np.random.default_rng(1)
    orders = [np.arange(len(X)), _halved(X, LEAF)]
    for _ in range(2):
        turned = X @ np.linalg.qr(rng.normal(size=(X.shape[1],) * 2))[0].astype(X.dtype)
        orders.append(_halved(turned, LEAF))
    bound = np.full(len(X), np.inf)
    for order in orders:

        def work(start: int, stop: int, order: Rows = order) -> None:
            first, last = max(0, start - LEAF // 2), min(len(X), stop + LEAF // 2)
            points = np.ascontiguousarray(X[order[first:last]].T, dtype=np.float64)
            nearest = np.full((stop - start, k), np.inf)
            queries = X[order[start:stop]].astype(np.float64)
            own = np.arange(start - first, stop - first)
            _scan(points, 0, last - first, queries, own, nearest)
            rows = order[start:stop]
            bound[rows] = np.minimum(bound[rows], _mean_distance(nearest))

        threads.spread(work, len(X), n_jobs=None, step=LEAF)
    return bound


def reference(X: NDArray[Any], n: int, k: int) -> tuple[Rows, Scores]:
    """The `n` rows with the largest mean distance to their `k` nearest others, ties by number.

    Trusts no index and no contender. Over some of the points a score can only come out too
    large, rounding included, because all steps are monotone; and the n-th largest of any exact
    scores is at most the cutoff. So a row whose bound is below that needs no further look, and
    every other row sees all points.
    """
    search = _Search(X, k)
    bound = _bounds(X, k)
    finished = np.zeros(len(X), dtype=bool)
    left = np.arange(len(X))
    seen = 0
    while left.size:
        strangest = left[np.argsort(-bound[left], kind="stable")[:n]]
        search.see(strangest, seen, len(X))
        bound[strangest] = _mean_distance(search.nearest[strangest])
        finished[strangest] = True
        exact = np.sort(bound[finished])
        cutoff = exact[-n] if len(exact) >= n else -np.inf
        left = left[~finished[left] & (bound[left] >= cutoff)]
        upto = min(len(X), max(2 * seen, TILE))
        search.see(left, seen, upto)
        bound[left] = np.minimum(bound[left], _mean_distance(search.nearest[left]))
        seen = upto
    rows = np.flatnonzero(finished)
    rows = rows[np.argsort(-bound[rows], kind="stable")][:n]
    return rows, bound[rows]


def exact_scores(X: NDArray[Any], rows: Rows, k: int, *, block: int = 1 << 18) -> Scores:
    """The float64 scores of a few rows, in memory that the length of `X` does not change."""
    nearest = np.full((len(rows), k), np.inf)
    queries = X[rows].astype(np.float64)
    for first in range(0, len(X), block):
        points = np.ascontiguousarray(X[first : first + block].T, dtype=np.float64)

        def work(start: int, stop: int, points: Any = points, first: int = first) -> None:
            own = rows[start:stop] - first
            end = points.shape[1]
            _scan(points, 0, end, queries[start:stop], own, nearest[start:stop])

        threads.spread(work, len(rows), n_jobs=None, step=64)
    return _mean_distance(nearest)


def agreement(found: tuple[Rows, Scores], truth: tuple[Rows, Scores]) -> tuple[int, bool, float]:
    """How many rows are right, whether all are in order, and the largest relative score error."""
    rows, scores = found
    right, exact = truth
    same = np.isin(rows, right)
    shared = np.argsort(rows[same])
    expected = np.isin(right, rows)
    expected_order = np.argsort(right[expected])
    difference = np.abs(scores[same][shared] - exact[expected][expected_order])
    scale = np.maximum(exact[expected][expected_order], np.finfo(np.float64).tiny)
    error = float((difference / scale).max(initial=0.0))
    return int(same.sum()), bool(np.array_equal(rows, right)), error


# --- one measurement, in the child process --------------------------------------------------------


def memory() -> tuple[float, float]:
    """MiB held now and at most; unlike ru_maxrss, the latter is not inherited from the parent."""
    status = Path("/proc/self/status").read_text()
    now, most = (re.search(rf"{name}:\s+(\d+)", status) for name in ("VmRSS", "VmHWM"))
    assert now is not None
    assert most is not None
    return int(now[1]) / 1024, int(most[1]) / 1024


def measure(find: Find, X: NDArray[Any], *, times: int, limit: float, patient: bool) -> Any:
    """Warm up, then time `find` on all of `X`; also what it found and its peak memory."""
    few = np.ascontiguousarray(X[:: max(1, len(X) // WARM_UP_ROWS)][:WARM_UP_ROWS])
    find(few, WARM_UP_OUTLIERS, N_NEIGHBORS)
    before, earlier_peak = memory()
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is the import's and the load's
    seconds: list[float] = []
    while len(seconds) < times and (patient or not seconds or seconds[0] <= LONG):
        # The default action ends the process, whatever library holds the interpreter.
        signal.setitimer(signal.ITIMER_REAL, limit)
        start = time.perf_counter()
        found = find(X, N_OUTLIERS, N_NEIGHBORS)
        seconds.append(time.perf_counter() - start)
        signal.setitimer(signal.ITIMER_REAL, 0)
    peak = memory()[1]
    facts = {
        "seconds": min(seconds),
        "times": len(seconds),
        "peak_mib": max(peak, earlier_peak),
        "above_mib": max(peak - before, 0.0),
    }
    return facts, *found


def main() -> None:
    """Measure one contender on one array; print what was measured as JSON, save what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("contender", choices=CONTENDERS)
    parser.add_argument("data", type=Path, help="a .npy file")
    parser.add_argument("found", type=Path, help="the .npz file to write")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--limit", type=float, default=240.0)
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    X = np.load(options.data)
    find = CONTENDERS[options.contender]()
    patient = options.contender == OURS
    facts, rows, scores = measure(
        find, X, times=options.times, limit=options.limit, patient=patient
    )
    np.savez(options.found, rows=rows, scores=scores)
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
