"""Bounded nonlinear least squares for many small problems at once (Levenberg and Marquardt)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Derivatives held at once: as many as a core's own cache holds.
_BLOCK = 2**17
#: Damping, as a share of the mean curvature: where it starts, and its limits.
_FIRST, _LEAST, _MOST = 1e-3, 1e-15, 1e6


class Map(Protocol):
    """Any smooth map of rows that knows its derivatives."""

    def values(self, X: Array) -> Array: ...

    def linearized(self, X: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True, slots=True)
class Solution:
    """For every row the point found, and the squared distance of its image from the target."""

    points: Array = field(repr=False)
    cost: Array = field(repr=False)


def solve_rows(
    model: Map,
    targets: Array,
    starts: Array,
    *,
    bounds: tuple[Array, Array] | None = None,
    metric: Array | None = None,
    goal: float = 0.0,
    n_iter: int = 40,
) -> Solution:
    """For every row the x near its start whose image is nearest to the row's target.

    Steps solve (J'J + damping M) s = J' r. M is the `metric` (default: the identity), such as the
    inverse covariance of what x may be: where the image says nothing, x stays where it began,
    and where it says little, x moves the likeliest way. Within `bounds` steps are projected, and
    coordinates that a step would carry outside stay. A row ends at a squared distance <= `goal`.
    """
    X, cost = starts.copy(), np.empty(len(starts))
    size = max(1, _BLOCK // max(1, targets.shape[1] * starts.shape[1]))
    M = np.eye(starts.shape[1]) if metric is None else metric
    for first in range(0, len(X), size):
        part = slice(first, first + size)
        X[part], cost[part] = _solve_block(model, targets[part], X[part], bounds, M, goal, n_iter)
    return Solution(X, cost)


def _solve_block(
    model: Map,
    targets: Array,
    X: Array,
    bounds: tuple[Array, Array] | None,
    M: Array,
    goal: float,
    n_iter: int,
) -> tuple[Array, Array]:
    X = X if bounds is None else np.clip(X, *bounds)
    values, J = model.linearized(X)
    off = targets - values
    cost = np.square(off).sum(axis=1)
    damping, idle = np.full(len(X), _FIRST), np.zeros(len(X), dtype=int)
    weight = np.trace(M) / len(M)
    open_rows = np.flatnonzero(cost > goal)
    J, off = J[open_rows], off[open_rows]
    for _ in range(n_iter):
        if not len(open_rows):
            break
        back = J.transpose(0, 2, 1)
        H, g = back @ J, (back @ off[:, :, np.newaxis])[:, :, 0]
        curvature = np.trace(H, axis1=1, axis2=2) / H.shape[1]
        strength = damping[open_rows] * np.where(curvature > 0, curvature, 1.0) / weight
        H += strength[:, np.newaxis, np.newaxis] * M
        step = _step(H, g, X[open_rows], bounds)
        trial = X[open_rows] + step
        trial = trial if bounds is None else np.clip(trial, *bounds)
        reached = model.values(trial)
        new = np.square(targets[open_rows] - reached).sum(axis=1)
        better = new < cost[open_rows]
        idle[open_rows] = np.where(new < 0.9 * cost[open_rows], 0, idle[open_rows] + 1)
        won = open_rows[better]
        X[won], cost[won] = trial[better], new[better]
        damping[open_rows] = np.where(better, damping[open_rows] * 0.1, damping[open_rows] * 8)
        np.clip(damping, _LEAST, None, out=damping)
        ended = (cost[open_rows] <= goal) | (damping[open_rows] > _MOST) | (idle[open_rows] > 5)
        open_rows, better, J, off = (v[~ended] for v in (open_rows, better, J, off))
        if better.any():
            values, J[better] = model.linearized(X[open_rows[better]])
            off[better] = targets[open_rows[better]] - values
    return X, cost


def _step(H: Array, g: Array, X: Array, bounds: tuple[Array, Array] | None) -> Array:
    """Solve H s = g in place of H, with coordinates held that g would carry out of bounds."""
    if bounds is not None:
        fixed = ((X <= bounds[0]) & (g < 0)) | ((X >= bounds[1]) & (g > 0))
        if fixed.any():
            g = np.where(fixed, 0.0, g)
            at = np.flatnonzero(fixed.any(axis=1))
            held = fixed[at]
            inner = np.where(held[:, :, np.newaxis] | held[:, np.newaxis], 0.0, H[at])
            H[at] = inner + held[:, :, np.newaxis] * np.eye(H.shape[1])
    try:
        return np.asarray(np.linalg.solve(H, g[:, :, np.newaxis])[:, :, 0])
    except np.linalg.LinAlgError:
        # A row whose curvature vanishes altogether; its pseudo-inverse makes no step.
        return np.asarray((np.linalg.pinv(H, hermitian=True) @ g[:, :, np.newaxis])[:, :, 0])
