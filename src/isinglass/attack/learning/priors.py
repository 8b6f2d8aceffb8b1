"""Posterior means under priors that are not normal: an empirical sample, a Laplace law."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.learning.gaussian import (
    RCOND,
    Moments,
    as_covariance,
    linear_estimate,
    square_root,
)

Array = NDArray[Any]

_MOST_SAMPLE = 1_500
_TRIED = 400
_WIDTHS = (1.0, 0.8, 0.6, 0.4, 0.25, 0.15)


def sample_estimate(
    Z: Array, matrix: Array, moments: Moments, noise: Array, sample: Array, rng: np.random.Generator
) -> Array:
    """E[y | z] where y is distributed as the sample is, smoothed.

    The prior is a mixture of normal laws, one on each sampled y, of covariance h² S and shrunk
    toward the mean so that the mixture keeps mean and covariance. A component's posterior mean is
    eq. 5, and its weight is its density at z. A width h of 1 is the linear estimate; h is chosen
    on the sample itself, where the truth is known, each record leaving its own component out.
    """
    Y = sample[rng.permutation(len(sample))[:_MOST_SAMPLE]]
    if len(Y) < 20:
        return linear_estimate(Z, matrix, moments, noise)
    tried = min(_TRIED, len(Y))
    root = square_root(as_covariance(noise, len(matrix)))
    seen = Y[:tried] @ matrix.T + rng.normal(size=(tried, len(matrix))) @ root
    own = np.arange(tried)
    errors = []
    for width in _WIDTHS:
        guess = _mixture_estimate(seen, matrix, moments, noise, Y, width, own)
        errors.append(float(np.square(guess - Y[:tried]).mean()))
    best = _WIDTHS[int(np.argmin(errors))]
    return _mixture_estimate(Z, matrix, moments, noise, Y, best)


def _mixture_estimate(
    Z: Array,
    matrix: Array,
    moments: Moments,
    noise: Array,
    Y: Array,
    width: float,
    own: NDArray[np.intp] | None = None,
) -> Array:
    """Posterior mean under the mixture; `own` names the component that each z must leave out."""
    if width >= 1.0:
        return linear_estimate(Z, matrix, moments, noise)
    S = width**2 * moments.covariance
    inner = matrix @ S @ matrix.T + as_covariance(noise, len(matrix))
    values, vectors = np.linalg.eigh(inner)
    keep = values > RCOND * values[-1]
    whiten = vectors[:, keep] / np.sqrt(values[keep])
    components = moments.mean + np.sqrt(1 - width**2) * (Y - moments.mean)
    gain = whiten @ whiten.T @ matrix @ S
    near = components @ matrix.T @ whiten
    rest = components - (components @ matrix.T) @ gain  # what a component says before z is seen
    out = np.empty((len(Z), Y.shape[1]))
    step = max(1, 2**21 // len(Y))
    for start in range(0, len(Z), step):
        rows = slice(start, start + step)
        z = Z[rows] @ whiten
        log = z @ near.T
        log -= 0.5 * np.square(near).sum(axis=1)
        if own is not None:
            log[np.arange(len(z)), own[rows]] = -np.inf
        log -= log.max(axis=1, keepdims=True)
        np.exp(log, out=log)
        log /= log.sum(axis=1, keepdims=True)
        out[rows] = log @ rest + Z[rows] @ gain
    return out


def laplace_estimate(
    Z: Array, matrix: Array, moments: Moments, noise: Array, *, n_iter: int = 150
) -> Array:
    """The most likely y where the coordinates s of y = mu + S^(1/2) s follow a Laplace law.

    Minimizes sqrt(2) |s|_1 + (z - T y)' N^-1 (z - T y) / 2 for all records at once by ADMM; with
    N = 0 that is the smallest |s|_1 which explains z. Suits sparse columns.
    """
    root = square_root(moments.covariance)
    B = matrix @ root
    off = Z - matrix @ moments.mean
    rho = 2.0
    back = B.T @ np.linalg.pinv(
        B @ B.T + rho * as_covariance(noise, len(matrix)), rcond=RCOND, hermitian=True
    )
    # s = v + back (off - B v): the quadratic part's own minimum near v.
    fixed, keep = off @ back.T, np.eye(B.shape[1]) - back @ B
    s, dual, edge = fixed, np.zeros_like(fixed), np.sqrt(2.0) / rho
    for _ in range(n_iter):
        free = s + dual
        # What soft thresholding takes away is the new dual, and free - dual what it leaves.
        dual = np.clip(free, -edge, edge)
        s = fixed + (free - 2 * dual) @ keep.T
    return np.asarray(moments.mean + s @ root)
