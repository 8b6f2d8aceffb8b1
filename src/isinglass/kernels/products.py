"""Squared distances of queries and rows of a tile from one matrix product.

|x|² + |y|² - 2 x·y loses digits where x and y are far from the origin and near to each other, so
both are seen from a point among them, and what the sum may be off (`rounding_of`) is added to a
bound from above or taken from one from below. Rows of the table are rows of the product; queries
are its columns, called lanes, so that what is done to each of them becomes vector instructions.
"""

from __future__ import annotations

import numpy as np

from isinglass.kernels.jit import fma_kernel, kernel
from isinglass.kernels.leaves import padded

MINUS_2 = np.float32(-2)
_INF = np.float32(np.inf)


@kernel
def rounding_of(width):
    """What |x|² + |y|² - 2 x·y may be off, as a share of |x|² + |y|².

    In roundings of 2^-24: `width` for the squares, `width` for the product, 4 for the new origin
    and 3 for the last sums, of the 2 `width` + 32 that are granted. To first order: beyond some
    14,000 columns the worst case is larger, though sums in blocks stay far below it.
    """
    return (width + 16) * 2.0**-23


@kernel
def take_middle(Q, begin, end, middle):
    """The mean of some queries."""
    middle[:] = 0
    for i in range(begin, end):
        for c in range(Q.shape[1]):
            middle[c] += Q[i, c] / np.float32(end - begin)


@kernel
def from_middle(Q, who, middle, numeric):
    """Some queries as columns, seen from another origin, times -2; their squared lengths."""
    lanes = np.zeros((Q.shape[1], padded(who.shape[0])), np.float32)
    length = np.zeros(lanes.shape[1])
    for s in range(who.shape[0]):
        i = who[s]
        for c in range(Q.shape[1]):
            lanes[c, s] = (Q[i, c] - middle[c]) * MINUS_2
    for c in range(Q.shape[1]):
        if numeric[c]:
            for s in range(lanes.shape[1]):
                length[s] += np.float64(lanes[c, s]) * lanes[c, s] / 4
        else:
            lanes[c] = 0
    return lanes, length


@fma_kernel
def seen_from(middle, tiles, at, numeric, rows, square):
    """The rows of the tile that begins `at` seen from another origin; their squared lengths.

    No view of the tile: taking one, and its reference count, costs as much as a third of this.
    """
    n, place = np.uint64(rows.shape[1]), np.uint64(at)
    w = np.uint64(padded(rows.shape[1]))
    for i in range(n):
        square[i] = 0
    for c in range(rows.shape[0]):
        m = middle[c]
        if numeric[c]:
            for i in range(n):
                step = tiles[place + i] - m
                rows[c, i] = step
                square[i] += step * step
        else:
            for i in range(n):
                rows[c, i] = 0
        place += w


@kernel
def add_gaps(tile, codes, n, gap, product):
    """What the discrete columns add to the squared distances of a tile's rows and queries."""
    for c in range(gap.shape[0]):
        if gap[c] > 0:
            for i in range(n):
                for j in range(codes.shape[1]):
                    if tile[c, i] != codes[c, j]:
                        product[i, j] += gap[c]


@kernel
def leave_out(number, at, n, row, product, j):
    """No distance of query `j` to its own row."""
    for i in range(n):
        if number[at + i] == row:
            product[i, j] = _INF


@kernel
def least_of(product, square, least):
    """The smallest `square[i] + product[i, j]` for each query `j`."""
    least[:] = _INF
    for i in range(product.shape[0]):
        for j in range(product.shape[1]):
            value = square[i] + product[i, j]
            least[j] = value if value < least[j] else least[j]


@kernel
def keep_least(product, square, best):
    """Put each `square[i] + product[i, j]` into column `j` of `best`, its smallest, ascending.

    Without a branch, for vector instructions: a value that finds its place pushes the others
    down by one.
    """
    if best.shape[0] == 5:
        return keep_five(product, square, best[0], best[1], best[2], best[3], best[4])
    pushed = np.empty(best.shape[1], np.float32)
    for i in range(product.shape[0]):
        for j in range(best.shape[1]):
            pushed[j] = square[i] + product[i, j]
        for p in range(best.shape[0]):
            for j in range(best.shape[1]):
                new, old = pushed[j], best[p, j]
                less = new < old
                best[p, j] = new if less else old
                pushed[j] = old if less else new


@kernel
def keep_five(product, square, first, second, third, fourth, fifth):
    """The same for five neighbors, the usual number, in one go: thrice as fast."""
    for i in range(product.shape[0]):
        s = square[i]
        for j in range(product.shape[1]):
            new, a, b, c, d, e = (
                s + product[i, j],
                first[j],
                second[j],
                third[j],
                fourth[j],
                fifth[j],
            )
            first[j], new = (new, a) if new < a else (a, new)
            second[j], new = (new, b) if new < b else (b, new)
            third[j], new = (new, c) if new < c else (c, new)
            fourth[j], new = (new, d) if new < d else (d, new)
            fifth[j] = new if new < e else e


@kernel
def keep_few(product, square, size, least, best):
    """As `keep_least`, where it may be that few queries get a new neighbor, or none."""
    k, better = best.shape[0], 0
    least_of(product, square, least)
    for j in range(size):
        better += least[j] < best[k - 1, j]
    if 3 * better > size:
        return keep_least(product, square, best)
    if better == 0:
        return
    for j in range(size):
        if least[j] >= best[k - 1, j]:
            continue
        for i in range(product.shape[0]):
            value = square[i] + product[i, j]
            if value < best[k - 1, j]:
                p = k - 1
                while p > 0 and best[p - 1, j] > value:
                    best[p, j] = best[p - 1, j]
                    p -= 1
                best[p, j] = value
