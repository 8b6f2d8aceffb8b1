"""Sums of past spends within reach of a place, box by box.

A spend is a place, a radius and a price. It is within reach of a place with a radius of its own
where their distance is at most the two radii together, stretched by `STRETCH` and a slack: two
balls that share a point, however it rounds, are within reach. The radius is kept as one column
more, behind those of the place: spends alike in radius then come to lie in the same leaves, whose
boxes know the least and the largest of them.
"""

from __future__ import annotations

import numpy as np

from isinglass.kernels import ball_tree
from isinglass.kernels.ball_count import (
    EUCLIDEAN,
    HAMMING,
    LEAF,
    WEIGHTED,
    Array,
    Counts,
    Distance,
    Tree,
    reach,
    reduce_columns,
)
from isinglass.kernels.jit import kernel

#: tree of places and radii, prices in its leaves, sum of each leaf, sum of each group
Priced = tuple[Tree, Counts, Counts, Counts]

#: the radii together are stretched by this factor
STRETCH = 1 + 1e-9
# Leaves of a group.
_FAN = 64
# Boxes must clear a reach by this share: powers and quotients round without order.
_ROOM = 1e-9
#: sums stop here: far above any cap, and a price more still fits into 64 bits
FULL = 2**62


@kernel
def fill_prices(micro: Counts, order: Counts, starts: Counts, priced: Priced, g: int) -> None:
    """Lay prices beside the records of a group, which `ball_tree.fill_group` has put there."""
    _, prices, leaf_totals, group_totals = priced
    group = 0
    for b in range(starts.shape[0] - 1):
        total = 0
        for j in range(starts[b + 1] - starts[b]):
            prices[g, b, j] = micro[order[starts[b] + j]]
            total += prices[g, b, j]
        leaf_totals[g, b] = total
        group += total
    group_totals[g] = group


@kernel
def _total(weights: Array) -> float:
    total = 0.0
    for c in range(weights.shape[0]):
        total += weights[c]
    return total


@kernel
def _finish(code: int, total_weight: float, s: float) -> float:
    """From a sum over columns to the distance, as `Metric` does it."""
    if code in (EUCLIDEAN, WEIGHTED):
        return float(np.sqrt(s))
    return s / total_weight if code == HAMMING else s


@kernel
def _scan_6(q: Array, r: float, slack: float, t: Array, prices: Counts) -> int:
    """Six columns, Euclidean: all of a pair stays in registers."""
    q0, q1, q2, q3, q4, q5 = q[0], q[1], q[2], q[3], q[4], q[5]
    found = 0
    for j in range(LEAF):
        a, b, c = q0 - t[0, j], q1 - t[1, j], q2 - t[2, j]
        d, e, f = q3 - t[3, j], q4 - t[4, j], q5 - t[5, j]
        s = np.sqrt(a * a + b * b + c * c + d * d + e * e + f * f)
        found += prices[j] if s <= (t[6, j] + r) * STRETCH + slack else 0
    return found


@kernel
def _scan(
    distance: Distance,
    total_weight: float,
    slack: float,
    q: Array,
    r: float,
    tile: Array,
    prices: Counts,
    sums: Array,
    deltas: Array,
) -> int:
    """The prices of the spends of a tile that are within reach of `q`; empty slots cost 0."""
    code, weights, power = distance
    d = q.shape[0]
    if code == EUCLIDEAN:
        if d == 6:
            return _scan_6(q, r, slack, tile, prices)
        for j in range(LEAF):
            sums[j] = 0.0
        for c in range(d):
            x, column = q[c], tile[c]
            for j in range(LEAF):
                gap = x - column[j]
                sums[j] += gap * gap
    else:
        for c in range(d):
            for j in range(LEAF):
                deltas[c, j] = q[c] - tile[c, j]
        reduce_columns(code, weights, power, deltas, LEAF, sums)
    found = 0
    for j in range(LEAF):
        far = (tile[d, j] + r) * STRETCH + slack
        found += prices[j] if _finish(code, total_weight, sums[j]) <= far else 0
    return found


@kernel
def add_reached(
    distance: Distance, slack: float, places: Array, radii: Array, priced: Priced, found: Counts
) -> None:
    """Add to `found`, for each place and radius, the prices of the spends within its reach."""
    code, weights, power = distance
    (tiles, boxes, sizes, group_boxes, _), prices, leaf_totals, group_totals = priced
    n_groups, fan = sizes.shape
    d = places.shape[1]
    width = 0 if code == EUCLIDEAN else d
    most = max(n_groups, fan, LEAF)
    box, sums, deltas = np.empty((2, d)), np.empty(LEAF), np.empty((width, 2 * most))
    group_sums, leaf_sums = np.empty(2 * n_groups), np.empty(2 * fan)
    groups_low, groups_high = group_boxes[0, :d], group_boxes[1, :d]
    weight = _total(weights)
    for i in range(places.shape[0]):
        r, total = radii[i], found[i]
        for c in range(d):
            box[0, c] = places[i, c]
            box[1, c] = places[i, c]
        reach(code, weights, power, box, groups_low, groups_high, n_groups, group_sums, deltas)
        for g in range(n_groups):
            total = total if total < FULL else FULL
            least = (group_boxes[0, d, g] + r) * STRETCH + slack
            largest = (group_boxes[1, d, g] + r) * STRETCH + slack
            if _finish(code, weight, group_sums[g]) > largest * (1 + _ROOM):
                continue
            if _finish(code, weight, group_sums[n_groups + g]) <= least * (1 - _ROOM):
                total += group_totals[g]
                continue
            low, high = boxes[g, 0], boxes[g, 1]
            reach(code, weights, power, box, low[:d], high[:d], fan, leaf_sums, deltas)
            for b in range(fan):
                least = (low[d, b] + r) * STRETCH + slack
                largest = (high[d, b] + r) * STRETCH + slack
                if _finish(code, weight, leaf_sums[b]) > largest * (1 + _ROOM):
                    continue
                if _finish(code, weight, leaf_sums[fan + b]) <= least * (1 - _ROOM):
                    total += leaf_totals[g, b]
                    continue
                total += _scan(
                    distance, weight, slack, places[i], r, tiles[g, b], prices[g, b], sums, deltas
                )
        found[i] = total if total < FULL else FULL


