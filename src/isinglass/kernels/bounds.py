"""Bounds on scores from matrix products: within a row's own leaf, and from leaves near to it."""

from __future__ import annotations

import numpy as np

from isinglass.kernels.jit import fma_kernel, kernel
from isinglass.kernels.leaves import FAN, padded
from isinglass.kernels.nearest import UP32, score_of
from isinglass.kernels.products import (
    MINUS_2,
    add_gaps,
    from_middle,
    keep_few,
    keep_least,
    leave_out,
    rounding_of,
    seen_from,
    take_middle,
)
from isinglass.kernels.select import select

_INF = np.float32(np.inf)
_HALF = np.float32(0.5)
_LEAST = 2.0**-126  # the smallest normal float32: a bound must not round to 0


@kernel
def leaf_bounds(index, begin, end, measure, k, bound):
    """For the rows of some leaves, a score they cannot exceed; `bound` is in the index's order.

    It is the score among the rows of the leaf alone: whatever a row's nearest neighbors are,
    they are no further. All distances within a leaf come from one matrix product, as in
    `near_bounds`.
    """
    gap, start, tiles = measure.gap, index.start, index.tiles
    tile_at, blur, kind = index.tile_at, index.blur, measure.kind
    width, widest = gap.shape[0], index.widest
    numeric, coded = gap == 0, (gap > 0).any()
    larger = np.float32(1 + rounding_of(width))
    middle, square = np.empty(width, np.float32), np.empty(widest, np.float32)
    flat_rows = np.empty(width * widest, np.float32)
    flat_lanes, flat_product = np.empty_like(flat_rows), np.empty(widest * widest, np.float32)
    flat_best, ascending = np.empty(k * widest, np.float32), np.empty((1, k))
    for leaf in range(begin, end):
        at, n = start[leaf], start[leaf + 1] - start[leaf]
        if n <= k:
            bound[at : at + n] = _INF
            continue
        w = padded(n)
        tile = tiles[tile_at[leaf] : tile_at[leaf + 1]].reshape((width, w))
        take_inner(tile, n, middle)
        rows, best = flat_rows[: width * n].reshape((width, n)), flat_best[: k * w].reshape((k, w))
        seen_from(middle, tiles, tile_at[leaf], numeric, rows, square)
        lanes = flat_lanes[: width * w].reshape((width, w))
        for c in range(width):
            for j in range(n):
                lanes[c, j] = MINUS_2 * rows[c, j]
            for j in range(n, w):
                lanes[c, j] = 0
        product = flat_product[: n * w].reshape((n, w))
        np.dot(rows.T, lanes, product)
        if coded:
            add_gaps(tile, tile, n, gap, product)
        for i in range(n):
            square[i] *= larger
            product[i, i] = _INF
        best[:] = _INF
        keep_least(product, square, best)
        margin = 2 * blur[leaf] + measure.dust
        for j in range(n):
            for p in range(k):
                less = max(np.float64(best[p, j]) + square[j], 0.0)
                ascending[0, p] = np.sqrt(less) * measure.slack + margin
            bound[at + j] = score_of(ascending, 0, kind) / measure.scale * UP32 + _LEAST


@kernel
def clear_copies(X, index, begin, end, measure, k, bound):
    """A bound of 0, exactly, for the rows of some leaves that have `k` copies in their leaf.

    Other bounds are above 0 by a margin. Where so many rows have copies that even the strongest
    score 0, row numbers decide, and rows that only may score more would all be searched.
    """
    width, start, tile_at = measure.gap.shape[0], index.start, index.tile_at
    for leaf in range(begin, end):
        at, n = start[leaf], start[leaf + 1] - start[leaf]
        tile = index.tiles[tile_at[leaf] : tile_at[leaf + 1]].reshape((width, padded(n)))
        for j in range(n):
            if copied(X, index.order, at, n, j, k, measure.columns, tile):
                bound[at + j] = 0


@kernel
def copied(X, number, at, n, j, k, columns, tile):
    """Whether row `j` of a leaf has `k` copies there, in all columns that count.

    Copies have the same stand-ins, which lie close together in the tile.
    """
    copies = 0
    for i in range(n):
        if i == j or tile[0, i] != tile[0, j]:
            continue
        same = True
        for c in range(1, tile.shape[0]):
            if tile[c, i] != tile[c, j]:
                same = False
                break
        if not same:
            continue
        for t in range(columns.shape[0]):
            if X[number[at + i], columns[t]] != X[number[at + j], columns[t]]:
                same = False
                break
        copies += same
        if copies == k:
            return True
    return False


@kernel
def take_inner(tile, n, middle):
    """A point among the rows of a tile: of three of them, so that none that is far off has a say.

    Not the middle of its box, which one such row would move, and which a leaf of copies has not.
    """
    for c in range(tile.shape[0]):
        x, y, z = tile[c, n >> 2], tile[c, n >> 1], tile[c, 3 * n >> 2]
        middle[c] = max(min(x, y), min(max(x, y), z))


