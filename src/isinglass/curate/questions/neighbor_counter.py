"""Counter of the private table's records near a place."""

from __future__ import annotations

import hashlib
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.metric import Metric
from isinglass.kernels.ball import UNCAPPED, BallIndex
from isinglass.kernels.ball_count import Limits

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


class NeighborCounter:
    """Exact counts in a multiset of places.

    Whether two places are within a radius is decided by one float64 function of the two,
    `metric.distance`, on every path through the index. So adding a record j changes the count at
    a place i by 1 where d(i, j) <= r and leaves it alone elsewhere, also for places exactly on the
    radius: no box, batch or cap rounds otherwise.
    """

    def __init__(self, places: Array, metric: Metric, *, n_jobs: int | None = None) -> None:
        rows = np.ascontiguousarray(places, dtype=np.float64) + 0.0
        if rows.ndim != 2 or rows.shape[1] != len(metric.weights):
            raise ValueError(
                f"places must have {len(metric.weights)} columns, got an array of shape "
                f"{rows.shape}"
            )
        if not np.isfinite(rows).all():
            raise ValueError("places must hold finite numbers only")
        self.metric = metric
        self._index = BallIndex(rows, metric.kernel, n_jobs=n_jobs)
        self._radius: tuple[float, Limits] | None = None
        # Equal places are equal bytes, since minus zero is gone and nothing is NaN.
        self._sorted = np.sort(_as_bytes(rows))

    def __repr__(self) -> str:
        return "NeighborCounter(...)"

    def __reduce__(self) -> Never:
        raise TypeError("a private table's neighbors are not pickled: they hold its records")

    @property
    def n_records(self) -> int:
        """How many records the table has; the owner's to know."""
        return len(self._sorted)

    def within(self, places: Array, r: float, cap: int | None = None) -> Counts:
        """How many records lie at distance `r` or less of each place, or `cap` if that is less."""
        rows = np.ascontiguousarray(places, dtype=np.float64)
        limit = UNCAPPED if cap is None else cap
        return self._index.counts(rows, self._limits(r), limit)

    def _limits(self, r: float) -> Limits:
        """What a radius means to the metric; a curator asks about one, again and again."""
        if self._radius is None or self._radius[0] != r:
            self._radius = r, self.metric.limits(r)
        return self._radius[1]

    def copies(self, places: Array) -> Counts:
        """How many records equal each place in every column."""
        asked = _as_bytes(np.ascontiguousarray(places, dtype=np.float64) + 0.0)
        first, last = (np.searchsorted(self._sorted, asked, side) for side in ("left", "right"))
        return (last - first).astype(np.int64)

    def digest(self) -> bytes:
        """SHA-256 of the records, whatever their order: the same for the same multiset."""
        shape = f"{self.n_records} {len(self.metric.weights)} ".encode()
        return hashlib.sha256(shape + self._sorted.tobytes()).digest()


def _as_bytes(rows: Array) -> NDArray[Any]:
    """Each row as one string of bytes, which sorts and compares as such."""
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
