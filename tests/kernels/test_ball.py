"""The ball index against counting pair by pair, with many records exactly on the radius."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.detect.metric import Metric, declare
from isinglass.kernels.ball import UNCAPPED, BallIndex


def plain_distances(metric: Metric, X, Q):
    """The same distances in NumPy, a column at a time; Q by X."""
    total, w = np.zeros((len(Q), len(X))), metric.weights
    gaps = [np.abs(Q[:, c, np.newaxis] - X[:, c]) for c in range(X.shape[1])]
    if metric.name == "minkowski":
        top = np.max(gaps, axis=0)
        power = np.frompyfunc(math.pow, 2, 1)
        for c, gap in enumerate(gaps):
            share = np.divide(gap, top, out=np.zeros_like(gap), where=top > 0)
            total += w[c] * power(share, metric.power).astype(float)
        return top * power(total, 1 / metric.power).astype(float)
    for c, gap in enumerate(gaps):
        if metric.name == "chebyshev":
            total = np.maximum(total, w[c] * gap)
        elif metric.name == "euclidean":
            total += w[c] * (gap * gap)
        else:
            total += w[c] * (gap if metric.name == "manhattan" else gap != 0)
    return {"euclidean": np.sqrt, "hamming": lambda s: s / w.sum()}.get(metric.name, abs)(total)


def plain_counts(metric, X, Q, r):
    return (plain_distances(metric, X, Q) <= r).sum(axis=1)


def grid(n, d, seed=0, reach=6):
    return np.random.default_rng(seed).integers(-reach, reach + 1, size=(n, d)).astype(float)


CASES = [
    ("euclidean", None, (0.0, 1.0, 5.0, math.sqrt(2), 60.0)),
    ("manhattan", None, (0.0, 3.0, 7.0)),
    ("chebyshev", None, (0.0, 2.0, 5.0)),
    ("minkowski", 3.0, (0.0, 4.0, 6.0)),
    ("minkowski", 1.5, (2.0, 5.0)),
    ("hamming", None, (0.0, 0.5, 1 / 3, 0.6, 1.0, 2.0)),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "p", "radii"), CASES)
@pytest.mark.parametrize("d", [1, 2, 3, 6, 9])
def test_counts_agree_with_numpy(name, p, radii, d, weighted):
    weights = [0.25, 2.0, 1.0, 4.0, 0.5, 1.0, 3.0, 1.0, 0.3][:d] if weighted else None
    metric = declare(name, p, weights, d)
    X, Q = grid(200, d, reach=3 if d > 4 else 6), grid(40, d, seed=1)
    index = BallIndex(X, metric.kernel)
    for r in radii:
        limits = metric.limits(r)
        own, others = plain_counts(metric, X, X, r), plain_counts(metric, X, Q, r)
        np.testing.assert_array_equal(index.own_counts(limits), own)
        np.testing.assert_array_equal(index.counts(Q, limits), others)
        assert [index.count(q.copy(), limits) for q in Q] == others.tolist()
        for cap in (1, 2, 17):
            np.testing.assert_array_equal(index.own_counts(limits, cap), np.minimum(own, cap))
            np.testing.assert_array_equal(index.counts(Q, limits, cap), np.minimum(others, cap))
            assert index.count(Q[0].copy(), limits, cap) == min(others[0], cap)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 4096, 4097, 9000])
def test_any_number_of_rows(n):
    X = grid(n, 3, reach=9)
    metric = declare("euclidean", None, None, 3)
    index = BallIndex(X, metric.kernel)
    asked = X[:: max(1, n // 300)]
    expected = plain_counts(metric, X, asked, 5.0)
    own = index.own_counts(metric.limits(5.0))
    np.testing.assert_array_equal(own[:: max(1, n // 300)], expected)
    np.testing.assert_array_equal(index.counts(asked, metric.limits(5.0)), expected)
    assert index.counts(X[:0], metric.limits(5.0)).shape == (0,)


@pytest.mark.parametrize("r", [0.0, 1e-150, 1.0, 1e150])
@pytest.mark.parametrize("name", ["euclidean", "manhattan", "chebyshev", "hamming", "minkowski"])
def test_extreme_magnitudes_count_as_the_distance_says(name, r):
    tiny = [0.0, 5e-324, 1e-170, 1e-162, 1e-150, 2e-150, 1.0, 1.0 + 2**-52]
    huge = [1e149, 1e150, -1e150, 1e200, 1.7e308, -1.7e308]
    values = np.array(tiny + huge)
    X = np.random.default_rng(3).choice(values, size=(500, 2))
    metric = declare(name, 2.5 if name == "minkowski" else None, None, 2)
    index = BallIndex(X, metric.kernel)
    expected = [sum(metric.distance(a, b) <= r for b in X) for a in X[::9]]
    assert index.own_counts(metric.limits(r))[::9].tolist() == expected
    assert index.counts(X[::9], metric.limits(r)).tolist() == expected
    assert all(metric.distance(a, a) == 0 for a in X[:20])


def test_rows_without_end_that_are_equal_are_counted_as_boxes():
    X = np.zeros((200_000, 3))
    X[:, 1] = 7.5  # constant columns
    X[-1] = 1.0
    metric = declare("euclidean", None, None, 3)
    index = BallIndex(X, metric.kernel)
    for r, near in ((0.0, 199_999), (1.0, 199_999), (7.0, 200_000)):
        counts = index.own_counts(metric.limits(r))
        assert set(counts[:-1]) == {near}
        assert counts[-1] == (1 if near < 200_000 else 200_000)


@given(
    r=st.one_of(st.floats(1e-150, 1e150), st.integers(1, 10**6).map(lambda k: k / 1000)),
    name=st.sampled_from(["euclidean", "hamming", "manhattan"]),
)
@settings(max_examples=200)
def test_the_limit_is_the_last_sum_within_the_radius(r, name):
    metric = declare(name, None, [1.0, 0.7, 0.1], 3)
    inside, within, outside = metric.limits(r)
    assert metric._finish(within) <= r < metric._finish(math.nextafter(within, math.inf))
    assert inside < within < outside


# Points exactly on the radius, where rounding could make boxes and pairs disagree.
TRIPLES = [(3, 4, 0), (5, 12, 0), (2, 3, 6), (1, 4, 8), (6, 6, 7), (4, 4, 7), (2, 6, 9)]


@st.composite
def tables_at_the_radius(draw):
    """A center, records at the very radius from it and others, and the radius itself."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):  # whole numbers: ties are exact
        triple = np.array(TRIPLES[draw(st.integers(0, len(TRIPLES) - 1))], dtype=float)
        r = float(np.sqrt((triple**2).sum()))
        turned = [rng.permutation(triple) * rng.choice([-1, 1], 3) for _ in range(90)]
        X = np.array(turned) * rng.choice([0, 1, 2], size=(90, 1))
        scale = draw(st.sampled_from([1.0, 2.0**-70, 2.0**90, 0.1]))
        return X * scale, r * scale
    # Random records, and a radius that is the distance of two of them: tangent up to rounding.
    X = rng.normal(size=(90, 3))
    X[30:60] = X[0] + (X[:30] - X[0]) / 2
    X[60:] = 2 * X[:30] - X[0]
    metric = declare("euclidean", None, None, 3)
    return X, metric.distance(X[0], X[int(rng.integers(1, 60))])


