"""Signs that a map fits which leaving pairs out cannot show."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations

Array = NDArray[Any]


def just_enough(shown: Array, Z: Array, precision: float) -> bool:
    """Whether the pairs span the whole release with none to spare.

    Then any affine release is undone exactly, which leaving a pair out can never show.
    """
    center = shown.mean(axis=0)
    _, sizes, right = np.linalg.svd(shown - center, full_matrices=False)
    rank = int((sizes > precision * sizes[0]).sum())
    if rank < len(shown) - 1 or rank == 0:
        return False
    right = right[: len(shown) - 1]
    off = (Z - center) - (Z - center) @ right.T @ right
    return bool(np.abs(off).max() <= 10.0 * precision * np.abs(Z).max() + 1e-12)


def same_distances(Z: Array, X: Array) -> bool:
    """Whether the pairs lie as far from their mean, and at the same angles, as their records."""
    before, after = X - X.mean(axis=0), Z - Z.mean(axis=0)
    products = before @ before.T
    return bool(np.allclose(after @ after.T, products, rtol=0, atol=1e-5 * products.max()))


def plausible(guess: Array, X: Array, deviation: Array | None) -> bool:
    """Whether guesses look like records; those of a wrong map that fits all pairs run wild.

    `X` are the records of the pairs, `deviation` what is known of all. Where it is, records lie in
    [0, 1] and vary as is known; otherwise not far outside the pairs, and not much more than they
    do.
    """
    if deviation is not None:
        low, high = np.zeros(X.shape[1]), np.ones(X.shape[1])
        spread, most = deviation, 1.25
    else:
        low, high = 2.0 * X.min(axis=0) - X.max(axis=0), 2.0 * X.max(axis=0) - X.min(axis=0)
        spread, most = deviations(X), 2.5
    varies = spread > 0
    wider = guess.std(axis=0)[varies] / spread[varies]
    outside = np.maximum(guess - high, low - guess)
    # In the bulk, not in the tails, which a handful of pairs does not reach.
    inside = (outside <= 1e-4 * (high - low)).mean() >= 0.9
    return bool(inside and (not varies.any() or np.median(wider) <= most))
