"""Adaptive noise brings every record to an expected level of k, outliers included."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from isinglass.errors import PrivacyWarning, ReleaseError
from isinglass.measure.randomization import adaptive_level, expected_randomization_level
from isinglass.perturb import adaptive
from isinglass.perturb.adaptive import AdaptiveNoise
from isinglass.perturb.registry import load_key

K, OUTLIERS = 10, 4


@pytest.fixture(scope="module")
def table():
    """Two clusters, and a few records far from both and from each other."""
    rng = np.random.default_rng(0)
    clusters = rng.normal(size=(800, 4)) + np.repeat([[0.0], [8.0]], 400, axis=0)
    far = np.array([[60.0, 0, 0, 0], [0, -60, 0, 0], [0, 0, 60, 0], [-40, -40, 0, 0]])
    return np.vstack([clusters, far]) * [1, 10, 0.1, 1000]


@pytest.fixture(scope="module")
def veil(table):
    return AdaptiveNoise(K, random_state=1).fit(table)


def measured_levels(table, scales, units, n_draws=400):
    rng = np.random.default_rng(99)
    total = np.zeros(len(table))
    for _ in range(n_draws):
        noise = scales[:, np.newaxis] * units * rng.normal(size=table.shape)
        total += adaptive_level(table, table + noise, scales, units)
    return total / n_draws


def test_every_record_reaches_k_against_the_attacker_who_knows_the_rule(veil, table):
    """Measured anew, with draws of its own, by another kernel and against all records."""
    levels = measured_levels(table, *veil.key_scales())
    assert levels.min() >= 0.9 * K
    assert levels[-OUTLIERS:].min() >= 0.9 * K
    assert veil.level_ >= K


def test_noise_of_one_size_leaves_the_outliers_behind(veil, table):
    """The same amount of noise on average, spread evenly: lone records fit nobody else."""
    scales, units = veil.key_scales()
    plain = expected_randomization_level(table, scale=scales.mean() * units)
    assert plain[-OUTLIERS:].max() < 0.3 * K
    assert np.median(plain) > K
    # And what evenly spread noise would take to protect the outliers as well.
    enough = expected_randomization_level(table, scale=2 * scales.mean() * units)
    assert enough[-OUTLIERS:].min() < K


def test_growing_the_noise_of_an_outlier_alone_would_not_hide_it(veil, table):
    """Why neighbors must share it: strong noise that only one record has is its signature."""
    scales, units = veil.key_scales()
    alone = scales.copy()
    alone[:-OUTLIERS] = np.median(scales)
    levels = measured_levels(table, alone, units, n_draws=50)
    assert levels[-OUTLIERS:].max() < 0.5 * K


def test_dense_regions_get_little_noise(veil):
    scales, _ = veil.key_scales()
    assert np.median(scales) < 0.1 * scales[-OUTLIERS:].min()


def test_the_noise_has_the_size_of_its_row_and_column(table, veil):
    scales, units = veil.key_scales()
    np.testing.assert_allclose(units, table.std(axis=0), rtol=1e-2)
    noise = veil.transform_rows(table, 0) - table
    standard = noise / (scales[:, np.newaxis] * units)
    # 804 x 4 standard normals: the deviation of their deviation is 0.0125.
    assert np.abs(standard.std() - 1) < 0.06
    assert np.abs(standard.mean()) < 0.09


def test_the_key_gives_the_records_back(table, veil, tmp_path):
    released = veil.transform_rows(table, 0)
    scales, units = veil.key_scales()
    grid = scales.min() * units / 2**18  # on which the release is rounded
    assert (np.abs(veil.inverse_transform(released) - table) <= grid).all()
    later = veil.inverse_transform(released[700:], first_row=700)
    assert (np.abs(later - table[700:]) <= grid).all()
    veil.save_key(tmp_path / "a.key")
    back = load_key(tmp_path / "a.key")
    np.testing.assert_array_equal(back.transform_rows(table[5:90], 5), released[5:90])
    for mine, theirs in zip(back.key_scales(), veil.key_scales(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_rows_it_was_not_fitted_on_are_refused(table, veil):
    with pytest.raises(ReleaseError, match="none for rows 804 to 804"):
        veil.transform_rows(table[:5], 800)
    with pytest.raises(ReleaseError, match="fitted on"):
        veil.inverse_transform(table, first_row=1)
    fresh = AdaptiveNoise(2, random_state=0).fit(table[:100])
    fresh.transform(table[:100])
    with pytest.raises(ReleaseError, match="second call of transform"):
        fresh.transform(table[:100])


def test_nearest_candidates_in_larger_tables_err_on_the_strong_side(table, monkeypatch):
    """Levels from fewer candidates are too low, so that scales come out larger, never smaller."""
    monkeypatch.setattr(adaptive, "_ALL_UP_TO", 100)
    monkeypatch.setattr(adaptive, "_GROUP", 300)
    few = AdaptiveNoise(K, random_state=1).fit(table)
    assert adaptive._n_candidates(len(table), K) == 256
    assert measured_levels(table, *few.key_scales(), n_draws=200).min() >= 0.9 * K


def test_copies_hide_each_other_without_noise():
    table = np.repeat(np.random.default_rng(2).normal(size=(20, 3)), 15, axis=0)
    scales, units = AdaptiveNoise(10, random_state=0).fit(table).key_scales()
    assert scales.max() <= 0.0126
    assert measured_levels(table, scales, units, 20).min() >= 15


def test_constant_columns_leave_as_they_are_and_say_so():
    table = np.random.default_rng(3).normal(size=(60, 3))
    table[:, 1] = 5
    with pytest.warns(PrivacyWarning, match="1 of 3 columns get no noise"):
        released = AdaptiveNoise(3, random_state=0).fit_transform(table)
    assert (released[:, 1] == 5).all()
    assert (released[:, [0, 2]] != table[:, [0, 2]]).all()
    with pytest.warns(PrivacyWarning, match="3 of 3 columns"):
        veil = AdaptiveNoise(3, random_state=0).fit(np.ones((5, 3)))
    assert veil.level_ == 5  # all five are alike


def test_noise_below_the_precision_of_the_numbers_is_told():
    table = np.random.default_rng(6).normal(size=(80, 2)).astype(np.float32)
    table[:, 1] += 1e6
    with pytest.warns(PrivacyWarning, match="1 of 2 columns get noise that is"):
        AdaptiveNoise(5, random_state=0).fit(table)


def test_one_seed_gives_one_key_on_any_number_of_threads(table):
    keys = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            keys.append(AdaptiveNoise(K, random_state=7).fit(table[300:]).key_scales()[0])
    np.testing.assert_array_equal(*keys)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 1}, "k must be a whole number >= 2"),
        ({"k": 2.5}, "k must be a whole number >= 2"),
        ({"k": 61}, "k=61 needs at least 61 records, got n_samples=60"),
        ({"n_draws": 199}, "n_draws must be a whole number >= 200"),
    ],
)
def test_bad_parameters_are_told(settings, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveNoise(**settings).fit(np.random.default_rng(4).normal(size=(60, 2)))


def test_a_level_that_no_noise_reaches_is_an_error(monkeypatch):
    """However strong the noise, on average only half of 30 different records fit better."""
    monkeypatch.setattr(adaptive, "_MOST_ROUNDS", 60)
    with pytest.raises(ReleaseError, match=r"k=25 in 60 rounds: \d+ of 30 stay below"):
        AdaptiveNoise(25, random_state=0).fit(np.random.default_rng(5).normal(size=(30, 2)))
