"""(beta, r)-anomalies: the definition, its other forms, and records that come and go."""

import math
import pickle
import time
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import isinglass as ig
from isinglass import datasets

RNG = np.random.default_rng(4)
TABLE = RNG.integers(-9, 10, size=(400, 3)).astype(float)


def plain_counts(X, Q, r):
    total = np.zeros((len(Q), len(X)))
    for c in range(X.shape[1]):
        total += (Q[:, c, np.newaxis] - X[:, c]) ** 2
    return (np.sqrt(total) <= r).sum(axis=1)


def test_an_outlier_has_at_most_beta_records_within_r_itself_included():
    #    0, 1, 2 in a chain; a pair at 10 and 11; one alone at 50
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [50.0]])
    found = ig.RadiusOutliers(2, 1.0).fit(X)
    assert found.counts_.tolist() == [2, 3, 2, 2, 2, 1]
    assert found.counts_.dtype == np.int64
    assert found.outliers_.tolist() == [5, 0, 2, 3, 4]
    assert found.predict(X).tolist() == [-1, 1, -1, -1, -1, -1]
    assert found.fit_predict(X).tolist() == [-1, 1, -1, -1, -1, -1]
    assert ig.RadiusOutliers(1, 1.0).fit(X).outliers_.tolist() == [5]
    assert ig.RadiusOutliers(2.9, 1.0).fit(X).beta_ == 2


def test_records_outside_the_table_count_the_table_only():
    X = np.array([[0.0], [1.0], [1.0]])
    found = ig.RadiusOutliers(1, 1.0).fit(X)
    assert found.count([2.0]) == 2
    assert found.count([5.0]) == 0
    assert found.anomaly_score([[2.0], [5.0], [0.0]]).tolist() == [-2.0, 0.0, -3.0]
    assert found.predict([[2.0], [5.0]]).tolist() == [1, -1]


def test_every_path_gives_the_same_counts():
    found = ig.RadiusOutliers(3, 5.0).fit(TABLE)
    expected = plain_counts(TABLE, TABLE, 5.0)
    np.testing.assert_array_equal(found.counts_, expected)
    np.testing.assert_array_equal(found.counts(TABLE), expected)
    np.testing.assert_array_equal(found.anomaly_score(TABLE), -expected)
    assert [found.count(row) for row in TABLE] == expected.tolist()
    np.testing.assert_array_equal(found.fit_predict(TABLE), found.fit(TABLE).predict(TABLE))
    back = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(back.counts(TABLE), expected)


def test_contamination_sets_beta_so_that_no_more_than_the_share_are_outliers():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, size=(300, 2)).astype(float)
    for share in (0.02, 0.1, 0.5):
        found = ig.RadiusOutliers(r=3.0, contamination=share)
        signs = found.fit_predict(X)
        assert (signs == -1).sum() == len(found.outliers_) <= share * 300
        assert (found.counts_ <= found.beta_ + 1).sum() > share * 300
        np.testing.assert_array_equal(signs, found.predict(X))
    assert ig.RadiusOutliers(r=3.0, contamination=0.5, cap=4).fit(X).beta_ == 3


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_a_cap_ends_counting_and_nothing_else(n_jobs):
    true = ig.RadiusOutliers(3, 5.0).fit(TABLE)
    capped = ig.RadiusOutliers(3, 5.0, cap=4, n_jobs=n_jobs).fit(TABLE)
    np.testing.assert_array_equal(capped.counts_, np.minimum(true.counts_, 4))
    np.testing.assert_array_equal(capped.outliers_, true.outliers_)
    np.testing.assert_array_equal(capped.predict(TABLE), true.predict(TABLE))
    assert true.counts_.max() > 7
    middle = TABLE[np.argmax(true.counts_)]
    assert [true.count(middle, cap=c) for c in (1, 7)] == [1, 7]
    assert capped.count(middle) == 4


