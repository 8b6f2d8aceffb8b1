"""Columns that left as they were predict the others, where they have a part in them."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.kept.groups import GroupMeans
from isinglass.attack.kept_columns import KeptColumnsAttack
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KeptColumns,
    KnownPairs,
    PopulationSample,
    RowOrder,
)
from isinglass.errors import AttackError

CATEGORY = np.array([True])


def explained(guess, truth):
    return float((1 - ((guess - truth) ** 2).mean(axis=0) / truth.var(axis=0)).mean())


def noisy(table, scale, seed=1):
    noise = np.random.default_rng(seed).normal(size=table.shape)
    return table + scale * table.std(axis=0) * noise


def cities(rows=2000, n_cities=30, seed=0):
    rng = np.random.default_rng(seed)
    city = rng.integers(0, n_cities, rows)
    table = rng.normal(size=(n_cities, 6))[city] + 0.22 * rng.normal(size=(rows, 6)) + 100
    return table, city[:, np.newaxis].astype(float)


def rotated(table, seed=2):
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(table.shape[1],) * 2))[0]
    return (noisy(table, 1) - 7) @ turn


def test_the_mean_of_a_city_is_in_the_release_alone():
    table, city = cities()
    known = KeptColumns(city, CATEGORY) | ColumnStatistics.of(table)
    guess = KeptColumnsAttack(random_state=0).guess(noisy(table, 6), known)
    assert explained(guess, table) > 0.5


@pytest.mark.parametrize("release", [lambda t: noisy(t, 6), rotated], ids=["noise", "rotation"])
def test_a_sample_tells_it_whatever_the_method(release):
    table, city = cities()
    rows = np.random.default_rng(3).choice(len(table), 200, replace=False)
    known = KeptColumns(city, CATEGORY) | ColumnStatistics.of(table)
    known |= PopulationSample(table[rows], city[rows])
    guess = KeptColumnsAttack(random_state=0).guess(release(table), known)
    others = np.setdiff1d(np.arange(len(table)), rows)
    assert explained(guess[others], table[others]) > 0.88


def test_known_pairs_tell_it_too():
    table, city = cities(n_cities=15)
    rows = np.random.default_rng(3).choice(len(table), 60, replace=False)
    known = KeptColumns(city, CATEGORY) | KnownPairs(rows, table[rows])
    guess = KeptColumnsAttack(random_state=0).guess(rotated(table), known)
    others = np.setdiff1d(np.arange(len(table)), rows)
    assert explained(guess[others], table[others]) > 0.8
    np.testing.assert_array_equal(guess[rows], table[rows])


def test_the_released_row_counts_where_noise_is_small():
    rng = np.random.default_rng(4)
    city = rng.integers(0, 20, 1000)
    table = rng.normal(size=(20, 5))[city] + rng.normal(size=(1000, 5))
    released = noisy(table, 1)
    known = KeptColumns(city[:, np.newaxis], CATEGORY) | ColumnStatistics.of(table)
    guess = KeptColumnsAttack(random_state=0).guess(released, known)
    means = np.stack([np.bincount(city, c) / np.bincount(city) for c in released.T], axis=1)
    assert explained(guess, table) > explained(means[city], table) + 0.08  # the city alone
    assert explained(guess, table) > 0.5 + 0.08  # the row alone


def test_numbers_and_two_categories_at_once():
    rng = np.random.default_rng(5)
    place, kind = rng.random((2000, 2)), rng.integers(0, 6, (2000, 2))
    effects = rng.normal(size=(6, 6, 5))
    table = np.sin(place @ rng.normal(scale=4, size=(2, 5))) + effects[kind[:, 0], kind[:, 1]]
    kept = KeptColumns(np.column_stack([place, kind]), np.array([False, False, True, True]))
    rows = rng.choice(2000, 200, replace=False)
    known = kept | ColumnStatistics.of(table) | PopulationSample(table[rows], kept.values[rows])
    guess = KeptColumnsAttack(random_state=0).guess(noisy(table, 6), known)
    others = np.setdiff1d(np.arange(2000), rows)
    assert explained(guess[others], table[others]) > 0.6


def test_order_and_kept_columns_work_together():
    table, city = cities()
    slow = np.sin(np.arange(2000) / 40)[:, np.newaxis] * np.ones(6)
    table = table + slow
    released = noisy(table, 4)
    known = KeptColumns(city, CATEGORY) | ColumnStatistics.of(table)
    alone = KeptColumnsAttack(random_state=0).guess(released, known)
    both = KeptColumnsAttack(random_state=0).guess(released, known | RowOrder(np.arange(2000)))
    assert explained(both, table) > explained(alone, table) + 0.1


@pytest.mark.parametrize("seed", range(3))
def test_columns_without_a_part_in_the_others_gain_nothing(seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(1500, 6))
    values = np.column_stack([rng.integers(0, 100, 1500), rng.normal(size=1500)])
    kept = KeptColumns(values, np.array([True, False])) | ColumnStatistics.of(table)
    rows = rng.choice(1500, 150, replace=False)
    released = rng.normal(size=(1500, 6)) * 4  # nothing of the table at all
    others = np.setdiff1d(np.arange(1500), rows)
    for known in (kept, kept | PopulationSample(table[rows], values[rows])):
        guess = KeptColumnsAttack(random_state=0).guess(released, known)
        assert explained(guess[others], table[others]) < 0.02


def test_a_group_of_strangers_is_guessed_at_the_mean():
    rng = np.random.default_rng(6)
    groups, values = np.repeat(np.arange(50), 4), rng.normal(size=(200, 3))
    means = GroupMeans.fit(groups, values, np.ones(200), 51)
    assert np.abs(means.predict(np.array([50]))).max() == 0.0
    assert np.square(means.predict(groups)).mean() < 0.1  # groups that do not differ, but by chance


def test_a_group_without_one_is_the_mean_of_the_others():
    groups = np.array([0, 0, 0, 1, 1])
    values = np.array([[5.0], [6.0], [7.0], [-9.0], [-9.5]])
    means = GroupMeans.fit(groups, values, np.ones(5), 2)
    left = means.left_out(groups, values, np.ones(5))
    ratio = means.ratio[0]
    np.testing.assert_allclose(left[0], (6 + 7) / (2 + ratio))
    np.testing.assert_allclose(left[3], -9.5 / (1 + ratio))


def test_what_cannot_begin_says_so():
    table, city = cities(200)
    statistics = ColumnStatistics.of(table)
    with pytest.raises(AttackError, match="needs KeptColumns"):
        KeptColumnsAttack().guess(table, statistics)
    with pytest.raises(AttackError, match="a sample with its kept columns, or known pairs"):
        KeptColumnsAttack().guess(rotated(table), KeptColumns(city, CATEGORY) | statistics)
    with pytest.raises(AttackError, match="200 rows"):
        KeptColumnsAttack().guess(table, KeptColumns(city[:7], CATEGORY) | statistics)


@pytest.mark.parametrize("rows", [2, 5])
def test_a_handful_of_rows_is_guessed_without_failing(rows):
    table, city = cities(rows)
    known = KeptColumns(city, CATEGORY) | ColumnStatistics.of(table)
    guess = KeptColumnsAttack(random_state=0).guess(table + 0.5, known)
    assert guess.shape == table.shape
    assert np.isfinite(guess).all()
