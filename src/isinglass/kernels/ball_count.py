"""Counting of records within a radius, box by box.

A distance is first a *sum* over the columns, in their order, float64, of a term that grows with
the absolute difference; the root, where the metric has one, is settled beforehand in the limit
that sums are compared with. Limits come as a triple: a box whose farthest sum is at most the first
lies inside the ball, one whose nearest sum passes the third lies outside, and a record is within
where its sum is at most the second. Rounding never turns such a sum around (subtraction, product
and addition are monotone); powers and quotients are not so well behaved, which is what the room
in the triple is for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isinglass.kernels.jit import kernel

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
#: code of the metric, weight of every column, power of a Minkowski distance
Distance = tuple[int, Array, float]
Limits = tuple[float, float, float]
#: tiles, leaf boxes, leaf sizes, group boxes, group sizes: see `ball.BallIndex`
Tree = tuple[Array, Array, Counts, Array, Counts]

EUCLIDEAN, WEIGHTED, MANHATTAN, CHEBYSHEV, HAMMING, MINKOWSKI = range(6)
# Rows of a leaf. Fixed when the code is compiled: loops of known length become vector code.
LEAF = 64


@kernel
def reduce_columns(
    code: int, weights: Array, power: float, deltas: Array, n: int, sums: Array
) -> None:
    """The sum of each of the first `n` differences; `deltas` holds one column of them per row."""
    d = weights.shape[0]
    for j in range(n):
        sums[j] = 0.0
    if code == MINKOWSKI:
        # Scaled by the largest difference, so that no power overflows. A distance is 0 only
        # between equal records, whatever the weights round away.
        for j in range(n):
            top = 0.0
            for c in range(d):
                x = abs(deltas[c, j])
                top = x if x > top else top
            if top == 0.0 or top == np.inf:
                sums[j] = top
                continue
            total = 0.0
            for c in range(d):
                total += weights[c] * (abs(deltas[c, j]) / top) ** power
            x = top * total ** (1.0 / power)
            sums[j] = x if x > 5e-324 else 5e-324
        return
    for c in range(d):
        w = weights[c]
        for j in range(n):
            x = abs(deltas[c, j])
            if code == MANHATTAN:
                sums[j] += w * x
            elif code == CHEBYSHEV:
                sums[j] = w * x if w * x > sums[j] else sums[j]
            elif code == HAMMING:
                sums[j] += w if x != 0.0 else 0.0
            else:
                sums[j] += w * (x * x)


@kernel
def reach(
    code: int,
    weights: Array,
    power: float,
    box: Array,
    low: Array,
    high: Array,
    n: int,
    sums: Array,
    deltas: Array,
) -> None:
    """Nearest sums between a box (its low and high) and each of `n` others, then the farthest.

    A record is a box whose low is its high, on either side. Empty boxes, whose low is infinite,
    come out infinitely near: outside every ball.
    """
    if code == EUCLIDEAN:
        for j in range(2 * n):
            sums[j] = 0.0
    for c in range(low.shape[0]):
        floor, ceiling = box[0, c], box[1, c]
        for j in range(n):
            below, above = low[c, j] - ceiling, floor - high[c, j]
            gap = below if below > above else above
            gap = gap if gap > 0.0 else 0.0
            down, up = high[c, j] - floor, ceiling - low[c, j]
            span = down if down > up else up
            if code == EUCLIDEAN:
                sums[j] += gap * gap
                sums[n + j] += span * span
            else:
                deltas[c, j] = gap
                deltas[c, n + j] = span
    if code != EUCLIDEAN:
        reduce_columns(code, weights, power, deltas, 2 * n, sums)


@kernel
def _within_2(q: Array, i: int, t: Array, limit: float) -> int:
    q0, q1 = q[0, i], q[1, i]
    total = 0
    for j in range(LEAF):
        a, b = q0 - t[0, j], q1 - t[1, j]
        total += int(a * a + b * b <= limit)
    return total


@kernel
def _within_4(q: Array, i: int, t: Array, limit: float) -> int:
    q0, q1, q2, q3 = q[0, i], q[1, i], q[2, i], q[3, i]
    total = 0
    for j in range(LEAF):
        a, b, c, d = q0 - t[0, j], q1 - t[1, j], q2 - t[2, j], q3 - t[3, j]
        total += int(a * a + b * b + c * c + d * d <= limit)
    return total


@kernel
def _within_6(q: Array, i: int, t: Array, limit: float) -> int:
    q0, q1, q2, q3, q4, q5 = q[0, i], q[1, i], q[2, i], q[3, i], q[4, i], q[5, i]
    total = 0
    for j in range(LEAF):
        a, b, c = q0 - t[0, j], q1 - t[1, j], q2 - t[2, j]
        d, e, f = q3 - t[3, j], q4 - t[4, j], q5 - t[5, j]
        total += int(a * a + b * b + c * c + d * d + e * e + f * f <= limit)
    return total


@kernel
def _within_wide(q: Array, i: int, t: Array, limit: float, sums: Array) -> int:
    """Four columns at a time, until no row of the leaf can come back under the limit."""
    for j in range(LEAF):
        sums[j] = 0.0
    width, total = q.shape[0], 0
    for k in range(0, width - 3, 4):
        q0, q1, q2, q3 = q[k, i], q[k + 1, i], q[k + 2, i], q[k + 3, i]
        t0, t1, t2, t3 = t[k], t[k + 1], t[k + 2], t[k + 3]
        total = 0
        for j in range(LEAF):
            a, b, c, d = q0 - t0[j], q1 - t1[j], q2 - t2[j], q3 - t3[j]
            s = sums[j] + a * a + b * b + c * c + d * d
            sums[j] = s
            total += int(s <= limit)
        if total == 0:
            return 0
    for k in range(width - width % 4, width):
        q0, t0 = q[k, i], t[k]
        total = 0
        for j in range(LEAF):
            a = q0 - t0[j]
            s = sums[j] + a * a
            sums[j] = s
            total += int(s <= limit)
    return total


@kernel
def _count_pairs(
    code: int,
    weights: Array,
    power: float,
    limit: float,
    q: Array,
    asking: Counts,
    n_asking: int,
    tile: Array,
    n: int,
    counts: Counts,
    sums: Array,
    deltas: Array,
) -> None:
    """For the records q[:, i] with i in `asking`, count those of a leaf whose sum is in `limit`.

    A tile holds a column per row; slots past `n` hold infinity, which no limit reaches.
    """
    width = tile.shape[0]
    if code != EUCLIDEAN:
        for k in range(n_asking):
            i = asking[k]
            for c in range(weights.shape[0]):
                for j in range(n):
                    deltas[c, j] = q[c, i] - tile[c, j]
            reduce_columns(code, weights, power, deltas, n, sums)
            for j in range(n):
                counts[i] += int(sums[j] <= limit)
    elif width == 2:
        for k in range(n_asking):
            counts[asking[k]] += _within_2(q, asking[k], tile, limit)
    elif width == 4:
        for k in range(n_asking):
            counts[asking[k]] += _within_4(q, asking[k], tile, limit)
    elif width == 6:
        for k in range(n_asking):
            counts[asking[k]] += _within_6(q, asking[k], tile, limit)
    else:
        for k in range(n_asking):
            counts[asking[k]] += _within_wide(q, asking[k], tile, limit, sums)


@kernel
def count_leaf(
    distance: Distance, limits: Limits, cap: int, q: Array, m: int, tree: Tree, counts: Counts
) -> bool:
    """For the first `m` of the records q[:, i], count those of the tree, at most `cap`.

    They ask as one: what is outside or inside for their whole box is settled for all at once,
    the rest for each. The nearest group and leaf go first, so that capped counts end early.
    False, and no counts, where a record holds something that is no finite number.
    """
    code, weights, power = distance
    tiles, leaf_boxes, leaf_sizes, group_boxes, group_sizes = tree
    inside, within, outside = limits
    n_groups, fan = leaf_sizes.shape
    width = q.shape[0]
    box, other = np.empty((2, width)), np.empty((2, width))
    live, asking = np.empty(m, np.int64), np.empty(m, np.int64)
    group_sums, leaf_sums, own_sums = np.empty(2 * n_groups), np.empty(2 * fan), np.empty(2 * LEAF)
    most = max(n_groups, fan, LEAF)
    deltas = np.empty((0 if code == EUCLIDEAN else width, 2 * most))
    for c in range(width):
        box[0, c], box[1, c] = q[c, 0], q[c, 0]
        for i in range(m):
            x = q[c, i]
            if not np.isfinite(x):
                return False
            box[0, c] = x if x < box[0, c] else box[0, c]
            box[1, c] = x if x > box[1, c] else box[1, c]
    for i in range(m):
        counts[i] = 0
        live[i] = i
    n_live = m
    reach(code, weights, power, box, group_boxes[0], group_boxes[1], n_groups, group_sums, deltas)
    first = _least(group_sums, n_groups)
    for step in range(n_groups):
        g = first + step if first + step < n_groups else first + step - n_groups
        if group_sums[g] > outside or n_live == 0:
            continue
        if group_sums[n_groups + g] <= inside:
            for k in range(n_live):
                counts[live[k]] += group_sizes[g]
            continue
        low, high = leaf_boxes[g, 0], leaf_boxes[g, 1]
        reach(code, weights, power, box, low, high, fan, leaf_sums, deltas)
        first_leaf = _least(leaf_sums, fan)
        for turn in range(fan):
            b = first_leaf + turn if first_leaf + turn < fan else first_leaf + turn - fan
            if leaf_sums[b] > outside:
                continue
            n = leaf_sizes[g, b]
            if leaf_sums[fan + b] <= inside:
                for k in range(n_live):
                    counts[live[k]] += n
                continue
            n_asking = 1
            asking[0] = 0
            if m == 1 and counts[0] >= cap:
                break
            if m > 1:
                for c in range(width):
                    other[0, c] = low[c, b]
                    other[1, c] = high[c, b]
                reach(code, weights, power, other, q, q, LEAF, own_sums, deltas)
                n_asking = 0
                for k in range(n_live):
                    i = live[k]
                    if own_sums[i] > outside or counts[i] >= cap:
                        continue
                    if own_sums[LEAF + i] <= inside:
                        counts[i] += n
                        continue
                    asking[n_asking] = i
                    n_asking += 1
            _count_pairs(
                code, weights, power, within, q, asking, n_asking, tiles[g, b], n, counts,
                own_sums, deltas,
            )  # fmt: skip
        kept = 0
        for k in range(n_live):
            if counts[live[k]] < cap:
                live[kept] = live[k]
                kept += 1
        n_live = kept
    for i in range(m):
        counts[i] = counts[i] if counts[i] < cap else cap
    return True


@kernel
def _least(sums: Array, n: int) -> int:
    """Where the smallest of the farthest sums is."""
    best = 0
    for j in range(1, n):
        if sums[n + j] < sums[n + best]:
            best = j
    return best
