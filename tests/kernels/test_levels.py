"""Kernels of the randomization level agree with a line of NumPy, ties and extremes included."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from isinglass.kernels import gaussian_tiles, likelihoods, uniform_boxes


def test_the_table_of_the_normal_tail_is_right_to_twelve_decimals():
    table = gaussian_tiles.tail_table()
    t = np.concatenate([np.linspace(0, 9, 30_011), np.arange(0, 257) / 32, [40.0, 1e300]])
    found = np.array([gaussian_tiles.tail(value, table) for value in t])
    assert np.abs(found - ndtr(-t)).max() < 1e-12


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_sums_of_tails_agree_with_numpy_where_records_nearly_coincide(offset):
    rng = np.random.default_rng(0)
    U = rng.normal(size=(40, 3)) + offset
    U[20:30] = U[:10]  # copies
    U[30:] = U[:10] + 1e-7 * rng.normal(size=(10, 3))  # next to copies: products cannot tell
    squares = (U**2).sum(axis=1)
    pairs = ndtr(-0.5 * np.sqrt(((U[:, None] - U) ** 2).sum(axis=2)))
    np.fill_diagonal(pairs, 0)
    rows, columns = np.zeros(40), np.zeros(40)
    for first, second in ((0, 0), (0, 25), (25, 25)):
        a, b = (slice(0, 25) if s == 0 else slice(25, 40) for s in (first, second))
        gaussian_tiles.add_tails(
            U[a] @ U[b].T, U, first, second, squares, 11 * 2.0**-52, gaussian_tiles.tail_table(),
            rows, columns,
        )  # fmt: skip
    np.testing.assert_allclose(rows + columns, pairs.sum(axis=1), atol=5e-11)


@pytest.mark.parametrize("shift", [0.2, 1.5])  # nothing is 0; many products are
def test_sums_of_overlaps_agree_with_numpy(shift):
    rng = np.random.default_rng(1)
    U = rng.random((50, 20)) * shift
    pairs = np.maximum(0, 1 - np.abs(U[:, None] - U)).prod(axis=2)
    np.fill_diagonal(pairs, 0)
    rows, columns = np.zeros(50), np.zeros(50)
    for first, stop, second, end in ((0, 30, 0, 30), (0, 30, 30, 50), (30, 50, 30, 50)):
        turned = np.ascontiguousarray(U[second:end].T)
        uniform_boxes.add_overlaps(U, turned, first, stop, second, rows, columns)
    np.testing.assert_allclose(rows + columns, pairs.sum(axis=1), rtol=1e-13)


def test_bits_of_a_word():
    words = np.random.default_rng(2).integers(0, 2**64, size=200, dtype=np.uint64)
    for word in [np.uint64(0), np.uint64(2**64 - 1), *words]:
        assert uniform_boxes.ones(word) == int(word).bit_count()


def test_a_tile_decides_what_is_near_its_threshold_by_subtraction():
    """Products that say nothing at all (no number, or within the margin) are never trusted."""
    X = np.array([[0.0], [1.0], [2.0], [5.0]])
    Z = np.array([[0.4], [1.6], [1.9], [4.0]])
    rows, inverse = np.arange(4), np.ones(1)
    for products in (np.full((4, 4), np.nan), np.zeros((4, 4)), np.full((4, 4), np.inf)):
        found = np.zeros(4, dtype=np.int64)
        low, high = (np.full(4, v, dtype=np.float32) for v in (-np.inf, np.inf))
        gaussian_tiles.count_tile(
            products.astype(np.float32), np.zeros(4, np.float32), low, high, rows, X, Z, inverse,
            rows, found,
        )  # fmt: skip
        assert found.tolist() == [1, 2, 1, 1]
    found = np.zeros(4, dtype=np.int64)
    low = high = np.full(4, 0.5, dtype=np.float32)
    products = np.array([[0, 0, 1, 1]] * 4, dtype=np.float32)
    gaussian_tiles.count_tile(
        products, np.zeros(4, np.float32), low, high, rows, X, Z, inverse, rows, found
    )
    assert found.tolist() == [2, 2, 2, 2]  # clear cases are taken at their word


@pytest.mark.parametrize("grouped", [False, True])
def test_drawn_levels_are_the_levels_of_the_draws(grouped):
    """z = x + s g in full, for every draw, against the short cut through g.x."""
    rng = np.random.default_rng(3)
    U, sigmas = rng.normal(size=(30, 4)), rng.uniform(0.2, 2, size=30)
    U[3], sigmas[3] = U[4], sigmas[4]  # a copy, which ties
    draws = rng.normal(size=(50, 4))
    near = np.array([[j for j in range(30) if j != i] for i in range(30)], dtype=np.int32)
    # Met twice, as a neighbor and as a record of the same scale, a candidate counts once.
    members = np.array([3, 4] if grouped else [], dtype=np.int32)
    means, errors = np.empty(30), np.empty(30)
    likelihoods.drawn_levels(
        U, U @ draws.T, (draws**2).sum(axis=1), sigmas, np.arange(30), 0, 30, near, members,
        means, errors,
    )  # fmt: skip
    counts = np.zeros((50, 30), dtype=np.int64)
    for place, g in enumerate(draws):
        likelihoods.own_scale_levels(U, U + sigmas[:, None] * g, sigmas, 0, 30, counts[place])
    assert counts[:, 3].min() >= 2
    np.testing.assert_allclose(means, counts.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(errors, counts.std(axis=0, ddof=1) / np.sqrt(50), atol=1e-12)
