"""Estimates from noised counts: the closed forms that they must equal."""

import numpy as np
import pytest

from isinglass.detect.private.estimates import leaves, n_records, projected, quantile

RNG = np.random.default_rng(5)


def test_the_projection_is_the_nearest_row_that_is_not_negative_and_has_the_sum():
    counts, total = RNG.normal(3, 5, size=(40, 6)), RNG.uniform(1, 30, size=40)
    found = projected(counts, total)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), total)
    # Nearest: what is positive was moved by one number, what is zero would have gone below.
    moved = counts - found
    for row, kept in zip(moved, found > 0, strict=True):
        np.testing.assert_allclose(row[kept], row[kept][0])
        assert (row[~kept] <= row[kept][0] + 1e-9).all()


def test_a_row_with_the_sum_already_stays_and_a_sum_of_zero_leaves_nothing():
    np.testing.assert_allclose(projected([[1.0, 2.0, 0.0]], 3.0), [[1.0, 2.0, 0.0]])
    np.testing.assert_allclose(projected([[1.0, 2.0, -4.0]], 0.0), [[0.0, 0.0, 0.0]])


def test_without_noise_the_leaves_are_the_counts():
    lowest = RNG.integers(0, 9, size=(3, 4096))
    middle, root = lowest.reshape(3, 256, 16).sum(axis=2), lowest.reshape(3, 16, 256).sum(axis=2)
    nodes = lowest.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(leaves(nodes, [root, middle, lowest], 0.0), lowest, atol=1e-9)


def test_a_node_that_noise_would_drown_is_split_evenly():
    found = leaves(np.array([[8.0, 100.0]]), [np.arange(8).reshape(1, 8) * 9.0], 17.0)
    np.testing.assert_allclose(found[0, :4], 2.0)
    np.testing.assert_allclose(found[0, 4:], projected([[36.0, 45.0, 54.0, 63.0]], 100.0)[0])


def test_the_number_of_records_is_the_mean_of_sums_weighed_by_their_noise():
    assert n_records([(np.array([100.0, 106.0]), 2), (np.array(130.0), 1)]) == pytest.approx(
        (50 + 53 + 130) / 2
    )
    assert n_records([(np.array([-70.0]), 16)]) == 10


def test_a_quantile_lies_evenly_within_its_cell():
    masses = np.array([0.0, 4.0, 0.0, 4.0, 0.0])
    assert [quantile(masses, q) for q in (0.25, 0.5, 0.75, 1.0)] == [1.5, 2.0, 3.5, 4.0]
    assert quantile(np.zeros(10), 0.3) == pytest.approx(3.0)
    assert 0 <= quantile(masses, 0.0) <= 1
