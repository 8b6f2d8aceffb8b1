"""Best linear estimate of y from z = T y + noise, and the moments of y it needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.activations import double_logistic
from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.learning.study import Study

Array = NDArray[Any]

#: Singular values below this share of the largest count as zero.
RCOND = 1e-12
_QUANTILES = (np.arange(500) + 0.5) / 500


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and covariance of y: all that a linear estimate uses."""

    mean: Array = field(repr=False)
    covariance: Array = field(repr=False)

    @classmethod
    def of(cls, rows: Array) -> Moments:
        """Those of a sample. A small one is shrunk: its own covariance would be too sure."""
        if 10 * rows.shape[1] <= len(rows):
            return cls(rows.mean(axis=0), np.cov(rows, rowvar=False).reshape(rows.shape[1], -1))
        from sklearn.covariance import ledoit_wolf

        return cls(rows.mean(axis=0), np.asarray(ledoit_wolf(rows)[0]))

    @property
    def raw(self) -> Array:
        """E[y y']."""
        return np.asarray(self.covariance + np.outer(self.mean, self.mean))


def linear_estimate(
    Z: ArrayLike, matrix: Array, moments: Moments, noise: float | Array = 0.0
) -> Array:
    """E[y | z] for normal y and z = matrix y + noise; the best linear estimate for any y.

    Erfani et al., eq. 5, with the covariance of the noise (one number means that times the
    identity) added where they have none: y = mu + S T' (T S T' + N)^+ (z - T mu).
    """
    S, mu = moments.covariance, moments.mean
    cross = matrix @ S
    inner = cross @ matrix.T + as_covariance(noise, len(matrix))
    # T S T' is singular where T has more rows than S has rank: then the pseudo-inverse.
    gain = np.linalg.pinv(inner, rcond=RCOND, hermitian=True) @ cross
    return np.asarray(mu + (np.asarray(Z, dtype=np.float64) - matrix @ mu) @ gain)


def as_covariance(noise: float | Array, size: int) -> Array:
    """A number as that multiple of the identity; a matrix as it is."""
    given = np.asarray(noise, dtype=np.float64)
    return given if given.ndim == 2 else np.asarray(given * np.eye(size))


def square_root(covariance: Array) -> Array:
    """The symmetric root, which for independent columns keeps columns apart."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def draw_by_statistics(
    statistics: ColumnStatistics, study: Study, rng: np.random.Generator | None = None
) -> Array:
    """Five hundred y as column statistics allow to imagine them; independent columns.

    Each scaled column gets the beta law with its mean and variance: exact for uniform columns,
    and never beyond the bounds. In order within each column where `rng` is None.
    """
    from scipy.special import betaincinv

    low, factor = study.scaling.factors(np.float64)
    mean = np.clip((statistics.mean - low) * factor, 0.0, 1.0)
    most = mean * (1 - mean)
    variance = np.minimum((statistics.deviation * factor) ** 2, 0.999 * most)
    varies = variance > 1e-12
    size = np.where(varies, most / np.where(varies, variance, 1.0) - 1, 1.0)
    a, b = (np.where(varies, share * size, 1.0) for share in (mean, 1 - mean))
    x = np.where(varies, betaincinv(a, b, _QUANTILES[:, np.newaxis]), mean)
    if rng is not None:
        x = rng.permuted(x, axis=0)
    return double_logistic(x, study.curvature)


def moments_by_statistics(statistics: ColumnStatistics, study: Study) -> Moments:
    """Moments of y from column statistics alone: columns are taken for independent."""
    y = draw_by_statistics(statistics, study)
    return Moments(y.mean(axis=0), np.diag(y.var(axis=0)))
