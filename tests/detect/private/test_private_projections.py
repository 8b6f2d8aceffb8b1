"""Public directions and scaled values: whole numbers, the same on every machine."""

import hashlib

import numpy as np
import pytest

from isinglass.detect.private.layout import SEED
from isinglass.detect.private.projections import FINE, LIMIT, ONE, directions, scaled


@pytest.mark.parametrize(("d", "T"), [(1, 5), (2, 64), (29, 64), (100, 16)])
def test_directions_are_blocks_of_orthonormal_matrices(d, T):
    W = directions("a seed", d, T)
    assert (W == np.rint(W)).all()
    for start in range(0, T, d):
        block = W[:, start : start + d] / ONE
        np.testing.assert_allclose(block.T @ block, np.eye(block.shape[1]), atol=1e-3)


def test_directions_point_evenly():
    W = directions("another seed", 8, 4000) / ONE
    # The square of a coordinate has mean 1/8 and fourth moment 3 / (8 * 10).
    np.testing.assert_allclose((W**2).mean(axis=1), 1 / 8, atol=6 * 0.15 / 4000**0.5)
    np.testing.assert_allclose((W**4).mean(), 3 / 80, rtol=0.02)
    assert abs(W.mean(axis=1)).max() < 6 / (8 * 4000) ** 0.5


def test_directions_never_change():
    """Who scores makes them anew: other ones would be another model's."""
    found = directions(SEED, 29, 64).astype("<i8").tobytes()
    assert hashlib.sha256(found).hexdigest() == (
        "b8990bff2ca141be07645f61c0e5e6109a9832b7873b9a6947d836eb0c895e00"
    )
    assert (directions("x", 29, 64) != directions(SEED, 29, 64)).any()


@pytest.mark.parametrize(
    ("middle", "half"),
    [
        (30_000 * FINE, 20 * FINE),
        (5 * FINE, 8 * FINE),
        (65_536 * FINE, 32_768 * FINE),
        (7, 987_654),
    ],
)
def test_scaled_values_are_those_of_asinh(middle, half):
    twice = 2 * np.arange(65_536) + 1
    exact = ONE * np.arcsinh((twice / 2 - middle / FINE) / (half / FINE)) / np.arcsinh(1)
    found = scaled(twice, middle, half)
    assert abs(found - np.clip(exact, -LIMIT * ONE, LIMIT * ONE)).max() < 0.51
    assert (np.diff(found) >= 0).all()


def test_scaled_values_are_odd_in_the_distance_from_the_middle():
    twice = np.arange(0, 60_000, 7)
    above, below = (scaled(30_000 + s * twice, 15_000 * FINE, 9 * FINE) for s in (1, -1))
    np.testing.assert_array_equal(above, -below)
