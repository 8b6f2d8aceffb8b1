"""A sample as prior: what noise hides between groups of records, it does not hide from them."""

import numpy as np
import pytest

import isinglass as ig
from isinglass.attack.knowledge import ColumnStatistics, OtherReleases, PublicParameters
from isinglass.attack.noise.box_posterior import Box, candidate_means, factors
from isinglass.attack.noise.cell_law import told_by_cells
from isinglass.attack.noise.law import AdditiveLaw, additive_law
from isinglass.attack.posterior import PosteriorAttack, _posterior_mean
from isinglass.errors import AttackError

RNG = np.random.default_rng(3)
CENTERS = RNG.normal(scale=4, size=(12, 5))
TABLE = CENTERS[RNG.integers(12, size=1500)] + RNG.normal(scale=0.3, size=(1500, 5))


def explained(guess, truth):
    return float(np.mean(1 - ((guess - truth) ** 2).mean(axis=0) / truth.var(axis=0)))


def knowledge(scale):
    public = ig.attacks.PublicParameters(
        "additive_noise", {"scale": scale, "distribution": "gaussian"}
    )
    return public | ig.attacks.PopulationSample(TABLE[:150])


def test_groups_of_records_show_through_noise_that_no_linear_filter_takes_off():
    released = TABLE + RNG.normal(size=TABLE.shape) * TABLE.std(axis=0)
    got = PosteriorAttack(random_state=0).guess(released, knowledge(1.0))[150:]
    linear = ig.attacks.SpectralAttack().guess(released, knowledge(1.0))[150:]
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


def noisy(table, scale, distribution, seed=0):
    """A release, and what is public about it and its columns."""
    rng = np.random.default_rng(seed)
    uniform = rng.uniform(-np.sqrt(3), np.sqrt(3), size=table.shape)
    noise = uniform if distribution == "uniform" else rng.normal(size=table.shape)
    said = ig.attacks.PublicParameters(
        "additive_noise", {"scale": scale, "distribution": distribution}
    )
    released = table + scale * table.std(axis=0, ddof=1) * noise
    return released, said | ig.attacks.ColumnStatistics.of(table)


FACTOR = np.random.default_rng(1).normal(size=(800, 1))
ONE_QUANTITY = FACTOR + 0.2 * np.random.default_rng(2).normal(size=(800, 30))


def test_ends_of_uniform_noise_tell_the_outsider_what_its_variance_hides():
    released, known = noisy(ONE_QUANTITY, 10.0, "uniform")
    got = explained(PosteriorAttack(random_state=0).guess(released, known), ONE_QUANTITY)
    linear = explained(ig.attacks.SpectralAttack().guess(released, known), ONE_QUANTITY)
    assert linear < 0.2
    assert got > 0.6


def test_a_sample_and_then_the_table_itself_tell_more_under_uniform_noise():
    rng = np.random.default_rng(4)
    table = rng.gamma(2.0, size=(600, 3)) @ rng.normal(size=(3, 15))
    table += 0.2 * rng.normal(size=table.shape)
    released, known = noisy(table, 8.0, "uniform")
    bell = known | ig.attacks.PublicParameters("additive_noise", {"scale": 8.0})
    alone, normal, sample, public = (
        explained(PosteriorAttack(random_state=0).guess(released, facts)[60:], table[60:])
        for facts in (
            known,
            bell | ig.attacks.PopulationSample(table[:60]),
            known | ig.attacks.PopulationSample(table[:60]),
            known | ig.attacks.PublicTable(table[::-1]),
        )
    )
    assert alone > 0.1
    assert sample > max(normal, alone) + 0.03
    assert public > sample + 0.01


def test_uniform_noise_shows_in_a_file_that_says_nothing():
    released, known = noisy(ONE_QUANTITY, 10.0, "uniform")
    silent = known.without(ig.attacks.PublicParameters)
    assert additive_law(released, silent).reach is not None
    assert explained(PosteriorAttack().guess(released, silent), ONE_QUANTITY) > 0.5
    bell, known = noisy(ONE_QUANTITY, 10.0, "gaussian")
    assert additive_law(bell, known.without(ig.attacks.PublicParameters)).reach is None


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_one_far_value_in_a_column_is_no_secret(distribution):
    rng = np.random.default_rng(6)
    table = rng.lognormal(8, 0.5, size=(800, 4))
    table[rng.integers(800, size=4), np.arange(4)] = 4e5
    released, known = noisy(table, 3.0, distribution)
    assert explained(PosteriorAttack().guess(released, known), table) > 0.9
    if distribution == "gaussian":  # within its reach uniform noise leaves it plain to see
        assert explained(ig.attacks.SpectralAttack().guess(released, known), table) < 0.3


