"""The leaf index: rows sorted into small leaves by recursive medians, and boxes around them.

A leaf's rows are stored by columns (a *tile*), so that one query meets all of them in a loop the
compiler turns into vector instructions. Boxes come in groups of 16 for the same reason. Nothing
here decides an answer: tiles are float32 stand-ins of the rows, boxes are widened by what that
rounding can do, and every search that uses them leaves a margin (see `nearest`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isinglass.kernels.jit import kernel
from isinglass.kernels.select import select
from isinglass.threads import spread

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

FAN = 16  # boxes in a group: four binary splits, two vector registers
_SAMPLE = 64  # sampled rows per bucket: enough for halves that are nearly equal
_ENOUGH = 128  # rows that show which column is the most spread
_INF = np.float32(np.inf)
_ROUNDING = np.float32(2.0**-23)  # twice the rounding of a float32


class LeafIndex(NamedTuple):
    """Arrays only, so that a kernel takes them as they are.

    Leaf `l` holds rows `order[start[l] : start[l + 1]]`; its tile is
    `tiles[tile_at[l] : tile_at[l + 1]]`, columns by rows, padded with infinities. Box group `g`
    is `boxes[g]`, columns x (low, high) x 16: first those of the leaves, then those of the groups
    below, level by level up to the root; level `v` begins at `level_at[v]`.
    """

    order: NDArray[np.int32]
    start: Ints
    tiles: Floats
    tile_at: Ints
    blur: Floats  # per leaf: how far a row may lie from its stand-in
    boxes: Floats
    level_at: Ints
    cut_column: Ints  # the splits above the buckets, numbered like a heap from 1
    cut_value: Floats
    widest: int  # the longest row of a tile

    @property
    def n_leaves(self) -> int:
        return len(self.start) - 1


def build(
    Y: Floats, X: NDArray[Any], *, leaf_rows: int, k: int, exact: bool, n_jobs: int | None = None
) -> LeafIndex:
    """Index the stand-ins `Y` of the rows `X`; `exact` where no value was rounded.

    Rows are first dealt to buckets by the medians of a sample, then each bucket is halved again
    and again in cache. Where a whole leaf repeats the leaf before it, its box is emptied: more
    than `k` copies of a record tell a search nothing new.
    """
    n, width = Y.shape
    levels = max(0, round(np.log2(max(n / (FAN * leaf_rows), 1))))
    column, value = _cuts(Y, levels)
    bucket = np.empty(n, dtype=np.int32)
    spread(
        lambda a, b: deal(Y[a:b], levels, column, value, bucket[a:b]),
        n,
        n_jobs=n_jobs,
        step=1 << 15,
    )
    bucket_start, order = sort_by_bucket(bucket, 1 << levels)
    first = plan_leaves(bucket_start, leaf_rows)
    n_leaves = int(first[-1])
    start = np.empty(n_leaves + 1, dtype=np.int64)
    tile_at = np.empty(n_leaves + 1, dtype=np.int64)
    place_leaves(bucket_start, first, width, start, tile_at)
    tiles = np.empty(int(tile_at[-1]), dtype=np.float32)
    blur = np.zeros(n_leaves, dtype=np.float32)
    boxes = np.empty((n_leaves // FAN, width, 2, FAN), dtype=np.float32)
    n_buckets = len(first) - 1
    spread(
        lambda a, b: fill(Y, X, a, b, first, order, start, tiles, tile_at, blur, boxes, k, exact),
        n_buckets,
        n_jobs=n_jobs,
        step=max(1, n_buckets // 64),
    )
    groups, level_at = [boxes], [0]
    while len(groups[-1]) > 1:
        level_at.append(level_at[-1] + len(groups[-1]))
        groups.append(join_boxes(groups[-1]))
    return LeafIndex(
        order,
        start,
        tiles,
        tile_at,
        blur,
        np.concatenate(groups),
        np.array(level_at, dtype=np.int64),
        column,
        value,
        int(np.diff(tile_at).max()) // width,
    )


def bucket_of(index: LeafIndex, Y: Floats) -> NDArray[np.int32]:
    """The bucket each stand-in would have been dealt to: neighbors get equal or close numbers."""
    bucket = np.empty(len(Y), dtype=np.int32)
    deal(Y, len(index.cut_column).bit_length() - 1, index.cut_column, index.cut_value, bucket)
    return bucket


def _cuts(Y: Floats, levels: int) -> tuple[Ints, Floats]:
    """Column and value of each split above the buckets, numbered like a heap from 1."""
    column = np.zeros(1 << levels, dtype=np.int64)
    value = np.zeros(1 << levels, dtype=np.float32)
    if levels:
        rng = np.random.default_rng(0)  # any sample gives the same answer, this one always the same
        size = min(len(Y), _SAMPLE << levels)
        sample = Y[np.sort(rng.integers(0, len(Y), size))]
        halve(sample, np.arange(size, dtype=np.int32), levels, column, value)
    return column, value


@kernel
def halve(Y, index, levels, column, value):
    """Sort `index` into 2^levels runs by medians of the most spread column; where each begins."""
    n, width = index.shape[0], Y.shape[1]
    total = np.empty(width, np.float32)
    square = np.empty(width, np.float32)
    key = np.empty(n, np.float32)
    edge = np.zeros((1 << levels) + 1, np.int64)
    edge[1] = n
    for level in range(levels):
        nodes = 1 << level
        for t in range(nodes, -1, -1):
            edge[2 * t] = edge[t]
        for t in range(nodes):
            a, b = edge[2 * t], edge[2 * t + 2]
            middle = (a + b) >> 1
            edge[2 * t + 1] = middle
            if b - a < 2:
                continue
            c = most_spread(Y, index[a:b], total, square)
            column[nodes + t] = c
            for i in range(a, b):
                key[i] = Y[index[i], c]
            select(key[a:b], index[a:b], middle - a)
            value[nodes + t] = key[middle]
    return edge


@kernel
def most_spread(Y, rows, total, square):
    """The column of the largest variance, measured from the first row so that nothing cancels."""
    width, step = Y.shape[1], max(rows.shape[0] // _ENOUGH, 1)
    first, n = rows[0], np.float32((rows.shape[0] + step - 1) // step)
    for c in range(width):
        total[c] = 0
        square[c] = 0
    for i in range(step, rows.shape[0], step):
        row = rows[i]
        for c in range(width):
            y = Y[row, c] - Y[first, c]
            total[c] += y
            square[c] += y * y
    best, most = 0, np.float32(-1)
    for c in range(width):
        spread_here = square[c] / n - (total[c] / n) ** 2
        if spread_here > most:
            best, most = c, spread_here
    return best


@kernel
def deal(Y, levels, column, value, bucket):
    """The bucket of every row: down the splits, to the right from the split's value on."""
    for r in range(Y.shape[0]):
        t = 1
        for _ in range(levels):
            t = 2 * t + (1 if Y[r, column[t]] >= value[t] else 0)
        bucket[r] = t - (1 << levels)


