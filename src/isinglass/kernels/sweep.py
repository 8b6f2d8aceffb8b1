"""Searches without boxes, for tables in which boxes exclude little: many queries at a time.

`sweep` takes batches of queries through the leaves nearest to them. `sift` goes through a matrix
of products of queries and rows; it keeps what might be near and takes the distances of those.
"""

from __future__ import annotations

import numpy as np

from isinglass.kernels.jit import kernel
from isinglass.kernels.leaves import FAN, select
from isinglass.kernels.nearest import (
    BELOW,
    EXACT,
    UNDECIDED,
    begin_slot,
    exact_square,
    finish,
    insert,
    scan,
    score_of,
    settle,
    visit,
    waiting_room,
)

_INF = np.float32(np.inf)
_UP = 1 + 1e-12
_UP32 = 1 + 2.0**-22


@kernel
def centre_squares(middle, boxes, g, gap, square):
    """Squared distances, in tile units, from a point to the centres of the boxes of group `g`."""
    for j in range(FAN):
        square[j] = 0
    for c in range(middle.shape[0]):
        if gap[c] == 0:
            for j in range(FAN):
                step = (boxes[g, c, 0, j] + boxes[g, c, 1, j]) * np.float32(0.5) - middle[c]
                square[j] += step * step
    for j in range(FAN):
        if not square[j] >= 0:  # an empty box has no centre
            square[j] = _INF


