"""The best row order is exact: it equals trying all of them, and swapping never beats it."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from benchmarks.rotation import swap_order_minimum
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.measure.assignment import (
    best_order_average,
    best_order_minimum,
    some_order_exceeds,
)
from isinglass.measure.vod import placement_levels, rotation_vod

SPACE = np.array([[0.0529, 0.01, -0.02], [0.01, 0.0324, 0.005], [-0.02, 0.005, 0.09]])
THIRDS = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3.0


def chosen(P, order):
    return np.asarray(P, dtype=float)[np.arange(len(P)), order]


def all_orders(P):
    """The levels of every order, a line each."""
    orders = np.array(list(permutations(range(len(P)))))
    return P[np.arange(len(P)), orders]


@settings(max_examples=120)
@given(st.integers(1, 7), st.integers(0, 2**32), st.booleans())
def test_equals_brute_force_over_all_permutations(d, seed, ties):
    rng = np.random.default_rng(seed)
    P = rng.integers(0, 4, size=(d, d)).astype(float) if ties else rng.random((d, d))
    every = all_orders(P)
    lowest, mean = every.min(axis=1), every.mean(axis=1)

    by_minimum = chosen(P, best_order_minimum(P))
    assert by_minimum.min() == lowest.max()
    assert by_minimum.mean() == pytest.approx(mean[lowest == lowest.max()].max(), abs=1e-12)
    assert chosen(P, best_order_average(P)).mean() == pytest.approx(mean.max(), abs=1e-12)

    assert not some_order_exceeds(P, lowest.max())
    assert some_order_exceeds(P, np.nextafter(lowest.max(), -np.inf))


@settings(max_examples=120)
@given(st.integers(1, 30), st.integers(0, 2**32))
def test_never_below_swapping(d, seed):
    P = np.random.default_rng(seed).random((d, d))
    swapped, exact = (chosen(P, f(P)).min() for f in (swap_order_minimum, best_order_minimum))
    assert exact >= swapped >= np.diag(P).min()


@settings(max_examples=60)
@given(st.integers(2, 8), st.integers(0, 2**32))
def test_the_swapping_we_compare_with_ends_where_no_swap_helps(d, seed):
    P = np.random.default_rng(seed).random((d, d))
    order = swap_order_minimum(P)
    for i in range(d):
        for j in range(i):
            other = order.copy()
            other[[i, j]] = other[[j, i]]
            assert chosen(P, other).min() <= chosen(P, order).min()


def test_golden_order():
    order = best_order_minimum(placement_levels(THIRDS, SPACE))
    assert order.tolist() == [2, 0, 1]
    vod = rotation_vod(THIRDS[order], SPACE)
    np.testing.assert_allclose(vod, [0.1706666667, 0.0766666667, 0.2334666667], atol=1e-9)


def test_golden_toys():
    P = [[7, 5, 3], [6, 4, 9], [8, 2, 1]]
    assert chosen(P, best_order_minimum(P)).min() == 5
    assert chosen(P, best_order_average(P)).mean() == pytest.approx(22 / 3, abs=1e-15)
    P = [[1, 3, 5], [4, 4, 1], [1, 2, 1]]
    assert chosen(P, swap_order_minimum(P)).min() == 1
    assert chosen(P, best_order_minimum(P)).min() == 2


def test_swapping_falls_short_on_the_mean_over_draws():
    rng = np.random.default_rng(0)
    tables = [rng.random((9, 9)) for _ in range(100)]
    swapped, exact = (
        np.mean([chosen(P, f(P)).min() for P in tables])
        for f in (swap_order_minimum, best_order_minimum)
    )
    assert exact > 1.01 * swapped


@pytest.mark.parametrize("shape", [(2, 3), (0, 0), (4,)])
def test_only_square_matrices(shape):
    with pytest.raises(ValueError, match="square"):
        best_order_minimum(np.zeros(shape))
