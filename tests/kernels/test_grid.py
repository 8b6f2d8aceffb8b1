"""Kernels that count and score cells, beside twins in plain NumPy: equal, not close."""

import numpy as np
import pytest

from isinglass.kernels.grid import CELLS, LEAVES, bin_of, cell_of, project
from isinglass.kernels.private_counts import count_bins, count_leaves
from isinglass.kernels.private_scores import add_terms, share_terms

RNG = np.random.default_rng(11)
N, D, T, BINS = 300, 3, 5, 32
LOW, WIDTH = np.array([-1.0, 0.0, 1e-300]), np.array([2.0, 1e-3, 1e300])
TABLE = RNG.integers(-(1 << 18), 1 << 18, size=(D, CELLS)).astype(np.int32)
W = RNG.integers(-4096, 4097, size=(D, T)).astype(float)
SHIFT, BIN = np.full(T, 2.0**30), np.full(T, 2.0**26 + 3)
OWN = RNG.integers(0, 1 << 30, size=(D, LEAVES + 1))
TERMS = RNG.integers(0, 1 << 30, size=(T, BINS))
EDGE = 2.0**29


def table_of(dtype):
    X = RNG.normal(size=(N, D)) * [1.0, 1e-3, 1e299]
    X[RNG.random((N, D)) < 0.1] = np.nan
    X[0], X[1], X[2] = np.inf, -np.inf, np.nan
    with np.errstate(over="ignore"):
        return X.astype(dtype)


def plain_cells(X):
    with np.errstate(over="ignore"):
        place = np.floor((X.astype(np.float64) - LOW) / WIDTH * CELLS)
    return np.where(np.isnan(place), -1, np.clip(place, 0, CELLS - 1)).astype(int)


def plain_projections(X):
    cells = plain_cells(X)
    brought = np.where(cells < 0, 0, TABLE[np.arange(D), cells]).astype(object)
    return brought @ W.astype(int).astype(object)  # of whole numbers without a limit


def plain_bins(v):
    found = (v + int(SHIFT[0])) // int(BIN[0])
    return np.clip(found.astype(float), 0, BINS - 1).astype(int)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_leaves_are_counted_as_numpy_counts_them(dtype):
    X = table_of(dtype)
    counts = np.zeros(D * (LEAVES + 1), dtype=np.int64)
    count_leaves(X, LOW, WIDTH, counts)
    cells = plain_cells(X)
    leaf = np.where(cells < 0, LEAVES, cells // 16) + np.arange(D) * (LEAVES + 1)
    np.testing.assert_array_equal(counts, np.bincount(leaf.ravel(), minlength=len(counts)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bins_are_counted_as_whole_numbers_of_any_size_say(dtype):
    X = table_of(dtype)
    counts = np.zeros(T * BINS, dtype=np.int64)
    count_bins(X, LOW, WIDTH, TABLE, W, SHIFT, 1 / BIN, BINS, counts)
    bins = plain_bins(plain_projections(X)) + np.arange(T) * BINS
    np.testing.assert_array_equal(counts, np.bincount(bins.ravel(), minlength=T * BINS))


def test_a_projection_on_the_edge_of_a_bin_falls_above_it():
    """1 / width is rounded; the half unit keeps it from moving a whole number across an edge."""
    for width in (3.0, 49.0, 5_242_880.0, 2.0**26 + 3):
        for k in range(1, 31):
            for v, expected in ((k * width, k), (k * width - 1, k - 1)):
                counts = np.zeros(BINS, dtype=np.int64)
                table = np.zeros((1, CELLS), dtype=np.int32)
                start = np.array([v])
                arguments = (np.array([0.0]), np.array([1.0]), table, np.zeros((1, 1)), start)
                count_bins(np.zeros((1, 1)), *arguments, np.array([1 / width]), BINS, counts)
                assert counts[expected] == 1


def plain_scores(X):
    cells, v = plain_cells(X), plain_projections(X)
    own = OWN[np.arange(D), np.where(cells < 0, LEAVES, cells // 16)]
    beyond = np.maximum(np.abs(v) - int(EDGE), 0).astype(np.int64)
    return own, TERMS[np.arange(T), plain_bins(v)] + beyond


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_terms_are_summed_as_numpy_sums_them(dtype):
    X = table_of(dtype)
    own, terms = plain_scores(X)
    found = np.zeros((2, N), dtype=np.int64)
    add_terms(X, LOW, WIDTH, TABLE, W, SHIFT, 1 / BIN, EDGE, OWN, TERMS, *found)
    np.testing.assert_array_equal(found, [own.sum(axis=1), terms.sum(axis=1)])


def test_terms_are_shared_by_the_squares_of_what_columns_bring():
    X, middle = table_of(np.float64), np.array([5.0, 0.0, -7.0])
    own, terms = plain_scores(X)
    cells = plain_cells(X)
    brought = np.where(cells < 0, 0.0, TABLE[np.arange(D), cells] - middle)
    squares = (brought[:, :, np.newaxis] * W) ** 2
    total = squares.sum(axis=1, keepdims=True)
    parts = np.where(total > 0, squares / np.where(total > 0, total, 1), 1 / D)
    expected = own / 4 + (parts * terms[:, np.newaxis]).sum(axis=2) / T
    found = np.empty((N, D))
    bins = (SHIFT, 1 / BIN, EDGE, OWN, TERMS)
    share_terms(X, LOW, WIDTH, TABLE, W, *bins, middle, 4, found)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_no_kernel_may_fuse_or_reorder():
    for kernel in (cell_of, project, bin_of, count_bins, count_leaves, add_terms, share_terms):
        assert not kernel.targetoptions.get("fastmath")
        assert not kernel.targetoptions.get("parallel")
