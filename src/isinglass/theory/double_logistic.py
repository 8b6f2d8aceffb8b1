"""The double logistic sgn(z)(1 - exp(-b z^2)): its best curvature b, and what it does to chance.

Reference: Erfani et al., "Privacy-preserving collaborative anomaly detection for participatory
sensing", PAKDD 2014. Neither density below shows the advantage over tanh that the paper claims:
both functions are strictly monotone, so to know the output is to know the input.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from isinglass.activations import BEST_CURVATURE, double_logistic_inverse

Array = NDArray[Any]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(60)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2


def curvature_loss(curvature: float) -> float:
    """The integral of (1 - exp(-b x^2) - x)^2 over [0, 1]: how far from the diagonal it runs.

    Raises `ValueError` when the curvature is not finite and > 0.
    """
    _check_curvature(curvature)
    off = -np.expm1(-curvature * np.square(_NODES)) - _NODES
    return float(_WEIGHTS @ np.square(off))


def best_curvature() -> float:
    """The curvature b with the least `curvature_loss`, 2.8124...; Erfani et al. print 2.81.

    The root of the derivative, the integral of (1 - x - exp(-b x^2)) x^2 exp(-b x^2) on [0, 1].

    Examples
    --------
    >>> round(ig.theory.best_curvature(), 4)
    2.8124
    """
    x2 = np.square(_NODES)

    def derivative(b: float) -> float:
        decay = np.exp(-b * x2)
        return float(_WEIGHTS @ ((1 - _NODES - decay) * x2 * decay))

    return float(brentq(derivative, 1.0, 10.0, xtol=1e-14, rtol=1e-14))


def density(y: ArrayLike, curvature: float = BEST_CURVATURE) -> Array:
    """The density at y of the double logistic of a standard normal variable (Erfani et al.).

    (8 pi b L)^(-1/2) (1 - |y|)^(1/(2b) - 1) with L = -log(1 - |y|). Infinite at 0, and at +-1 if
    b > 1/2, where it is the limit from inside; 0 beyond. For the mass of an interval use
    `interval_mass`. Raises `ValueError` when the curvature is not finite and > 0.

    Examples
    --------
    >>> ig.theory.density([0.2, 0.4]).round(4)
    array([0.3025, 0.2533])
    """
    _check_curvature(curvature)
    size = np.abs(np.asarray(y, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        length = -np.log1p(-size)
        # (1 - |y|)^power, written so that it stays exact near 0.
        log_rest = -length * (1 / (2 * curvature) - 1)
        value = np.exp(log_rest) / np.sqrt(8 * np.pi * curvature * length)
    edge = np.inf if curvature > 0.5 else 0.0
    value = np.where(size == 1, edge, np.where(size > 1, 0.0, value))
    return np.asarray(np.where(np.isnan(size), np.nan, value))


def interval_mass(a: float, b: float, curvature: float = BEST_CURVATURE) -> float:
    """P(a < Y < b) for the double logistic Y of a standard normal variable.

    The normal probability between the inverses of a and b, so the infinite density at 0 and +-1
    does no harm. Raises `ValueError` unless a <= b and the curvature is finite and > 0.

    Examples
    --------
    >>> round(ig.theory.interval_mass(0.1, 0.3), 4)
    0.0624
    """
    _check_curvature(curvature)
    if not a <= b:
        raise ValueError(f"a must be <= b, got {a} and {b}")
    with np.errstate(divide="ignore"):
        low, high = double_logistic_inverse(np.clip([a, b], -1.0, 1.0), curvature)
    if low > 0:  # in the upper tail subtract small numbers, not numbers near 1
        low, high = -high, -low
    return float(ndtr(high) - ndtr(low))


def tanh_density(y: ArrayLike) -> Array:
    """The density at y of tanh of a standard normal variable: phi(artanh y) / (1 - y^2).

    0 for |y| >= 1, which is also the limit from inside.
    """
    value = np.asarray(y, dtype=float)
    inside = np.where(np.abs(value) >= 1, 0.0, value)
    dense = np.exp(-np.square(np.arctanh(inside)) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(np.where(np.abs(value) >= 1, 0.0, dense / (1 - np.square(inside))))


@dataclass(frozen=True, slots=True)
class TanhLandmarks:
    """Where the density of tanh of a normal variable turns, for y > 0.

    It is convex below `convex_until` and log-convex below `log_convex_until`; from the local
    minimum at 0 it rises to `mode`.
    """

    log_convex_until: float
    convex_until: float
    mode: float


def tanh_landmarks() -> TanhLandmarks:
    """The turning points of `tanh_density`, by root finding.

    With z = artanh y: log p has slope (2y - z) / (1 - y^2), and the signs of its second
    derivative and of p'' are those of 1 + 2y^2 - 2yz and 1 + 6y^2 - 6yz + z^2. Erfani et al. say
    that a density convex on |y| <= .9 hands the attacker a convex problem; it does not, for the
    attacker maximizes it.
    """

    def root(turn: Any, low: float, high: float) -> float:
        return float(brentq(turn, low, high, xtol=1e-14, rtol=1e-14))

    return TanhLandmarks(
        log_convex_until=root(lambda y: 1 + 2 * y * y - 2 * y * atanh(y), 0.5, 0.99),
        convex_until=root(lambda y: 1 + 6 * y * y - 6 * y * atanh(y) + atanh(y) ** 2, 0.5, 0.95),
        mode=root(lambda y: 2 * y - atanh(y), 0.5, 0.99),
    )


def guess_error_tail(d: float, alpha: float, *, guess: Literal["best", "random"] = "best") -> float:
    """P(|error| >= d) when an entry of T + D is guessed knowing T and D ~ U(-alpha, alpha).

    The best guess is T itself: 1 - d / alpha. The random guess of Erfani et al., Lemma 1, drawn
    from U(T - alpha, T + alpha), does worse: (1 - d / (2 alpha))^2; a report should use the
    best one. Raises `ValueError` when d < 0, alpha <= 0, or guess is neither.

    Examples
    --------
    >>> round(ig.theory.guess_error_tail(0.1, 0.1), 4)
    0.0
    """
    if not (np.isfinite(alpha) and alpha > 0):
        raise ValueError(f"alpha must be finite and > 0, got {alpha}")
    if not d >= 0:
        raise ValueError(f"d must be >= 0, got {d}")
    if guess == "best":
        return max(1 - d / alpha, 0.0)
    if guess == "random":
        return max(1 - d / (2 * alpha), 0.0) ** 2
    raise ValueError(f"guess must be 'best' or 'random', got {guess!r}")


def _check_curvature(curvature: float) -> None:
    if not (np.isfinite(curvature) and curvature > 0):
        raise ValueError(f"curvature must be finite and > 0, got {curvature}")
