"""A sample as prior: what noise hides between groups of records, it does not hide from them."""

import numpy as np
import pytest

import isinglass as ig
from isinglass.attack.posterior import PosteriorAttack, _posterior_mean
from isinglass.errors import AttackError

RNG = np.random.default_rng(3)
CENTERS = RNG.normal(scale=4, size=(12, 5))
TABLE = CENTERS[RNG.integers(12, size=1500)] + RNG.normal(scale=0.3, size=(1500, 5))


def explained(guess, truth):
    return float(np.mean(1 - ((guess - truth) ** 2).mean(axis=0) / truth.var(axis=0)))


def knowledge(scale):
    public = ig.PublicParameters("additive_noise", {"scale": scale, "distribution": "gaussian"})
    return public | ig.PopulationSample(TABLE[:150])


def test_groups_of_records_show_through_noise_that_no_linear_filter_takes_off():
    released = TABLE + RNG.normal(size=TABLE.shape) * TABLE.std(axis=0)
    got = PosteriorAttack(random_state=0).guess(released, knowledge(1.0))[150:]
    linear = ig.SpectralAttack().guess(released, knowledge(1.0))[150:]
    assert explained(got, TABLE[150:]) > explained(linear, TABLE[150:]) + 0.15
    assert explained(got, TABLE[150:]) > 0.7


def test_of_a_normal_table_the_posterior_mean_is_the_linear_estimate():
    """A wide prior has a closed form: mean + C (C + N)^-1 (z - mean), up to the bells' spread."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(4, 4))
    sample = rng.normal(size=(4000, 4)) @ mixing
    sample = (sample - sample.mean(axis=0)) / sample.std(axis=0)
    z = rng.normal(size=(50, 4)) @ mixing
    C = np.cov(sample, rowvar=False)
    # Bells of width h around draws from N(0, C) make N(0, (1 + h²) C).
    prior = 2.0 * C
    expected = z @ np.linalg.solve(prior + 3.0 * np.eye(4), prior)
    np.testing.assert_allclose(
        _posterior_mean(z, sample, np.full(4, 3.0), 1.0), expected, atol=0.15
    )


def test_fresh_noise_tells_nothing():
    noise = np.random.default_rng(9).normal(size=TABLE.shape) * TABLE.std(axis=0) * np.sqrt(2)
    got = PosteriorAttack(random_state=0).guess(noise + TABLE.mean(axis=0), knowledge(1.0))
    assert explained(got, TABLE) < 0.02


def test_a_release_of_another_width_cannot_be_averaged():
    with pytest.raises(AttackError, match="3 columns and the sample 5"):
        PosteriorAttack().guess(TABLE[:, :3], knowledge(1.0))