@kernel
def sort_by_bucket(bucket, n_buckets):
    """Row numbers by bucket, and where each bucket begins."""
    start = np.zeros(n_buckets + 1, np.int64)
    for r in range(bucket.shape[0]):
        start[bucket[r] + 1] += 1
    for b in range(n_buckets):
        start[b + 1] += start[b]
    place = start[:-1].copy()
    order = np.empty(bucket.shape[0], np.int32)
    for r in range(bucket.shape[0]):
        b = bucket[r]
        order[place[b]] = r
        place[b] += 1
    return start, order


@kernel
def plan_leaves(bucket_start, leaf_rows):
    """The first leaf of each bucket: 16 leaves, or more of them where ties made a bucket huge."""
    first = np.zeros(bucket_start.shape[0], np.int64)
    for b in range(bucket_start.shape[0] - 1):
        leaves = FAN
        while bucket_start[b + 1] - bucket_start[b] > 2 * leaf_rows * leaves:
            leaves *= 2
        first[b + 1] = first[b] + leaves
    return first


@kernel
def padded(n):
    """The next multiple of 16: the length of a tile's rows, and of a row of queries."""
    return (n + 15) // 16 * 16


@kernel
def place_leaves(bucket_start, first, width, start, tile_at):
    """Where the rows and the tile of every leaf begin; `halve` makes halves in the same way."""
    start[0] = 0
    tile_at[0] = 0
    for b in range(first.shape[0] - 1):
        begin, end = first[b], first[b + 1]
        # Repeated halving of a range, written into `start` from coarse to fine.
        start[begin] = bucket_start[b]
        start[end] = bucket_start[b + 1]
        step = end - begin
        while step > 1:
            for leaf in range(begin, end, step):
                start[leaf + step // 2] = (start[leaf] + start[leaf + step]) >> 1
            step //= 2
        for leaf in range(begin, end):
            tile_at[leaf + 1] = tile_at[leaf] + padded(start[leaf + 1] - start[leaf]) * width


@kernel
def fill(Y, X, begin, end, first, order, start, tiles, tile_at, blur, boxes, k, exact):
    """Sort the rows of some buckets into their leaves; write tiles and boxes."""
    width = Y.shape[1]
    low, high = np.empty(width, np.float32), np.empty(width, np.float32)
    for b in range(begin, end):
        leaves = first[b + 1] - first[b]
        levels = 0
        while (1 << levels) < leaves:
            levels += 1
        base = start[first[b]]
        n = start[first[b + 1]] - base
        near = np.empty((n, width), np.float32)
        for i in range(n):
            row = order[base + i]
            for c in range(width):
                near[i, c] = Y[row, c]
        index = np.arange(n).astype(np.int32)
        halve(near, index, levels, np.empty(leaves, np.int64), np.empty(leaves, np.float32))
        rows = order[base : base + n].copy()
        for i in range(n):
            order[base + i] = rows[index[i]]
        kept = -1  # the last leaf of identical rows whose box stands
        for leaf in range(first[b], first[b + 1]):
            a = start[leaf] - base
            w = start[leaf + 1] - start[leaf]
            tile = tiles[tile_at[leaf] : tile_at[leaf + 1]].reshape((width, padded(w)))
            box = boxes[leaf // FAN, :, :, leaf % FAN]
            point = write_tile(near, index[a : a + w], tile, box, low, high)
            if not exact and w > 0:
                blur[leaf] = widen(near, index[a : a + w], box)
            if point and w > k and identical(X, order[start[leaf] : start[leaf + 1]]):
                if kept >= 0 and same(X, order[start[kept]], order[start[leaf]]):
                    box[:, 0] = _INF
                    box[:, 1] = -_INF
                else:
                    kept = leaf


@kernel
def write_tile(near, index, tile, box, low, high):
    """Rows into columns, padded with infinity; their box; whether the box is a single point."""
    w, width = index.shape[0], tile.shape[0]
    for c in range(width):
        low[c], high[c] = _INF, -_INF
    for i in range(w):
        row = index[i]
        for c in range(width):
            tile[c, i] = near[row, c]
        for c in range(width):
            y = near[row, c]
            low[c] = y if y < low[c] else low[c]
            high[c] = y if y > high[c] else high[c]
    point = True
    for c in range(width):
        for i in range(w, tile.shape[1]):
            tile[c, i] = _INF
        box[c, 0], box[c, 1] = low[c], high[c]
        point = point and low[c] == high[c]
    return point


@kernel
def widen(near, index, box):
    """Open the box by the rounding of its values; the most a row's stand-in may be off."""
    most = np.float32(0)
    for i in range(index.shape[0]):
        square = np.float32(0)
        for c in range(near.shape[1]):
            square += near[index[i], c] ** 2
        most = square if square > most else most
    for c in range(box.shape[0]):
        box[c, 0] -= abs(box[c, 0]) * _ROUNDING
        box[c, 1] += abs(box[c, 1]) * _ROUNDING
    return np.sqrt(most) * _ROUNDING


@kernel
def same(X, i, j):
    """Whether two rows are equal in every column."""
    for c in range(X.shape[1]):  # noqa: SIM110 (numba has no generators)
        if X[i, c] != X[j, c]:
            return False
    return True


@kernel
def identical(X, rows):
    """Whether all these rows are equal."""
    for i in range(1, rows.shape[0]):  # noqa: SIM110
        if not same(X, rows[0], rows[i]):
            return False
    return True


@kernel
def join_boxes(boxes):
    """One box around each group of 16, in groups of 16 again; empty boxes fill the last group."""
    groups, width = boxes.shape[0], boxes.shape[1]
    joined = np.empty(((groups + FAN - 1) // FAN, width, 2, FAN), np.float32)
    joined[:, :, 0] = _INF
    joined[:, :, 1] = -_INF
    for g in range(groups):
        for c in range(width):
            low, high = _INF, -_INF
            for j in range(FAN):
                low = min(low, boxes[g, c, 0, j])
                high = max(high, boxes[g, c, 1, j])
            joined[g // FAN, c, 0, g % FAN] = low
            joined[g // FAN, c, 1, g % FAN] = high
    return joined
