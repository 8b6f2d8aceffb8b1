"""Columns that tell a record's place are found, in bounded memory."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from isinglass.table.row_order import RowOrderCheck


def fed(X, sizes):
    order, start = RowOrderCheck(X.shape[1]), 0
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
    order = RowOrderCheck(4)
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


@given(st.integers(5, 300), st.integers(0, 2**32), st.lists(st.integers(0, 100), max_size=5))
@settings(max_examples=40)
def test_autocorrelation_is_that_of_neighbors_whatever_the_batches(rows, seed, sizes):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=rows) + 1e6, np.cumsum(rng.normal(size=rows))])
    centered = X - X.mean(axis=0)
    expected = (centered[1:] * centered[:-1]).sum(axis=0) / (centered**2).sum(axis=0)
    np.testing.assert_allclose(fed(X, sizes).autocorrelations(), expected, atol=1e-6)


def test_waves_and_steps_are_named_and_shuffled_rows_are_not():
    rng = np.random.default_rng(2)
    rows = np.arange(2000.0)
    steps = np.repeat(rng.normal(size=100), 20)
    X = np.column_stack(
        [np.sin(rows / 20), steps, (-1.0) ** rows, rng.normal(size=2000), np.ones(2000)]
    )
    X[:, :3] += 0.3 * rng.normal(size=(2000, 3))
    order = fed(X, [7, 900])
    assert order.alike().tolist() == [0, 1, 2]
    assert order.trending().tolist() == []
    assert fed(rng.permutation(X), []).alike().tolist() == []


def test_chance_in_a_short_table_is_no_warning():
    rng = np.random.default_rng(3)
    assert not any(len(fed(rng.normal(size=(20, 10)), []).alike()) for _ in range(50))


def test_sensor_rows_of_real_engines_are_alike(real_data):
    table = pq.read_table(real_data / "cmapss_fd003_train.parquet").slice(0, 2000)
    sensors = [name for name in table.column_names if name.startswith("sensor")]
    X = np.column_stack([table[name].to_numpy() for name in sensors])
    found = fed(X, [])
    assert len(found.alike()) >= 10
    assert len(fed(np.random.default_rng(4).permutation(X), []).alike()) == 0
