"""Networks and their derivatives; least squares for many rows at once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from isinglass.activations import ACTIVATIONS
from isinglass.theory.inversion import solve_rows
from isinglass.theory.network import Network

SMOOTH = [name for name in ACTIVATIONS if name not in ("sign", "relu")]


def network(name, d=3, m=7, p=5, layers=1, seed=0, *, derivative=True):
    rng = np.random.default_rng(seed)
    f = ACTIVATIONS[name]
    sizes = [d] + [m] * layers
    parts = tuple(
        (rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in itertools.pairwise(sizes)
    )
    slope = f.derivative if derivative else None
    return Network(parts, rng.normal(size=(p, m)), rng.normal(size=p), f.function, slope)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("derivative", [True, False])
def test_derivatives_agree_with_differences(name, layers, derivative):
    made = network(name, layers=layers, derivative=derivative)
    X = np.random.default_rng(1).normal(size=(4, 3)) * 0.3
    values, J = made.linearized(X)
    np.testing.assert_array_equal(values, made.values(X))
    step = 1e-5
    for j, unit in enumerate(np.eye(3)):
        slope = (made.values(X + step * unit) - made.values(X - step * unit)) / (2 * step)
        np.testing.assert_allclose(J[:, :, j], slope, atol=1e-4 * (1 + np.abs(slope).max()))


def test_compressed_networks_keep_every_distance():
    made = network("tanh", m=4, p=9)
    X = np.random.default_rng(2).normal(size=(6, 3))
    small, turn = made.compressed()
    assert small.n_out == 4
    np.testing.assert_allclose((made.values(X) - made.offset) @ turn, small.values(X), atol=1e-12)
    far = np.linalg.norm(made.values(X)[0] - made.values(X)[1])
    assert np.isclose(np.linalg.norm(small.values(X)[0] - small.values(X)[1]), far)


def test_points_are_found_again_from_starts_nearby():
    made = network("tanh", m=12, p=12)
    X = np.random.default_rng(3).random((700, 3))
    start = np.clip(X + 0.1, 0, 1)
    found = solve_rows(made, made.values(X), start, bounds=(np.zeros(3), np.ones(3)), goal=1e-26)
    np.testing.assert_allclose(found.points, X, atol=1e-9)
    assert found.cost.max() < 1e-20


def test_points_stay_within_bounds_and_the_cost_is_that_of_the_point():
    made = network("identity", m=3, p=3)
    X = np.random.default_rng(4).random((50, 3)) * 2 - 0.5  # many beyond the bounds
    targets = made.values(X)
    found = solve_rows(made, targets, np.full((50, 3), 0.5), bounds=(np.zeros(3), np.ones(3)))
    assert found.points.min() >= 0
    assert found.points.max() <= 1
    np.testing.assert_allclose(found.cost, np.square(targets - made.values(found.points)).sum(1))
    inside = ((X >= 0) & (X <= 1)).all(axis=1)
    np.testing.assert_allclose(found.points[inside], X[inside], atol=1e-6)


def test_what_the_image_does_not_tell_stays_as_the_metric_has_it():
    """One equation for two unknowns: the step goes along the likelier direction."""
    made = Network(
        ((np.eye(2), np.zeros(2)),), np.ones((1, 2)), np.zeros(1), lambda z: z, np.ones_like
    )
    start = np.zeros((1, 2))
    even = solve_rows(made, np.ones((1, 1)), start)
    uneven = solve_rows(made, np.ones((1, 1)), start, metric=np.diag([1.0, 99.0]))
    np.testing.assert_allclose(even.points, [[0.5, 0.5]], atol=1e-6)
    np.testing.assert_allclose(uneven.points, [[0.99, 0.01]], atol=1e-6)


def test_a_map_without_any_slope_leaves_points_where_they_are():
    flat = Network(
        ((np.eye(2), np.zeros(2)),), np.eye(2), np.zeros(2), np.zeros_like, np.zeros_like
    )
    start = np.full((3, 2), 0.3)
    found = solve_rows(flat, np.ones((3, 2)), start)
    np.testing.assert_array_equal(found.points, start)