@kernel
def near_bounds(queries, batches, begin, end, index, measure, k, n_leaves, beside, reach, score):
    """For batches of queries, a score they cannot exceed, from `n_leaves` leaves near each batch.

    Batch `b` is queries `batches[b] : batches[b + 1]`. All its distances to a leaf come from one
    matrix product, |x|² + |y|² - 2 x·y from the middle of the batch, plus all that it may have
    been rounded; |x|² is the same for all and added last. The leaves are those with the nearest
    centers or, if `beside`, those beside the batch's own in the tree. `reach` bounds the k-th
    distance, in tile units.
    """
    Q, gap, level_at, boxes = queries.Q, measure.gap, index.level_at, index.boxes
    start, tiles, tile_at, blur = index.start, index.tiles, index.tile_at, index.blur
    width, widest, leaves = Q.shape[1], index.widest, index.start.shape[0] - 1
    order = np.arange(leaves)
    numeric, coded = gap == 0, (gap > 0).any()
    q_blur, offset = queries.blur, queries.offset
    kind, slack, scale, dust = measure.kind, measure.slack, measure.scale, measure.dust
    rounding = rounding_of(width)
    larger = np.float32(1 + rounding)
    square, middle = np.empty(widest, np.float32), np.empty(width, np.float32)
    flat_rows = np.empty(width * widest, np.float32)
    ascending = np.empty((1, k))
    for b in range(begin, end):
        first, size = batches[b], batches[b + 1] - batches[b]
        take_middle(Q, first, first + size, middle)
        if beside:
            for t in range(n_leaves):
                order[t] = queries.home[first] // n_leaves * n_leaves + t
        else:
            nearest_leaves(middle, boxes, level_at, gap, order, n_leaves)
        lanes, length = from_middle(Q, np.arange(first, first + size), middle, numeric)
        best = np.full((k, lanes.shape[1]), _INF, np.float32)
        least = np.empty(lanes.shape[1], np.float32)
        flat_product = np.empty(widest * lanes.shape[1], np.float32)
        off = np.float32(0)
        for t in range(n_leaves):
            leaf = order[t]
            at, n = start[leaf], start[leaf + 1] - start[leaf]
            if boxes[leaf // FAN, 0, 0, leaf % FAN] == _INF:
                continue  # an empty box: no rows, or copies of rows in another leaf
            rows = flat_rows[: width * n].reshape((width, n))
            seen_from(middle, tiles, tile_at[leaf], numeric, rows, square)
            product = flat_product[: n * lanes.shape[1]].reshape((n, lanes.shape[1]))
            np.dot(rows.T, lanes, product)
            if coded:
                tile = tiles[tile_at[leaf] : tile_at[leaf + 1]].reshape((width, padded(n)))
                add_gaps(tile, Q[first : first + size].T, n, gap, product)
            for i in range(n):
                square[i] *= larger
            for j in range(size):
                if queries.home[first + j] == leaf or queries.home[first + j] < 0:
                    leave_out(index.order, at, n, queries.skip[first + j], product, j)
            off = max(off, blur[leaf])
            keep_few(product, square, size, least, best)
        for j in range(size):
            q = first + j
            margin = q_blur[q] + off + dust
            for p in range(k):
                less = max(best[p, j] + length[j] * (1 + rounding), 0.0) + offset[q]
                ascending[0, p] = np.sqrt(less) * slack + margin
            reach[q] = ascending[0, k - 1]
            score[q] = score_of(ascending, 0, kind) / scale * UP32 + _LEAST


@kernel
def nearest_leaves(middle, boxes, level_at, gap, order, n):
    """Bring some `n` leaves that are near to a point to the front of `order`, nearest first.

    Of the groups of 16 leaves with the nearest centers, the leaves with the nearest centers.
    """
    leaves = order.shape[0]
    groups = leaves // FAN
    square, flat = np.empty(FAN, np.float32), boxes.ravel()
    chosen = np.arange(groups)
    some = min(groups, n // 4 + 4)
    if some < groups:
        far = np.empty(groups, np.float32)
        for g in range((groups + FAN - 1) // FAN):
            center_squares(middle, flat, level_at[1] + g, gap, square)
            for j in range(min(FAN, groups - g * FAN)):
                far[g * FAN + j] = square[j]
        select(far, chosen, some)
    close = np.empty(some * FAN, np.float32)
    for t in range(some):
        center_squares(middle, flat, chosen[t], gap, square)
        for j in range(FAN):
            close[t * FAN + j] = square[j]
            order[t * FAN + j] = chosen[t] * FAN + j
    if n < some * FAN:
        select(close, order[: some * FAN], n)
    order[:n] = order[:n][np.argsort(close[:n])]


@fma_kernel
def center_squares(middle, flat, g, gap, square):
    """Squared distances, in tile units, from a point to the centers of the boxes of group `g`.

    Written for vector instructions, as `nearest.box_squares`.
    """
    fan, columns = np.uint64(square.shape[0]), np.uint64(middle.shape[0])
    low = np.uint64(g) * columns * np.uint64(2) * fan
    for j in range(fan):
        square[j] = 0
    for c in range(columns):
        if gap[c] == 0:
            m, high = middle[c], low + fan
            for j in range(fan):
                step = (flat[low + j] + flat[high + j]) * _HALF - m
                square[j] += step * step
        low += np.uint64(2) * fan
    for j in range(fan):
        if not square[j] >= 0:  # an empty box has no center
            square[j] = _INF
