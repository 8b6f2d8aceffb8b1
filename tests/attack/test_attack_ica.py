"""Independent components: which tables fall to them, and who is named what."""

from __future__ import annotations

import numpy as np
import pytest

import isinglass as ig
from isinglass import chance
from isinglass.attack.ica import ICAAttack
from isinglass.attack.knowledge import ColumnStatistics, KeptColumns, PopulationSample
from isinglass.measure.separation import best_naming


def rotated(X, seed=0):
    rng = np.random.default_rng(seed)
    return (X - rng.random(X.shape[1])) @ chance.haar(rng, X.shape[1]).T


def within(guess, table):
    return float((np.abs(guess - table) <= 0.1 * np.ptp(table, axis=0)).mean())


def mean_of(table):
    return np.tile(table.mean(axis=0), (len(table), 1))


@pytest.fixture(scope="module")
def uniform():
    return np.random.default_rng(1).random((3000, 5)) * [1, 2, 30, 4, 500] + [0, 7, 0, -9, 0]


@pytest.fixture(scope="module")
def distinct():
    """Independent columns, each with a shape and a direction of its own."""
    rng = np.random.default_rng(2)
    return np.column_stack(
        [
            rng.exponential(size=4000),
            -(rng.exponential(size=4000) ** 1.5),
            rng.random(4000),
            rng.beta(0.4, 0.8, size=4000),
            rng.gamma(4.0, size=4000),
        ]
    )


def test_independent_uniform_columns_come_back(uniform):
    unit = (uniform - uniform.min(axis=0)) / np.ptp(uniform, axis=0)
    guess = ICAAttack(random_state=0).guess(rotated(unit), ColumnStatistics.of(uniform))
    assert within(best_naming(guess, uniform), uniform) >= 0.95


def test_normal_columns_do_not():
    X = np.random.default_rng(3).normal(size=(3000, 16))
    guess = ICAAttack(random_state=0).guess(rotated(X), ColumnStatistics.of(X))
    assert within(guess, X) < within(mean_of(X), X)
    # Naming with the truth in hand finds some likeness in any rotation, and less the wider it is.
    blind = np.random.default_rng(4).normal(size=X.shape)
    turned = best_naming(X @ chance.haar(np.random.default_rng(5), 16), X)
    named = best_naming(guess, X)
    assert within(named, X) < within(mean_of(X), X) + 0.1
    assert within(named, X) == pytest.approx(within(turned, X), abs=0.03)
    assert within(best_naming(blind, X), X) < within(mean_of(X), X)


def test_statistics_alone_name_columns_of_different_shape(distinct):
    guess = ICAAttack(random_state=0).guess(rotated(distinct), ColumnStatistics.of(distinct))
    assert within(guess, distinct) >= 0.95
    match = np.corrcoef(guess.T, distinct.T)[:5, 5:].diagonal()
    assert (match > 0.97).all()


def test_a_sample_names_what_statistics_cannot():
    rng = np.random.default_rng(4)
    n = 4000
    # Alike in mean, deviation, extremes and skewness, and nothing alike in between.
    steps = np.where(rng.random(n) < 0.5, -1.0, 1.0) * (1 + 1e-3 * rng.random(n))
    three = rng.choice([-1.0, 0.0, 1.0], size=n, p=[0.4, 0.2, 0.4])
    X = np.column_stack([steps, three / three.std() * steps.std(), rng.uniform(-1.7, 1.7, n)])
    statistics = ColumnStatistics.of(X)
    blurred = ColumnStatistics(
        np.zeros(3), np.ones(3), np.full(3, -1.7), np.full(3, 1.7), np.zeros(3)
    )
    assert statistics.deviation == pytest.approx(np.ones(3), abs=0.03)
    guess = ICAAttack(random_state=0).guess(rotated(X), blurred | PopulationSample(X[::4]))
    match = np.abs(np.corrcoef(guess.T, X.T)[:3, 3:].diagonal())
    assert (match > 0.95).all()


