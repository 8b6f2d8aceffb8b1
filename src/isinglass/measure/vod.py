"""Variance of difference between released and original columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PrivacyLevel:
    """The weakest column's level, and the mean over columns, in units of the columns compared."""

    minimum: float
    average: float


def variance_of_difference(original: ArrayLike, released: ArrayLike) -> Array:
    """Variance (ddof=1) of `released - original`, column by column.

    It describes the two tables and says nothing about how hard the original is to estimate: a
    release that only flips every sign scores four times the variance and hides nothing. Compare
    columns in like units, such as both scaled to [0, 1].

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> ig.metrics.variance_of_difference(X, X)
    array([0., 0., 0.])
    """
    before, after = (np.asarray(table) for table in (original, released))
    if before.ndim != 2 or before.shape != after.shape:
        raise ValueError(
            "original and released must be tables of one shape, "
            f"got shapes {before.shape} and {after.shape}"
        )
    if len(before) < 2:
        raise ValueError(f"a variance needs at least 2 records, got n_samples={len(before)}")
    return np.asarray(np.var(np.subtract(after, before, dtype=np.float64), axis=0, ddof=1))


def privacy_level(vod: ArrayLike, weights: ArrayLike | None = None) -> PrivacyLevel:
    """Compose columns: the minimum and the mean of `sqrt(vod) / weights` (Chen and Liu 2005, 4.1).

    A larger weight asks for more: the column counts as less private. Weights are brought to mean
    one, so that equal weights change nothing.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> level = ig.metrics.privacy_level(ig.metrics.variance_of_difference(X, -X))
    >>> level.minimum <= level.average
    True
    """
    variances = np.asarray(vod, dtype=np.float64)
    if variances.ndim != 1 or not len(variances) or not (variances >= 0).all():
        raise ValueError("vod must be one variance >= 0 for each column")
    levels = np.sqrt(variances) / column_weights(weights, len(variances))
    return PrivacyLevel(float(levels.min()), float(levels.mean()))


def column_weights(weights: ArrayLike | None, n_columns: int) -> Array:
    """One positive weight a column, rescaled to mean one; ones where none are given."""
    if weights is None:
        return np.ones(n_columns)
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (n_columns,) or not ((given > 0) & np.isfinite(given)).all():
        raise ValueError(
            f"weights must be one finite number > 0 for each of the {n_columns} columns, "
            f"got {weights!r}"
        )
    return np.asarray(given / given.mean())


def rotation_vod(rotation: ArrayLike, covariance: ArrayLike) -> Array:
    """What `variance_of_difference` is for `X @ rotation.T`, from the covariance of `X` alone."""
    R, C = (np.asarray(m, dtype=np.float64) for m in (rotation, covariance))
    # Cov(Rx - x) = (R - I) C (R - I)^T; Chen and Liu's equations 4 and 5 are its diagonal.
    moved = R - np.eye(len(C))
    return np.asarray(np.maximum(np.einsum("ij,jk,ik->i", moved, C, moved, optimize=True), 0.0))


def placement_levels(
    rotation: ArrayLike, covariance: ArrayLike, weights: ArrayLike | None = None
) -> Array:
    """P[i, l]: the level of column i if row l of the rotation is put in place i.

    A column's level depends on its own row only, so all orders of the rows are read off one
    matrix. Weights are those of `privacy_level`.
    """
    R, C = (np.asarray(m, dtype=np.float64) for m in (rotation, covariance))
    mixed: NDArray[Any] = R @ C
    own = np.einsum("lj,lj->l", mixed, R)
    # V[i, l] = r_l C r_l^T - 2 (R C)[l, i] + C_ii; rounding may take it just below zero.
    vod = own - 2.0 * mixed.T + np.diag(C)[:, np.newaxis]
    return np.asarray(
        np.sqrt(np.maximum(vod, 0.0)) / column_weights(weights, len(C))[:, np.newaxis]
    )


def haar_vod_moments(covariance: ArrayLike) -> tuple[Array, Array]:
    """Mean and variance of `rotation_vod` over uniformly random rotations."""
    C = np.asarray(covariance, dtype=np.float64)
    d, trace = len(C), float(np.trace(C))
    squares = np.sum(C * C, axis=1)
    # r C r^T of a uniform unit vector r has variance 2 / (d (d + 2)) (tr C^2 - (tr C)^2 / d);
    # r C_i has variance |C_i|^2 / d; the two are uncorrelated, as r and -r are equally likely.
    spread = 2.0 / (d * (d + 2)) * (float(squares.sum()) - trace**2 / d)
    return trace / d + np.diag(C), max(spread, 0.0) + 4.0 / d * squares
