"""Spatial index of past spends."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.detect.metric import Metric
from isinglass.epsilon import MOST
from isinglass.kernels import ball_sum
from isinglass.kernels.ball_count import LEAF
from isinglass.kernels.ball_sum import FULL, Priced

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

# Spends kept in a plain list before they are put into boxes.
_TAIL = 1024
# Blocks of this size are left alone, so that no single spend waits long for its block to be built.
_LARGE = 1 << 16
# Queries of a list that are compared with each other one by one, before they are put into boxes.
_CHUNK = 1024
#: beyond this, squares overflow and a distance may come out infinite between close balls
_FARTHEST = 1e150
_INF = math.inf


class Reach:
    """Past spends, and the sum of those within reach of a place.

    A spend s is within reach of a place i with radius r where
    d(i_s, i) <= (r_s + r)(1 + 1e-9) + 1e-150: some record could have changed the chances of both
    answers, or would, but for rounding. Spends with an infinite radius are within everyone's
    reach. Which spends count is decided by the metric's one function of two records, whatever the
    boxes look like; sums are whole numbers.

    New spends wait in a short list. When it is full they go into a block of boxes, together with
    the blocks that are no larger, so that a spend is moved a few times in all.
    """

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        d = len(metric.weights)
        _, weights, power = metric.kernel
        roots = {"euclidean": 2.0, "minkowski": power}
        # In these units a unit of every column, and of the radius behind them, is as far.
        self._scale = np.append(weights ** (1 / roots.get(metric.name, 1.0)), 1.0)
        # Squares below 1e-324 vanish before they meet their weight.
        largest = math.sqrt(weights.max()) if metric.name == "euclidean" else 1.0
        self._slack = 1e-150 * max(1.0, largest)
        self._distance = metric.kernel
        self._blocks: list[Priced] = []
        self._tail, self._tail_micro = ball_sum.in_tiles(np.empty((0, d + 1)), _TAIL)
        self._n_tail = self._n = self._everywhere = 0

    def __len__(self) -> int:
        return self._n

    def extend(self, places: ArrayLike, radii: ArrayLike, micro: ArrayLike) -> None:
        """Take in spends: a place each, a radius (0 to 1e150, or infinite) and a price."""
        rows, prices = self._spends(places, radii, micro)
        self._n += len(rows)
        endless = np.isinf(rows[:, -1])
        if endless.any():
            self._everywhere = min(FULL, self._everywhere + sum(prices[endless].tolist()))
            rows, prices = rows[~endless], prices[~endless]
        n, m = self._n_tail, len(rows)
        if n + m > _TAIL:
            self._merge(rows, prices)
            return
        slots = np.arange(n, n + m)
        self._tail[slots // LEAF, :, slots % LEAF] = rows
        self._tail_micro.reshape(-1)[slots] = prices
        self._n_tail += m

    def _merge(self, rows: Array, prices: Counts) -> None:
        """Put new spends, the waiting ones and the blocks that are no larger into one block."""
        waiting = self._tail.transpose(0, 2, 1).reshape(_TAIL, -1)[: self._n_tail]
        parts = [(waiting, self._tail_micro.reshape(-1)[: self._n_tail]), (rows, prices)]
        size, kept = self._n_tail + len(rows), len(self._blocks)
        while kept and size < _LARGE and ball_sum.size(self._blocks[kept - 1]) <= size:
            kept -= 1
            size += ball_sum.size(self._blocks[kept])
            parts.append(ball_sum.spends(self._blocks[kept]))
        every, micro = (np.concatenate(column) for column in zip(*parts, strict=True))
        block = ball_sum.build(every, micro, self._scale)
        # Nothing leaves its old home before it is in the new one: whatever interrupts this, a
        # spend may be counted twice, but never not at all.
        self._blocks = [*self._blocks[:kept], block]
        self._tail_micro[:] = 0
        self._n_tail = 0

    def append(self, place: Array, radius: float, micro: int) -> None:
        """`extend` by one spend, which was looked at by `at` before, without the ceremony."""
        n = self._n_tail
        if n == _TAIL or math.isinf(radius):
            self.extend(place.reshape(1, -1), [radius], [micro])
            return
        tile = self._tail[n // LEAF]
        tile[:-1, n % LEAF] = place
        tile[-1, n % LEAF] = radius
        self._tail_micro[n // LEAF, n % LEAF] = micro
        self._n_tail, self._n = n + 1, self._n + 1

    def at(self, place: Array, radius: float) -> int:
        """`sums` at one place, without the ceremony: most asks are about one record."""
        place = np.ascontiguousarray(place, dtype=np.float64)
        # A sum, which NaN does not get through; where it is too large, the long way decides.
        if not (
            sum(map(abs, place.tolist())) <= _FARTHEST
            and (0 <= radius <= _FARTHEST or radius == _INF)
        ):
            return int(self.sums(place.reshape(1, -1), [radius])[0])  # says what is wrong
        found = np.array([self._everywhere])
        self._add_up(place.reshape(1, -1), np.array([float(radius)]), found)
        return min(int(found[0]), FULL)

    def sums(self, places: ArrayLike, radii: ArrayLike) -> Counts:
        """What was spent within reach of each place with its radius; at most 2**62."""
        rows, _ = self._spends(places, radii, 0)
        return self._sums(*_apart(rows))

    def in_order(self, places: ArrayLike, radii: ArrayLike, micro: ArrayLike) -> Counts:
        """The same, each also counting the earlier ones of this very list."""
        rows, prices = self._spends(places, radii, micro)
        return np.concatenate([found for found, _ in self._turns(rows, prices, 2**63 - 1)])

    def taken(self, places: ArrayLike, radii: ArrayLike, micro: ArrayLike, cap: int) -> Counts:
        """What each query of a list pays where those that a cap refuses pay 0, and are skipped."""
        rows, prices = self._spends(places, radii, micro)
        return np.concatenate([paid for _, paid in self._turns(rows, prices, cap)])

    def _turns(self, rows: Array, prices: Counts, cap: int) -> Iterator[tuple[Counts, Counts]]:
        before = self._sums(*_apart(rows))
        earlier: Reach | None = None
        for k in range(0, max(1, len(rows)), _CHUNK):
            chunk, micro = rows[k : k + _CHUNK], prices[k : k + _CHUNK]
            places, radii = _apart(chunk)
            found = before[k : k + _CHUNK]
            if earlier is not None:
                found = np.minimum(found + earlier._sums(places, radii), FULL)
            tiles, slots = ball_sum.in_tiles(chunk, len(chunk))
            ball_sum.take_turns(
                self.metric.kernel, self._slack, places, radii, micro, cap, tiles, found, slots
            )
            paid = slots.reshape(-1)[: len(chunk)]
            yield np.minimum(found, FULL), paid
            if k + _CHUNK < len(rows):
                earlier = Reach(self.metric) if earlier is None else earlier
                earlier.extend(places[paid > 0], radii[paid > 0], paid[paid > 0])

    def _sums(self, places: Array, radii: Array) -> Counts:
        found = np.full(len(places), self._everywhere, dtype=np.int64)
        self._add_up(places, radii, found)
        return np.minimum(found, FULL)

    def _add_up(self, places: Array, radii: Array, found: Counts) -> None:
        distance, slack = self._distance, self._slack
        for block in self._blocks:
            ball_sum.add_reached(distance, slack, places, radii, block, found)
        used = -(-self._n_tail // LEAF)
        tail, prices = self._tail[:used], self._tail_micro[:used]
        ball_sum.add_listed(distance, slack, places, radii, tail, prices, found)

    def _spends(
        self, places: ArrayLike, radii: ArrayLike, micro: ArrayLike
    ) -> tuple[Array, Counts]:
        """Places with their radii behind them, and prices; checked, and of one kind for kernels."""
        where = np.asarray(places, dtype=np.float64)
        width = len(self._scale) - 1
        if where.ndim != 2 or where.shape[1] != width:
            raise ValueError(
                f"places must have {width} columns in two dimensions, got shape {where.shape}"
            )
        rows = np.empty((len(where), width + 1))
        rows[:, :width] = where
        rows[:, width] = radii
        charged = np.asarray(micro)
        if charged.dtype.kind not in "iu":
            raise ValueError(f"micro must be whole numbers, got {charged.dtype}")
        prices = np.empty(len(where), dtype=np.int64)
        prices[:] = charged
        reaches = rows[:, width]
        if not ((reaches >= 0) & ((reaches <= _FARTHEST) | np.isinf(reaches))).all():
            raise ValueError(f"radii must be between 0 and {_FARTHEST:g}, or infinite")
        if not (np.abs(rows[:, :width]) <= _FARTHEST).all():
            raise ValueError(f"places must hold numbers between -{_FARTHEST:g} and {_FARTHEST:g}")
        if len(prices) and not 0 <= prices.min() <= prices.max() <= MOST:
            raise ValueError(f"micro must be between 0 and {MOST}")
        return rows, prices


def _apart(rows: Array) -> tuple[Array, Array]:
    return np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, -1])