def test_more_starts_never_fit_worse(distinct):
    statistics = ColumnStatistics.of(distinct)
    guess = ICAAttack(n_starts=3, random_state=1).guess(rotated(distinct), statistics)
    assert within(guess, distinct) >= 0.95


def test_columns_without_a_component_get_their_mean(distinct):
    narrow = distinct[:, :2] @ chance.haar(np.random.default_rng(5), 2)
    guess = ICAAttack(random_state=0).guess(narrow, ColumnStatistics.of(distinct))
    still = guess.std(axis=0) < 1e-12
    assert still.sum() == 3
    np.testing.assert_allclose(guess[:, still], mean_of(distinct)[:, still])


def test_kept_columns_are_components_too(distinct):
    narrow = distinct[:, :2] @ chance.haar(np.random.default_rng(5), 2)
    known = ColumnStatistics.of(distinct) | KeptColumns(distinct[:, 2:])
    guess = ICAAttack(random_state=0).guess(narrow, known)
    assert within(guess, distinct) >= 0.95


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_a_constant_release_is_guessed_at_the_mean(uniform, value):
    guess = ICAAttack().guess(np.full((40, 5), value), ColumnStatistics.of(uniform))
    np.testing.assert_allclose(guess, np.tile(uniform.mean(axis=0), (40, 1)))


def test_a_constant_table_is_guessed_as_it_is():
    X = np.full((50, 2), 3.0)
    noise = np.random.default_rng(6).random((50, 2))
    np.testing.assert_array_equal(ICAAttack().guess(noise, ColumnStatistics.of(X)), X)


def test_a_release_of_pure_noise_tells_nothing(uniform):
    noise = np.random.default_rng(7).normal(size=uniform.shape)
    guess = ICAAttack(random_state=0).guess(noise, ColumnStatistics.of(uniform))
    assert within(guess, uniform) < within(mean_of(uniform), uniform) + 0.1
    assert within(best_naming(guess, uniform), uniform) < within(mean_of(uniform), uniform) + 0.1


def test_bad_arguments_are_refused(uniform):
    with pytest.raises(ValueError, match="n_starts"):
        ICAAttack(n_starts=0)
    known = ColumnStatistics.of(uniform) | PopulationSample(uniform[:, :2])
    with pytest.raises(ig.errors.AttackError, match="sample must have 5 columns"):
        ICAAttack().guess(uniform, known)


def test_best_naming_undoes_order_sign_and_scale():
    X = np.random.default_rng(8).random((200, 4))
    order, scale = [2, 0, 3, 1], np.array([-1.0, 3.0, -0.2, 5.0])
    np.testing.assert_allclose(best_naming(X[:, order] * scale + 9.0, X), X, atol=1e-12)


def test_best_naming_equals_trying_every_order():
    from itertools import permutations

    rng = np.random.default_rng(9)
    guess, truth = rng.normal(size=(30, 4)), rng.normal(size=(30, 4))
    match = np.abs(np.corrcoef(guess.T, truth.T)[:4, 4:])
    best = max(sum(match[k, i] for i, k in enumerate(p)) for p in permutations(range(4)))
    named = best_naming(guess, truth)
    found = np.corrcoef(named.T, truth.T)[:4, 4:].diagonal()
    assert found.sum() == pytest.approx(best)
    np.testing.assert_allclose(named.mean(axis=0), truth.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(named.std(axis=0), truth.std(axis=0))


def test_best_naming_of_constants_is_the_mean():
    X = np.random.default_rng(10).random((20, 3))
    np.testing.assert_allclose(best_naming(np.zeros((20, 3)), X), mean_of(X))
    half = np.column_stack([-X[:, 1], np.ones((20, 2))])
    named = best_naming(half, X)
    np.testing.assert_allclose(named[:, 1], X[:, 1])
    np.testing.assert_allclose(named[:, [0, 2]], mean_of(X)[:, [0, 2]])
    same = np.full((20, 2), 4.0)
    np.testing.assert_array_equal(best_naming(X[:, :2], same), same)
    with pytest.raises(ValueError, match="same records"):
        best_naming(X, X[1:])
