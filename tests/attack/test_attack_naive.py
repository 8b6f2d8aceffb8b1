"""The release read as the table: when that is everything, something and nothing."""

from __future__ import annotations

import numpy as np
import pytest

import isinglass as ig
from isinglass.attack.knowledge import ColumnStatistics, OtherReleases, PublicParameters
from isinglass.attack.naive import NaiveAttack


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.gamma(2.0, size=(4000, 3)) * [1.0, 50.0, 1000.0] + [5.0, -3.0, 0.0]


def left(guess, table):
    """Share of each column's variance that the guess leaves."""
    return ((guess - table) ** 2).mean(axis=0) / table.var(axis=0)


def test_a_copy_is_read_as_it_is(table):
    guess = NaiveAttack().guess(table, ColumnStatistics.of(table))
    np.testing.assert_allclose(guess, table, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("factor", [0.001, 7.0])
def test_columns_in_other_units_are_brought_back(table, factor):
    guess = NaiveAttack().guess(table * factor + 1e4, ColumnStatistics.of(table))
    np.testing.assert_allclose(guess, table, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("said", [True, False])
@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_noise_leaves_the_share_that_the_best_line_leaves(table, scale, said):
    released = ig.AdditiveNoise(scale=scale, random_state=1).fit_transform(table)
    known = ColumnStatistics.of(table) | OtherReleases(())
    if said:
        known = known | PublicParameters("additive_noise")
    # 1 - rho^2 with rho^2 = 1 / (1 + scale^2); clipping to the range can only help.
    share = scale**2 / (1 + scale**2)
    found = left(NaiveAttack().guess(released, known), table)
    assert (found < 1.05 * share).all()
    assert (found > 0.8 * share).all()
    # Widening the release to the table's deviation would leave 2 (1 - rho).
    assert (found < 0.9 * 2 * (1 - np.sqrt(1 / (1 + scale**2)))).all() or scale < 1


def test_multiplied_noise_is_read_by_the_same_line(table):
    released = ig.MultiplicativeNoise(random_state=1).fit_transform(table)
    known = ColumnStatistics.of(table)
    said = NaiveAttack().guess(released, known | PublicParameters("multiplicative_noise"))
    slope = [np.polyfit(z, x, 1)[0] for z, x in zip(released.T, table.T, strict=True)]
    mean = table.mean(axis=0)
    best = np.clip(mean + (released - mean) * slope, table.min(axis=0), table.max(axis=0))
    np.testing.assert_allclose(left(said, table), left(best, table), atol=0.02)


def test_two_releases_average_out(table):
    one, two = (ig.AdditiveNoise(random_state=s).fit_transform(table) for s in (1, 2))
    known = ColumnStatistics.of(table) | PublicParameters("additive_noise")
    alone = left(NaiveAttack().guess(one, known), table)
    both = left(NaiveAttack().guess(one, known | OtherReleases((two,))), table)
    # noise variance 1 and 1/2: 1/2 and 1/3 of the variance are left, but for clipping
    assert (both < 0.75 * alone).all()


def test_another_number_of_columns_says_nothing(table):
    guess = NaiveAttack().guess(table[:, :2], ColumnStatistics.of(table))
    np.testing.assert_array_equal(guess, np.tile(table.mean(axis=0), (len(table), 1)))


def test_a_constant_release_is_guessed_at_the_mean(table):
    guess = NaiveAttack().guess(np.full((9, 3), 0.1), ColumnStatistics.of(table))
    np.testing.assert_allclose(guess, np.tile(table.mean(axis=0), (9, 1)))


def test_a_guess_stays_within_the_known_range(table):
    statistics = ColumnStatistics.of(table)
    guess = NaiveAttack().guess(np.random.default_rng(1).standard_t(2, (500, 3)), statistics)
    assert ((guess >= statistics.low) & (guess <= statistics.high)).all()


def test_other_releases_must_match(table):
    with pytest.raises(ig.errors.AttackError, match="rows"):
        NaiveAttack().guess(table, ColumnStatistics.of(table) | OtherReleases((table[1:],)))


@pytest.mark.parametrize("width", [1, 2, 9])
def test_one_quantity_behind_all_columns_is_read_off_the_main_direction(width):
    rng = np.random.default_rng(1)
    scores = rng.gamma(2.0, size=(2000, 1)) + 0.3 * rng.normal(size=(2000, 9))
    release = scores @ np.abs(rng.normal(size=(9, width)))
    guess = NaiveAttack(one_quantity=1).guess(release, ColumnStatistics.of(scores))
    assert left(guess, scores).max() < 0.2
    other = NaiveAttack(one_quantity=-1).guess(release, ColumnStatistics.of(scores))
    assert left(other, scores).min() > 1.0


def test_one_quantity_is_one_end_or_the_other(table):
    with pytest.raises(ValueError, match="one_quantity"):
        NaiveAttack(one_quantity=2)
    constant = NaiveAttack(one_quantity=1).guess(np.ones((4, 2)), ColumnStatistics.of(table))
    np.testing.assert_allclose(constant, np.tile(table.mean(axis=0), (4, 1)))
