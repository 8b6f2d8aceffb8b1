"""Spectral filtering: how much of the noise goes, where, and that it never adds any."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.knowledge import ColumnStatistics, Knowledge, OtherReleases, PublicParameters
from isinglass.attack.noise.gains import direction_gains
from isinglass.attack.noise.law import Factors
from isinglass.attack.spectral import FILTERS, SpectralAttack
from isinglass.errors import AttackError
from isinglass.perturb.noise import AdditiveNoise, MultiplicativeNoise


def rms(table):
    return float(np.sqrt(np.square(table).mean()))


def error(guess, truth):
    """Root mean squared error in deviations of each column."""
    return rms((guess - truth) / truth.std(axis=0, ddof=1))


def low_rank(rows, d, seed):
    rng = np.random.default_rng(seed)
    return 7 + rng.normal(size=(rows, 3)) @ rng.normal(size=(3, d)) * np.arange(1, d + 1)


def independent(rows, d, seed):
    return np.random.default_rng(seed).random((rows, d)) * np.arange(1, d + 1)


def release(X, scale, seed=0, **more):
    return AdditiveNoise(scale=scale, random_state=seed, **more).fit_transform(X)


def additive(scale, **more):
    return PublicParameters("additive_noise", {"scale": scale, "relative": True, **more})


# Additive noise.


@pytest.mark.parametrize("method", FILTERS)
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_correlated_columns_lose_at_least_half_of_the_noise(method, scale):
    for seed in range(3):
        X = low_rank(2000, 20, seed)
        guess = SpectralAttack(method).guess(release(X, scale, seed), additive(scale))
        assert error(guess, X) < scale / 2


@pytest.mark.parametrize("method", FILTERS)
@pytest.mark.parametrize("rows", [300, 4000])
@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 3.0])
def test_independent_columns_never_get_worse_by_more_than_a_twentieth(method, rows, scale):
    X = independent(rows, 15, 1)
    guess = SpectralAttack(method).guess(release(X, scale), additive(scale))
    assert error(guess, X) < 1.05 * scale


def test_where_records_abound_the_best_gain_is_that_of_wiener():
    widths, many = np.array([0.9, 1.2, 3.0, 50.0]), 10**9
    wiener = [0, 1 - 1 / 1.2, 1 - 1 / 3, 1 - 1 / 50]
    np.testing.assert_allclose(direction_gains(widths, many, "auto"), wiener, atol=1e-6)
    np.testing.assert_allclose(direction_gains(widths, many, "bayes"), wiener, atol=1e-12)
    # (1 + sqrt(1/4))^2 = 2.25 is the widest that noise gets with four records a column.
    np.testing.assert_array_equal(direction_gains(np.array([2.24, 2.26]), 8, "bounds"), [0, 1])
    assert direction_gains(np.array([2.24]), 4, "auto")[0] == 0


def test_noise_that_passes_the_edge_by_chance_is_not_taken_for_a_signal():
    passed = 0
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(size=(400, 3))
        widths = np.linalg.eigvalsh(np.cov(noise, rowvar=False))
        passed += bool(direction_gains(widths, 400, "auto").any())
    # One in a hundred by the law; without the allowance about one in six.
    assert passed <= 10


def test_pure_noise_stays_within_the_bound_and_gives_the_mean():
    noise = np.random.default_rng(0).normal(size=(2000, 25))
    statistics = ColumnStatistics.of(1e-9 * noise)
    for method in ("bounds", "auto"):
        guess = SpectralAttack(method).guess(noise, additive(1.0, relative=False) | statistics)
        assert np.ptp(guess, axis=0).max() < 1e-7


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("make", [low_rank, independent])
@pytest.mark.parametrize("rows", [300, 4000])
def test_the_default_is_never_far_behind_the_best(make, rows, scale):
    errors = {}
    X = make(rows, 15, 3)
    Z = release(X, scale)
    for method in FILTERS:
        errors[method] = error(SpectralAttack(method).guess(Z, additive(scale)), X)
    assert errors["auto"] < 1.08 * min(errors.values())


def test_bayes_is_the_best_linear_estimate():
    X = low_rank(50_000, 6, 0)
    sd = X.std(axis=0, ddof=1)
    Z = release(X, 0.7)
    guess = SpectralAttack("bayes").guess(Z, additive(0.7))
    S, N = np.cov(X.T), np.diag((0.7 * sd) ** 2)  # with the true moments, unlike the attacker
    best = X.mean(axis=0) + (Z - X.mean(axis=0)) @ np.linalg.solve(S + N, S)
    assert error(guess, X) == pytest.approx(error(best, X), rel=0.01)


def test_scales_may_be_in_units_or_one_for_each_column():
    X = low_rank(3000, 10, 0)
    expected = SpectralAttack().guess(release(X, 1.0), additive(1.0))
    units = X.std(axis=0, ddof=1)
    for known in (
        PublicParameters("additive_noise", {"scale": units.tolist(), "relative": False}),
        additive([1.0] * 10),
    ):
        guess = SpectralAttack().guess(release(X, 1.0), known)
        assert rms((guess - expected) / units) < 0.03


def test_a_release_nobody_explained_is_filtered_by_column_statistics():
    X = low_rank(3000, 20, 0)
    guess = SpectralAttack().guess(release(X, 1.0), ColumnStatistics.of(X))
    assert error(guess, X) < 0.5
    assert (guess >= X.min(axis=0)).all()
    assert (guess <= X.max(axis=0)).all()


def test_uniform_noise_tells_an_interval_that_holds_the_truth():
    X = np.random.default_rng(0).standard_t(2, size=(5000, 6))
    Z = release(X, 0.2, distribution="uniform")
    guess = SpectralAttack().guess(Z, additive(0.2, distribution="uniform"))
    free = SpectralAttack().guess(Z, additive(0.2))
    reach = 1.05 * np.sqrt(3) * 0.2 * X.std(axis=0, ddof=1)
    assert (np.abs(guess - Z) <= reach).all()
    assert error(guess, X) < error(free, X)


def test_columns_without_noise_leave_as_they_are_and_tell_of_the_others():
    X = low_rank(2000, 8, 0)
    scales = np.array([0.0] * 4 + [1.0] * 4)
    with pytest.warns(UserWarning, match="no noise"):
        Z = release(X, scales)
    guess = SpectralAttack().guess(Z, additive(scales.tolist()))
    np.testing.assert_array_equal(guess[:, :4], X[:, :4])
    assert error(guess[:, 4:], X[:, 4:]) < 0.1  # three factors are seen exactly


def test_constant_columns_and_two_records_give_a_finite_guess():
    X = low_rank(2, 4, 0)
    X[:, 1] = 3.0
    for method in FILTERS:
        guess = SpectralAttack(method).guess(X, additive(1.0))
        assert np.isfinite(guess).all()
        np.testing.assert_array_equal(guess[:, 1], 3.0)


# Several releases.


def test_two_releases_average_the_noise():
    X = independent(20_000, 5, 0)
    Z, others = release(X, 0.1, 1), (release(X, 0.1, 2), release(X, 0.1, 3), release(X, 0.1, 4))
    for m in (1, 2, 4):
        known = Knowledge(additive(0.1), OtherReleases(others[: m - 1]))
        guess = SpectralAttack("bounds").guess(Z, known)
        assert error(guess, X) == pytest.approx(0.1 / np.sqrt(m), rel=0.02)


def test_the_filter_knows_how_much_noise_averaging_left():
    X = independent(20_000, 5, 0)
    known = additive(1.0) | OtherReleases((release(X, 1.0, 2),))
    guess = SpectralAttack().guess(release(X, 1.0, 1), known)
    # Noise of half the variance: the best linear estimate leaves 1 / (1 + 2) of it.
    assert error(guess, X) == pytest.approx(np.sqrt(1 / 3), rel=0.02)


def test_releases_of_another_shape_are_left_aside():
    X = low_rank(500, 6, 0)
    Z = release(X, 0.5)
    known = additive(0.5) | OtherReleases((Z[:, :3],))
    alone = SpectralAttack().guess(Z, additive(0.5))
    np.testing.assert_array_equal(SpectralAttack().guess(Z, known), alone)


# Factors.


def test_the_law_of_the_factors_is_the_one_they_are_drawn_from():
    for scale in (0.1, 0.3, 1.0):
        veil = MultiplicativeNoise(scale, random_state=0)
        drawn = veil.fit_transform(np.ones((40_000, 5)))
        law = Factors.of(scale)
        assert drawn.var() == pytest.approx(law.variance, rel=0.02)
        assert np.log(drawn).var() == pytest.approx(law.log_variance, rel=0.05)
        assert np.log(drawn).mean() == pytest.approx(law.log_mean, abs=0.01)


def test_factors_are_filtered_as_logarithms_where_a_column_has_one_sign():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(4000, 2)) @ rng.normal(size=(2, 12)))
    X[:, ::2] *= -1
    Z = MultiplicativeNoise(0.3, random_state=1).fit_transform(X)
    guess = SpectralAttack().guess(Z, PublicParameters("multiplicative_noise", {"scale": 0.3}))
    assert (np.sign(guess) == np.sign(X)).all()
    assert rms(np.log(guess / X)) < rms(np.log(Z / X)) / 2


def test_factors_on_columns_of_both_signs_are_noise_in_proportion():
    X = np.random.default_rng(0).normal(size=(4000, 2)) @ np.ones((2, 12))
    X += 0.1 * np.random.default_rng(1).normal(size=X.shape)
    Z = MultiplicativeNoise(0.5, random_state=1).fit_transform(X)
    guess = SpectralAttack().guess(Z, PublicParameters("multiplicative_noise", {"scale": 0.5}))
    assert error(guess, X) < error(Z, X) / 1.5


# Manners.


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (PublicParameters("rotation"), "not rotation"),
        (OtherReleases(()), "PublicParameters or ColumnStatistics"),
        (additive([1.0, 2.0]), "2 scales"),
        (ColumnStatistics.of(np.ones((3, 5))), "5"),
        (PublicParameters("multiplicative_noise"), "scale"),
    ],
)
def test_what_is_missing_is_named(known, message):
    with pytest.raises(AttackError, match=message):
        SpectralAttack().guess(np.random.default_rng(0).random((9, 3)), known)


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match="method must be one of"):
        SpectralAttack("fourier")


def test_curves_are_told_by_their_neighboring_columns():
    rng = np.random.default_rng(4)
    slow = np.exp(-0.5 * np.square(np.subtract.outer(np.arange(48), np.arange(48)) / 4))
    curves = rng.multivariate_normal(np.zeros(48), slow, size=300, method="eigh")
    noisy = curves + 3 * curves.std(axis=0) * rng.normal(size=curves.shape)
    known = ColumnStatistics.of(curves) | additive(3.0)
    any_order, in_order = (
        1 - np.square(SpectralAttack(m).guess(noisy, known) - curves).mean() / curves.var()
        for m in ("auto", "profile")
    )
    assert in_order > max(0.3, any_order + 0.15)
    shuffled = rng.permutation(48)
    mixed = SpectralAttack("profile").guess(noisy[:, shuffled], additive(3.0))
    assert 1 - np.square(mixed - curves[:, shuffled]).mean() / curves.var() < 0.2
