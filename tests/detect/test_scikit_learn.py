"""Detectors as scikit-learn's tools use them."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import isinglass as ig
from isinglass.threads import as_scikit_learn

RNG = np.random.default_rng(3)
X = np.vstack([RNG.normal(size=(190, 3)), RNG.normal(size=(10, 3)) * 9])
SIGNS = np.repeat([1, -1], [190, 10])  # scikit-learn's: -1 for outliers
GRIDS = {
    "distance": (ig.DistanceOutliers(10), {"n_neighbors": [2, 5], "contamination": [None, 0.05]}),
    "radius": (ig.RadiusOutliers(2, 1.0), {"r": [0.5, 2.0], "contamination": [None, 0.05]}),
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_search_with_roc_auc_takes_scikit_learns_labels(name):
    detector, grid = GRIDS[name]
    order = np.random.default_rng(0).permutation(200)
    found = GridSearchCV(detector, grid, scoring="roc_auc", cv=2).fit(X[order], SIGNS[order])
    assert found.best_score_ > 0.9
    # Where 1 marks the outliers, the sign is the other one, and anomaly_score has it.
    upside_down = GridSearchCV(
        detector, grid, cv=2, scoring=lambda d, X, y: np.corrcoef(d.anomaly_score(X), y)[0, 1]
    ).fit(X[order], (SIGNS < 0)[order])
    assert upside_down.best_score_ > 0.3


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_search_without_scoring_says_what_is_missing(name):
    detector, grid = GRIDS[name]
    with pytest.raises(TypeError, match="If no scoring is specified"):
        GridSearchCV(detector, grid).fit(X)


@pytest.mark.parametrize("name", GRIDS)
def test_in_a_pipeline_cloned_and_sent_to_another_process_answers_stay(name):
    detector = make_pipeline(MinMaxScaler(), clone(GRIDS[name][0]))
    signs = detector.fit_predict(X)
    np.testing.assert_array_equal(detector.predict(X), signs)
    np.testing.assert_array_equal(clone(detector).fit(X).predict(X), signs)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        parts = joblib.Parallel()(joblib.delayed(detector.predict)(half) for half in (X[:9], X[9:]))
    np.testing.assert_array_equal(np.concatenate(parts), signs)


def test_n_jobs_is_scikit_learns():
    assert as_scikit_learn(None) == 1
    assert as_scikit_learn(-1) == -1
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert as_scikit_learn(None) == 3
        assert as_scikit_learn(2) == 2
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        ig.DistanceOutliers(n_jobs=0).fit(X)
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        ig.RadiusOutliers(n_jobs=0).fit(X)
