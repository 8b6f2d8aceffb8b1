"""Estimates from noised counts: the closed forms that they must equal."""

import numpy as np
import pytest

from isinglass.detect.private.columns import NumberColumn
from isinglass.detect.private.counts import NoisedCounts
from isinglass.detect.private.estimates import (
    FirstReading,
    leaves,
    n_records,
    projected,
    quantile,
    read_projections,
)
from isinglass.detect.private.layout import BINS, Layout
from isinglass.detect.private.model import Densities

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


def test_children_are_believed_as_far_as_they_spread_more_than_noise_would_make_them():
    # Around their mean of 25 they have a variance of 500/3, and noise alone would make it 25.
    counts = np.array([[40, 30, 20, 10]])
    found = leaves(np.array([[100.0]]), [counts], 5.0, doubt=2.0)
    kept = 1 - 2 * 25 / (500 / 3)
    np.testing.assert_allclose(found[0], 25 + kept * np.array([15, 5, -5, -15]))
    np.testing.assert_allclose(leaves([[100.0]], [counts], 10.0, doubt=2.0)[0], 25)
    np.testing.assert_allclose(leaves([[100.0]], [counts], 10.0)[0], counts[0])


def test_doubt_brings_leaves_nearer_to_the_truth_where_it_is_even_and_keeps_what_stands_out():
    even, s = np.full((200, 256), 40.0), 50.0
    peaked = np.zeros((200, 256))
    peaked[:, 100] = even[0].sum()

    def missed(truth: np.ndarray, doubt: float) -> float:
        tree = [truth.reshape(200, 16, 16).sum(axis=2), truth]
        noised = [np.rint(level + RNG.normal(0, s, level.shape)) for level in tree]
        found = leaves(truth.sum(axis=1, keepdims=True), noised, s, doubt=doubt)
        return float(np.abs(found - truth).sum(axis=1).mean() / truth[0].sum())

    assert missed(even, 2.0) < missed(even, 0.0) / 4
    assert missed(peaked, 2.0) < 0.03


def test_an_empty_bin_holds_the_prior_which_weighs_as_noise_does_and_a_quarter_of_records_at_most():
    layout = Layout((NumberColumn("a", 0, 1),), 2, 1)
    first = FirstReading(320.0, Densities(np.ones((1, BINS + 1))), (), None)
    x = (np.arange(BINS) + 0.5) * 10 / BINS - 5
    prior = BINS / (1 + x**2) / (1 / (1 + x**2)).sum()
    for s, weight in ((1.0, 1.0), (4.0, 2.0), (1000.0, 320 / 4 / BINS)):
        p = read_projections(layout, NoisedCounts(np.zeros(BINS, np.int64), s), first).p[0]
        np.testing.assert_allclose(p, (10 + weight * prior) / (320 + weight * BINS))


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