@given(tables_at_the_radius(), st.data())
@settings(max_examples=30)
def test_adding_a_record_changes_each_count_by_whether_it_is_within_and_nothing_else(made, data):
    X, r = made
    metric = declare("euclidean", None, None, 3)
    index, limits = BallIndex(X, metric.kernel), metric.limits(r)
    queries = np.concatenate([X, X / 2])
    before = index.counts(queries, limits)
    np.testing.assert_array_equal(before, plain_counts(metric, X, queries, r))
    new = X[data.draw(st.integers(0, 89))] * data.draw(st.sampled_from([1.0, -1.0, 2.0, 0.0]))
    index.add(new)
    within = np.array([metric.distance(q, new) <= r for q in queries])
    np.testing.assert_array_equal(index.counts(queries, limits), before + within)
    assert [index.count(q.copy(), limits) for q in queries] == (before + within).tolist()
    assert index.remove(new)
    np.testing.assert_array_equal(index.counts(queries, limits), before)


@pytest.mark.parametrize("name", ["euclidean", "manhattan"])
@pytest.mark.parametrize(("n", "reach", "pause"), [(1, 2, 300), (700, 40, 900), (5000, 3, 2500)])
def test_records_come_and_go(name, n, reach, pause):
    """Leaves and groups split, empty and are built anew; counts stay those of the table."""
    rng = np.random.default_rng(n)
    metric = declare(name, None, None, 3)
    limits = metric.limits(5.0)
    table = [tuple(row) for row in grid(n, 3, reach=reach).tolist()]
    index = BallIndex(np.array(table), metric.kernel)
    queries = grid(30, 3, seed=5, reach=reach)
    for step in range(3 * pause):
        # First it grows, in places in order; then it shrinks until little is left.
        if not table or rng.random() < (0.9 if step < 2 * pause else 0.05):
            row = (float(step % 50), 0.0, 1.0) if rng.random() < 0.5 else (*grid(1, 3, step)[0],)
            table.append(tuple(map(float, row)))
            index.add(np.array(row))
        else:
            row = table.pop(int(rng.integers(len(table))))
            assert index.remove(np.array(row))
        if step % pause == pause - 1:
            X = np.array(table)
            assert sorted(map(tuple, index.records().tolist())) == sorted(table)
            for r in (0.0, 5.0):
                expected = plain_counts(metric, X, queries, r)
                np.testing.assert_array_equal(index.counts(queries, metric.limits(r)), expected)
    for row in table:
        assert index.remove(np.array(row))
    assert index.counts(queries, limits).tolist() == [0] * 30
    assert not index.remove(queries[0])
    index.add(queries[0])
    assert index.count(queries[0].copy(), limits) == 1


