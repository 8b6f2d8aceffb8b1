"""The ball index: a table in small boxes, for counting the records within a radius, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isinglass import threads
from isinglass.kernels import ball_count, ball_tree
from isinglass.kernels.ball_count import LEAF, Array, Counts, Distance, Limits, Tree

#: no count reaches it
UNCAPPED = 2**62
# Leaves of a group.
_FAN = 64
# Rows asked about at once, so that a long list of queries is not copied whole.
_BLOCK = 1 << 18
# Fewer queries than this are looked up one by one: sorting them into leaves would not pay.
_FEW = 16


class BallIndex:
    """Records in leaves of 64, leaves in groups of 64, each with its box.

    Two flat levels instead of a deep tree: the boxes of a level lie side by side, column by
    column, and are compared with a ball in one sweep of vector code. A tile, the records of a
    leaf, lies by columns as well. Rows are cut in halves along the widest column.

    `distance` is the metric: its code, a weight for every column and the power. Which records
    are within a ball is decided by `ball_count` alone, whatever the boxes look like, so counts do
    not depend on the order in which records came and went.
    """

    def __init__(self, X: Array, distance: Distance, *, n_jobs: int | None = None) -> None:
        self.distance = distance
        self.n_jobs = n_jobs
        code, weights, power = distance
        # In these units a unit of every column is as far.
        powers = {ball_count.EUCLIDEAN: 2.0, ball_count.WEIGHTED: 2.0, ball_count.MINKOWSKI: power}
        self._scale = weights ** (1 / powers.get(code, 1.0))
        # One kind of array, whatever comes: kernels compile once.
        self._build(np.require(X, np.float64, ["C", "A", "W", "E"]))

    def __getstate__(self) -> tuple[Array, Distance, int | None]:
        """The records alone: empty slots hold whatever the memory held before."""
        return self.records(), self.distance, self.n_jobs

    def __setstate__(self, state: tuple[Array, Distance, int | None]) -> None:
        self.__init__(state[0], state[1], n_jobs=state[2])  # type: ignore[misc]

    def _build(self, X: Array) -> None:
        n, d = X.shape
        self.n_records, self.n_columns = n, d
        # Even widths: a column of zeros adds nothing to a distance.
        self._width = d + d % 2
        order = np.arange(n)
        self._n_groups = max(1, -(-n // (_FAN * LEAF)))
        starts = np.empty(self._n_groups + 1, dtype=np.int64)
        ball_tree.cut(X, self._scale, order, 0, n, starts)
        self._tree = self._empty(self._n_groups)
        self._changes = 0

        def fill(first: int, last: int) -> None:
            for g in range(first, last):
                n_leaves = max(1, -(-int(starts[g + 1] - starts[g]) // LEAF))
                leaves = np.empty(n_leaves + 1, dtype=np.int64)
                ball_tree.cut(X, self._scale, order, starts[g], starts[g + 1], leaves)
                ball_tree.fill_group(X, order, leaves, self._tree, g)

        threads.spread(fill, self._n_groups, n_jobs=self.n_jobs, step=1)
        self._order = order

    def _empty(self, n_groups: int) -> Tree:
        """Groups without records: boxes that end before they begin."""
        width = self._width
        # Leaves are written when they get their first record; until then memory is only named.
        tiles = np.empty((n_groups, _FAN, width, LEAF))
        boxes = np.empty((n_groups, 2, width, _FAN))
        group_boxes = np.empty((2, width, n_groups))
        boxes[:, 0], boxes[:, 1] = np.inf, -np.inf
        group_boxes[0], group_boxes[1] = np.inf, -np.inf
        sizes = np.zeros((n_groups, _FAN), dtype=np.int64)
        return tiles, boxes, sizes, group_boxes, np.zeros(n_groups, dtype=np.int64)

    def count(self, record: Array, limits: Limits, cap: int = UNCAPPED) -> int:
        """How many records lie within the ball around one; -1 for one that is not finite."""
        if self._width != self.n_columns:
            record = self._padded(record)
        found = np.empty(1, dtype=np.int64)
        column = record.reshape(-1, 1)
        if ball_count.count_leaf(self.distance, limits, cap, column, 1, self._tree, found):
            return int(found[0])
        return -1

    def counts(self, X: Array, limits: Limits, cap: int = UNCAPPED) -> Counts:
        """How many records lie within the ball around each row of `X`, which must be finite."""
        if len(X) < _FEW:
            found = [self.count(np.ascontiguousarray(row), limits, cap) for row in X]
            return np.array(found, dtype=np.int64)
        blocks = [X[k : k + _BLOCK] for k in range(0, len(X), _BLOCK)]
        asking = (BallIndex(block, self.distance, n_jobs=self.n_jobs) for block in blocks)
        return np.concatenate([self._between(other, limits, cap) for other in asking])

    def own_counts(self, limits: Limits, cap: int = UNCAPPED) -> Counts:
        """The same for every row the index was built from, itself included, before any change."""
        assert not self._changes
        return self._between(self, limits, cap)

    def _between(self, asking: BallIndex, limits: Limits, cap: int) -> Counts:
        tiles, _, sizes, _, _ = asking._tree
        found = np.empty((*sizes.shape, LEAF), dtype=np.int64)
        leaves = np.argwhere(sizes)

        def work(first: int, last: int) -> None:
            for g, b in leaves[first:last].tolist():
                ball_count.count_leaf(
                    self.distance, limits, cap, tiles[g, b], sizes[g, b], self._tree, found[g, b]
                )

        threads.spread(work, len(leaves), n_jobs=self.n_jobs, step=8)
        counts = np.empty(asking.n_records, dtype=np.int64)
        # Records lie in their leaves in the order the index was built in.
        counts[asking._order] = found[np.arange(LEAF) < sizes[:, :, np.newaxis]]
        return counts

    def add(self, record: Array) -> None:
        """Put a finite record in."""
        padded = self._padded(record)
        while (full := ball_tree.add(padded, self._scale, self._tree)) >= 0:
            if self._n_groups == len(self._tree[4]):
                self._grow()
            ball_tree.split_group(self._scale, self._tree, full, self._n_groups)
            self._n_groups += 1
        self.n_records += 1
        self._changed()

    def remove(self, record: Array) -> bool:
        """Take one record out that is equal to this one; whether there was one."""
        if not ball_tree.remove(self._padded(record), self._tree):
            return False
        self.n_records -= 1
        self._changed()
        return True

    def _padded(self, record: Array) -> Array:
        padded = np.zeros(self._width)
        padded[: self.n_columns] = record
        return padded

    def _grow(self) -> None:
        """Make room for a quarter more groups."""
        more = self._empty(self._n_groups + self._n_groups // 4 + 1)
        n = self._n_groups
        for new, old in zip(more[:3] + more[4:], self._tree[:3] + self._tree[4:], strict=True):
            new[:n] = old
        more[3][:, :, :n] = self._tree[3]
        self._tree = more

    def _changed(self) -> None:
        """Build anew after as many changes as half the table: a steady price for each of them."""
        self._changes += 1
        if self._changes > 4096 + self.n_records // 2:
            self._build(self.records())

    def records(self) -> NDArray[np.float64]:
        """The table as it now stands, in no particular order."""
        out = np.empty((self.n_records, self.n_columns))
        ball_tree.gather(self._tree, out)
        return out
