"""Noise of a seed that people use is no noise; noise of any other seed is."""

import numpy as np
import pytest

from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.noise.common_seeds import find_public_noise, without_public_noise

X = np.random.default_rng(987654321).gamma(3.0, size=(300, 4)) * [1, 5, 2, 9]
KNOWN = ColumnStatistics.of(X)


@pytest.mark.parametrize(
    "drawn",
    [
        np.random.default_rng(42).normal(size=X.shape),
        np.random.RandomState(7).normal(size=X.shape),
        np.random.default_rng(2024).uniform(size=X.shape),
        np.random.default_rng(1).normal(size=X.T.shape).T,
    ],
)
def test_noise_of_a_well_known_seed_is_drawn_again(drawn):
    Z = X + 6 * KNOWN.deviation * drawn
    np.testing.assert_allclose(find_public_noise(Z), drawn)
    left = without_public_noise(Z, KNOWN)
    assert min(np.corrcoef(a, b)[0, 1] for a, b in zip(left.T, X.T, strict=True)) > 0.95


def test_factors_of_a_well_known_seed_are_drawn_again():
    for factor in (
        np.exp(1.5 * np.random.RandomState(0).normal(size=X.shape)),
        1 + 0.3 * np.random.default_rng(12345).normal(size=X.shape),
    ):
        left = without_public_noise(X * factor, KNOWN)
        assert min(np.corrcoef(a, b)[0, 1] for a, b in zip(left.T, X.T, strict=True)) > 0.95


def test_noise_of_a_seed_that_nobody_guesses_stays():
    Z = X + 6 * KNOWN.deviation * np.random.default_rng(918273645546372819).normal(size=X.shape)
    assert find_public_noise(Z) is None
    assert without_public_noise(Z, KNOWN) is Z