@pytest.mark.parametrize(
    ("metric", "p", "weights", "within"),
    [
        ("euclidean", None, None, 5.0),
        ("euclidean", None, [1.0, 4.0], math.sqrt(9 + 4 * 16)),
        ("manhattan", None, None, 7.0),
        ("manhattan", None, [2.0, 1.0], 10.0),
        ("chebyshev", None, None, 4.0),
        ("chebyshev", None, [2.0, 1.0], 6.0),
        ("minkowski", 2, None, 5.0),
        ("minkowski", math.inf, None, 4.0),
        ("hamming", None, None, 1.0),
        ("hamming", None, [1.0, 3.0], 1.0),
    ],
)
def test_the_radius_itself_is_within(metric, p, weights, within):
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    just_under = math.nextafter(within, 0)
    for r, expected in ((within, [2, 2]), (just_under, [1, 1])):
        found = ig.RadiusOutliers(1, r, metric=metric, p=p, weights=weights).fit(X)
        assert found.counts_.tolist() == expected
        assert found.count(X[0]) == expected[0]


def test_knorr_and_ngs_fraction_is_reckoned_in_decimals():
    X = np.arange(30.0).reshape(-1, 1)
    # 30 * (1 - 0.9) is 2.9999999999999996 in float64, and its whole part is not what is meant.
    assert math.floor(30 * (1 - 0.9)) == 2
    for fraction in (0.9, "0.9", Fraction(9, 10), np.float64(0.9)):
        found = ig.RadiusOutliers.knorr_ng(fraction, 1.0).fit(X)
        assert found.beta_ == 3
        assert len(found.outliers_) == 30
    # The definition, word for word: at least the fraction lies farther than r.
    for fraction in ("0.5", "0.97", "0.96", "0.99"):
        found = ig.RadiusOutliers.knorr_ng(fraction, 5.0).fit(TABLE)
        farther = len(TABLE) - plain_counts(TABLE, TABLE, 5.0)
        expected = [int(far) >= Fraction(fraction) * len(TABLE) for far in farther]
        assert (found.fit_predict(TABLE) == -1).tolist() == expected


def test_added_and_removed_records_count_from_then_on():
    found = ig.RadiusOutliers(2, 5.0).fit(TABLE)
    fitted = found.counts_.copy()
    new = np.array([3.0, 4.0, 0.0])  # exactly 5 from the origin
    origin = [0.0, 0.0, 0.0]
    before = found.count(origin)
    assert found.add(new) is found
    assert found.count(origin) == before + 1
    with_new = np.concatenate([TABLE, [new]])
    np.testing.assert_array_equal(found.counts(TABLE), plain_counts(with_new, TABLE, 5.0))
    np.testing.assert_array_equal(found.counts_, fitted)
    found.remove(new)
    np.testing.assert_array_equal(found.counts(TABLE), fitted)
    found.remove(TABLE[7])
    rest = np.delete(TABLE, 7, axis=0)
    np.testing.assert_array_equal(found.counts(TABLE), plain_counts(rest, TABLE, 5.0))


