"""DistanceOutliers against a ten-line brute force: the same rows, the same order, the same bits."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.utils.estimator_checks import estimator_checks_generator

import isinglass as ig
from isinglass.detect import neighbor_index as searcher
from isinglass.detect import out_of_core as blocks
from isinglass.detect import top_n as walk
from isinglass.kernels import nearest


def brute(A, B=None, k=5, by="mean", weights=None, discrete=()):
    """Scores of the rows of A beside those of B, or beside the other rows of A."""
    A, own = np.asarray(A, dtype=np.float64), B is None
    B = A if own else np.asarray(B, dtype=np.float64)
    square = np.zeros((len(A), len(B)))
    for c in range(A.shape[1]):
        step = A[:, c, None] - B[:, c]
        part = (step != 0) if c in discrete else step * step
        square += (1.0 if weights is None else weights[c]) * part
    distance = np.sqrt(square)
    if own:
        np.fill_diagonal(distance, np.inf)
    k = min(k, len(B) - own)
    near = np.sort(distance, axis=1)[:, :k]
    if by == "kth":
        return near[:, -1]
    total = np.zeros(len(A))
    for p in range(k):
        total += near[:, p]
    return total / k if by == "mean" else total


def beside(A, B, k=5, by="mean", **settings):
    """Scores of the rows of A beside those of B; one that equals a row of B is that row."""
    scores = brute(A, B, k, by, **settings)
    for i, row in enumerate(np.asarray(A)):
        same = np.flatnonzero((np.asarray(B) == row).all(axis=1))
        if len(same):  # all pairs of B would be gigabytes, and one row of them is needed
            scores[i] = brute([row], np.delete(B, same[0], axis=0), k, by, **settings)[0]
    return scores


def ranked(scores, n):
    order = np.lexsort((np.arange(len(scores)), -scores))[:n]
    return order, scores[order]


def assert_exact(X, n=10, k=5, by="mean", weights=None, discrete=(), **settings):
    detector = ig.DistanceOutliers(
        n, k, score_by=by, weights=weights, discrete=list(discrete), **settings
    ).fit(X)
    rows, scores = ranked(brute(X, k=k, by=by, weights=weights, discrete=discrete), n)
    np.testing.assert_array_equal(detector.outliers_, rows)
    np.testing.assert_array_equal(detector.outlier_scores_, scores)
    return detector


# Whole numbers make ties plenty, and every distance exact enough for equality to be fair.
GRIDS = hnp.arrays(
    st.sampled_from([np.float32, np.float64]),
    st.tuples(st.integers(2, 90), st.integers(1, 4)),
    elements=st.integers(-2, 2).map(float),
)
BY = st.sampled_from(["mean", "sum", "kth"])


@given(GRIDS, st.integers(1, 100), st.integers(1, 12), BY)
def test_rows_order_and_scores_are_those_of_brute_force_on_a_grid(X, n, k, by):
    detector = assert_exact(X, n, k, by)
    np.testing.assert_array_equal(detector.anomaly_score(), brute(X, k=k, by=by))


@given(GRIDS, st.integers(1, 8), BY, st.data())
def test_weights_and_discrete_columns_count_as_defined(X, k, by, data):
    width = X.shape[1]
    weights = data.draw(
        st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=width, max_size=width)
        .filter(any).map(np.array)
    )  # fmt: skip
    discrete = data.draw(st.sets(st.integers(0, width - 1)))
    assert_exact(X, 20, k, by, weights, discrete)


@given(GRIDS, st.integers(1, 8), BY, st.data())
def test_reference_mode_ranks_other_rows_by_their_distance_to_the_table(X, k, by, data):
    others = data.draw(
        hnp.arrays(X.dtype, st.tuples(st.integers(1, 30), st.just(X.shape[1])),
                   elements=st.integers(-4, 4).map(float))
    )  # fmt: skip
    detector = ig.DistanceOutliers(7, k, score_by=by).fit(X)
    expected = beside(others, X, k=k, by=by)
    np.testing.assert_array_equal(detector.anomaly_score(others), expected)
    rows, scores = ranked(expected, 7)
    ranking = detector.rank(others)
    np.testing.assert_array_equal(ranking.rows, rows)
    np.testing.assert_array_equal(ranking.scores, scores)
    np.testing.assert_array_equal(
        detector.predict(others), np.where(expected >= detector.cutoff_, -1, 1)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e-100, 1e-50, 1e-30, 1e-9, 1.0, 1e9, 1e30, 1e100])
@pytest.mark.parametrize("shift", [0.0, 1.0, 1e4])
def test_any_magnitude_and_any_origin_is_exact(dtype, size, shift):
    if dtype == np.float32 and not 1e-40 < size < 1e38:
        size = 1e-37 if size < 1 else 1e32
    rng = np.random.default_rng(3)
    X = ((rng.normal(size=(1500, 5)) + shift) * size).astype(dtype)
    assert_exact(X, 40)


def test_large_float32_values_beside_a_constant_column_are_exact():
    steps = np.random.default_rng(16).integers(0, 1000, size=(400, 2))
    X = np.ones((400, 3), dtype=np.float32)
    X[:, :2] = 2.0**57 + steps * 2.0**34
    assert_exact(X, 20)


@pytest.mark.parametrize("k", [300, 1499, 5000])
def test_very_many_neighbors_are_exact(k):
    X = np.random.default_rng(17).integers(-5, 6, size=(1500, 3)).astype(np.float32)
    detector = assert_exact(X, 7, k)
    others = X[:5] + np.float32(0.5)
    np.testing.assert_array_equal(detector.anomaly_score(others), beside(others, X, k))


def test_a_far_row_does_not_blur_the_others():
    X = np.random.default_rng(4).normal(size=(1000, 4))
    X[17] = 1e12
    assert_exact(X, 50)
    assert_exact(X.astype(np.float32), 50)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_many_dimensions_without_outliers_take_the_other_way_and_agree(n_jobs):
    X = np.random.default_rng(5).normal(size=(2000, 25)).astype(np.float32)
    detector = assert_exact(X, 30, n_jobs=n_jobs)
    assert detector._table.unprunable, "this table should show that boxes exclude little"
    np.testing.assert_array_equal(detector.anomaly_score(), brute(X))
    others = X[:40] + np.float32(0.5)
    np.testing.assert_array_equal(detector.anomaly_score(others), beside(others, X))


@pytest.mark.parametrize("by", ["mean", "sum", "kth"])
@pytest.mark.parametrize("k", [1, 5, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_other_way_agrees_whatever_is_compared(dtype, k, by, monkeypatch):
    monkeypatch.setattr(searcher, "_MANY", -1.0)  # boxes are said to exclude nothing
    rng = np.random.default_rng(k)
    X = rng.normal(size=(1200, 6)).astype(dtype) + 1000  # products cancel: copies, and nearly
    X[:100] = X[100:200] + 1e-3 * rng.integers(0, 2, size=(100, 6)).astype(dtype)
    X[:, 3] = rng.integers(0, 3, size=1200)
    X[0] += 1e6
    weights = [1, 0.5, 4, 2, 1, 1e-3]
    for discrete in ([], [3]):
        for weight in (None, weights):
            detector = ig.DistanceOutliers(40, k, score_by=by, weights=weight, discrete=discrete)
            detector.fit(X)
            assert detector._table.unprunable
            plain = {"k": k, "by": by, "weights": weight, "discrete": discrete}
            rows, scores = ranked(brute(X, **plain), 40)
            np.testing.assert_array_equal(detector.outliers_, rows)
            np.testing.assert_array_equal(detector.outlier_scores_, scores)
            others = X[::50] + rng.integers(0, 2, size=(24, 6)).astype(dtype) * [1, 1, 1, 0, 1, 1]
            others = others.astype(dtype)
            np.testing.assert_array_equal(
                detector.anomaly_score(others), beside(others, X, **plain)
            )


@pytest.mark.parametrize("by", ["mean", "kth"])
def test_without_outliers_a_memory_limit_does_not_change_the_answer(by):
    X = np.random.default_rng(8).uniform(size=(1500, 20)).astype(np.float32)
    detector = ig.DistanceOutliers(25, score_by=by, memory_limit=120_000).fit_blocks(Arrays(X))
    assert detector._table is None
    rows, scores = ranked(brute(X, by=by), 25)
    np.testing.assert_array_equal(detector.outliers_, rows)
    np.testing.assert_array_equal(detector.outlier_scores_, scores)


def test_weights_whose_squares_overflow_are_refused():
    X = np.random.default_rng(9).normal(size=(600, 4)) * 1e10
    with pytest.raises(ValueError, match="weighted columns must differ by 2e\\+150 at most"):
        ig.DistanceOutliers(weights=[1e300] * 4).fit(X)


def test_several_buckets_and_levels_of_boxes_agree_with_brute_force():
    rng = np.random.default_rng(6)
    X = np.cumsum(rng.normal(size=(5000, 3)), axis=0).astype(np.float32)
    detector = assert_exact(X, 100)
    assert len(detector._table.index.level_at) > 1
    assert not detector._table.unprunable
    np.testing.assert_array_equal(detector.anomaly_score(), brute(X))


def test_copies_of_rows_are_neighbors_at_distance_zero():
    rng = np.random.default_rng(7)
    X = rng.integers(0, 3, size=(5000, 2)).astype(np.float32)
    X[[10, 20]] = [[50, 50], [90, 0]]
    detector = assert_exact(X, 30)
    assert list(detector.outliers_[:2]) == [20, 10] or list(detector.outliers_[:2]) == [10, 20]
    assert np.all(detector.outlier_scores_[2:] == 0)


def test_a_hundred_thousand_copies_are_no_trouble():
    X = np.zeros((100_000, 3), dtype=np.float32)
    X[5000:5003] = [[1, 0, 0], [0, 2, 0], [0, 0, 3]]
    detector = ig.DistanceOutliers(5).fit(X)
    np.testing.assert_array_equal(detector.outliers_, [5002, 5001, 5000, 0, 1])
    np.testing.assert_array_equal(detector.outlier_scores_, [3, 2, 1, 0, 0])


@pytest.mark.parametrize(
    ("X", "n", "k", "rows", "scores"),
    [
        ([[3.0, 1.0]], 500, 5, [0], [0.0]),
        ([[1.0], [4.0]], 500, 5, [0, 1], [3.0, 3.0]),
        ([[0.0], [1.0], [5.0]], 2, 500, [2, 0], [4.5, 3.0]),
        ([[7.0, 7.0]] * 4, 2, 5, [0, 1], [0.0, 0.0]),
        ([[0.0, 9.0], [1.0, 9.0], [3.0, 9.0]], 3, 1, [2, 0, 1], [2.0, 1.0, 1.0]),
    ],
    ids=["one row", "two rows", "k beyond the rows", "copies only", "a constant column"],
)
def test_the_corners_are_defined(X, n, k, rows, scores):
    detector = ig.DistanceOutliers(n, k).fit(X)
    np.testing.assert_array_equal(detector.outliers_, rows)
    np.testing.assert_array_equal(detector.outlier_scores_, scores)


def test_a_constant_column_counts_for_rows_beside_the_table():
    detector = ig.DistanceOutliers(1, 1).fit([[0.0, 9.0], [1.0, 9.0]])
    np.testing.assert_array_equal(detector.anomaly_score([[0.0, 5.0], [1.0, 9.0]]), [4.0, 1.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [300, 20_000])
def test_rows_far_beyond_the_table_are_still_exact(dtype, rows):
    X = np.random.default_rng(8).normal(size=(rows, 3)).astype(dtype)
    others = np.array([[1e25, 0, 0], [1e12, -1e12, 3], [0, 0, 1e6], [0, 1, 0]], dtype=dtype)
    detector = ig.DistanceOutliers(3).fit(X)
    np.testing.assert_array_equal(detector.anomaly_score(others), beside(others, X))


def test_discrete_columns_alone_are_searched_like_any_other():
    X = np.random.default_rng(0).integers(0, 6, size=(3000, 2)).astype(float)
    X[7] = [77, 88]
    detector = assert_exact(X, 5, discrete=[0, 1])
    others = [[999.0, 999.0], [77.0, 5.0]]
    expected = beside(others, X, discrete=[0, 1])
    np.testing.assert_array_equal(detector.anomaly_score(others), expected)


def test_distances_smaller_than_float32_can_hold_decide():
    X = np.zeros((48, 2))
    X[:, 0] = np.arange(48) + 1.0
    X[0], X[1], X[20] = 0, [0, 3.6e-23], [0, -3.5e-23]
    expected = ranked(brute(X, k=1), 48)
    detector = ig.DistanceOutliers(48, 1, memory_limit=2112).fit_blocks(Arrays(X))
    np.testing.assert_array_equal(detector.outlier_scores_, expected[1])
    assert_exact(X, 48, 1)


def test_copies_in_blocks_are_not_carried_one_by_one(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))[rng.permutation(30_000) % 300]
    carried, carry = [], blocks._carry

    def counted(rows, places, *rest):
        carried.append(len(places))
        return carry(rows, places, *rest)

    monkeypatch.setattr(blocks, "_carry", counted)
    detector = ig.DistanceOutliers(20, memory_limit=1_500_000).fit_blocks(Arrays(X))
    np.testing.assert_array_equal(detector.outliers_, np.arange(20))  # all score 0
    assert 0 < sum(carried) < 6000


def test_a_single_row_in_blocks_scores_zero():
    detector = ig.DistanceOutliers(3, 2, memory_limit=1).fit_blocks(Arrays(np.ones((1, 2))))
    assert detector.outlier_scores_.tolist() == [0.0]


def test_neighbors_are_those_of_the_fit_whatever_is_set_later():
    X = np.random.default_rng(19).normal(size=(3000, 2))
    detector = ig.DistanceOutliers(3, 2).fit(X)
    before = detector.anomaly_score([[1.0, 1.0]])
    np.testing.assert_array_equal(
        detector.set_params(n_neighbors=9).anomaly_score([[1.0, 1.0]]), before
    )


def test_columns_that_hardly_differ_are_refused():
    with pytest.raises(ValueError, match="scale them"):
        ig.DistanceOutliers().fit([[1e-160], [2e-160]])


@pytest.mark.parametrize("width", [2, 25])
def test_float64_rows_beside_a_float32_table_are_not_rounded(width):
    rng = np.random.default_rng(15)
    X = (1000 + rng.integers(-2, 3, size=(1500, width)) * 2.0**-13).astype(np.float32)
    others = 1000 + rng.normal(size=(200, width)) * 2.0**-12  # float32 cannot tell them apart
    detector = ig.DistanceOutliers(20).fit(X)
    np.testing.assert_array_equal(detector.anomaly_score(others), beside(others, X))
    ranking = detector.rank(others)
    np.testing.assert_array_equal(ranking.rows, ranked(beside(others, X), 20)[0])


def test_a_code_never_seen_differs_from_every_row():
    X = [[0.0, 1.0], [0.0, 1.0], [1.0, 2.0]]
    detector = ig.DistanceOutliers(1, 1, discrete=[1], weights=[1, 4]).fit(X)
    np.testing.assert_array_equal(detector.anomaly_score([[0.0, 77.0], [1.0, 2.0]]), [2.0, 5**0.5])


def test_fit_predict_marks_the_outliers_found():
    X = np.random.default_rng(9).normal(size=(200, 3))
    detector = ig.DistanceOutliers(7)
    signs = detector.fit_predict(X)
    assert np.flatnonzero(signs == -1).tolist() == sorted(detector.outliers_)


@given(GRIDS, st.integers(1, 20), st.integers(1, 6), BY)
def test_predict_agrees_with_fit_predict_on_the_same_rows(X, n, k, by):
    detector = ig.DistanceOutliers(n, k, score_by=by)
    signs = detector.fit_predict(X)
    np.testing.assert_array_equal(signs, detector.predict(X))
    np.testing.assert_array_equal(signs, detector.predict(X[::-1])[::-1])
    assert (signs[detector.outliers_] == -1).all()
    np.testing.assert_array_equal(signs == -1, detector.decision_function(X) < 0)


def test_predict_agrees_with_fit_predict_where_searches_look_at_much_of_the_table():
    X = np.random.default_rng(5).random((3000, 25)).round(1).astype(np.float32)
    detector = ig.DistanceOutliers(50)
    signs = detector.fit_predict(X)
    assert (signs == -1).sum() >= 50
    np.testing.assert_array_equal(signs, detector.predict(X.astype(np.float64)))


@pytest.mark.parametrize(("share", "n"), [(0.1, 20), (0.5, 100), (0.001, 1)])
def test_contamination_is_the_share_of_rows_called_outliers(share, n, tmp_path):
    X = np.random.default_rng(9).normal(size=(200, 3))
    detector = ig.DistanceOutliers(contamination=share)
    assert (detector.fit_predict(X) == -1).sum() == n
    assert len(detector.outliers_) == n
    assert len(detector.rank(X[:100] + 1).rows) == max(1, n // 2)
    blocks = ig.DistanceOutliers(contamination=share, memory_limit=6000).fit_blocks(Arrays(X))
    np.testing.assert_array_equal(blocks.outliers_, detector.outliers_)


@pytest.mark.parametrize("share", [0, 0.6, "auto", True])
def test_a_contamination_that_is_no_share_is_refused(share):
    for detector in (ig.DistanceOutliers(), ig.RadiusOutliers()):
        with pytest.raises(ValueError, match="contamination must be None, or > 0"):
            detector.set_params(contamination=share).fit([[0.0], [1.0]])


class Arrays:
    """An array as blocks."""

    name = "the array"

    def __init__(self, X, discrete=(), n_rows=True):
        self._X, self.discrete, self.dtype = X, list(discrete), X.dtype.type
        self.names = [f"x{c}" for c in range(X.shape[1])]
        self.n_rows = len(X) if n_rows else None

    def blocks(self, max_rows):
        for a in range(0, len(self._X), max_rows):
            yield self._X[a : a + max_rows]

    def row_numbers(self, rows):
        return rows


@pytest.mark.parametrize("known_length", [True, False])
@pytest.mark.parametrize("limit", [25_000, 90_000, 400_000])
def test_a_memory_limit_does_not_change_the_answer(limit, known_length):
    rng = np.random.default_rng(10)
    X = rng.integers(-9, 10, size=(1500, 3)).astype(np.float32)
    X[:40] += rng.normal(scale=20, size=(40, 3)).astype(np.float32)
    for n, by in ((25, "mean"), (60, "kth")):
        detector = ig.DistanceOutliers(n, score_by=by, memory_limit=limit)
        detector.fit_blocks(Arrays(X, discrete=[2], n_rows=known_length))
        rows, scores = ranked(brute(X, by=by, discrete=[2]), n)
        np.testing.assert_array_equal(detector.outliers_, rows)
        np.testing.assert_array_equal(detector.outlier_scores_, scores)
    whole = limit >= 400_000
    assert (detector._table is not None) is whole
    if not whole:
        with pytest.raises(ValueError, match="memory_limit"):
            detector.anomaly_score(X)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mammography", "shuttle", "smtp"])
def test_real_files_with_many_copies_agree_with_brute_force(real_data, name):
    X = ig.datasets.load(name).X
    detector = ig.DistanceOutliers().fit(X)
    # Brute force on what could be among the strongest: the found rows and those of high bounds.
    some = np.unique(
        np.append(detector.outliers_, np.random.default_rng(0).integers(0, len(X), 300))
    )
    scores = np.array([_one_score(X, row) for row in some])
    rows, expected = ranked(scores, 500)
    np.testing.assert_array_equal(detector.outliers_, some[rows])
    np.testing.assert_array_equal(detector.outlier_scores_, expected)


def _one_score(X, row, k=5):
    total = np.zeros(len(X))
    for c in range(X.shape[1]):
        step = X[:, c].astype(np.float64) - np.float64(X[row, c])
        total += step * step
    total[row] = np.inf
    near = np.sort(np.partition(np.sqrt(total), k)[:k])
    return (((near[0] + near[1]) + near[2]) + near[3] + near[4]) / k


def test_bounds_of_a_leaf_are_never_below_the_score():
    rng = np.random.default_rng(11)
    for X in (rng.normal(size=(4000, 6)), rng.normal(size=(4000, 6)).astype(np.float32) + 100):
        detector = ig.DistanceOutliers(1).fit(X)
        table = detector._table
        scores = detector.anomaly_score()[table.index.order]
        assert np.all(table.bounds() >= scores)


def test_a_better_bound_is_still_a_bound():
    X = np.random.default_rng(12).normal(size=(2000, 12)).astype(np.float32)
    detector = ig.DistanceOutliers(1).fit(X)
    table, scores = detector._table, detector.anomaly_score()
    before = table.bounds()
    after = before.copy()
    table.refine(np.arange(0, 2000, 3), after, 8)
    assert np.all(after >= scores[table.index.order])
    assert np.mean(after[::3] < before[::3]) > 0.5


def test_leaves_hold_every_row_once_and_boxes_hold_their_rows():
    X = np.random.default_rng(13).normal(size=(7000, 4)).astype(np.float32)
    index = ig.DistanceOutliers(1).fit(X)._table.index
    assert sorted(index.order) == list(range(7000))
    for leaf, (a, b) in enumerate(pairwise(index.start)):
        rows = X[index.order[a:b]]
        box = index.boxes[leaf // 16, :, :, leaf % 16]
        tile = index.tiles[index.tile_at[leaf] : index.tile_at[leaf + 1]].reshape(4, -1)
        np.testing.assert_array_equal(tile[:, : b - a].T, rows)
        assert np.all(np.isinf(tile[:, b - a :]))
        if len(rows):
            np.testing.assert_array_equal(box[:, 0], rows.min(axis=0))
            np.testing.assert_array_equal(box[:, 1], rows.max(axis=0))


def test_the_cutoff_rises_only_by_rows_that_are_in():
    top = walk.Strongest(2)
    assert top.cutoff == -np.inf
    top.add(np.array([4, 9, 2]), np.array([1.0, 3.0, 3.0]))
    assert top.rows.tolist() == [2, 9]
    assert top.cutoff == 3.0
    assert top.may_hold(np.array([1, 3, 10]), np.array([3.0, 3.0, 3.0])).tolist() == [
        True, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused_without_being_shown(bad):
    X = np.arange(40.0).reshape(20, 2)
    detector = ig.DistanceOutliers(2).fit(X)
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        ig.DistanceOutliers().fit(X)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        detector.anomaly_score(X)


def test_a_missing_code_is_refused_too():
    X = np.array([[0.0, np.nan], [1.0, 1.0], [2.0, np.inf]])
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        ig.DistanceOutliers(discrete=[1]).fit(X)


def test_text_is_refused_without_being_quoted():
    for detector in (ig.DistanceOutliers(), ig.RadiusOutliers(1, 1.0)):
        with pytest.raises(ValueError, match="numbers only") as error:
            detector.fit([["SECRET", 1.0], ["x", 2.0]])
        assert "SECRET" not in str(error.value)


def test_weights_of_a_file_follow_its_columns(tmp_path):
    rng = np.random.default_rng(18)
    X = np.column_stack([rng.integers(0, 3, 300), rng.normal(size=300)])
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "\n".join(f"{int(a)},{b!r}" for a, b in X.tolist()))
    settings = {"weights": [9, 0.01]}
    file = ig.DistanceOutliers(20, discrete=["a"], **settings).fit(path)
    array = ig.DistanceOutliers(20, discrete=[0], **settings).fit(X)
    np.testing.assert_array_equal(file.outliers_, array.outliers_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_outliers": 0}, "n_outliers must be a whole number >= 1, got 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be a whole number >= 1, got 2.5"),
        ({"score_by": "max"}, "score_by must be one of mean, sum, kth, got 'max'"),
        ({"weights": [1.0]}, "weights must have one entry per column, 2, got 1"),
        ({"weights": [1.0, -1.0]}, "weights must be finite, >= 0 and not all 0"),
        ({"weights": [0.0, 0.0]}, "weights must be finite, >= 0 and not all 0"),
        ({"discrete": [2]}, "discrete must lie between 0 and 1, got 2"),
        ({"discrete": ["color"]}, "discrete must name columns of X, got 'color'"),
        ({"memory_limit": 0}, "memory_limit must be a number of bytes >= 1, got 0"),
    ],
)
def test_a_bad_setting_is_named_with_its_rule_and_value(settings, message):
    with pytest.raises(ValueError) as error:
        ig.DistanceOutliers(**settings).fit(np.arange(20.0).reshape(10, 2))
    assert str(error.value) == message


def test_values_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match="scale it"):
        ig.DistanceOutliers().fit([[1e200], [2e200]])


_EXPECTED = {
    "check_array_api_input": "arrays of other libraries are not promised",
}


def test_scikit_learn_accepts_it():
    for estimator, check in estimator_checks_generator(ig.DistanceOutliers(5, n_jobs=1)):
        if check.func.__name__ not in _EXPECTED:
            check(estimator)


def test_kernels_are_compiled_once_and_kept_on_disk(tmp_path):
    code = (
        "import numpy as np, isinglass as ig\n"
        "X = np.random.default_rng(0).normal(size=(10, 3))\n"
        "ig.DistanceOutliers(2).fit(X)\n"
        "from isinglass.kernels import nearest\n"
        "stats = nearest.search.stats\n"
        "print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))\n"
    )
    for _ in range(4):
        out = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
        )
        hits, misses = map(int, out.stdout.split())
        if not misses:  # where nothing is kept yet, another test may be compiling, too
            break
    assert (hits, misses) == (1, 0)


def test_the_margins_of_a_search_are_not_below_float32_rounding():
    """The sum of squares of float32 differences, against the same in float64."""
    rng = np.random.default_rng(14)
    for width in (1, 29, 300):
        A, B = rng.normal(size=(2, 2000, width)).astype(np.float32)
        exact = np.sqrt(((A.astype(float) - B.astype(float)) ** 2).sum(axis=1))
        square = np.zeros(2000, dtype=np.float32)
        for c in range(width):
            step = A[:, c] - B[:, c]
            square += step * step
        rough = np.sqrt(square.astype(float))
        slack = nearest.slack_of(width)
        assert np.all(rough * slack >= exact)
        assert np.all(rough / slack <= exact)


def test_scores_of_some_rows_by_their_numbers():
    X = np.random.default_rng(3).normal(size=(700, 4))
    detector = ig.DistanceOutliers(n_outliers=9).fit(X)
    rows = np.random.default_rng(4).permutation(700)[:60]
    np.testing.assert_array_equal(detector.row_scores(rows), brute(X)[rows])
    np.testing.assert_array_equal(detector.row_scores(detector.outliers_), detector.outlier_scores_)
