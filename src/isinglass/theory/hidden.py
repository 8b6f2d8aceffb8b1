"""Moments of one hidden unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.activations import ACTIVATIONS, Activation
from isinglass.activations import activation as look_up
from isinglass.theory import closed_forms
from isinglass.theory.pair import Pair
from isinglass.theory.quadrature import expect, expect_pair

Array = NDArray[Any]
ActivationLike = str | Activation | Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class HiddenMoments:
    """Moments of f(X), f(Y) in one hidden coordinate.

    mu_x = E f(X)^2, mu_y = E f(Y)^2, c_f = E f(X) f(Y), kappa = E f(X)^2 f(Y)^2,
    h2 = E (f(X) - f(Y))^2, h4 = E (f(X) - f(Y))^4.

    Examples
    --------
    >>> moments = ig.theory.hidden_moments('tanh', 1.0, 1.0, 0.5)
    >>> round(moments.c_f, 4)
    0.1863
    """

    mu_x: float
    mu_y: float
    c_f: float
    kappa: float
    h2: float
    h4: float


def resolve(activation: ActivationLike) -> Activation:
    """An activation by name, as it is, or wrapped around a function; `ValueError` otherwise."""
    return activation if isinstance(activation, Activation) else look_up(activation)


def product_of(activation: Activation, pair: Pair) -> float:
    """E f(X) f(Y) of a pair: the closed form, or quadrature where there is none."""
    closed = closed_forms.product(activation, pair)
    if closed is not None:
        return closed
    f = activation.function
    return float(expect_pair(lambda x, y: (f(x) * f(y))[None], pair)[0])


def square_of(activation: Activation, s: float) -> float:
    """E f(X)^2 for X ~ N(0, s^2): the closed form, or quadrature where there is none."""
    closed = closed_forms.product(activation, Pair(s, s, s * s, 0.0, 0.0))
    if closed is not None:
        return closed
    return expect(lambda x: np.square(activation.function(x)), s)


def moments_of(activation: Activation, pair: Pair) -> HiddenMoments:
    """The six hidden moments of a pair.

    h2 and h4 are averaged as differences, never as mu_x + mu_y - 2 c_f: records close together
    would be left with rounding.
    """
    mu_x, mu_y = square_of(activation, pair.s), square_of(activation, pair.t)
    c_f = product_of(activation, pair)
    if activation is ACTIVATIONS["identity"]:
        kappa = _fourth(pair.s**2, pair.t**2, pair.c)
        return HiddenMoments(mu_x, mu_y, c_f, kappa, pair.gap, 3 * pair.gap**2)
    if activation is ACTIVATIONS["square"]:
        # X^2 - Y^2 is the product of the normal variables X - Y and X + Y.
        total = 2 * pair.s**2 + 2 * pair.t**2 - pair.gap
        both = (pair.s - pair.t) * (pair.s + pair.t)
        kappa = _eighth(pair.s**2, pair.t**2, pair.c)
        h2, h4 = _fourth(pair.gap, total, both), _eighth(pair.gap, total, both)
        return HiddenMoments(mu_x, mu_y, c_f, kappa, h2, h4)
    if activation is ACTIVATIONS["sign"]:
        if pair.s * pair.t == 0:
            return HiddenMoments(mu_x, mu_y, c_f, 0.0, mu_x + mu_y, mu_x + mu_y)
        h2 = 4 / np.pi * float(np.arctan2(pair.sine, pair.cosine))
        return HiddenMoments(mu_x, mu_y, c_f, 1.0, h2, 4 * h2)

    def integrand(x: Array, y: Array) -> Array:
        fx, fy = activation.function(x), activation.function(y)
        apart = np.square(fx - fy)
        return np.stack([np.square(fx * fy), apart, np.square(apart)])

    kappa, h2, h4 = expect_pair(integrand, pair)
    return HiddenMoments(mu_x, mu_y, c_f, float(kappa), float(h2), float(h4))


def _fourth(a: float, b: float, c: float) -> float:
    """E U^2 V^2 for centered normal U, V of variances a, b and covariance c."""
    return a * b + 2 * c**2


def _eighth(a: float, b: float, c: float) -> float:
    """E U^4 V^4 for centered normal U, V of variances a, b and covariance c."""
    return 9 * (a * b) ** 2 + 72 * a * b * c**2 + 24 * c**4