@kernel
def add_listed(
    distance: Distance,
    slack: float,
    places: Array,
    radii: Array,
    tiles: Array,
    prices: Counts,
    found: Counts,
) -> None:
    """The same for spends in tiles without boxes, each tested by itself."""
    width = 0 if distance[0] == EUCLIDEAN else places.shape[1]
    sums, deltas = np.empty(LEAF), np.empty((width, LEAF))
    weight = _total(distance[1])
    for i in range(places.shape[0]):
        for t in range(tiles.shape[0]):
            found[i] += _scan(
                distance, weight, slack, places[i], radii[i], tiles[t], prices[t], sums, deltas
            )


@kernel
def take_turns(
    distance: Distance,
    slack: float,
    places: Array,
    radii: Array,
    micro: Counts,
    cap: int,
    tiles: Array,
    found: Counts,
    paid: Counts,
) -> None:
    """Let queries pay one after another while their sums, the own price included, are in `cap`.

    `found` holds what was spent within each one's reach before this list, and gets what was when
    its turn came. `tiles` hold the queries again, 64 to a row as `paid` does: all 0 at first, it
    gets the price of each, or stays 0 where the cap refuses.
    """
    n, d = places.shape
    width = 0 if distance[0] == EUCLIDEAN else d
    sums, deltas = np.empty(LEAF), np.empty((width, LEAF))
    weight = _total(distance[1])
    for i in range(n):
        for t in range(i // LEAF + 1):
            found[i] += _scan(
                distance, weight, slack, places[i], radii[i], tiles[t], paid[t], sums, deltas
            )
        if found[i] + micro[i] <= cap:
            paid[i // LEAF, i % LEAF] = micro[i]


def build(rows: Array, micro: Counts, scale: Array) -> Priced:
    """Put spends, a place and behind it the radius to a row, into leaves and groups."""
    n, width = rows.shape
    n_groups = -(-n // (_FAN * LEAF))
    fan = min(_FAN, -(-n // LEAF))
    order = np.arange(n)
    starts = np.empty(n_groups + 1, dtype=np.int64)
    ball_tree.cut(rows, scale, order, 0, n, starts)
    tiles = np.empty((n_groups, fan, width, LEAF))
    boxes = np.empty((n_groups, 2, width, fan))
    boxes[:, 0], boxes[:, 1] = np.inf, -np.inf
    sizes, leaf_totals = np.zeros((2, n_groups, fan), dtype=np.int64)
    group_sizes, group_totals = np.zeros((2, n_groups), dtype=np.int64)
    tree = tiles, boxes, sizes, np.empty((2, width, n_groups)), group_sizes
    priced = tree, np.zeros((n_groups, fan, LEAF), dtype=np.int64), leaf_totals, group_totals
    for g in range(n_groups):
        leaves = np.empty(-(-int(starts[g + 1] - starts[g]) // LEAF) + 1, dtype=np.int64)
        ball_tree.cut(rows, scale, order, starts[g], starts[g + 1], leaves)
        ball_tree.fill_group(rows, order, leaves, tree, g)
        fill_prices(micro, order, leaves, priced, g)
    return priced


def size(priced: Priced) -> int:
    """How many spends there are."""
    return int(priced[0][4].sum())


def spends(priced: Priced) -> tuple[Array, Counts]:
    """The rows and prices again, leaf after leaf."""
    tree, prices, _, _ = priced
    tiles, _, sizes, _, _ = tree
    rows = np.empty((size(priced), tiles.shape[2]))
    ball_tree.gather(tree, rows)
    return rows, prices[np.arange(LEAF) < sizes[:, :, np.newaxis]]


def in_tiles(rows: Array, room: int) -> tuple[Array, Counts]:
    """Rows in tiles of 64, by columns, with room for so many; and a price for each slot, 0."""
    n_tiles = -(-room // LEAF)
    # Empty slots are infinitely far away.
    padded = np.full((n_tiles * LEAF, rows.shape[1]), np.inf)
    padded[: len(rows)] = rows
    tiles = padded.reshape(n_tiles, LEAF, rows.shape[1]).transpose(0, 2, 1).copy()
    return tiles, np.zeros((n_tiles, LEAF), dtype=np.int64)
