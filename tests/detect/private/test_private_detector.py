"""The private detector: what its user sees, what it keeps, and what it says it promises."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import check_estimator

import isinglass as ig
from isinglass.detect.private import counts, for_everyone

RNG = np.random.default_rng(8)
TABLE = RNG.normal(size=(6000, 2)) + [0.0, 50.0]
BOUNDS = ([-10.0, 20.0], [10.0, 80.0])
LIKE_NO_OTHER = 7.654321


@pytest.fixture(scope="module")
def fitted():
    return ig.PrivateDetector(bounds=BOUNDS, threshold_share=0.1).fit(TABLE)


@pytest.fixture
def _quick_noise(monkeypatch):
    """Noise that is drawn faster: for tests that fit often and look at other things."""
    rng = np.random.default_rng(0)

    def add_noise(values, noise, *, n_jobs=1):
        return values + np.rint(rng.normal(scale=noise.scale, size=len(values))).astype(np.int64)

    monkeypatch.setattr(counts, "add_noise", add_noise)


#: scikit-learn's checks that it cannot pass, and why.
EXPECTED = {
    "check_estimators_empty_data_messages": "an error would tell that there are no records",
}


@pytest.mark.usefixtures("_quick_noise")
@pytest.mark.filterwarnings("ignore")  # its tables are small
def test_it_follows_scikit_learns_contract(monkeypatch):
    monkeypatch.setattr(for_everyone, "MOST_MICRO", 10**10)
    detector = ig.PrivateDetector(1e4, bounds=(-100, 100), threshold_share=0.2)
    check_estimator(detector, expected_failed_checks=EXPECTED)


def test_higher_is_stranger_and_the_threshold_divides(fitted):
    ordinary, strange = [[0.1, 50.2]], [[6.0, 30.0]]
    assert fitted.anomaly_score(strange) > fitted.threshold_ > fitted.anomaly_score(ordinary)
    assert fitted.predict(ordinary + strange).tolist() == [1, -1]
    assert (fitted.decision_function(ordinary + strange) < 0).tolist() == [False, True]
    assert 0.07 < (fitted.anomaly_score(TABLE) > fitted.threshold_).mean() < 0.13
    assert abs(fitted.n_estimated_ - len(TABLE)) < 600
    rows = TABLE[:50]
    shares, scores = fitted.explain(rows), fitted.anomaly_score(rows)
    assert abs(shares.sum(axis=1) / scores - 1).max() < 2e-15
    assert fitted.explain(strange).shape == (1, 2)


def test_every_value_has_a_score(fitted):
    odd = [[np.nan, np.nan], [np.inf, -np.inf], [1e308, -1e308], [-0.0, 5e-324]]
    assert np.isfinite(fitted.anomaly_score(odd)).all()


def test_all_that_it_holds_follows_from_settings_and_noised_counts(monkeypatch):
    """With the same noised counts, every byte is the same whatever the table was."""
    rng = np.random.default_rng(0)
    noised = [rng.integers(0, 500, size=n) for n in (2 * 4369, 64 * 32, 272)]
    tables = TABLE, TABLE[:5_000], np.full((7, 2), LIKE_NO_OTHER)
    found = []
    for table in tables:
        out = iter(noised)
        monkeypatch.setattr(counts, "add_noise", lambda values, noise, n_jobs, out=out: next(out))
        detector = ig.PrivateDetector(bounds=BOUNDS, threshold_share=0.2).fit(table)
        detector.anomaly_score(TABLE[:3])  # its tables are made now
        found.append((pickle.dumps(detector), str(detector.guarantee_), detector.threshold_))
    assert found[0] == found[1] == found[2]
    assert found[0][2] is not None


def test_what_it_holds_is_small_and_shows_nothing(fitted):
    assert set(vars(fitted)) - set(fitted.get_params()) == {
        "_columns", "_document", "_model", "guarantee_", "n_estimated_", "n_features_in_",
        "threshold_",
    }  # fmt: skip
    assert len(pickle.dumps(fitted)) < 40_000  # a tree of a column alone has 35,000 bytes
    shown = repr(fitted) + repr(vars(fitted))
    assert "array" not in repr(fitted)
    assert "RawCounts" not in shown


def test_copies_score_the_same(fitted):
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        np.testing.assert_array_equal(
            other.anomaly_score(TABLE[:99]), fitted.anomaly_score(TABLE[:99])
        )
        assert other.guarantee_ == fitted.guarantee_


def test_every_fit_draws_new_noise():
    with pytest.raises(TypeError, match="random_state"):
        ig.PrivateDetector(random_state=0)
    detector = ig.PrivateDetector(bounds=BOUNDS)
    one, two = (clone(detector).fit(TABLE).anomaly_score(TABLE[:50]) for _ in range(2))
    assert (one != two).all()


def test_the_guarantee_names_price_unit_and_neighbors(fitted):
    assert str(fitted.guarantee_) == (
        "Guaranteed: epsilon 1, delta 1e-06 of differential privacy for every person with at most "
        "1 record, between tables that differ by all records of one person, added or removed. It "
        "covers the model and whatever is computed from it, scores of other records without "
        "limit; not scores of the table's own records, nor how long the fit took. Replacing a "
        "person is a removal and an addition. With 3 records, epsilon is at most 3.294, at the "
        "same delta. A setting that was chosen after a look at the table is not covered."
    )
    assert fitted.guarantee_.epsilon_for(3) == pytest.approx(3.2936, abs=1e-4)
    facts = fitted.guarantee_.to_json()
    assert (facts["epsilon"], facts["delta"], facts["records_per_person"]) == (1.0, 1e-6, 1)
    with pytest.raises(ValueError, match="records must be >= 1"):
        fitted.guarantee_.epsilon_for(0)


@pytest.mark.usefixtures("_quick_noise")
def test_pure_epsilon_and_several_records_a_person_are_said():
    found = ig.PrivateDetector("2.5", 0, BOUNDS, records_per_person=4).fit(TABLE).guarantee_
    assert "epsilon 2.5 of pure differential privacy" in str(found)
    assert "at most 4 records" in str(found)
    assert "With 12 records, epsilon is at most 7.5" in str(found)


@pytest.mark.usefixtures("_quick_noise")
def test_frames_are_read_by_name_and_may_hold_categories():
    kinds = np.where(RNG.random(6000) < 0.9, "jet", "prop")
    pandas = pd.DataFrame({"speed": TABLE[:, 0], "kind": kinds, "height": TABLE[:, 1]})
    settings = {
        "bounds": {"speed": (-10, 10), "height": (20, 80)},
        "categories": {"kind": ["jet", "prop"]},
    }
    detector = ig.PrivateDetector(**settings).fit(pandas)
    assert detector.feature_names_in_.tolist() == ["speed", "kind", "height"]
    rows = pd.DataFrame(
        {"speed": [0.0] * 4, "kind": ["jet", "prop", "balloon", None], "height": [50.0] * 4}
    )
    scores = detector.anomaly_score(rows)
    assert scores[0] < scores[1] < scores[2] == scores[3]
    assert (detector.explain(rows).argmax(axis=1)[2:] == 1).all()
    np.testing.assert_array_equal(detector.anomaly_score(pl.from_pandas(rows)), scores)
    with pytest.raises(ValueError, match="feature names"):
        detector.anomaly_score(rows[["kind", "speed", "height"]])
    by_place = ig.PrivateDetector(bounds=([-10, 20], [10, 80]), categories={1: ["jet", "prop"]})
    by_place.fit(pandas.to_numpy())
    found = by_place.anomaly_score(rows.to_numpy())
    assert found[0] < found[1] < found[2] == found[3]
    np.testing.assert_array_equal(by_place.anomaly_score(rows.to_numpy().tolist()), found)


@pytest.mark.usefixtures("_quick_noise")
def test_text_where_numbers_belong_is_refused_without_being_quoted():
    frame = pd.DataFrame({"a": ["secret"], "b": [1.0], "c": ["x"]})
    for categories in (None, {2: ["x"]}):
        detector = ig.PrivateDetector(bounds=(0, 1), categories=categories)
        for X in (frame, frame.to_numpy()):
            with pytest.raises(ValueError, match=r"numbers only") as error:
                detector.fit(X)
            assert "secret" not in str(error.value)


@pytest.mark.usefixtures("_quick_noise")
def test_a_table_that_noise_drowns_is_fitted_with_a_warning():
    with pytest.warns(UserWarning, match="unreliable"):
        few = ig.PrivateDetector(bounds=BOUNDS).fit(TABLE[:20])
    assert np.isfinite(few.anomaly_score(TABLE[:5])).all()
    with pytest.warns(UserWarning, match="vary from fit to fit"):
        ig.PrivateDetector(bounds=BOUNDS).fit(TABLE[:190])
    with pytest.warns(UserWarning, match="unreliable"):
        none = ig.PrivateDetector(bounds=BOUNDS).fit(np.empty((0, 2)))
    assert none.n_estimated_ >= 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ig.PrivateDetector(bounds=BOUNDS).fit(TABLE)
    with pytest.warns(ig.PrivacyWarning, match="delta is large"):
        ig.PrivateDetector(delta=1e-4, bounds=BOUNDS).fit(TABLE)


@pytest.mark.usefixtures("_quick_noise")
def test_without_a_threshold_scores_remain():
    for share, table in ((None, TABLE), (0.01, TABLE[:1500])):
        detector = ig.PrivateDetector(bounds=BOUNDS, threshold_share=share)
        if share:
            with pytest.warns(UserWarning, match="threshold_ cannot be told.*remains spent"):
                detector.fit(table)
        else:
            detector.fit(table)
        assert detector.threshold_ is None
        for method in (detector.predict, detector.decision_function):
            with pytest.raises(ValueError, match="there is no threshold"):
                method(TABLE)
        assert detector.anomaly_score(TABLE[:2]).shape == (2,)
        assert not hasattr(detector, "offset_")
        assert "guarantee_" in detector._repr_html_()  # what a notebook shows


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "bounds must be declared"),
        ({"epsilon": 0}, "epsilon must be a number > 0"),
        ({"epsilon": 1e-7}, "whole millionths"),
        ({"delta": 1}, "delta must be >= 0 and < 1"),
        ({"records_per_person": 0}, "records_per_person must be a whole number >= 1"),
        ({"records_per_person": 1.5}, "records_per_person must be a whole number >= 1"),
        ({"threshold_share": 0.6}, "threshold_share must be None, or > 0 and <= 0.5"),
        ({"rounds": 3, "bounds": (0, 1)}, "rounds must be 1 or 2"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ig.PrivateDetector(**settings).fit(TABLE)


def test_it_ranks_mammography_about_as_well_as_without_privacy(real_data):
    data = ig.datasets.load("mammography")
    X, rng = np.asarray(data.X, dtype=np.float64), np.random.default_rng(0)
    low, high = X.min(axis=0), X.max(axis=0)
    # Twice as wide as the file's range, which nobody may look up in earnest.
    bounds = (low - (high - low) / 2, high + (high - low) / 2)
    found = []
    for _ in range(4):
        rows = rng.permutation(len(X))
        trained, scored = rows[: len(X) // 2], rows[len(X) // 2 :]
        scores = ig.PrivateDetector(bounds=bounds).fit(X[trained]).anomaly_score(X[scored])
        found.append(roc_auc_score(data.is_outlier[scored], scores))
    assert np.mean(found) >= 0.83  # .86 on average


@pytest.mark.usefixtures("_quick_noise")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_over_orders_of_magnitude_are_ranked_by_their_logarithm(dtype):
    table = np.exp(RNG.normal(0, 2, size=(6000, 1))).astype(dtype)
    before = table.copy()
    model = ig.PrivateDetector(bounds=(1e-6, 1e6), log=[0]).fit(table)
    small, middle, large = model.anomaly_score(np.exp([[-9.0], [0.0], [9.0]]).astype(dtype))
    assert middle < small == pytest.approx(large, rel=0.2)
    np.testing.assert_array_equal(table, before)
    assert np.isfinite(model.anomaly_score([[0.0], [-1.0], [np.nan], [np.inf]])).all()
