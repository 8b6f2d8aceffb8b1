"""Bounds from products: never below the score they stand for, and close to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.detect.distance import DistanceOutliers
from isinglass.detect.float32_proxy import ranges, some_rows, space_of
from isinglass.detect.neighbor_index import Searcher
from isinglass.kernels import nearest

seeds = st.integers(0, 2**32 - 1)
SCORES = {nearest.MEAN: np.mean, nearest.SUM: np.sum, nearest.KTH: np.max}


def searcher(X, k, kind, discrete=()):
    low, high = ranges(X)
    space = space_of(low.astype(float), high.astype(float), some_rows(X), discrete=discrete)
    return Searcher(X, space, k, kind, n_jobs=1)


def distances(X, Z, discrete=()):
    step = X.astype(np.float64)[:, None, :] - Z.astype(np.float64)
    square = np.where(np.isin(np.arange(X.shape[1]), discrete), step != 0, step**2)
    return np.sqrt(square.sum(axis=2))


def scores_within(table, rows, others, k, kind, discrete=()):
    """Scores of rows among some others, the row itself left out; brute force in float64."""
    found = distances(table.X[rows], table.X[others], discrete)
    found[rows[:, None] == others] = np.inf
    return SCORES[kind](np.sort(found, axis=1)[:, :k], axis=1)


@pytest.mark.parametrize("kind", SCORES)
@settings(max_examples=40)
@given(
    k=st.integers(1, 7),
    width=st.integers(1, 9),
    offset=st.sampled_from([0.0, 1e3, -1e6]),
    double=st.booleans(),
    coded=st.booleans(),
    seed=seeds,
)
def test_a_bound_is_that_of_the_rows_own_leaf(kind, k, width, offset, double, coded, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(700, width)) * 10.0 ** rng.integers(-2, 3) + offset
    discrete = (0,) if coded and width > 1 else ()
    if discrete:
        X[:, 0] = rng.integers(0, 3, size=len(X))
    X[rng.integers(0, 700, 50)] = X[rng.integers(0, 700, 50)]  # some copies
    X[0] += 1e4 * np.arange(width)  # and one far away, which must not spoil its leaf
    X = X if double else X.astype(np.float32)
    table = searcher(X, k, kind, discrete)
    bound, index = table.bounds(), table.index
    for leaf in range(index.n_leaves):
        places = np.arange(index.start[leaf], index.start[leaf + 1])
        rows = index.order[places].astype(np.int64)
        n = len(rows)
        if n <= k:
            assert np.isinf(bound[places]).all()
            continue
        true = scores_within(table, rows, rows, k, kind, discrete)
        assert (bound[places] >= true).all()
        inner = np.median(X[rows[[n >> 2, n >> 1, 3 * n >> 2]]], axis=0)  # what it is seen from
        radius = np.linalg.norm(X[rows] - inner, axis=1)
        blur = (
            0 if table.space.exact else np.linalg.norm(X[rows] - table.space.center).max() / 2**22
        )
        off = 0.01 * (radius + true) + 4 * blur + 1e-15  # a product loses half of float32's digits
        assert (bound[places] <= true + off * (k if kind == nearest.SUM else 1)).all()


@pytest.mark.parametrize("kind", SCORES)
@settings(max_examples=40)
@given(
    k=st.integers(1, 7),
    width=st.integers(1, 5),
    double=st.booleans(),
    coded=st.booleans(),
    tiny=st.sampled_from([0.0, 1e-7, 1e-30]),
    seed=seeds,
)
def test_a_bound_is_cleared_where_the_leaf_holds_k_copies_and_nowhere_else(
    kind, k, width, double, coded, tiny, seed
):
    rng = np.random.default_rng(seed)
    records = rng.normal(size=(60, width))
    X = records[rng.integers(0, 60, 600)]
    X += tiny * rng.integers(0, 2, X.shape)  # nearly copies, which float32 may not tell apart
    discrete = (0,) if coded and width > 1 else ()
    if discrete:
        X[:, 0] = rng.integers(0, 2, size=len(X))
    X = X if double else X.astype(np.float32)
    table = searcher(X, k, kind, discrete)
    before, index = table.bounds(), table.index
    assert (before > 0).all()
    bound = before.copy()
    table.clear_copies(bound)
    np.testing.assert_array_equal(bound[bound > 0], before[bound > 0])
    for leaf in range(index.n_leaves):
        places = np.arange(index.start[leaf], index.start[leaf + 1])
        rows = index.order[places]
        same = (X[rows][:, None] == X[rows]).all(axis=2).sum(axis=1) - 1
        np.testing.assert_array_equal(bound[places] == 0, same >= k)


def test_copies_are_not_searched_one_by_one(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))[rng.permutation(30_000) % 300]
    searched = []
    own = Searcher.own

    def counted(self, places, *cutoff):
        searched.append(len(places))
        return own(self, places, *cutoff)

    monkeypatch.setattr(Searcher, "own", counted)
    found = DistanceOutliers(n_outliers=20, n_jobs=1).fit(X)
    np.testing.assert_array_equal(found.outliers_, np.arange(20))  # all score 0: by row number
    assert (found.outlier_scores_ == 0).all()
    assert sum(searched) < 3000


@pytest.mark.parametrize("n_leaves", [4, 16, 24])
@settings(max_examples=12)
@given(k=st.integers(1, 6), seed=seeds)
def test_refining_by_more_leaves_only_lowers_a_bound_and_never_below_the_score(n_leaves, k, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(2200, 6)).astype(np.float32) + np.float32(100)
    table = searcher(X, k, nearest.MEAN)
    bound = table.bounds()
    places = np.sort(rng.permutation(len(X))[:300])
    refined = bound.copy()
    table.refine(places, refined, n_leaves)
    rows = table.index.order[places].astype(np.int64)
    true = scores_within(table, rows, np.arange(len(X)), k, nearest.MEAN)
    assert (refined[places] >= true).all()
    assert (refined <= bound).all()
    untouched = np.setdiff1d(np.arange(len(X)), places)
    np.testing.assert_array_equal(refined[untouched], bound[untouched])
    assert (refined[places] < bound[places]).any()
    if n_leaves <= 16:  # those beside: exactly the aligned run of leaves around the own one
        start, leaf = table.index.start, table._leaf(places)
        for at in rng.integers(0, len(places), 5):
            first = leaf[at] // n_leaves * n_leaves
            run = table.index.order[start[first] : start[first + n_leaves]].astype(np.int64)
            within = scores_within(table, rows[at : at + 1], run, k, nearest.MEAN)
            assert refined[places[at]] <= within[0] * 1.001 + 0.05
