"""Searches by matrix products, for tables in which boxes exclude little.

`near_bounds` bounds the scores of queries by the leaves nearest to them. `sift` goes through the
products of queries and all rows; it takes the distances of those that might be near.
"""

from __future__ import annotations

import numpy as np

from isinglass.kernels.jit import kernel
from isinglass.kernels.leaves import FAN, select
from isinglass.kernels.nearest import (
    BELOW,
    EXACT,
    exact_square,
    insert,
    score_of,
)

_INF = np.float32(np.inf)
_HALF = np.float32(0.5)
_UP = 1 + 1e-12
_UP32 = 1 + 2.0**-22


@kernel
def centre_squares(middle, flat, g, gap, square):
    """Squared distances, in tile units, from a point to the centres of the boxes of group `g`.

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
        if not square[j] >= 0:  # an empty box has no centre
            square[j] = _INF


@kernel
def take_middle(Q, begin, end, middle):
    """The mean of some queries."""
    middle[:] = 0
    for i in range(begin, end):
        for c in range(Q.shape[1]):
            middle[c] += Q[i, c] / np.float32(end - begin)


@kernel
def nearest_leaves(middle, boxes, level_at, gap, order, n):
    """Bring some `n` leaves that are near to a point to the front of `order`, nearest first.

    Of the groups of 16 leaves with the nearest centres, the leaves with the nearest centres.
    """
    leaves = order.shape[0]
    groups = leaves // FAN
    square, flat = np.empty(FAN, np.float32), boxes.ravel()
    chosen = np.arange(groups)
    some = min(groups, n // 4 + 4)
    if some < groups:
        far = np.empty(groups, np.float32)
        for g in range((groups + FAN - 1) // FAN):
            centre_squares(middle, flat, level_at[1] + g, gap, square)
            for j in range(min(FAN, groups - g * FAN)):
                far[g * FAN + j] = square[j]
        select(far, chosen, some)
    close = np.empty(some * FAN, np.float32)
    for t in range(some):
        centre_squares(middle, flat, chosen[t], gap, square)
        for j in range(FAN):
            close[t * FAN + j] = square[j]
            order[t * FAN + j] = chosen[t] * FAN + j
    if n < some * FAN:
        select(close, order[: some * FAN], n)
    order[:n] = order[:n][np.argsort(close[:n])]


@kernel
def near_bounds(queries, batches, begin, end, index, measure, k, n_leaves, reach, score):
    """For batches of queries, a score they cannot exceed, from the leaves nearest to each batch.

    Batch `b` is queries `batches[b] : batches[b + 1]`. All its distances to a leaf come from one
    matrix product, |x|² + |y|² - 2 x·y from the middle of the batch, plus all that it may have
    been rounded; |x|² is the same for all and added last. `reach` bounds the k-th distance, in
    tile units.
    """
    Q, gap, level_at, boxes = queries.Q, measure.gap, index.level_at, index.boxes
    start, tiles, tile_at, blur = index.start, index.tiles, index.tile_at, index.blur
    width, leaves = Q.shape[1], index.start.shape[0] - 1
    order = np.arange(leaves)
    numeric, skip, number = gap == 0, queries.skip, index.order
    q_blur, offset = queries.blur, queries.offset
    kind, slack, scale, dust = measure.kind, measure.slack, measure.scale, measure.dust
    coded = not numeric.all()
    rounding = (width + 16) * 2.0**-23  # discrete columns count: each is one more sum
    larger = np.float32(1 + rounding)
    squares, middle = np.empty(index.widest, np.float32), np.empty(width, np.float32)
    moved = np.empty(width * index.widest, np.float32)
    ascending = np.empty((1, k))
    for b in range(begin, end):
        first, size = batches[b], batches[b + 1] - batches[b]
        take_middle(Q, first, first + size, middle)
        nearest_leaves(middle, boxes, level_at, gap, order, n_leaves)
        turned, length = from_middle(Q, np.arange(first, first + size), middle, numeric)
        best = np.full((size, k), _INF, np.float32)
        product = np.empty(size * index.widest, np.float32)
        off = np.float32(0)
        for t in range(n_leaves):
            leaf = order[t]
            begins, w = start[leaf], start[leaf + 1] - start[leaf]
            if boxes[leaf // FAN, 0, 0, leaf % FAN] == _INF:
                continue  # an empty box: no rows, or copies of rows in another leaf
            padded = (w + 15) // 16 * 16
            tile = tiles[tile_at[leaf] : tile_at[leaf + 1]].reshape((width, padded))
            here = moved[: width * padded].reshape((width, padded))
            move(tile, middle, numeric, here, squares)
            rows = product[: size * padded].reshape((size, padded))
            np.dot(turned, here, rows)
            for j in range(padded):
                squares[j] *= larger
            if coded:
                add_gaps(tile, w, Q, first, gap, rows)
            off = max(off, blur[leaf])
            keep_least(rows, squares, number, begins, w, skip, first, best)
        for i in range(size):
            q = first + i
            margin = q_blur[q] + off + dust
            for p in range(k):
                square = max(best[i, p] + length[i] * (1 + rounding), 0.0) + offset[q]
                ascending[0, p] = np.sqrt(square) * slack + margin
            reach[q] = ascending[0, k - 1]
            score[q] = score_of(ascending, 0, kind) / scale * _UP32


@kernel
def keep_least(rows, squares, number, begins, w, skip, first, best):
    """Put `squares[j] + rows[s, j]` among the smallest of row `s` of `best`, for each s and j.

    Few values are, so a whole row is compared first. A query's own row, `skip`, does not count.
    """
    k, among = best.shape[1], np.empty(w + 1, np.int64)
    for s in range(rows.shape[0]):
        limit = best[s, k - 1]
        hits = 0
        for j in range(rows.shape[1]):
            hits += squares[j] + rows[s, j] < limit
        if hits == 0:
            continue
        hits = 0
        for j in range(w):  # without a branch, which would often be guessed wrong
            among[hits] = j
            hits += squares[j] + rows[s, j] < limit
        for t in range(hits):
            j = among[t]
            value = squares[j] + rows[s, j]
            if value < best[s, k - 1] and number[begins + j] != skip[first + s]:
                insert(best, s, value)


@kernel
def move(tile, middle, numeric, here, squares):
    """A tile seen from another origin, and the squared lengths of its rows."""
    w = tile.shape[1]
    for j in range(w):
        squares[j] = 0
    for c in range(tile.shape[0]):
        m = middle[c]
        if numeric[c]:
            for j in range(w):
                here[c, j] = tile[c, j] - m
                squares[j] += here[c, j] * here[c, j]
        else:
            for j in range(w):
                here[c, j] = 0
    for j in range(w):  # the padding, which is infinite, must not meet a zero
        if squares[j] == _INF:
            for c in range(tile.shape[0]):
                here[c, j] = 0


@kernel
def add_gaps(tile, w, Q, first, gap, rows):
    """What the discrete columns add to the squared distances of queries and rows of a tile."""
    for c in range(tile.shape[0]):
        if gap[c] > 0:
            for s in range(rows.shape[0]):
                for j in range(w):
                    if tile[c, j] != Q[first + s, c]:
                        rows[s, j] += gap[c]


@kernel
def sift(pair, queries, batches, begin, end, index, measure, cutoff, reach, best, score, state):
    """Compare batches of queries with all rows; take the distances of those that might be near.

    The squares come from products as in `near_bounds`, less all that they may have been rounded:
    good enough to leave out what is far. What is left is measured, by subtraction, in float64. A
    batch begins at the leaf of its middle query and goes on in both directions, so that rows
    which are near come early. `reach` bounds each query's k-th distance; `best`, `score` and
    `state` are as in `search`.
    """
    Q, gap, boxes = queries.Q, measure.gap, index.boxes
    start, tiles, tile_at, blur = index.start, index.tiles, index.tile_at, index.blur
    slack, scale, kind, dust = measure.slack, measure.scale, measure.kind, measure.dust
    A, X, skip, number = pair.A, pair.X, queries.skip, index.order
    columns, weight, mismatch = measure.columns, measure.weight, measure.mismatch
    offset, q_blur = queries.offset, queries.blur
    width, leaves, k = Q.shape[1], index.start.shape[0] - 1, best.shape[1]
    numeric = gap == 0
    rounding = np.float64((numeric.sum() + 16) * 2.0**-23)
    squares, middle = np.empty(index.widest, np.float32), np.empty(width, np.float32)
    moved = np.empty(width * index.widest, np.float32)
    ascending = np.empty((1, k))
    for b in range(begin, end):
        first, last = batches[b], batches[b + 1]
        who = np.arange(first, last)
        take_middle(Q, first, last, middle)
        turned, length = from_middle(Q, who, middle, numeric)
        alive = last - first
        product = np.empty((alive, index.widest), np.float32).ravel()
        for i in range(first, last):
            state[i] = EXACT
        origin = max(queries.home[(first + last) // 2], 0)
        for t in range(leaves):
            leaf = (origin + (t + 1) // 2 * (1 if t % 2 else -1)) % leaves
            if boxes[leaf // FAN, 0, 0, leaf % FAN] == _INF:
                continue  # an empty box: no rows, or copies of rows in another leaf
            begins, w = start[leaf], start[leaf + 1] - start[leaf]
            padded = (w + 15) // 16 * 16
            tile = tiles[tile_at[leaf] : tile_at[leaf + 1]].reshape((width, padded))
            here = moved[: width * padded].reshape((width, padded))
            move(tile, middle, numeric, here, squares)
            rows = product[: who.shape[0] * padded].reshape((who.shape[0], padded))
            np.dot(turned, here, rows)
            for j in range(padded):
                squares[j] -= squares[j] * np.float32(rounding)
            for s in range(who.shape[0]):
                i = who[s]
                if state[i] != EXACT:
                    continue
                rest = offset[i] * (1 - 2.0**-22) + length[s] * (1 - rounding)
                margin = q_blur[i] + blur[leaf] + dust
                limit = room(reach[i], margin, slack, rest)
                hits = 0
                for j in range(padded):
                    hits += squares[j] + rows[s, j] <= limit
                if hits == 0:
                    continue
                for j in range(w):
                    row = number[begins + j]
                    if squares[j] + rows[s, j] > limit or row == skip[i]:
                        continue
                    square = exact_square(A, i, X, row, columns, weight, mismatch)
                    if square < best[i, k - 1]:
                        insert(best, i, square)
                        found = np.sqrt(best[i, k - 1]) * scale * _UP
                        if found < reach[i]:
                            reach[i] = found
                            limit = room(found, margin, slack, rest)
                for p in range(k):
                    ascending[0, p] = np.sqrt(best[i, p])
                score[i] = score_of(ascending, 0, kind)
                if score[i] < cutoff:
                    state[i] = BELOW
                    alive -= 1
            if alive == 0:
                break
            if 4 * alive < 3 * who.shape[0]:
                who = who[state[who] == EXACT]
                turned, length = from_middle(Q, who, middle, numeric)
        for i in range(first, last):
            if state[i] == EXACT:
                for p in range(k):
                    ascending[0, p] = np.sqrt(best[i, p])
                score[i] = score_of(ascending, 0, kind)


@kernel
def from_middle(Q, who, middle, numeric):
    """Some queries seen from another origin, times -2, and their squared lengths."""
    turned = np.zeros((who.shape[0], Q.shape[1]), np.float32)
    length = np.zeros(who.shape[0])
    for s in range(who.shape[0]):
        for c in range(Q.shape[1]):
            if numeric[c]:
                step = Q[who[s], c] - middle[c]
                turned[s, c] = -2 * step
                length[s] += np.float64(step) * step
    return turned, length


@kernel
def room(reach, margin, slack, rest):
    """What |y|² - 2 x·y may be at most if y is to be within `reach` of x."""
    limit = np.float32(((reach + margin) * slack) ** 2 - rest)
    return limit + abs(limit) * np.float32(2.0**-22)