def test_what_is_not_there_cannot_be_removed_and_is_not_quoted():
    found = ig.RadiusOutliers(2, 5.0).fit(TABLE)
    with pytest.raises(ValueError, match="no row equals it") as caught:
        found.remove([1234.5, 0.0, 0.0])
    assert "1234" not in str(caught.value)
    found.add([1234.5, 0.0, 0.0]).remove([1234.5, -0.0, 0.0])
    with pytest.raises(ValueError, match="no row equals it"):
        found.remove([1234.5, 0.0, 0.0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": 0}, "beta must be >= 1 and finite, got 0"),
        ({"beta": 0.99}, "beta must be >= 1"),
        ({"beta": math.nan}, "beta must be >= 1"),
        ({"beta": math.inf}, "beta must be >= 1"),
        ({"beta": None}, "one of beta and fraction"),
        ({"fraction": 0.5}, "one of beta and fraction"),
        ({"beta": None, "fraction": 1.0}, "fraction must be >= 0"),
        ({"beta": None, "fraction": -0.1}, "fraction must be >= 0"),
        ({"beta": None, "fraction": "1/0"}, "fraction must be >= 0"),
        ({"beta": None, "fraction": math.nan}, "fraction must be >= 0"),
        ({"r": -1.0}, "r must be 0, or between"),
        ({"r": math.nan}, "r must be 0, or between"),
        ({"r": math.inf}, "r must be 0, or between"),
        ({"r": 1e-200}, "r must be 0, or between"),
        ({"metric": "cosine"}, "metric must be one of euclidean, .*, got 'cosine'"),
        ({"p": 2}, "p must be None unless"),
        ({"metric": "minkowski"}, "p must be >= 1 for metric 'minkowski', got None"),
        ({"metric": "minkowski", "p": 0.5}, "p must be >= 1"),
        ({"weights": [1.0, 2.0]}, r"weights must be one for each of the 3 .* shape \(2,\)"),
        ({"weights": [1.0, 0.0, 1.0]}, "weights must be between"),
        ({"weights": [1.0, math.nan, 1.0]}, "weights must be between"),
        ({"beta": 5, "cap": 5}, "cap must be a whole number > beta, which is 5, got 5"),
        ({"cap": 2.5}, "cap must be a whole number"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        ig.RadiusOutliers(**settings).fit(TABLE)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_records_that_are_no_numbers_are_refused_on_every_path(value):
    found = ig.RadiusOutliers(2, 5.0).fit(TABLE)
    bad = [1.0, value, 0.0]
    for ask in (found.count, found.add, found.remove):
        with pytest.raises(ValueError, match="finite"):
            ask(bad)
    for ask_all in (found.counts, found.predict, found.fit):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            ask_all([bad] * 40)
    assert found.count([0.0, 0.0, 0.0]) == plain_counts(TABLE, np.zeros((1, 3)), 5.0)[0]


def test_records_of_another_width_are_refused():
    found = ig.RadiusOutliers(2, 5.0).fit(TABLE)
    for bad in ([1.0, 2.0], [[1.0, 2.0, 3.0]], 1.0):
        with pytest.raises(ValueError, match="record must have 3 numbers"):
            found.count(bad)
    with pytest.raises(ValueError, match="cap must be a whole number >= 1"):
        found.count([0.0, 0.0, 0.0], cap=0)


def test_single_precision_is_widened_exactly():
    X = np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
    narrow, wide = (ig.RadiusOutliers(2, 0.7).fit(x) for x in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(narrow.counts_, wide.counts_)
    np.testing.assert_array_equal(narrow.counts(X), wide.counts_)
    assert [narrow.count(row) for row in X] == wide.counts_.tolist()


@pytest.mark.parametrize(("beta", "r"), [(55, 1.7), (1, 0.0)])
def test_mammography_agrees_with_counting_pair_by_pair(real_data, beta, r):
    X = datasets.load("mammography").X.astype(np.float64)
    found = ig.RadiusOutliers(beta, r).fit(X)
    rows = np.random.default_rng(0).choice(len(X), 1500, replace=False)
    expected = plain_counts(X, X[rows], r)
    np.testing.assert_array_equal(found.counts_[rows], expected)
    np.testing.assert_array_equal(found.counts(X[rows]), expected)
    assert (found.counts_ <= beta).sum() == len(found.outliers_)


def test_many_copies_of_one_record_take_no_time(real_data):
    X = datasets.load("http").X
    ig.RadiusOutliers(50, 0.0).fit(X[:100])  # compiled
    start = time.process_time()
    found = ig.RadiusOutliers(50, 0.0).fit(X)
    taken = time.process_time() - start
    copies = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(found.counts_, copies[2][copies[1].ravel()])
    assert taken < 20  # one by one it would be hours


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cap", [None, 3])
def test_scikit_learns_checks_pass(cap):
    results = check_estimator(clone(ig.RadiusOutliers(2, 1.0, cap=cap)), on_fail=None)
    assert len(results) > 40
    assert not [r["check_name"] for r in results if r["status"] in ("failed", "xfail")]