def test_many_changes_rebuild_the_index_and_many_adds_make_room():
    metric = declare("euclidean", None, None, 2)
    index = BallIndex(grid(10, 2), metric.kernel)
    rows = np.random.default_rng(0).normal(size=(9000, 2))
    groups = set()
    for row in rows:
        index.add(row)
        groups.add((index._n_groups, len(index._tree[4])))
    assert len(groups) > 2
    assert index._changes < 9000
    X = np.concatenate([grid(10, 2), rows])
    expected = plain_counts(metric, X, rows[::100], 0.3)
    np.testing.assert_array_equal(index.counts(rows[::100], metric.limits(0.3)), expected)
    for row in rows:
        index.remove(row)
    assert index.n_records == 10
    with pytest.raises(AssertionError):
        index.own_counts(metric.limits(1.0))  # rows have no numbers any more


@pytest.mark.parametrize("d", [1, 6])
def test_records_beyond_a_full_index_find_room(d):
    """Once a leaf just halved passed a record on to a neighbor that was full."""
    rng = np.random.default_rng(2)
    X, new = rng.normal(size=(3 * 4096, d)), 3 * rng.normal(size=(1500, d))  # full to the last slot
    metric = declare("euclidean", None, None, d)
    index = BallIndex(X, metric.kernel)
    for row in new:
        index.add(row)
    assert index._tree[2].max() <= 64
    both = np.concatenate([X, new])
    assert sorted(index.records().tolist()) == sorted(both.tolist())
    expected = plain_counts(metric, both, new[::10], 1.0)
    np.testing.assert_array_equal(index.counts(new[::10], metric.limits(1.0)), expected)
    assert all(index.remove(row) for row in new)
    assert sorted(index.records().tolist()) == sorted(X.tolist())


def test_threads_do_not_change_counts():
    X = np.random.default_rng(0).normal(size=(20_000, 4))
    metric = declare("euclidean", None, None, 4)
    found = [
        BallIndex(X, metric.kernel, n_jobs=n).own_counts(metric.limits(0.5), cap)
        for n in (1, 2, 5)
        for cap in (UNCAPPED, 20)
    ]
    for k in (0, 1):
        assert all((other == found[k]).all() for other in found[k::2])
    np.testing.assert_array_equal(found[1], np.minimum(found[0], 20))


def test_a_pickle_holds_the_records_and_nothing_else():
    metric = declare("euclidean", None, None, 2)
    index = BallIndex(grid(200, 2), metric.kernel)
    index.add(np.zeros(2))
    back = pickle.loads(pickle.dumps(index))
    assert len(pickle.dumps(index)) < 201 * 2 * 8 + 1000
    queries = grid(50, 2, seed=3)
    limits = metric.limits(2.0)
    np.testing.assert_array_equal(back.counts(queries, limits), index.counts(queries, limits))
