"""Curved maps: their errors on pairs left out, and when they are preferred to plain ones."""

from __future__ import annotations

import numpy as np

from isinglass.attack.learning import learners
from isinglass.attack.learning.learners import (
    best_columns,
    choose,
    clearly_better,
    fit_expanded,
    fit_neighbors,
    fit_trees,
    hinges,
    n_products,
    products,
)
from isinglass.attack.learning.regression import Fit, fit_linear, fit_mean


def made_of(A, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([np.square(A @ rng.normal(size=A.shape[1])), A[:, 0] * A[:, 1], A[:, 2]])


def test_products_fit_a_quadratic_map_exactly_once_pairs_outnumber_them():
    rng = np.random.default_rng(1)
    A, new = rng.normal(size=(40, 5)), rng.normal(size=(30, 5))
    assert products(A)(A).shape == (40, n_products(5))
    fit = fit_expanded(products(A), A, made_of(A))
    np.testing.assert_allclose(fit.predict(new), made_of(new), atol=1e-8)
    assert fit.errors.max() < 1e-16
    few = fit_expanded(products(A[:15]), A[:15], made_of(A[:15]))
    assert few.errors[:2].min() > 0.01


def test_hinges_bend_each_column():
    A = np.random.default_rng(2).normal(size=(300, 2))
    B = np.abs(A).sum(axis=1, keepdims=True)
    assert fit_expanded(hinges(A), A, B).errors[0] < 0.1 * fit_linear(A, B).errors[0]


def test_neighbors_leave_a_pair_out_of_its_own_mean():
    rng = np.random.default_rng(3)
    A, B = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    fit = fit_neighbors(A, B)
    scaled = A / A.std(axis=0, ddof=1)
    away = np.square(scaled[:, np.newaxis] - scaled).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    order = away.argsort(axis=1)
    for column in range(2):
        errors = [B[order[:, :k], column].mean(axis=1) - B[:, column] for k in (1, 2, 4, 8, 16)]
        best = min(errors, key=lambda e: np.square(e).mean())
        np.testing.assert_allclose(fit.left_out[:, column], best, atol=1e-12)


def test_a_curved_map_must_be_better_beyond_doubt():
    rng = np.random.default_rng(4)
    plain = rng.normal(size=(100, 4))
    curved = plain.copy()
    curved[:, 0] *= 0.4  # much smaller
    curved[:, 1] *= 0.9  # by a fifth in the square, in every pair
    plain[0, 2] = 30.0  # better in one far pair only
    curved[:, 3] *= 1.1
    np.testing.assert_array_equal(clearly_better(curved, plain), [True, True, False, False])
    fits = [Fit(np.zeros_like, plain), Fit(np.ones_like, curved)]
    np.testing.assert_array_equal(choose(fits, 1), [1, 1, 0, 0])
    np.testing.assert_array_equal(choose(fits), [1, 1, 1, 0])
    found = best_columns(fits, 1)
    np.testing.assert_array_equal(found.predict(plain)[0], [1, 1, 0, 0])
    np.testing.assert_array_equal(found.left_out[:, 1:3], np.c_[curved[:, 1], plain[:, 2]])


def test_trees_are_taken_for_steps_and_not_for_noise():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(300, 4))
    steps = np.sign(A[:, :1] * A[:, 1:2]) + 2.0 * (A[:, 2:3] > 0.5)
    rival = fit_linear(A, steps)
    found = fit_trees(A, steps, rival, 0)
    assert found is not None
    assert found.errors[0] < 0.6 * rival.errors[0]
    noise = rng.normal(size=(300, 3))
    assert fit_trees(A, noise, fit_mean(noise), 0) is None
    assert fit_trees(A[:50], steps[:50], fit_mean(steps[:50]), 0) is None


def test_trees_are_not_grown_for_every_column_in_vain(monkeypatch):
    grown = []
    grow = learners._trees
    monkeypatch.setattr(learners, "_trees", lambda *a: grown.append(1) or grow(*a))
    rng = np.random.default_rng(7)
    A, noise = rng.normal(size=(120, 3)), rng.normal(size=(120, 30))
    assert fit_trees(A, noise, fit_mean(noise), 0) is None
    assert len(grown) <= 3 * learners.TREE_TRIALS


def test_neighbors_by_what_does_not_vary_are_all_pairs():
    B = np.random.default_rng(6).normal(size=(50, 2))
    np.testing.assert_allclose(
        fit_neighbors(np.ones((50, 3)), B).predict(np.ones((4, 3))), [B.mean(0)] * 4
    )
