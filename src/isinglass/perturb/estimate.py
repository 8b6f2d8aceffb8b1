"""Likeliest records behind fewer released columns than the table has (Erfani, eq. 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def behind(weights: Array, Z: Array, mean: Array, sample: Array | None = None) -> Array:
    r"""The y with `weights` y = z that is nearest to the mean, measured by a sample's covariance S.

    $\hat y = \mu + S W^T (W S W^T)^+ (z - W \mu)$ is the conditional mean for normal records, and
    the best linear estimate for any. Without a sample S is the identity: the least change from
    `mean` that explains the release. With as many rows as columns there is nothing to guess.
    """
    wide = weights.shape[0] < weights.shape[1]
    if sample is None or not wide or len(sample) < 2:
        root = np.eye(weights.shape[1])
    else:
        mean = sample.mean(axis=0)
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(sample.T)))
        # A direction the sample never moves in may still be what explains the release.
        root = vectors * np.sqrt(np.maximum(values, 1e-12 * max(values[-1], 1e-300)))
    # With S = L L^T the formula reads mu + L (W L)^+ (z - W mu), which squares no condition number.
    steps = np.linalg.lstsq(weights @ root, (Z - weights @ mean).T, rcond=None)[0]
    return np.asarray(mean + (root @ steps).T)
