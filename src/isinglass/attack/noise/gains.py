"""Share of each direction that a filter keeps, by how wide the noisy release is in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def direction_gains(widths: Array, n_rows: float, method: str = "auto") -> Array:
    """How much of each direction is kept, noise having variance one in all of them."""
    ratio = len(widths) / n_rows
    edge = (1 + np.sqrt(ratio)) ** 2  # of what noise alone reaches (Marchenko and Pastur)
    if method == "bounds":
        return np.asarray((widths > edge).astype(np.float64))
    if method == "pca":  # what is kept brings noise 1, what is dropped costs width - 1
        return np.asarray((widths > 2.0).astype(np.float64))
    if method == "bayes":
        return np.maximum(1 - 1 / widths, 0.0)
    # Gavish and Donoho, eq. 7, for squared singular values; 1 - 1 / width where records abound.
    inner = np.square(widths - ratio - 1) - 4 * ratio
    # The widest direction of noise passes the edge by this much once in a hundred (Tracy and
    # Widom); under much noise even a little of it would drown the table.
    root = np.sqrt(ratio)
    edge += 2.02 * n_rows ** (-2 / 3) * (1 + root) * (1 + 1 / root) ** (1 / 3)
    return np.where(widths > edge, np.sqrt(np.maximum(inner, 0.0)) / widths, 0.0)
