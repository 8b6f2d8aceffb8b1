"""Variance of difference: the formula is the sample variance, and its moments are right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import isinglass as ig
from isinglass import chance
from isinglass.measure.vod import (
    column_weights,
    haar_vod_moments,
    placement_levels,
    rotation_vod,
)

PLANE = np.array([[0.09, 0.03], [0.03, 0.04]])
SPACE = np.array([[0.0529, 0.01, -0.02], [0.01, 0.0324, 0.005], [-0.02, 0.005, 0.09]])
THIRDS = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3.0


def test_golden_values():
    c, s = np.cos(np.pi / 3), np.sin(np.pi / 3)
    turn = np.array([[c, -s], [s, c]])
    np.testing.assert_allclose(rotation_vod(turn, PLANE), [0.0784807621, 0.0515192379], atol=1e-9)
    expected = [0.0583666667, 0.0426666667, 0.0191666667]
    np.testing.assert_allclose(rotation_vod(THIRDS, SPACE), expected, atol=1e-9)


@given(st.integers(1, 8), st.integers(2, 40), st.integers(0, 2**32))
def test_the_formula_is_the_sample_variance_of_the_difference(d, n, seed):
    rng = np.random.default_rng(seed)
    X, R = rng.random((n, d)), chance.haar(rng, d)
    shift = rng.random(d)
    measured = ig.metrics.variance_of_difference(X, (X - shift) @ R.T)
    C = np.cov(X, rowvar=False).reshape(d, d)
    np.testing.assert_allclose(rotation_vod(R, C), measured, atol=1e-12)
    placed = placement_levels(R, C)
    np.testing.assert_allclose(np.diag(placed) ** 2, measured, atol=1e-12)


def test_flipping_every_sign_scores_twice_the_deviation_and_hides_nothing():
    np.testing.assert_allclose(rotation_vod(-np.eye(3), SPACE), 4 * np.diag(SPACE), atol=1e-12)


def test_flipping_iris():
    X = load_iris().data  # Fisher's values; the UCI file differs in three cells
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    expected = [0.46003674, 0.36322190, 0.59840618, 0.63519806]
    np.testing.assert_allclose(
        np.sqrt(ig.metrics.variance_of_difference(X, -X)), expected, atol=1e-7
    )
    vod = rotation_vod(-np.eye(4), np.cov(X, rowvar=False))
    np.testing.assert_allclose(np.sqrt(vod), expected, atol=1e-7)


def test_golden_moments_over_uniform_rotations():
    mean, variance = haar_vod_moments(np.diag([1.0, 2.0, 3.0, 4.0]) / 100)
    np.testing.assert_allclose(mean, [0.035, 0.045, 0.055, 0.065], atol=1e-12)
    expected = [1.416667e-4, 4.416667e-4, 9.416667e-4, 1.6416667e-3]
    np.testing.assert_allclose(variance, expected, atol=1e-9)


def test_one_column_is_kept_or_flipped():
    mean, variance = haar_vod_moments([[0.3]])  # 0 or 4 * 0.3, each half of the time
    np.testing.assert_allclose([mean[0], variance[0]], [0.6, 0.36])


def test_moments_agree_with_many_draws():
    rng = np.random.default_rng(5)
    draws = np.array([rotation_vod(chance.haar(rng, 3), SPACE) for _ in range(10_000)])
    mean, variance = haar_vod_moments(SPACE)
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * error).all()
    squares = (draws - mean) ** 2
    error = squares.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (np.abs(squares.mean(axis=0) - variance) < 5 * error).all()


def test_levels_compose_to_minimum_and_average():
    level = ig.metrics.privacy_level([0.04, 0.09, 0.25])
    np.testing.assert_allclose([level.minimum, level.average], [0.2, 1.0 / 3])


@pytest.mark.parametrize("factor", [1e-3, 1.0, 7.0])
def test_equal_weights_change_nothing(factor):
    vod = [0.04, 0.09, 0.25]
    weighted = ig.metrics.privacy_level(vod, weights=[factor] * 3)
    plain = ig.metrics.privacy_level(vod)
    np.testing.assert_allclose(
        [weighted.minimum, weighted.average], [plain.minimum, plain.average], rtol=1e-14
    )


def test_a_heavier_column_counts_as_less_private():
    np.testing.assert_allclose(column_weights([1, 3], 2), [0.5, 1.5])
    np.testing.assert_allclose(ig.metrics.privacy_level([0.09, 0.09], weights=[1, 3]).minimum, 0.2)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match="weights must be"):
        ig.metrics.privacy_level([0.1, 0.2], weights=weights)


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        ig.metrics.variance_of_difference(np.zeros((3, 2)), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="n_samples=1"):
        ig.metrics.variance_of_difference(np.zeros((1, 2)), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="vod must be"):
        ig.metrics.privacy_level([0.1, -0.1])


def test_float32_tables_are_compared_in_float64():
    X = np.full((4, 1), 1.0, dtype=np.float32)
    Z = X + np.array([[0], [1], [0], [1]], dtype=np.float32) * np.float32(2**-20)
    assert ig.metrics.variance_of_difference(X, Z)[0] == pytest.approx(2.0**-40 / 3, rel=1e-12)
