"""Search by matrix products that skips rows which bounds exclude, for tables without structure."""

from __future__ import annotations

import numpy as np

from isinglass.kernels.jit import kernel
from isinglass.kernels.leaves import FAN
from isinglass.kernels.nearest import BELOW, EXACT, UP, exact_square, insert, score_of
from isinglass.kernels.products import (
    from_middle,
    least_of,
    rounding_of,
    seen_from,
    take_middle,
)

_INF = np.float32(np.inf)
_NO = np.float32(-1)


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
    width, widest, leaves, k = Q.shape[1], index.widest, index.start.shape[0] - 1, best.shape[1]
    numeric, rounding = gap == 0, rounding_of(Q.shape[1])
    smaller = np.float32(1 - rounding)
    square, middle = np.empty(widest, np.float32), np.empty(width, np.float32)
    flat_rows = np.empty(width * widest, np.float32)
    ascending = np.empty((1, k))
    for b in range(begin, end):
        first, last = batches[b], batches[b + 1]
        who, alive = np.arange(first, last), last - first
        take_middle(Q, first, last, middle)
        lanes, length = from_middle(Q, who, middle, numeric)
        margin, rest, off = queries.blur[who] + dust, rest_of(queries, who, length), _NO
        least, limit = np.empty(lanes.shape[1], np.float32), np.empty(lanes.shape[1], np.float32)
        flat_product = np.empty(widest * lanes.shape[1], np.float32)
        for i in range(first, last):
            state[i] = EXACT
        origin = max(queries.home[(first + last) // 2], 0)
        for t in range(leaves):
            leaf = (origin + (t + 1) // 2 * (1 if t % 2 else -1)) % leaves
            if boxes[leaf // FAN, 0, 0, leaf % FAN] == _INF:
                continue  # an empty box: no rows, or copies of rows in another leaf
            at, n = start[leaf], start[leaf + 1] - start[leaf]
            rows = flat_rows[: width * n].reshape((width, n))
            seen_from(middle, tiles, tile_at[leaf], numeric, rows, square)
            product = flat_product[: n * lanes.shape[1]].reshape((n, lanes.shape[1]))
            np.dot(rows.T, lanes, product)
            for i in range(n):
                square[i] *= smaller
            least_of(product, square, least)
            if blur[leaf] != off:
                off = blur[leaf]
                for s in range(who.shape[0]):
                    limit[s] = room(reach[who[s]], margin[s] + off, slack, rest[s])
            for s in range(who.shape[0]):
                i = who[s]
                if least[s] > limit[s] or state[i] != EXACT:
                    continue
                for j in range(n):
                    row = number[at + j]
                    if square[j] + product[j, s] > limit[s] or row == skip[i]:
                        continue
                    exact = exact_square(A, i, X, row, columns, weight, mismatch)
                    if exact < best[i, k - 1]:
                        insert(best, i, exact)
                        found = np.sqrt(best[i, k - 1]) * scale * UP
                        if found < reach[i]:
                            reach[i] = found
                            limit[s] = room(found, margin[s] + off, slack, rest[s])
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
                lanes, length = from_middle(Q, who, middle, numeric)
                margin, rest, off = queries.blur[who] + dust, rest_of(queries, who, length), _NO
        for i in range(first, last):
            if state[i] == EXACT:
                for p in range(k):
                    ascending[0, p] = np.sqrt(best[i, p])
                score[i] = score_of(ascending, 0, kind)


@kernel
def rest_of(queries, who, length):
    """The part of the squared distance that is the same for all rows, at least."""
    rest, rounding = np.empty(who.shape[0]), rounding_of(queries.Q.shape[1])
    for s in range(who.shape[0]):
        rest[s] = queries.offset[who[s]] * (1 - 2.0**-22) + length[s] * (1 - rounding)
    return rest


@kernel
def room(reach, margin, slack, rest):
    """What |y|² - 2 x·y may be at most if y is to be within `reach` of x."""
    limit = np.float32(((reach + margin) * slack) ** 2 - rest)
    return limit + abs(limit) * np.float32(2.0**-22)
