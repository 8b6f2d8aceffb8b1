"""Bounds on the inner product after distortion, and how saturated a tanh distortion is."""

from __future__ import annotations

from math import exp, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from isinglass.theory.moments import ActivationLike, Setting, resolve, square_of

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


def inner_product_bound(
    x: ArrayLike, y: ArrayLike, activation: ActivationLike, setting: Setting
) -> float:
    """A bound on |E[x*.y*]|: p sigma_b^2 + p m sigma_q^2 sqrt(E f(X)^2 E f(Y)^2).

    Bhaduri et al., Lemma 6.2, corrected to plain Cauchy-Schwarz: the print divides by a further
    2 pi s t, and the identity already breaks that. Reached when X = Y. Raises `ValueError` when
    x and y are not finite vectors of one length or the activation cannot be averaged.

    Examples
    --------
    >>> setting = ig.theory.Setting(n_hidden=60, n_components=29)
    >>> round(float(ig.theory.inner_product_bound([0.1, 0.4], [0.3, 0.2], 'tanh', setting)), 4)
    730.3514
    """
    f, pair = resolve(activation), setting.pair(x, y)
    largest = sqrt(square_of(f, pair.s) * square_of(f, pair.t))
    p, m = setting.n_components, setting.n_hidden
    return p * setting.sigma_b**2 + p * m * setting.sigma_q**2 * largest


def expected_clipped_square(s: float) -> float:
    """E clip(X, -1, 1)^2 for X ~ N(0, s^2), which bounds E tanh(X)^2 from above.

    From 0 at s = 0 it increases to 1. Bhaduri et al. print it without its last term, and then it
    grows without limit. Raises `ValueError` when s is negative or not a number.

    Examples
    --------
    >>> round(ig.theory.expected_clipped_square(1.0), 4)
    0.5161
    """
    if not s >= 0:
        raise ValueError(f"s must be >= 0, got {s}")
    if s < 1 / 40:
        return s * s  # clipping happens beyond forty standard deviations
    if s <= 1:
        inside = float(ndtr(1 / s) - ndtr(-1 / s))
        last = 2 * s / sqrt(2 * pi) * exp(-1 / (2 * s * s))
        return 2 * float(ndtr(-1 / s)) + s * s * inside - last
    # For large s those terms cancel; this is 1 - E(1 - X^2) over |X| < 1, which does not.
    density = np.exp(-np.square(_NODES / s) / 2) / (s * sqrt(2 * pi))
    return 1 - float(_WEIGHTS @ ((1 - np.square(_NODES)) * density))


def tanh_bound(s: float, t: float, *, slope: float = 1.0) -> float:
    """A bound on |E tanh(slope X) tanh(slope Y)| that needs only the standard deviations s, t.

    sqrt(E clip(X)^2 E clip(Y)^2). The end of section 6 in Bhaduri et al. lacks the square root,
    and is exceeded at s = t = 1/2 and correlation 1. Raises `ValueError` when s, t or slope is
    negative or not a number.

    Examples
    --------
    >>> round(ig.theory.tanh_bound(1.0, 1.0), 4)
    0.5161
    """
    return sqrt(expected_clipped_square(slope * s) * expected_clipped_square(slope * t))


def saturation_index(
    range_: float, n_features: int, sigma_w: float, sigma_a: float, slope: float = 1.0
) -> float:
    """How far into its flat part tanh works, 0 to 1, for records that fill [0, range_]^n_features.

    E clip(X)^2 at s^2 = sigma_w^2 n_features range_^2 / 3 + sigma_a^2, times the slope squared:
    the curve of Bhaduri et al., Fig. 10c, with the clipped square corrected. The paper reads it
    as privacy and also as the chance of an attack; neither is derived. It is not a probability.
    Raises `ValueError` when an argument is negative or n_features is below 1.

    Examples
    --------
    >>> round(ig.theory.saturation_index(1.0, 29, 1.0, 1.0), 4)
    0.8386
    """
    if not n_features >= 1:
        raise ValueError(f"n_features must be >= 1, got {n_features}")
    scales = {"range_": range_, "sigma_w": sigma_w, "sigma_a": sigma_a, "slope": slope}
    for name, value in scales.items():
        if not value >= 0:
            raise ValueError(f"{name} must be >= 0, got {value}")
    spread = float(np.hypot(sigma_w * range_ * sqrt(n_features / 3), sigma_a))
    return expected_clipped_square(slope * spread)
