"""Whole numbers in a linear mixture: which tables come back by their row differences alone."""

from __future__ import annotations

import numpy as np
import pytest

import isinglass as ig
from isinglass import chance
from isinglass.attack.ica import ICAAttack
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KeptColumns,
    OtherReleases,
    PopulationSample,
)
from isinglass.attack.lattice.lattice import find_lattice, lattice_maps, reduce_basis


def answers(n=600, d=8, levels=7, correlation=0.2, seed=0):
    """Answers on a scale of whole numbers: nearly normal, correlated, with means of their own."""
    rng = np.random.default_rng(seed)
    share = np.sqrt(correlation)
    raw = share * rng.normal(size=(n, 1)) + np.sqrt(1 - correlation) * rng.normal(size=(n, d))
    return np.clip(np.round(raw + (levels + 1) / 2 + np.linspace(-1, 1, d)), 1, levels)


def unit(X):
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


def rotated(X, seed=1):
    rng = np.random.default_rng(seed)
    return (unit(X) - rng.random(X.shape[1])) @ chance.haar(rng, X.shape[1]).T


def weighted(X, n_released, seed=2):
    rng = np.random.default_rng(seed)
    return unit(X) @ rng.normal(size=(X.shape[1], n_released)) + rng.random(n_released)


def guessed(Z, X, *facts):
    known = ColumnStatistics.of(X)
    for fact in facts:
        known = known | fact
    return ICAAttack(random_state=0).guess(Z, known)


def is_found(Z):
    return next(lattice_maps(Z), None) is not None


@pytest.mark.parametrize("d", [2, 8, 20])
@pytest.mark.parametrize("correlation", [0.2, 0.8])
def test_answers_under_a_rotation_come_back_exactly(d, correlation):
    X = answers(d=d, correlation=correlation)
    np.testing.assert_allclose(guessed(rotated(X), X), X, atol=1e-6)


@pytest.mark.parametrize("n_released", [8, 11])
@pytest.mark.parametrize("correlation", [0.2, 0.8])
def test_answers_under_any_weights_come_back_exactly(n_released, correlation):
    X = answers(correlation=correlation)
    np.testing.assert_allclose(guessed(weighted(X, n_released), X), X, atol=1e-6)


def test_steps_may_differ_by_column():
    rng = np.random.default_rng(3)
    X = np.column_stack(
        [
            np.round(rng.normal(37, 0.6, 800), 1),
            5.0 * rng.poisson(4, 800),
            np.round(rng.gamma(2, 20, 800)),
            rng.integers(2, size=800),
            -0.25 * rng.integers(1, 9, size=800),
        ]
    )
    np.testing.assert_allclose(guessed(rotated(X), X), X, atol=1e-6)
    np.testing.assert_allclose(guessed(weighted(X, 5), X), X, atol=1e-6)


def test_fine_and_coarse_columns_that_are_correlated_are_told_apart():
    rng = np.random.default_rng(4)
    common = 0.5 * rng.normal(size=800)
    raw = rng.normal(size=(4, 800)) + common
    X = np.column_stack(
        [
            np.round(37 + 0.6 * raw[0], 1),
            5.0 * np.round(3 * np.exp(raw[1])),
            np.round(30 * np.exp(0.7 * raw[2])),
            raw[3] > 0,
        ]
    )
    np.testing.assert_allclose(guessed(weighted(X, 4), X), X, atol=1e-6)


def test_a_sum_of_other_columns_is_named_too():
    X = answers(d=5)
    X = np.column_stack([X, X[:, 0] + X[:, 3]])
    np.testing.assert_allclose(guessed(weighted(X, 6), X), X, atol=1e-6)


def test_single_precision_is_enough():
    X = answers()
    Z = rotated(X).astype(np.float32)
    np.testing.assert_allclose(guessed(Z, X), X, atol=1e-3)


def test_long_releases_repeated_rows_and_columns_that_never_vary():
    X = answers(n=9000, d=4, levels=3)
    X = np.column_stack([X, np.full(9000, 2.0)])
    Z = np.column_stack([rotated(X[:, :4]), np.ones(9000)])
    np.testing.assert_allclose(guessed(Z, X), X, atol=1e-6)


def test_a_sample_of_others_does_not_lead_away():
    X = answers()
    guess = guessed(rotated(X), X, PopulationSample(answers(n=40, seed=9)))
    np.testing.assert_allclose(guess, X, atol=1e-6)


def test_kept_columns_and_other_releases_do_not_hide_it():
    X = answers(d=6)
    own = np.random.default_rng(4).normal(size=(600, 1))
    table = np.column_stack([X, own])
    guess = guessed(rotated(X), table, KeptColumns(own))
    np.testing.assert_allclose(guess, table, atol=1e-6)
    noisy = X + np.random.default_rng(5).normal(size=X.shape)
    np.testing.assert_allclose(guessed(rotated(X), X, OtherReleases((noisy,))), X, atol=1e-6)


@pytest.mark.parametrize("d", [1, 3, 10])
def test_continuous_columns_stand_on_none(d):
    X = np.random.default_rng(6).normal(size=(1000, d))
    assert not is_found(rotated(X))


def test_a_little_noise_is_enough_to_hide_it():
    X = answers()
    Z = rotated(X)
    assert is_found(Z)
    assert not is_found(Z + 1e-3 * np.random.default_rng(7).normal(size=Z.shape))


def test_one_continuous_column_hides_it():
    X = answers()
    X[:, 3] = np.random.default_rng(8).normal(size=len(X))
    assert not is_found(rotated(X))


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (5, 5), (400, 200)])
def test_too_few_rows_or_too_many_columns_are_none(shape):
    assert not is_found(np.random.default_rng(9).integers(9, size=shape).astype(float))


def test_nothing_is_found_in_a_constant_release():
    assert not is_found(np.full((50, 3), 0.1))


def test_a_basis_is_reduced_to_the_shortest():
    skewed = np.array([[1.0, 0.0, 0.0], [7.0, 1.0, 0.0], [-4.0, 12.0, 1.0]])
    found = reduce_basis(skewed, 1e-9, 1e-3)
    np.testing.assert_allclose(np.abs(found).sum(axis=0), 1.0)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0)


def test_a_vector_too_many_makes_the_cell_smaller():
    more = np.array([[3.0, 0.0], [0.0, 3.0], [1.0, 2.0]])
    found = reduce_basis(more, 1e-9, 1e-3)
    assert abs(np.linalg.det(found)) == pytest.approx(3.0)
    assert reduce_basis(np.array([[1.0], [np.sqrt(2.0)]]), 1e-9, 1e-3) is None


def test_the_lattice_of_whole_numbers_is_theirs():
    basis = find_lattice(answers(d=4) - 4.0)
    np.testing.assert_allclose(np.sort(np.abs(basis).ravel()), [0.0] * 12 + [1.0] * 4, atol=1e-9)


def test_one_released_column_is_no_lattice_and_no_error():
    table = np.random.default_rng(1).gamma(3.0, size=(1500, 30))
    for seed in range(3):
        veil = ig.Distortion("square", n_hidden=1, n_components=1, random_state=seed)
        ig.attacks.ICAAttack(random_state=0).guess(
            veil.fit_transform(table), ig.attacks.ColumnStatistics.of(table)
        )
