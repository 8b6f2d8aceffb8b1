"""What a space takes from public data: units for its columns, and principal components."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.threads import one_thread

Array = NDArray[np.float64]
SCALES = ("percentiles", "range", "deviation")


def fitted_bounds(rows: Array, scale: Any) -> tuple[Array, Array]:
    """Low and high of every column: what becomes 0, and what becomes 1."""
    if scale not in SCALES:
        raise ValueError(f"scale must be None or one of {', '.join(SCALES)}, got {scale!r}")
    low, high = rows.min(axis=0), rows.max(axis=0)
    if scale == "percentiles":
        inner = np.percentile(rows, [0.1, 99.9], axis=0)
        varies = inner[1] > inner[0]  # a column of nearly one value has its range instead
        low, high = np.where(varies, inner[0], low), np.where(varies, inner[1], high)
    elif scale == "deviation":
        low, high = rows.mean(axis=0), rows.mean(axis=0) + rows.std(axis=0)
    # A column that does not vary, or by rounding only, has no unit of its own: its size is one.
    size = np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    constant = ~(high - low > 1e-12 * size)
    return low, np.where(constant, low + size, high)


def components(rows: Array, n_components: Any) -> Array:
    """The directions in which the rows vary most, one a column, signs fixed."""
    width = rows.shape[1]
    whole = isinstance(n_components, int | np.integer) and not isinstance(n_components, bool)
    if not (whole and 1 <= n_components <= width):
        raise ValueError(
            f"n_components must be a whole number from 1 to {width}, got {n_components}"
        )
    with one_thread():
        centred = rows - rows.mean(axis=0)
        _, vectors = np.linalg.eigh(centred.T @ centred / len(rows))
    chosen = vectors[:, ::-1][:, :n_components]
    largest = chosen[np.abs(chosen).argmax(axis=0), np.arange(n_components)]
    return np.ascontiguousarray(chosen * np.copysign(1.0, largest))
