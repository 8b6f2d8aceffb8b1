"""Rotation: distances survive, the search is exact, and the level is not flattered."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone

import isinglass as ig
from isinglass import chance
from isinglass.errors import PrivacyWarning, ReleaseError
from isinglass.measure.assignment import best_order_minimum
from isinglass.measure.vod import placement_levels, privacy_level, variance_of_difference
from isinglass.perturb.registry import load_key
from isinglass.perturb.rotation import Rotation
from isinglass.table.survey import survey

pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")


@pytest.fixture
def table():
    return np.random.default_rng(0).random((300, 4))


def quick(**settings):
    """A rotation of columns that lie in [0, 1] already, with a short search."""
    return Rotation(**{"n_iter": 3, "bounds": "scaled", "random_state": 1, **settings})


def level_of(rotation, table):
    return privacy_level(variance_of_difference(table, rotation.fit_transform(table)))


@pytest.mark.parametrize("optimize", ["minimum", "average", None])
def test_distances_survive(table, optimize):
    released = quick(optimize=optimize).fit_transform(table)
    np.testing.assert_allclose(pdist(released), pdist(table), rtol=1e-12)
    assert np.abs(released - table).max() > 0.1


def test_the_release_is_the_motion_its_key_says(table):
    veil = quick().fit(table)
    key = veil._key
    np.testing.assert_allclose(key.rotation @ key.rotation.T, np.eye(4), atol=1e-14)
    assert ((key.center >= 0) & (key.center < 1)).all()
    expected = (table - key.center) @ key.rotation.T
    np.testing.assert_allclose(veil.transform(table), expected, atol=1e-14)


def test_d_plus_one_recognized_records_undo_it(table):
    released = quick().fit_transform(table)
    known = np.arange(5)
    padded = np.column_stack([released, np.ones(len(released))])
    back = np.linalg.solve(padded[known], table[known])
    np.testing.assert_allclose(padded @ back, table, atol=1e-9)


@pytest.mark.parametrize("optimize", ["minimum", "average"])
def test_the_level_is_the_one_measured_on_the_release(table, optimize):
    veil = quick(optimize=optimize, check_ica=False)
    measured = getattr(level_of(veil, table), optimize)
    assert veil.privacy_level_ == pytest.approx(measured, abs=6e-4)


def test_the_level_is_measured_on_what_is_released_when_values_are_clipped(table):
    veil = quick(check_ica=False, clip=True, bounds=(0.2, 0.6))
    scaled = (np.clip(table, 0.2, 0.6) - 0.2) / 0.4
    released = veil.fit(table).transform(table)
    measured = privacy_level(variance_of_difference(scaled, released)).minimum
    assert veil.privacy_level_ == pytest.approx(measured, abs=6e-4)


def test_the_search_keeps_the_best_of_its_draws(table):
    veil = quick(n_iter=20, check_ica=False).fit(table)
    rng, C = chance.generator(1), np.cov(table, rowvar=False)
    rng.random(4)  # the center comes first
    levels = []
    for _ in range(20):
        P = placement_levels(chance.haar(rng, 4), C)
        levels.append(P[np.arange(4), best_order_minimum(P)].min())
    assert veil.privacy_level_ == round(max(levels), 3)


def test_a_longer_search_and_a_search_at_all_raise_the_level(table):
    levels = [level_of(quick(n_iter=n, check_ica=False), table).minimum for n in (1, 5, 40)]
    assert levels == sorted(levels)
    plain = np.mean(
        [level_of(quick(optimize=None, random_state=s), table).minimum for s in range(9)]
    )
    assert levels[-1] > plain


def test_average_and_minimum_each_win_at_their_own(table):
    levels = {o: level_of(quick(optimize=o, n_iter=9, check_ica=False), table) for o in
              ("minimum", "average")}  # fmt: skip
    assert levels["minimum"].minimum >= levels["average"].minimum
    assert levels["average"].average >= levels["minimum"].average


def test_iris_reaches_the_published_level(real_data):
    from isinglass.datasets.files import load

    X = load("iris").X.astype(np.float64)
    found = [Rotation(check_ica=False, random_state=s).fit(X).privacy_level_ for s in range(3)]
    assert np.mean(found) == pytest.approx(0.42, abs=0.08)


def test_independent_columns_get_a_low_level_and_a_warning(table):
    with pytest.warns(PrivacyWarning, match=r"below 0\.2.*GeometricPerturbation"):
        veil = quick().fit(table)
    assert veil.privacy_level_ < 0.05


@pytest.mark.filterwarnings("error::isinglass.errors.PrivacyWarning")
def test_a_high_level_does_not_warn(table):
    corners = np.round(table)  # deviation one half: as released, no column stays near its own
    assert quick(n_iter=30, check_ica=False).fit(corners).privacy_level_ > 0.2


def test_an_attack_that_gives_up_is_no_protection(monkeypatch, table):
    from isinglass.measure.separation import Separation

    result = Separation(minimum=9.0, average=9.0, converged=False, n_components=4)
    monkeypatch.setattr(Rotation, "_attack", lambda *_: result)
    with pytest.warns(PrivacyWarning, match="did not converge"):
        quick(n_iter=30).fit(np.round(table))


def test_the_warning_points_at_the_caller(table):
    with pytest.warns(PrivacyWarning) as said:
        quick().fit(table)
    assert [w.filename for w in said] == [__file__]


def test_the_seed_decides_and_the_operating_system_does_not_repeat(table):
    assert np.array_equal(quick().fit_transform(table), quick().fit_transform(table))
    free = [quick(random_state=None).fit_transform(table) for _ in range(2)]
    assert not np.allclose(*free)


def test_equal_bytes_whatever_the_pieces():
    X = np.random.default_rng(3).random((5000, 7))
    for dtype in (np.float32, np.float64):
        veil = quick(check_ica=False).fit(X)
        whole = veil.transform(X.astype(dtype))
        for size in (1, 64, 999, 4096):
            rows = range(0, 1000 if size == 1 else len(X), size)
            parts = [veil.transform_rows(X[r : r + size].astype(dtype), r) for r in rows]
            joined = np.vstack(parts)
            assert joined.tobytes() == whole[: len(joined)].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_width_in_is_width_out(table, dtype):
    X = table.astype(dtype)
    released = quick().fit(X).transform(X)
    assert released.dtype == dtype
    np.testing.assert_allclose(released, quick().fit(table).transform(table), atol=1e-6)


@pytest.mark.parametrize("weights", [None, [1, 2, 3, 4], np.array([1.0, 1.0, 1.0, 5.0])])
def test_a_saved_key_gives_equal_bytes(table, tmp_path, weights):
    veil = Rotation(n_iter=2, weights=weights, random_state=0).fit(table)
    veil.save_key(tmp_path / "a.key")
    for loaded in (Rotation.from_key(tmp_path / "a.key"), load_key(tmp_path / "a.key")):
        assert isinstance(loaded, Rotation)
        assert loaded.transform(table).tobytes() == veil.transform(table).tobytes()


def test_the_key_does_not_show(table):
    veil = quick().fit(table)
    shown = repr(veil) + repr(veil._key) + repr(veil._repr_html_()) + str(veil.public_parameters())
    for secret in (*veil._key.rotation.ravel(), *veil._key.center):
        assert f"{secret:.6f}" not in shown
        assert repr(float(secret))[:8] not in shown
    assert not hasattr(veil, "_table")
    public = {n for n in vars(veil) if n.endswith("_") and not n.startswith("_")}
    assert public == {"n_features_in_", "privacy_level_"}
    assert veil.privacy_level_ == round(veil.privacy_level_, 3)


def test_without_a_search_a_survey_is_enough(table):
    from_survey = quick(optimize=None).fit_survey(survey(table))
    assert not from_survey.needs_table
    assert from_survey.privacy_level_ is None
    expected = quick(optimize=None).fit_transform(table)
    assert from_survey.transform(table).tobytes() == expected.tobytes()


def test_with_a_search_a_survey_is_not(table):
    with pytest.raises(ReleaseError, match="whole table"):
        quick().fit_survey(survey(table))


def test_a_refit_without_search_forgets_the_old_level(table):
    veil = quick().fit(table)
    assert veil.set_params(optimize=None).fit(table).privacy_level_ is None


def test_one_column_is_kept_or_flipped():
    X = np.random.default_rng(4).random((50, 1))
    with pytest.warns(PrivacyWarning, match="hides anything"):
        veil = quick(n_iter=20).fit(X)
    assert abs(veil._key.rotation.item()) == pytest.approx(1.0)
    assert veil.privacy_level_ == 0.0  # either way the column is there for all to see
    np.testing.assert_allclose(pdist(veil.transform(X)), pdist(X))


def test_constant_columns_and_constant_tables(table):
    X = np.column_stack([table, np.full(len(table), 7.0)])
    veil = Rotation(n_iter=3, random_state=0).fit(X)
    assert np.isfinite(veil.transform(X)).all()
    assert 0 < veil.privacy_level_ < 0.2
    flat = Rotation(n_iter=3, random_state=0).fit(np.ones((10, 3)))
    assert flat.privacy_level_ == 0.0


def test_one_record_has_no_variance_to_search_with():
    with pytest.raises(ValueError, match="n_samples=1"):
        quick().fit(np.array([[0.1, 0.2]]))
    assert quick(optimize=None).fit_transform(np.array([[0.1, 0.2]])).shape == (1, 2)


def test_two_records_are_enough():
    assert np.isfinite(quick().fit(np.array([[0.1, 0.2], [0.9, 0.3]])).privacy_level_)


def test_a_heavier_column_gets_more(table):
    heavy = {"weights": [1, 1, 1, 3], "n_iter": 20, "check_ica": False}
    levels = [
        np.sqrt(variance_of_difference(table, quick(**s).fit_transform(table)))
        for s in ({**heavy, "weights": None}, heavy)
    ]
    assert levels[1][3] > levels[0][3]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_iter": 0}, "n_iter"),
        ({"n_iter": 1.5}, "n_iter"),
        ({"optimize": "both"}, "optimize"),
        ({"weights": [1, 2]}, "weights"),
        ({"weights": [1, 2, 3, 0]}, "weights"),
    ],
)
def test_bad_settings_are_refused(table, settings, message):
    with pytest.raises(ValueError, match=message):
        quick(**settings).fit(table)


def test_all_values_outside_the_bounds_are_counted():
    X = np.random.default_rng(5).random((200_000, 2))
    X[::1000, 1] = 1.5
    with pytest.raises(ValueError, match=r"1 \(200\)"):
        quick().fit(X)


def test_memory_is_stated_before_it_is_taken():
    X = np.random.default_rng(6).random((40_000, 6))
    veil = quick()
    veil.fit(X)  # imports are not the search's memory
    tracemalloc.start()
    veil.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    stated = veil.table_bytes(*X.shape)
    assert peak + X.nbytes < stated < 3 * (peak + X.nbytes)
    assert quick(optimize=None).table_bytes(*X.shape) == 0
    key = veil._key
    assert veil.key_bytes(6) == key.rotation.nbytes + key.center.nbytes


def test_clones_and_the_public_name(table):
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    veil = clone(ig.Rotation(5, optimize="average", weights=weights))
    assert veil.n_iter == 5
    assert np.array_equal(veil.weights, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        assert veil.fit_transform(table).shape == table.shape


def test_undo_gives_the_records_back_in_their_own_units():
    records = np.random.default_rng(2).normal(size=(200, 5)) * [1, 1e-3, 1e5, 7, 0] + 3
    rotation = Rotation(optimize=None, random_state=4)
    found = rotation.inverse_transform(rotation.fit_transform(records))
    assert (np.abs(found - records) <= 1e-13 * (1 + np.ptp(records, axis=0))).all()