def test_fresh_uniform_noise_tells_nothing():
    released, known = noisy(ONE_QUANTITY, 3.0, "uniform")
    fresh = released[np.random.default_rng(5).permutation(len(released))]
    for more in (known, known | ig.attacks.PopulationSample(ONE_QUANTITY[:80])):
        got = PosteriorAttack(random_state=0).guess(fresh, more)
        assert explained(got, ONE_QUANTITY) < 0.0


def test_a_cell_tells_the_middle_of_what_is_possible():
    """A uniform value under uniform noise is uniform on where the two intervals meet."""
    rng = np.random.default_rng(7)
    x = rng.random((20_000, 1))
    statistics = ig.attacks.ColumnStatistics(
        *(np.array([v]) for v in (0.5, 12**-0.5, 0.0, 1.0, 0.0))
    )
    reach = np.array([2.0])
    z = x + rng.uniform(-2, 2, size=x.shape)
    told = told_by_cells(z, AdditiveLaw(reach**2 / 3, reach), statistics)
    middle = (np.maximum(z - 2, 0) + np.minimum(z + 2, 1)) / 2
    np.testing.assert_allclose(told.guess, middle, atol=0.01)
    np.testing.assert_allclose(told.share, middle.var() * 12, rtol=0.02)


def test_factors_are_what_noise_does_not_have():
    rng = np.random.default_rng(8)
    noise = 2 * rng.normal(size=ONE_QUANTITY.shape)
    loadings, rest = factors(ONE_QUANTITY / ONE_QUANTITY.std(axis=0) + noise, np.full(30, 4.0))
    assert loadings.shape == (30, 1)
    np.testing.assert_allclose(np.abs(loadings), 0.98, atol=0.1)
    np.testing.assert_allclose(rest, 0.2, atol=0.2)
    assert factors(noise, np.full(30, 4.0))[0].shape == (30, 0)


def test_means_of_candidates_are_those_of_the_exact_law():
    from scipy.special import log_ndtr

    rng = np.random.default_rng(9)
    candidates, reach, rest = rng.normal(size=(50, 4)), np.full(4, 3.0), np.full(4, 0.3)
    rows = rng.normal(size=(200, 4)) + rng.uniform(-3, 3, size=(200, 4))
    off = np.abs(rows[:, np.newaxis] - candidates)
    weights = np.exp(log_ndtr((reach - off) / rest).sum(axis=2))
    exact = weights @ candidates / weights.sum(axis=1, keepdims=True)
    got = candidate_means(rows, candidates, Box(reach), rest, learn=False)
    assert np.sqrt(np.square(got - exact).mean()) < 0.05


def test_uniform_noise_of_several_releases_is_read_together():
    rng = np.random.default_rng(8)
    items = 0.9 * rng.normal(size=(500, 1)) + 0.44 * rng.normal(size=(500, 8))
    reach = 20 * np.sqrt(3) * items.std(axis=0)
    releases = [items + reach * rng.uniform(-1, 1, size=items.shape) for _ in range(4)]
    said = PublicParameters("additive_noise", {"scale": 20.0, "distribution": "uniform"})
    known, attack = ColumnStatistics.of(items) | said, PosteriorAttack(random_state=0)
    together = known | OtherReleases(tuple(releases[1:]))
    one, all_four = (
        1 - np.square(attack.guess(releases[0], k) - items).mean() / items.var()
        for k in (known, together)
    )
    assert all_four > one + 0.15


@pytest.mark.parametrize("known", ["statistics", "sample"])
def test_factors_that_are_cut_tell_where_a_value_must_lie(known):
    rng = np.random.default_rng(7)
    ability = rng.normal(size=(600, 1))
    table = rng.uniform(50, 200, 60) * (1 + 0.02 * ability + 0.006 * rng.normal(size=(600, 60)))
    veil = ig.MultiplicativeNoise(scale=1.0, random_state=1)
    released = veil.fit_transform(table)
    said = PublicParameters("multiplicative_noise", {"scale": 1.0})
    if known == "sample":
        facts = said | ig.attacks.PopulationSample(table[500:]) | ColumnStatistics.of(table)
    else:
        facts = said | ColumnStatistics.of(table)
    guess = PosteriorAttack(random_state=0).guess(released, facts)[:500]
    left = np.square(guess - table[:500]).mean(axis=0) / table[:500].var(axis=0)
    assert 1 - left.mean() > 0.4
