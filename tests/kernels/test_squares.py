"""The loops written for vector instructions against one line of NumPy each.

Whole-number coordinates make every sum exact, so equality is a fair demand.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isinglass.kernels import bounds, leaves, nearest, products
from isinglass.kernels.leaves import FAN

widths = st.integers(1, 13)  # whole blocks of four columns, and what is left over
seeds = st.integers(0, 2**32 - 1)


def whole(rng, *shape):
    return rng.integers(-4, 5, size=shape).astype(np.float32)


def some_gaps(rng, width):
    """0 for a numeric column; half of the tables have discrete ones too."""
    return (rng.integers(0, 4, size=width) * (rng.random(width) < rng.choice([0, 0.3]))).astype(
        np.float32
    )


def plain_squares(a, b, gap):
    """Columns first: squared differences, or the gap where codes differ."""
    gap = gap.reshape((-1,) + (1,) * (np.ndim(a - b) - 1))
    return np.where(gap > 0, gap * (a != b), (a - b) ** 2).sum(axis=0)


@given(widths, st.sampled_from([16, 48]), seeds)
def test_scan_agrees_with_numpy(width, rows, seed):
    rng = np.random.default_rng(seed)
    gap, Q, tile = some_gaps(rng, width), whole(rng, 3, width), whole(rng, width, rows)
    square = np.empty(rows, dtype=np.float32)
    before = whole(rng, 5)
    flat = np.concatenate([before, tile.ravel()])
    nearest.scan(Q, 1, np.float32(2), flat, len(before), rows, gap, square)
    np.testing.assert_array_equal(square, 2 + plain_squares(tile, Q[1][:, None], gap))


@given(widths, seeds)
def test_box_and_center_distances_agree_with_numpy(width, seed):
    rng = np.random.default_rng(seed)
    gap = some_gaps(rng, width)
    boxes = np.sort(whole(rng, 3, width, 2, FAN), axis=2)
    low, high = np.sort(whole(rng, 2, width), axis=0)
    square = np.empty(FAN, dtype=np.float32)
    nearest.box_squares(low, high, boxes.ravel(), 1, gap, square)
    below, above = boxes[1, :, 0], boxes[1, :, 1]
    step = np.maximum(np.maximum(below - high[:, None], low[:, None] - above), 0)
    added = np.where(gap[:, None] > 0, gap[:, None] * (step > 0), step**2)
    np.testing.assert_array_equal(square, added.sum(axis=0))
    bounds.center_squares(low, boxes.ravel(), 1, gap, square)
    away = ((below + above) / 2 - low[:, None]) ** 2 * (gap[:, None] == 0)
    np.testing.assert_array_equal(square, away.sum(axis=0))


@given(widths, st.integers(1, 40), st.integers(1, 20), seeds)
def test_a_product_gives_the_squares_of_rows_and_queries(width, n, size, seed):
    rng = np.random.default_rng(seed)
    gap, Q, middle = some_gaps(rng, width), whole(rng, size + 3, width), whole(rng, width)
    tile = np.full((width, leaves.padded(n)), np.inf, dtype=np.float32)
    tile[:, :n] = whole(rng, width, n)
    who, numeric = rng.permutation(size + 3)[:size], gap == 0
    lanes, length = products.from_middle(Q, who, middle, numeric)
    rows, square = np.empty((width, n), dtype=np.float32), np.empty(n, dtype=np.float32)
    before = whole(rng, 5)
    flat = np.concatenate([before, tile.ravel()])
    products.seen_from(middle, flat, len(before), numeric, rows, square)
    product = rows.T @ lanes
    products.add_gaps(tile, Q[who].T, n, gap, product)
    found = square[:, None] + product[:, :size] + length[:size]
    expected = plain_squares(tile[:, :n, None], Q[who].T[:, None, :], gap)
    np.testing.assert_array_equal(found, expected)


@given(st.integers(1, 7), st.integers(1, 20), st.sampled_from([16, 32]), seeds)
def test_the_least_of_several_leaves_are_kept_without_the_own_row(k, n, lanes, seed):
    rng = np.random.default_rng(seed)
    leaves, size, least = 4, lanes - 3, np.empty(lanes, dtype=np.float32)
    best = np.full((k, lanes), np.inf, dtype=np.float32)
    number = rng.permutation(leaves * n).astype(np.int32)
    skip = rng.integers(-1, leaves * n, size=lanes)
    seen = [np.full((k, lanes), np.inf)]
    for leaf in range(leaves):
        # Leaves further on have fewer rows that are near, so that both ways of keeping are met.
        product, square = whole(rng, n, lanes), whole(rng, n) + 3 * leaf
        plain = np.where(
            number[leaf * n : leaf * n + n, None] == skip, np.inf, product + square[:, None]
        )
        for j in range(lanes):
            products.leave_out(number, leaf * n, n, skip[j], product, j)
        if leaf == 0:
            products.keep_least(product, square, best)
        else:
            products.keep_few(product, square, size, least, best)
        seen.append(plain)
    expected = np.sort(np.concatenate(seen), axis=0)[:k]
    np.testing.assert_array_equal(best[:, :size], expected[:, :size])