@kernel
def nearest_leaves(Q, begin, end, boxes, level_at, gap, order, n):
    """Bring some `n` leaves that are near to the queries to the front of `order`, nearest first.

    Of the groups of 16 leaves with the nearest centres, the leaves with the nearest centres.
    """
    leaves = order.shape[0]
    groups = leaves // FAN
    middle = np.zeros(Q.shape[1], np.float32)
    for i in range(begin, end):
        for c in range(Q.shape[1]):
            middle[c] += Q[i, c] / np.float32(end - begin)
    square = np.empty(FAN, np.float32)
    chosen = np.arange(groups)
    some = min(groups, n // 4 + 4)
    if some < groups:
        far = np.empty(groups, np.float32)
        for g in range((groups + FAN - 1) // FAN):
            centre_squares(middle, boxes, level_at[1] + g, gap, square)
            for j in range(min(FAN, groups - g * FAN)):
                far[g * FAN + j] = square[j]
        select(far, chosen, some)
    close = np.empty(some * FAN, np.float32)
    for t in range(some):
        centre_squares(middle, boxes, chosen[t], gap, square)
        for j in range(FAN):
            close[t * FAN + j] = square[j]
            order[t * FAN + j] = chosen[t] * FAN + j
    if n < some * FAN:
        select(close, order[: some * FAN], n)
    order[:n] = order[:n][np.argsort(close[:n])]


@kernel
def sweep(
    pair, queries, batches, begin, end, index, measure, cutoff, patience, reach, best, score, state
):
    """Take batches of queries through the `patience` leaves nearest to each batch.

    Batch `b` is queries `batches[b] : batches[b + 1]`; one pass of a tile through the cache
    serves all of it. `score` is a bound and `state` BELOW or UNDECIDED, unless the leaves were
    all there are: then it is as in `search`. `reach` bounds the k-th distance, in tile units.
    """
    square = np.empty(index.widest, np.float32)
    leaves = index.start.shape[0] - 1
    order = np.arange(leaves)
    most = 0
    for b in range(begin, end):
        most = max(most, batches[b + 1] - batches[b])
    found = waiting_room(most, best.shape[1], index.widest)
    upper, row, low, n = found.upper, found.row, found.low, found.n
    start, tiles, tile_at, rows = index.start, index.tiles, index.tile_at, index.order
    Q, blur, q_blur, offset = queries.Q, index.blur, queries.blur, queries.offset
    skip, gap, boxes = queries.skip, measure.gap, index.boxes
    slack, scale, kind, dust = measure.slack, measure.scale, measure.kind, measure.dust
    for b in range(begin, end):
        first, last = batches[b], batches[b + 1]
        for i in range(first, last):
            state[i] = EXACT
            begin_slot(i, i - first, measure, best, found)
        if patience < leaves:
            nearest_leaves(Q, first, last, boxes, index.level_at, gap, order, patience)
        left = last - first
        for t in range(min(patience, leaves)):
            leaf = order[t]
            if boxes[leaf // FAN, 0, 0, leaf % FAN] == _INF:
                continue  # an empty box: no rows, or copies of rows in another leaf
            w = start[leaf + 1] - start[leaf]
            for i in range(first, last):
                if state[i] != EXACT:
                    continue
                q = i - first
                if n[q] + w > row.shape[1]:
                    settle(pair, i, q, measure, best, found)
                scan(Q, i, offset[i], tiles, tile_at[leaf], (w + 15) // 16 * 16, gap, square)
                margin = q_blur[i] + blur[leaf] + dust
                visit(square, rows, start[leaf], w, skip[i], margin, slack, q, upper, row, low, n)
                score[i] = score_of(upper, q, kind) / scale * _UP
                if score[i] < cutoff:
                    state[i] = BELOW
                    left -= 1
            if left == 0:
                break
        for i in range(first, last):
            reach[i] = upper[i - first, best.shape[1] - 1]
            if state[i] == EXACT and patience < leaves:
                state[i] = UNDECIDED
            elif state[i] == EXACT:
                score[i] = finish(pair, i, i - first, measure, best, found)


@kernel
def far_square(reach, margin, offset, length, slack):
    """What |y|² - 2 q·y may be at most if row y is to be within `reach` of query q."""
    square = ((reach + margin) * slack) ** 2
    limit = np.float32(square - offset * (1 - 2.0**-22) - length)
    return limit + abs(limit) * np.float32(2.0**-22)


@kernel
def sift(
    product,
    who,
    length,
    n,
    first,
    pair,
    queries,
    q_length,
    blur,
    measure,
    cutoff,
    reach,
    best,
    score,
    state,
):
    """Of rows `first` to `first + n`, find those that may be near to the queries `who`.

    Each has a row in `product`, -2 q·y for all of these rows; `length` is |y|² and
    `q_length` |q|², less all that the products may have been rounded; all in tile units, from a
    common centre. A square is |q|² + |y|² - 2 q·y: good enough to leave out what is far. What is
    left is measured, by subtraction, in float64. `reach` bounds each query's k-th distance.
    """
    k = best.shape[1]
    A, X, skip = pair.A, pair.X, queries.skip
    offset, q_blur = queries.offset, queries.blur
    slack, scale, dust = measure.slack, measure.scale, measure.dust
    ascending = np.empty((1, k))
    step, end = np.uint64(64), np.uint64((n + 63) // 64 * 64)
    for t in range(who.shape[0]):
        i = who[t]
        if state[i] != EXACT:
            continue
        row = product[t]
        margin = q_blur[i] + blur + dust
        limit = far_square(reach[i], margin, offset[i], q_length[i], slack)
        for b in range(np.uint64(0), end, step):
            hits = 0
            for j in range(step):
                hits += length[b + j] + row[b + j] <= limit
            if hits == 0:
                continue
            for at in range(np.int64(b), min(np.int64(b) + 64, n)):
                if length[at] + row[at] > limit or first + at == skip[i]:
                    continue
                square = exact_square(A, i, X, first + at, measure)
                if square < best[i, k - 1]:
                    insert(best, i, square)
                    found = np.sqrt(best[i, k - 1]) * scale * _UP
                    if found < reach[i]:
                        reach[i] = found
                        limit = far_square(found, margin, offset[i], q_length[i], slack)
        for p in range(k):
            ascending[0, p] = np.sqrt(best[i, p])
        score[i] = score_of(ascending, 0, measure.kind)
        if score[i] < cutoff:
            state[i] = BELOW
