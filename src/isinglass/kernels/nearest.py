"""Nearest-neighbor searches in a leaf index.

Two numbers stand for a distance. Its *upper* and *lower* ends come from float32 tiles, with a
margin for every rounding on the way: `slack` for the sum, the *blur* of either row for its
stand-in. They decide what is looked at. The distance itself is taken in float64 from the rows, by
subtraction, in the order of the columns; only it decides an answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isinglass.kernels.jit import fma_kernel, kernel
from isinglass.kernels.leaves import FAN, padded

MEAN, SUM, KTH = 0, 1, 2
BELOW, EXACT = 0, 1
_INF, _0 = np.float32(np.inf), np.float32(0)  # a plain 0 would compare as float64
_1, _2, _3, _4, _6, _8 = (np.uint64(n) for n in (1, 2, 3, 4, 6, 8))
_ROUNDING = np.float32(2.0**-23)
_DUST = 1e-18
UP = 1 + 1e-12  # more than float64 can round in a few steps
UP32 = 1 + 2.0**-22  # the same for a step in float32
_AT_HOME = 4  # leaves of its own group that a query visits before it looks elsewhere
_WAITING = 256  # neighbors that wait for their float64 distance


class Measure(NamedTuple):
    """How rows are compared and scored."""

    columns: NDArray[np.int64]
    weight: NDArray[np.float64]
    mismatch: NDArray[np.float64]  # what different codes add to the square; 0: a numeric column
    gap: NDArray[np.float32]  # the same for the columns of the tiles, in their units
    slack: float
    dust: float
    scale: float
    kind: int


class RowNumbers(NamedTuple):
    """The rows of the queries and the rows of the table, as they were given."""

    A: NDArray[Any]
    X: NDArray[Any]


class Queries(NamedTuple):
    """What a search needs of its queries: stand-ins, their blur, where to begin, what to skip."""

    Q: NDArray[np.float32]
    blur: NDArray[np.float32]
    offset: NDArray[np.float32]
    skip: NDArray[np.int64]
    home: NDArray[np.int64]


class Found(NamedTuple):
    """What queries have found, a slot each: bounds on their k smallest distances, and neighbors
    that wait for their float64 distance, with the least it can be."""

    upper: NDArray[np.float64]
    row: NDArray[np.int64]
    low: NDArray[np.float64]
    n: NDArray[np.int64]


def slack_of(width: int) -> float:
    """How much larger a distance may be than the root of a float32 sum over `width` columns."""
    return 1 + (width + 16) * 2.0**-24


def dust_of(width: int) -> float:
    """More than the squares of `width` columns can lose to underflow, in the units of tiles."""
    return float(_DUST * np.sqrt(width))


@kernel
def waiting_room(slots, k, widest):
    """An empty `Found`, with room for a whole leaf and some more."""
    room = max(_WAITING, 4 * k) + widest
    return Found(
        np.empty((slots, k)),
        np.empty((slots, room), np.int64),
        np.empty((slots, room)),
        np.zeros(slots, np.int64),
    )


@kernel
def exact_square(A, i, X, j, columns, weight, mismatch):
    """The squared distance of two rows: float64, by subtraction, in the order of the columns."""
    total = 0.0
    for t in range(columns.shape[0]):
        c = columns[t]
        if mismatch[t] > 0:
            if A[i, c] != X[j, c]:
                total += mismatch[t]
        else:
            step = np.float64(A[i, c]) - np.float64(X[j, c])
            total += weight[t] * (step * step)
    return total


@kernel
def score_of(ascending, i, kind):
    """Mean, sum or last of the distances in row `i`."""
    k = ascending.shape[1]
    if kind == KTH:
        return ascending[i, k - 1]
    total = 0.0
    for p in range(k):
        total += ascending[i, p]
    return total if kind == SUM else total / k


@kernel
def insert(ascending, i, value):
    """Put a value among the smallest in row `i`; the largest falls out."""
    p = ascending.shape[1] - 1
    while p > 0 and ascending[i, p - 1] > value:
        ascending[i, p] = ascending[i, p - 1]
        p -= 1
    ascending[i, p] = value


@fma_kernel
def scan(Q, i, offset, tiles, at, width, gap, square):
    """Squared distances, in tile units, from stand-in `i` to the `width` rows of a tile.

    `offset` is what columns add that are not in the tile, because all rows agree in them.
    Unsigned numbers, because a signed index might count from the end: the loops would not become
    vector instructions. Four columns at a time, because `square` is read and written in each loop.
    No views, because threads would fight over their reference counts.
    """
    w, place = np.uint64(width), np.uint64(at)
    columns, c = np.uint64(Q.shape[1]), np.uint64(0)
    for j in range(w):
        square[j] = offset
    while c < columns:
        if four_numbers(gap, c):
            q0, q1, q2, q3 = Q[i, c], Q[i, c + _1], Q[i, c + _2], Q[i, c + _3]
            place1, place2, place3 = place + w, place + _2 * w, place + _3 * w
            for j in range(w):
                step0, step1 = tiles[place + j] - q0, tiles[place1 + j] - q1
                step2, step3 = tiles[place2 + j] - q2, tiles[place3 + j] - q3
                two = square[j] + step0 * step0 + step1 * step1
                square[j] = two + step2 * step2 + step3 * step3
            place, c = place + _4 * w, c + _4
            continue
        q = Q[i, c]
        if gap[c] > 0:
            for j in range(w):
                square[j] += gap[c] if tiles[place + j] != q else _0
        else:
            for j in range(w):
                step = tiles[place + j] - q
                square[j] += step * step
        place, c = place + w, c + _1


@kernel
def four_numbers(gap, c):
    """Whether column `c` and the three after it are numeric."""
    if c + _4 > np.uint64(gap.shape[0]):
        return False
    return gap[c] + gap[c + _1] + gap[c + _2] + gap[c + _3] == 0  # a gap is never below 0


@fma_kernel
def box_squares(low, high, flat, g, gap, square):
    """Squared distances, in tile units, from a box to each box of group `g` of the `flat` boxes.

    The boxes of a group are counted by `square`: a loop over a constant is unrolled before the
    compiler thinks of vector instructions, and is five times as slow.
    """
    fan, columns, c = np.uint64(square.shape[0]), np.uint64(low.shape[0]), np.uint64(0)
    place = np.uint64(g) * columns * _2 * fan
    for j in range(fan):
        square[j] = 0
    while c < columns:
        below0, above0 = low[c], high[c]
        if four_numbers(gap, c):
            below1, above1 = low[c + _1], high[c + _1]
            below2, above2 = low[c + _2], high[c + _2]
            below3, above3 = low[c + _3], high[c + _3]
            place1, place2, place3 = place + _2 * fan, place + _4 * fan, place + _6 * fan
            for j in range(fan):
                step0 = between(flat[place + j], flat[place + fan + j], below0, above0)
                step1 = between(flat[place1 + j], flat[place1 + fan + j], below1, above1)
                step2 = between(flat[place2 + j], flat[place2 + fan + j], below2, above2)
                step3 = between(flat[place3 + j], flat[place3 + fan + j], below3, above3)
                two = square[j] + step0 * step0 + step1 * step1
                square[j] = two + step2 * step2 + step3 * step3
            place, c = place + _8 * fan, c + _4
            continue
        if gap[c] > 0:
            for j in range(fan):
                apart = flat[place + j] > above0 or flat[place + fan + j] < below0
                square[j] += gap[c] if apart else _0
        else:
            for j in range(fan):
                step = between(flat[place + j], flat[place + fan + j], below0, above0)
                square[j] += step * step
        place, c = place + _2 * fan, c + _1


@kernel
def between(low, high, below, above):
    """How far apart two intervals are; 0 where they meet."""
    step, other = low - above, below - high
    step = step if step > other else other
    return step if step > _0 else _0


@kernel
def push(keys, nodes, size, key, node):
    """Into a binary heap, smallest key first."""
    p = size
    while p > 0:
        up = (p - 1) >> 1
        if keys[up] <= key:
            break
        keys[p], nodes[p] = keys[up], nodes[up]
        p = up
    keys[p], nodes[p] = key, node


@kernel
def drop_first(keys, nodes, size):
    """Take the first entry out of a heap that then has `size` entries."""
    key, node = keys[size], nodes[size]
    p = 0
    while True:
        child = 2 * p + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[p], nodes[p] = keys[child], nodes[child]
        p = child
    keys[p], nodes[p] = key, node


@kernel
def begin_slot(i, s, measure, best, found):
    """Slot `s` begins with what is already known of query `i`."""
    found.n[s] = 0
    for p in range(best.shape[1]):
        found.upper[s, p] = np.sqrt(best[i, p]) * measure.scale * UP


@kernel
def settle(pair, i, s, measure, best, found):
    """Take the float64 distances of the neighbors that may still matter; tighten the bounds."""
    k, A, X = best.shape[1], pair.A, pair.X
    columns, weight, mismatch = measure.columns, measure.weight, measure.mismatch
    upper, low, row = found.upper, found.low, found.row
    for t in range(found.n[s]):
        if low[s, t] <= upper[s, k - 1]:
            square = exact_square(A, i, X, row[s, t], columns, weight, mismatch)
            if square < best[i, k - 1]:
                insert(best, i, square)
    for p in range(k):
        upper[s, p] = min(upper[s, p], np.sqrt(best[i, p]) * measure.scale * UP)
    found.n[s] = 0


@kernel
def finish(pair, i, s, measure, best, found):
    """The exact score of query `i`."""
    settle(pair, i, s, measure, best, found)
    for p in range(best.shape[1]):
        found.upper[s, p] = np.sqrt(best[i, p])
    return score_of(found.upper, s, measure.kind)


@kernel
def visit(square, rows, begin, w, skip, margin, slack, s, upper, row, low, n):
    """Of the rows of a leaf, those that may be among a query's k nearest wait in slot `s`.

    `square` are their squared distances from `scan`. Plain arrays and no named tuples: taking an
    array out of a tuple costs more than the whole loop.
    """
    k = upper.shape[1]
    limit = np.float32(((upper[s, k - 1] + margin) * slack) ** 2 * UP32)
    hits = 0
    for j in range(w):
        hits += square[j] <= limit
    if hits == 0:
        return
    for j in range(w):
        if square[j] > limit or rows[begin + j] == skip:
            continue
        root = np.sqrt(np.float64(square[j]))
        row[s, n[s]] = rows[begin + j]
        low[s, n[s]] = root / slack - margin
        n[s] += 1
        up = root * slack + margin
        if up < upper[s, k - 1]:
            insert(upper, s, up)
            limit = np.float32(((upper[s, k - 1] + margin) * slack) ** 2 * UP32)


@kernel
def search(pair, queries, begin, end, index, measure, cutoff, best, score, state):
    """Find the k nearest rows of some queries, leaf by leaf, the nearest box first.

    A query visits its own leaf first (none where `home` is -1) and never counts row `skip`. It is
    given up as soon as the score of what it has found, which can only fall, is below `cutoff`:
    then `state` is BELOW and `score` that bound. Otherwise it is EXACT. `best` holds the k
    smallest squared distances; what it holds at the start counts too, so that a table can be
    searched in parts. Gives back the leaves visited.
    """
    width, k = queries.Q.shape[1], best.shape[1]
    level_at, boxes, gap = index.level_at, index.boxes, measure.gap
    slack, scale, kind = measure.slack, measure.scale, measure.kind
    flat, root = boxes.ravel(), level_at.shape[0] - 1
    room = index.start.shape[0] + boxes.shape[0] + FAN
    keys, nodes = np.empty(room, np.float32), np.empty(room, np.int64)
    square, near = np.empty(index.widest, np.float32), np.empty(FAN, np.float32)
    low, high = np.empty(width, np.float32), np.empty(width, np.float32)
    found = waiting_room(1, k, index.widest)
    upper, row, low_end, n = found.upper, found.row, found.low, found.n
    start, tiles, tile_at, order = index.start, index.tiles, index.tile_at, index.order
    Q, blur, q_blur, dust = queries.Q, index.blur, queries.blur, measure.dust
    visited = 0
    for i in range(begin, end):
        begin_slot(i, 0, measure, best, found)
        skip, home, offset = queries.skip[i], queries.home[i], queries.offset[i]
        opened = home // FAN if home >= 0 else -1
        for c in range(width):
            q = Q[i, c]
            rounding = abs(q) * _ROUNDING if q_blur[i] > 0 else np.float32(0)
            low[c], high[c] = q - rounding, q + rounding
        state[i] = EXACT
        leaves, leaf = 0, home
        # Node n >= 0 is box group n, -l - 1 is leaf l. A query at home looks at the leaves of its
        # own group first: most are given up there. Then the heap gets the root.
        heap, from_root = 0, home < 0
        if from_root:
            keys[0], nodes[0], heap = np.float32(0), level_at[root], 1
        while True:
            if leaf >= 0:
                w = start[leaf + 1] - start[leaf]
                if n[0] + w > row.shape[1]:
                    settle(pair, i, 0, measure, best, found)
                scan(Q, i, offset, tiles, tile_at[leaf], padded(w), gap, square)
                margin = q_blur[i] + blur[leaf] + dust
                visit(square, order, start[leaf], w, skip, margin, slack, 0, upper, row, low_end, n)
                score[i] = score_of(upper, 0, kind) / scale * UP
                leaves += 1
                if score[i] < cutoff:
                    state[i] = BELOW
                    break
            far = ((upper[0, k - 1] + dust) * slack) ** 2
            if leaf == home and not from_root:
                box_squares(low, high, flat, home // FAN, gap, near)
                for j in range(FAN):
                    other = home // FAN * FAN + j
                    if near[j] <= far and boxes[home // FAN, 0, 0, j] < _INF and other != home:
                        push(keys, nodes, heap, near[j], -other - 1)
                        heap += 1
            if not from_root and (leaves > _AT_HOME or heap == 0 or keys[0] > far):
                push(keys, nodes, heap, np.float32(0), level_at[root])
                heap, from_root = heap + 1, True
            leaf = -1
            while heap > 0 and keys[0] <= far:
                node = nodes[0]
                heap -= 1
                drop_first(keys, nodes, heap)
                if node < 0:
                    leaf = -node - 1
                    break
                if node == opened:
                    continue
                level = root
                while node < level_at[level]:
                    level -= 1
                box_squares(low, high, flat, node, gap, near)
                child = (node - level_at[level]) * FAN
                for j in range(FAN):
                    # An empty box is at no distance: it fills a group, or holds only copies.
                    if near[j] <= far and boxes[node, 0, 0, j] < _INF:
                        below = -(child + j) - 1
                        if level > 0:
                            below = level_at[level - 1] + child + j
                        push(keys, nodes, heap, near[j], below)
                        heap += 1
            if leaf < 0:
                break
        visited += leaves
        if state[i] == EXACT:
            score[i] = finish(pair, i, 0, measure, best, found)
    return visited
