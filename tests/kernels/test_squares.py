"""The loops written for vector instructions against one line of NumPy each.

Whole-number coordinates make every sum exact, so equality is a fair demand.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isinglass.kernels import nearest, products
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
def test_scan_and_turn_agree_with_numpy(width, rows, seed):
    rng = np.random.default_rng(seed)
    gap, Q = some_gaps(rng, width), whole(rng, 3, width)
    tile, other = whole(rng, width, rows), whole(rng, width, 2 * rows)
    square = np.empty(rows, dtype=np.float32)
    before = whole(rng, 5)
    flat = np.concatenate([before, tile.ravel()])
    nearest.scan(Q, 1, np.float32(2), flat, len(before), rows, gap, square)
    np.testing.assert_array_equal(square, 2 + plain_squares(tile, Q[1][:, None], gap))
    nearest.turn(tile, other, gap, square)
    np.testing.assert_array_equal(square, plain_squares(tile, other[:, :rows], gap))


@given(widths, seeds)
def test_box_and_centre_distances_agree_with_numpy(width, seed):
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
    products.centre_squares(low, boxes.ravel(), 1, gap, square)
    away = ((below + above) / 2 - low[:, None]) ** 2 * (gap[:, None] == 0)
    np.testing.assert_array_equal(square, away.sum(axis=0))


@given(st.integers(1, 6), st.integers(1, 16), seeds)
def test_the_least_of_several_leaves_are_kept_without_the_own_row(k, w, seed):
    rng = np.random.default_rng(seed)
    queries, leaves, padded = 4, 3, 16
    best = np.full((queries, k), np.inf, dtype=np.float32)
    number = rng.permutation(leaves * w).astype(np.int32)
    skip = np.append(0, rng.integers(-1, leaves * w, size=queries))  # queries begin at place 1
    seen = [np.full((queries, k), np.inf)]
    for leaf in range(leaves):
        rows, squares = whole(rng, queries, padded), whole(rng, padded)
        squares[w:] = np.inf  # the padding of a tile
        products.keep_least(rows, squares, number, leaf * w, w, skip, 1, best)
        own = number[leaf * w : leaf * w + w] == skip[1:, None]
        seen.append(np.where(own, np.inf, (rows + squares)[:, :w]))
    np.testing.assert_array_equal(best, np.sort(np.concatenate(seen, axis=1), axis=1)[:, :k])
