"""Rows with a size of their own: how long a released row is tells how much of it is noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from isinglass.attack.knowledge import ColumnStatistics, PopulationSample, PublicParameters
from isinglass.attack.noise.row_scales import (
    BoundedCells,
    NormalRows,
    means_of_scaled_rows,
    row_means,
)
from isinglass.attack.spectral import SpectralAttack
from isinglass.perturb.noise import AdditiveNoise

SHARES, SIZES = np.array([0.1, 0.9]), np.array([9.6, 0.04])


def explained(guess, X):
    return 1 - np.square(guess - X).mean() / np.square(X - X.mean(axis=0)).mean()


def active(seed, mixing, rows=2000):
    """A tenth of the rows is large in all columns."""
    rng = np.random.default_rng(seed)
    size = SIZES[(rng.random(rows) > SHARES[0]).astype(int)]
    return rng.normal(size=(rows, len(mixing))) @ mixing * np.sqrt(size)[:, np.newaxis]


def by_formula(rows, covariance):
    """The sum over c of P(c | z) c S (c S + I)^-1 z, densities by scipy."""
    d = len(covariance)
    chances = np.stack(
        [
            share * multivariate_normal(np.zeros(d), size * covariance + np.eye(d)).pdf(rows)
            for share, size in zip(SHARES, SIZES, strict=True)
        ]
    )
    chances /= chances.sum(axis=0)
    means = [rows @ np.linalg.solve(c * covariance + np.eye(d), c * covariance) for c in SIZES]
    return np.einsum("kn,knd->nd", chances, np.stack(means))


def public(scale, distribution="gaussian"):
    return PublicParameters(
        "additive_noise", {"scale": scale, "relative": True, "distribution": distribution}
    )


def test_with_known_sizes_the_mean_is_that_of_the_formula():
    rows = 2 * np.random.default_rng(0).normal(size=(50, 4))
    law = NormalRows(np.ones(4))
    found = row_means(law, rows, SIZES, SHARES)
    density = multivariate_normal(np.zeros(4), (1 + SIZES[0]) * np.eye(4)).logpdf(rows)
    np.testing.assert_allclose(law.fits(rows, SIZES)[:, 0], density)
    np.testing.assert_allclose(found, by_formula(rows, np.eye(4)), rtol=1e-9)
    mixing = np.random.default_rng(1).normal(size=(4, 4))
    covariance = mixing.T @ mixing
    found = row_means(NormalRows.of(covariance), rows, SIZES, SHARES)
    np.testing.assert_allclose(found, by_formula(rows, covariance), rtol=1e-9)


@pytest.mark.parametrize("z", [0.0, 0.7, -2.5, 6.0])
def test_a_cell_under_uniform_noise_is_a_normal_value_within_its_reach(z):
    reach, deviation = np.sqrt(3), 1.5
    inside, _ = quad(norm(0, deviation).pdf, z - reach, z + reach)
    first, _ = quad(lambda x: x * norm(0, deviation).pdf(x), z - reach, z + reach)
    law, rows, sizes = BoundedCells(np.array([0.25])), np.array([[z]]), np.array([9.0])
    assert law.fits(rows, sizes)[0, 0] == pytest.approx(np.log(inside / (2 * reach)), abs=1e-6)
    assert law.means(rows, sizes, np.ones((1, 1)))[0, 0] == pytest.approx(first / inside, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_unknown_sizes_cost_no_more_than_three_hundredths(seed):
    X = active(seed, np.eye(40))
    white = X / (4 * X.std(axis=0)) + np.random.default_rng(9).normal(size=X.shape)
    best = explained(by_formula(white, np.eye(40) / 16) * 4 * X.std(axis=0), X)
    known = public(4.0) | ColumnStatistics.of(X)
    released = white * 4 * X.std(axis=0)
    found = SpectralAttack("row_scales", random_state=0).guess(released, known)
    assert explained(found, X) > max(0.15, best - 0.03)
    assert explained(SpectralAttack().guess(released, known), X) < 0.05


def test_long_rows_and_a_sample_tell_which_columns_go_together():
    rng = np.random.default_rng(5)
    mixing = 0.3 * np.eye(40)
    mixing[:5] += 0.5 * rng.normal(size=(5, 40))
    X = active(3, mixing)
    released = AdditiveNoise(scale=4.0, random_state=1).fit_transform(X)
    known = public(4.0) | ColumnStatistics.of(X)
    filtered = SpectralAttack().guess(released, known)
    attack = SpectralAttack("row_scales", random_state=0)
    alone = attack.guess(released, known)
    sampled = attack.guess(released, known | PopulationSample(active(4, mixing, 200)))
    assert explained(alone, X) > explained(filtered, X) + 0.15
    assert explained(sampled, X) > explained(alone, X) + 0.02


def test_cells_beyond_the_reach_of_uniform_noise_tell_a_large_row():
    X = active(0, np.eye(40))
    white = X / (4 * X.std(axis=0))
    white += np.random.default_rng(1).uniform(-np.sqrt(3), np.sqrt(3), size=X.shape)
    variances = np.full(40, 1 / 16)
    by_cells, by_size = (
        means_of_scaled_rows(white, variances, np.random.default_rng(0), uniform=uniform)
        for uniform in (True, False)
    )
    assert explained(by_cells * 4, X / X.std(axis=0)) > 0.03 + explained(
        by_size * 4, X / X.std(axis=0)
    )


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_where_rows_are_of_one_size_nothing_changes(distribution, scale):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 20))
        if distribution == "gaussian":
            # Cells of uniform noise tell more than a filter of correlated columns; see below.
            X += rng.normal(size=(1000, 4)) @ rng.normal(size=(4, 20))
        Z = AdditiveNoise(distribution, scale=scale, random_state=seed).fit_transform(X)
        known = public(scale, distribution) | ColumnStatistics.of(X)
        plain, scaled = (
            SpectralAttack(m, random_state=0).guess(Z, known) for m in ("auto", "row_scales")
        )
        np.testing.assert_array_equal(plain, scaled)


def test_cells_of_uniform_noise_are_used_in_correlated_columns_only_where_they_tell_more():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 4)) @ rng.normal(size=(4, 20)) + rng.normal(size=(1000, 20))
        Z = AdditiveNoise("uniform", scale=4.0, random_state=seed).fit_transform(X)
        known = public(4.0, "uniform") | ColumnStatistics.of(X)
        plain, scaled = (
            explained(SpectralAttack(m, random_state=0).guess(Z, known), X)
            for m in ("auto", "row_scales")
        )
        assert scaled > plain - 0.01


def test_one_column_few_rows_and_no_noise_give_a_finite_guess():
    rng = np.random.default_rng(0)
    for shape in ((2, 3), (60, 1), (200, 3)):
        X = rng.standard_t(2, size=shape)
        X[:, 0] = 1.0 if shape[1] > 1 else X[:, 0]
        for scale in (1e-7, 1.0):
            guess = SpectralAttack("row_scales", random_state=0).guess(X, public(scale))
            assert np.isfinite(guess).all()
