"""Distances between two records, and when one counts as within a radius."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.kernels import ball_count
from isinglass.kernels.ball_count import Distance, Limits

METRICS = ("euclidean", "manhattan", "chebyshev", "minkowski", "hamming")
# Boxes are trusted to lie inside or outside a ball only where they clear it by this share.
_MARGIN = 1e-9


@dataclass(frozen=True, slots=True)
class Metric:
    """A distance of two records: float64, by subtraction, terms summed in the order of columns.

    Every count, look-up and update decides with this function whether two records are within
    a radius, so no two of them can disagree, not even about records exactly on it.
    """

    name: str
    power: float
    weights: NDArray[np.float64] = field(repr=False)
    weighted: bool = False

    @property
    def kernel(self) -> Distance:
        """The metric as the kernels take it."""
        codes = {
            "euclidean": ball_count.WEIGHTED if self.weighted else ball_count.EUCLIDEAN,
            "manhattan": ball_count.MANHATTAN,
            "chebyshev": ball_count.CHEBYSHEV,
            "hamming": ball_count.HAMMING,
            "minkowski": ball_count.MINKOWSKI,
        }
        return codes[self.name], self.weights, self.power

    def _finish(self, total: float) -> float:
        """From the sum over columns to the distance; monotone, because both steps round right."""
        if self.name == "euclidean":
            return math.sqrt(total)
        if self.name == "hamming":
            return total / self._total_weight()
        return total

    def _total_weight(self) -> float:
        total = 0.0
        for weight in self.weights.tolist():
            total += weight
        return total

    def distance(self, a: ArrayLike, b: ArrayLike) -> float:
        """The distance of two records."""
        with np.errstate(over="ignore"):  # farther apart than numbers go: infinitely far
            difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
        sums = np.empty(1)
        ball_count.reduce_columns(*self.kernel, difference.reshape(-1, 1), 1, sums)
        return self._finish(float(sums[0]))

    def limits(self, r: float) -> Limits:
        """Sums that stand for a radius: inside at or below the first, within at the second.

        The second is the largest sum whose distance is at most `r`. As the last step is monotone,
        comparing sums with it is the same as comparing distances with `r`, bit for bit. The third
        is the sum above which a box is outside.
        """
        if not (r == 0 or 1e-150 <= r <= 1e150):  # squares stay clear of under- and overflow
            raise ValueError(f"r must be 0, or between 1e-150 and 1e150, got {r}")
        below, above = r * (1 - _MARGIN), r * (1 + _MARGIN)
        if r == 0:
            return 0.0, 0.0, 0.0
        if self.name == "euclidean":
            return below * below, _largest(self._finish, r * r, r), above * above
        if self.name == "hamming":
            total = self._total_weight()
            return below * total, _largest(self._finish, r * total, r), above * total
        return below, r, above


def _largest(finish: Callable[[float], float], start: float, r: float) -> float:
    """The largest float64 that `finish` takes to `r` or less, a few steps from `start`."""
    while finish(start) > r:
        start = math.nextafter(start, 0.0)
    while finish(up := math.nextafter(start, math.inf)) <= r:
        start = up
    return start


def declare(name: Any, p: Any, weights: Any, n_columns: int) -> Metric:
    """Check what a user said about the distance of records `n_columns` wide."""
    if name not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {name!r}")
    if name != "minkowski":
        if p is not None:
            raise ValueError(f"p must be None unless metric is 'minkowski', got {p!r}")
        p = 2.0
    elif p is None or not p >= 1:
        raise ValueError(f"p must be >= 1 for metric 'minkowski', got {p!r}")
    else:  # three powers have a name, and a faster kernel
        name = {1: "manhattan", 2: "euclidean", math.inf: "chebyshev"}.get(p, name)
    chosen = np.ones(n_columns) if weights is None else np.array(weights, dtype=np.float64)
    if chosen.shape != (n_columns,):
        raise ValueError(
            f"weights must be one for each of the {n_columns} columns, "
            f"got an array of shape {chosen.shape}"
        )
    if not ((chosen >= 1e-100) & (chosen <= 1e100)).all():
        raise ValueError(
            f"weights must be between 1e-100 and 1e100 (leave a column out of the table to "
            f"ignore it), got {weights!r}"
        )
    return Metric(name, float(p), chosen, weights is not None)
