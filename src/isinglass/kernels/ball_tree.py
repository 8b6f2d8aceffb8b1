"""Layout of the ball index: groups, leaves, and moves of single records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isinglass.kernels.ball_count import Array, Tree
from isinglass.kernels.jit import kernel
from isinglass.kernels.select import select

Order = NDArray[np.int64]


@kernel
def cut(X: Array, scale: Array, order: Order, start: int, stop: int, starts: Order) -> None:
    """Cut order[start:stop] into len(starts) - 1 parts of even size, halving the widest column.

    `starts` gets where each part begins, and at its end, `stop`. Widths are measured in units of
    `scale`.
    """
    parts, keys = starts.shape[0] - 1, np.empty(stop - start)
    starts[parts] = stop
    # Halving leaves one pending range a level: 64 levels outlast any table.
    pending = np.empty((64, 4), np.int64)
    pending[0, 0], pending[0, 1], pending[0, 2], pending[0, 3] = start, stop, 0, parts
    depth = 1
    while depth > 0:
        depth -= 1
        low, high, part, n_parts = pending[depth]
        if n_parts == 1:
            starts[part] = low
            continue
        widest, column = -1.0, 0
        for c in range(X.shape[1]):
            least, most = np.inf, -np.inf
            for k in range(low, high):
                x = X[order[k], c]
                least = x if x < least else least
                most = x if x > most else most
            width = (most - least) * scale[c]
            if width > widest:
                widest, column = width, c
        # The first parts get one row more where the rows do not divide evenly.
        half = n_parts // 2
        each, over = divmod(high - low, n_parts)
        middle = low + half * each + min(half, over)
        if widest > 0.0 and middle < high:
            for k in range(low, high):
                keys[k - low] = X[order[k], column]
            select(keys[: high - low], order[low:high], middle - low)
        pending[depth, 0], pending[depth, 1] = low, middle
        pending[depth, 2], pending[depth, 3] = part, half
        pending[depth + 1, 0], pending[depth + 1, 1] = middle, high
        pending[depth + 1, 2], pending[depth + 1, 3] = part + half, n_parts - half
        depth += 2


@kernel
def fit_leaf_box(tree: Tree, g: int, b: int) -> None:
    """Draw the box of a leaf tight around its records."""
    tiles, boxes, sizes, _, _ = tree
    for c in range(tiles.shape[2]):
        low, high = np.inf, -np.inf
        for j in range(sizes[g, b]):
            x = tiles[g, b, c, j]
            low = x if x < low else low
            high = x if x > high else high
        boxes[g, 0, c, b] = low
        boxes[g, 1, c, b] = high


@kernel
def fit_group_box(tree: Tree, g: int) -> None:
    """Draw the box of a group tight around its leaves, and count its records."""
    _, boxes, sizes, group_boxes, group_sizes = tree
    fan = sizes.shape[1]
    total = 0
    for b in range(fan):
        total += sizes[g, b]
    group_sizes[g] = total
    for c in range(boxes.shape[2]):
        low, high = np.inf, -np.inf
        for b in range(fan):
            low = boxes[g, 0, c, b] if boxes[g, 0, c, b] < low else low
            high = boxes[g, 1, c, b] if boxes[g, 1, c, b] > high else high
        group_boxes[0, c, g] = low
        group_boxes[1, c, g] = high


@kernel
def fill_group(X: Array, order: Order, starts: Order, tree: Tree, g: int) -> None:
    """Copy rows into the leaves of a group: order[starts[b] : starts[b + 1]] into leaf b."""
    tiles, _, sizes, _, _ = tree
    d, width = X.shape[1], tiles.shape[2]
    for b in range(starts.shape[0] - 1):
        n = starts[b + 1] - starts[b]
        sizes[g, b] = n
        for c in range(width):
            for j in range(tiles.shape[3]):
                if j >= n:
                    tiles[g, b, c, j] = np.inf
                else:
                    tiles[g, b, c, j] = X[order[starts[b] + j], c] if c < d else 0.0
        fit_leaf_box(tree, g, b)
    fit_group_box(tree, g)


@kernel
def _stretch(q: Array, scale: Array, low: Array, high: Array, k: int) -> float:
    """How far a box would have to stretch to hold `q`; an empty one, without end."""
    total = 0.0
    for c in range(scale.shape[0]):
        below, above = low[c, k] - q[c], q[c] - high[c, k]
        gap = below if below > above else above
        total += scale[c] * gap if gap > 0.0 else 0.0
    return total


@kernel
def _nearest_box(q: Array, scale: Array, low: Array, high: Array) -> int:
    """Which box would have to stretch least; an empty one only where all are."""
    best, least = 0, np.inf
    for k in range(low.shape[1]):
        total = _stretch(q, scale, low, high, k)
        if total < least:
            best, least = k, total
    return best


@kernel
def _halved(low: Array, high: Array, scale: Array) -> Order:
    """Numbers of the boxes, halved by their middle in the column where these spread most."""
    n = low.shape[1]
    keys, chosen, order = np.empty(n), np.empty(n), np.arange(n)
    widest = -1.0
    for c in range(scale.shape[0]):
        least, most = np.inf, -np.inf
        for k in range(n):
            x = low[c, k] / 2 + high[c, k] / 2  # halves first: a sum may overflow
            least = x if x < least else least
            most = x if x > most else most
            keys[k] = x
        if (most - least) * scale[c] > widest:
            widest = (most - least) * scale[c]
            keys, chosen = chosen, keys
    select(chosen, order, n // 2)
    return order


@kernel
def _move_leaf(tree: Tree, g: int, b: int, to_g: int, to_b: int) -> None:
    tiles, _, sizes, _, _ = tree
    for c in range(tiles.shape[2]):
        for j in range(tiles.shape[3]):
            tiles[to_g, to_b, c, j] = tiles[g, b, c, j]
    sizes[to_g, to_b] = sizes[g, b]
    sizes[g, b] = 0
    fit_leaf_box(tree, to_g, to_b)
    fit_leaf_box(tree, g, b)


@kernel
def split_group(scale: Array, tree: Tree, g: int, new: int) -> None:
    """Move half of the leaves of a full group to an empty one."""
    boxes = tree[1]
    order = _halved(boxes[g, 0], boxes[g, 1], scale)
    half = order.shape[0] // 2
    for k in range(half, order.shape[0]):
        _move_leaf(tree, g, order[k], new, k - half)
    fit_group_box(tree, g)
    fit_group_box(tree, new)


@kernel
def _split_leaf(scale: Array, tree: Tree, g: int, b: int, new: int) -> None:
    """Move half of the records of a full leaf to an empty one of its group."""
    tiles, _, sizes, _, _ = tree
    size = tiles.shape[3]
    half = size // 2
    points = tiles[g, b].copy()
    order = _halved(points, points, scale)
    for c in range(tiles.shape[2]):
        for j in range(size):
            tiles[g, b, c, j] = points[c, order[j]] if j < half else np.inf
            tiles[g, new, c, j] = points[c, order[half + j]] if j < size - half else np.inf
    sizes[g, b] = half
    sizes[g, new] = size - half
    fit_leaf_box(tree, g, b)
    fit_leaf_box(tree, g, new)


@kernel
def add(q: Array, scale: Array, tree: Tree) -> int:
    """Put a record in: -1, or the number of the full group that must be split first.

    A full leaf is halved. The box of one leaf and of its group are drawn anew, no other.
    """
    tiles, boxes, sizes, group_boxes, _ = tree
    g = _nearest_box(q, scale, group_boxes[0], group_boxes[1])
    b = _nearest_box(q, scale, boxes[g, 0], boxes[g, 1])
    if sizes[g, b] == tiles.shape[3]:
        new = 0
        while new < sizes.shape[1] and sizes[g, new] > 0:
            new += 1
        if new == sizes.shape[1]:
            return g
        _split_leaf(scale, tree, g, b, new)
        # One of these two has room; now that their boxes are smaller, a full one may be nearer.
        low, high = boxes[g, 0], boxes[g, 1]
        if _stretch(q, scale, low, high, new) < _stretch(q, scale, low, high, b):
            b = new
    j = sizes[g, b]
    for c in range(tiles.shape[2]):
        if j == 0:  # the first of its leaf finds whatever the memory held
            for k in range(tiles.shape[3]):
                tiles[g, b, c, k] = np.inf
        tiles[g, b, c, j] = q[c]
    sizes[g, b] = j + 1
    fit_leaf_box(tree, g, b)
    fit_group_box(tree, g)
    return -1


@kernel
def remove(q: Array, tree: Tree) -> bool:
    """Take out one record equal to `q` in every column; whether there was one."""
    tiles, boxes, sizes, group_boxes, _ = tree
    for g in range(sizes.shape[0]):
        if not _holds(q, group_boxes[0], group_boxes[1], g):
            continue
        for b in range(sizes.shape[1]):
            if not _holds(q, boxes[g, 0], boxes[g, 1], b):
                continue
            last = sizes[g, b] - 1
            for j in range(last + 1):
                if _holds(q, tiles[g, b], tiles[g, b], j):
                    for c in range(q.shape[0]):
                        tiles[g, b, c, j] = tiles[g, b, c, last]
                        tiles[g, b, c, last] = np.inf
                    sizes[g, b] = last
                    fit_leaf_box(tree, g, b)
                    fit_group_box(tree, g)
                    return True
    return False


@kernel
def _holds(q: Array, low: Array, high: Array, k: int) -> bool:
    """Whether a box holds `q`; where low is high, whether a record equals it."""
    for c in range(q.shape[0]):  # noqa: SIM110
        if q[c] < low[c, k] or q[c] > high[c, k]:
            return False
    return True


@kernel
def gather(tree: Tree, out: Array) -> None:
    """All records, leaf after leaf."""
    tiles, _, sizes, _, _ = tree
    row = 0
    for g in range(sizes.shape[0]):
        for b in range(sizes.shape[1]):
            for j in range(sizes[g, b]):
                for c in range(out.shape[1]):
                    out[row, c] = tiles[g, b, c, j]
                row += 1
