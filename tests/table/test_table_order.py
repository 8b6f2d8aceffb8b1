"""Columns that tell a record's place are found, in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from isinglass.table.order import RowOrder


def fed(X, sizes):
    order, start = RowOrder(X.shape[1]), 0
    for size in sizes:
        order.add(X[start : start + size])
        start += size
    order.add(X[start:])
    return order


@given(st.integers(5, 300), st.integers(0, 2**32), st.lists(st.integers(0, 100), max_size=5))
@settings(max_examples=40)
def test_equal_to_scipy_on_small_tables(rows, seed, sizes):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=rows), rng.integers(3, size=rows), np.arange(rows)])
    X[:2, 1] = 0, 1  # not constant
    expected = [spearmanr(column, np.arange(rows)).statistic for column in X.T]
    np.testing.assert_allclose(fed(X, sizes).correlations(), expected, atol=1e-12)


@given(st.lists(st.integers(0, 20_000), max_size=8))
@settings(max_examples=20)
def test_the_sample_does_not_depend_on_the_batches(sizes):
    X = np.random.default_rng(0).normal(size=(50_000, 1)) + np.linspace(0, 1, 50_000)[:, None]
    found = fed(X, sizes)
    sample = np.concatenate(found._kept)
    np.testing.assert_array_equal(sample, X[::8])
    assert found.correlations() == fed(X, []).correlations()


def test_memory_stays_bounded():
    order = RowOrder(4)
    for _ in range(300):
        order.add(np.zeros((1000, 4)))
    held = sum(block.base.nbytes if block.base is not None else block.nbytes
               for block in order._kept)  # fmt: skip
    assert held <= 8 * 4 * 8192


def test_rising_and_falling_columns_are_named_and_constant_ones_are_not():
    rows = np.arange(1000.0)
    noise = np.random.default_rng(1).normal(size=1000)
    X = np.column_stack([rows, -rows + noise, noise, np.full(1000, 7.0)])
    order = fed(X, [10, 500])
    assert order.trending().tolist() == [0, 1]
    assert order.correlations()[3] == 0


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_a_handful_of_rows_has_no_order(rows):
    assert fed(np.arange(2.0 * rows).reshape(rows, 2), []).correlations().tolist() == [0, 0]
