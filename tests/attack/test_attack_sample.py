"""Distribution matching: a rotation falls without any pair, and noise does not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import isinglass as ig
from isinglass import chance
from isinglass.attack.knowledge import (
    ColumnStatistics,
    PopulationSample,
    PublicParameters,
)
from isinglass.attack.sample import SampleAttack

TABLES = {"iris": load_iris, "wine": load_wine}


def scaled(name):
    X = TABLES[name]().data
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


def rotated(X, rng):
    return (X - rng.random(X.shape[1])) @ chance.haar(rng, X.shape[1]).T


def error(guess, table):
    return float((guess - table).std(axis=0, ddof=1).mean())


def within(guess, table):
    return float((np.abs(guess - table) <= 0.1 * np.ptp(table, axis=0)).mean())


@pytest.mark.parametrize("name", TABLES)
def test_the_true_covariance_undoes_a_rotation(name):
    X = scaled(name)
    released = rotated(X, np.random.default_rng(1))
    guess = SampleAttack(random_state=0).guess(released, PopulationSample(X))
    np.testing.assert_allclose(guess, X, atol=1e-7)


@pytest.mark.parametrize(("name", "most"), [("iris", 0.049), ("wine", 0.108)])
def test_half_the_records_undo_most_of_a_rotation(name, most):
    """`most` is what the covariance alone was measured to leave of deviations of .26 and .20."""
    X = scaled(name)
    errors = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        half = X[rng.permutation(len(X))[: len(X) // 2]]
        known = PopulationSample(half) | ColumnStatistics.of(X)
        errors.append(error(SampleAttack(random_state=0).guess(rotated(X, rng), known), X))
    assert np.mean(errors) < most


def test_other_people_of_the_same_kind_are_enough():
    X = ig.datasets.flights(3000, n_features=6, random_state=1).X.astype(np.float64)
    table, sample = X[:2000], X[2000:]
    released = ig.Rotation(optimize=None, bounds=(X.min(axis=0), X.max(axis=0)), random_state=2)
    public = PublicParameters("rotation", low=X.min(axis=0), high=X.max(axis=0))
    known = PopulationSample(sample) | public
    guess = SampleAttack(random_state=0).guess(released.fit_transform(table), known)
    assert within(guess, table) > 0.9
    assert within(np.tile(table.mean(axis=0), (2000, 1)), table) < 0.7


def test_equal_axes_are_told_apart_by_their_marginals():
    rng = np.random.default_rng(3)
    shapes = [rng.random(6000) - 0.5, rng.exponential(size=6000) - 1, rng.choice([-1, 1], 6000)]
    X = np.column_stack([s / s.std() * w for s, w in zip(shapes, (1.0, 0.9, 0.8), strict=True)])
    # The release holds the same columns, turned round, and the first two change places in width.
    released = X[:, [2, 0, 1]] * [1.0, -0.88, -1.12]
    known = PopulationSample(X[::2])
    unit = PublicParameters("rotation", low=np.zeros(3), high=np.ones(3))
    guess = SampleAttack(random_state=0).guess(released, known | unit)
    assert (np.corrcoef(guess.T, X.T)[:3, 3:].diagonal()[1:] > 0.95).all()
    assert abs(np.corrcoef(guess[:, 0], X[:, 0])[0, 1]) > 0.95  # symmetric: its sign is open


@pytest.mark.parametrize("n_columns", [1, 2, 9])
def test_any_number_of_released_columns_will_do(n_columns):
    X = scaled("iris")
    released = X @ np.random.default_rng(4).normal(size=(4, n_columns))
    known = PopulationSample(X) | ColumnStatistics.of(X)
    guess = SampleAttack(random_state=0).guess(released, known)
    assert guess.shape == X.shape
    assert np.isfinite(guess).all()
    assert ((guess >= 0) & (guess <= 1)).all()
    # The first axis of iris holds 84 % of its variance, and any mixture shows it.
    assert error(guess, X) < X.std(axis=0, ddof=1).mean()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_a_constant_release_is_guessed_at_the_mean(value):
    X = scaled("wine")
    guess = SampleAttack().guess(np.full((30, 13), value), PopulationSample(X))
    np.testing.assert_allclose(guess, np.tile(X.mean(axis=0), (30, 1)), atol=1e-9)


def test_one_record_is_the_guess():
    guess = SampleAttack().guess(
        np.random.default_rng(0).normal(size=(9, 2)), PopulationSample([[3, 4]])
    )
    np.testing.assert_array_equal(guess, np.tile([3.0, 4.0], (9, 1)))


@pytest.mark.parametrize("name", TABLES)
def test_a_release_of_pure_noise_tells_nothing(name):
    X = scaled(name)
    noise = np.random.default_rng(5).normal(size=X.shape)
    known = PopulationSample(X[::2]) | ColumnStatistics.of(X)
    guess = SampleAttack(random_state=0).guess(noise, known)
    assert within(guess, X) < within(np.tile(X.mean(axis=0), (len(X), 1)), X) + 0.1


def test_a_sample_must_hold_records():
    for records in (np.empty((0, 2)), [[np.inf, 1.0]]):
        with pytest.raises(ig.errors.AttackError, match="sample must hold records"):
            SampleAttack().guess(np.zeros((3, 2)), PopulationSample(records))
