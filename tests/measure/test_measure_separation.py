"""Independent components: what they recover, and the tables on which they could stumble."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass import chance
from isinglass.measure.separation import (
    COMPONENT_SCALINGS,
    MOST_ROWS,
    correlations,
    naming_levels,
    separation_levels,
    unmix,
)


def rotated(X, seed=0):
    rng = np.random.default_rng(seed)
    return (X - rng.random(X.shape[1])) @ chance.haar(rng, X.shape[1]).T


def scaled(name):
    from isinglass.datasets.files import load

    X = load(name).X.astype(np.float64)
    span = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1.0)


@pytest.fixture
def uniform():
    return np.random.default_rng(1).random((2000, 5))


def test_independent_columns_come_back_almost_whole(uniform):
    found = separation_levels(uniform, rotated(uniform), np.random.default_rng(2))
    assert found.converged
    assert found.n_components == 5
    assert found.minimum < 0.03
    assert found.average < 0.03


def test_the_rotation_makes_no_difference_to_the_attack(uniform):
    found = [
        separation_levels(uniform, rotated(uniform, seed), np.random.default_rng(3)).average
        for seed in range(4)
    ]
    assert np.ptp(found) < 1e-3


def test_unscaled_components_cannot_fall_below_one_minus_the_deviation(uniform):
    rng = np.random.default_rng(4)
    found = separation_levels(uniform, rotated(uniform), rng, attacker="raw")
    floor = 1 - uniform.std(axis=0, ddof=1).max()
    assert floor <= found.minimum < floor + 0.01
    assert found.minimum == pytest.approx(0.708, abs=0.01)


def test_iris_and_wine_as_measured_before(real_data):
    rng = np.random.default_rng(5)
    iris, wine = scaled("iris"), scaled("wine")
    found = separation_levels(iris, rotated(iris), rng, n_starts=3)
    assert found.minimum == pytest.approx(0.034, abs=0.015)
    assert found.average == pytest.approx(0.188, abs=0.02)
    found = separation_levels(iris, rotated(iris), rng, attacker="raw")
    assert found.minimum == pytest.approx(0.696, abs=0.01)
    found = separation_levels(wine, rotated(wine), rng, n_starts=3)
    assert found.minimum == pytest.approx(0.121, abs=0.03)
    assert found.average == pytest.approx(0.200, abs=0.02)


def test_levels_are_the_deviation_of_the_guess():
    rng = np.random.default_rng(6)
    X = rng.random((400, 3))
    parts = X @ rng.normal(size=(3, 3)) + rng.normal(size=(400, 3)) * 0.1
    parts = (parts - parts.mean(axis=0)) / parts.std(axis=0, ddof=1)
    deviation = X.std(axis=0, ddof=1)
    K = correlations(X, parts)
    for i in range(3):
        for k in range(3):
            upright = parts[:, k] * np.sign(K[i, k])
            factors = {"raw": 1.0, "variance": deviation[i], "linear": deviation[i] * abs(K[i, k])}
            for attacker in COMPONENT_SCALINGS:
                left = (X[:, i] - factors[attacker] * upright).std(ddof=1)
                level = naming_levels(X, parts, attacker)[i, k]
                assert level == pytest.approx(left, abs=1e-12)


def test_better_attackers_leave_less(uniform):
    levels = [
        separation_levels(uniform, rotated(uniform), np.random.default_rng(7), attacker=a).average
        for a in ("linear", "variance", "raw")
    ]
    assert levels == sorted(levels)


def test_more_starts_never_help_the_owner():
    X = np.random.default_rng(8).normal(size=(200, 6))
    one, three = (
        separation_levels(X, rotated(X), np.random.default_rng(9), n_starts=n) for n in (1, 3)
    )
    assert three.minimum <= one.minimum
    assert three.average <= one.average


def test_components_have_variance_one_and_are_uncorrelated(uniform):
    released = rotated(uniform)
    parts = unmix(released, np.random.default_rng(10)).components(released)
    np.testing.assert_allclose(np.cov(parts, rowvar=False), np.eye(5), atol=1e-9)


def test_giving_up_early_is_flagged_and_does_not_warn():
    X = np.random.default_rng(11).normal(size=(300, 12))  # normal columns: nothing to find
    assert not unmix(rotated(X), np.random.default_rng(0), max_iter=2).converged


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rank_deficient_tables(dtype):
    base = np.random.default_rng(12).random((500, 3))
    X = np.column_stack([base, base[:, 0], base[:, 1] + base[:, 2]])
    found = separation_levels(X, rotated(X).astype(dtype), np.random.default_rng(0))
    assert found.n_components == 3
    assert found.minimum < 0.05
    assert np.isfinite(found.average)


def test_constant_columns_are_left_out(uniform):
    padded = np.column_stack([uniform, np.full(len(uniform), 0.3)])
    found = separation_levels(padded, rotated(padded), np.random.default_rng(13))
    assert found.n_components == 5
    assert 0 < found.minimum < 0.03


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (3, 5), (40, 1), (4, 4)])
def test_tiny_tables_give_finite_levels(shape):
    X = np.random.default_rng(14).random(shape)
    for attacker in COMPONENT_SCALINGS:
        found = separation_levels(X, rotated(X), np.random.default_rng(0), attacker=attacker)
        assert np.isfinite([found.minimum, found.average]).all()


def test_a_table_that_never_varies_has_level_zero():
    X = np.full((10, 3), 0.1)
    found = separation_levels(X, rotated(X), np.random.default_rng(0))
    assert (found.minimum, found.average, found.n_components) == (0.0, 0.0, 0)


def test_a_release_that_says_nothing_leaves_every_deviation(uniform):
    found = separation_levels(uniform, np.zeros((2000, 2)), np.random.default_rng(0))
    assert found.minimum == pytest.approx(uniform.std(axis=0, ddof=1).min())


def test_weights_divide_the_levels(uniform):
    plain, weighted = (
        separation_levels(uniform, rotated(uniform), np.random.default_rng(15), weights=w)
        for w in (None, [1, 1, 1, 1, 1e6])
    )
    # Rescaled to mean one, the others' weights are almost 0 and the last one's almost 5.
    assert weighted.minimum < plain.minimum / 4


def test_long_tables_are_sampled():
    X = np.random.default_rng(16).random((MOST_ROWS + 1000, 2))
    first, again, other = (
        separation_levels(X, rotated(X), np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
    assert first.minimum < 0.01


def test_bad_arguments_are_refused(uniform):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="attacker must be"):
        separation_levels(uniform, uniform, rng, attacker="psychic")
    with pytest.raises(ValueError, match="same records"):
        separation_levels(uniform, uniform[1:], rng)
    with pytest.raises(ValueError, match="n_starts"):
        separation_levels(uniform, uniform, rng, n_starts=0)
    with pytest.raises(ValueError, match="table with records"):
        unmix(np.empty((0, 2)), rng)
