"""E f(X) f(Y) for a normal pair, written out for the activations that allow it.

Every arcsine is taken as the two-argument arctangent of the same triangle's sides, so nothing is
lost when the correlation nears 1 or the norms are large.
"""

from __future__ import annotations

from collections.abc import Callable
from math import atan2, pi, sqrt

import numpy as np

from isinglass.activations import ACTIVATIONS, BEST_CURVATURE, Activation
from isinglass.theory.quadrature import Pair

# A logistic variable is a normal one of random scale 2 K, with K of Kolmogorov's law (Stefanski
# 1991), so tanh(z) = E erf(z / (sqrt 2 K)). This is the 16-point Gauss rule for that law:
# nodes and weights. Products of two tanh are right to 1e-11 at every norm and correlation.
_KOLMOGOROV = np.array(
    [
        [0.342489728072296, 1.007985899121139e-03],
        [0.434426188315408, 2.303968036235971e-02],
        [0.543685467484864, 1.154629808525967e-01],
        [0.676684543815171, 2.373302031257999e-01],
        [0.836539796546278, 2.693679197385670e-01],
        [1.023302325755454, 1.996429786125801e-01],
        [1.234468522029186, 1.041487711384453e-01],
        [1.467008246866758, 3.844638202463081e-02],
        [1.718940858896959, 9.749618366465517e-03],
        [1.989504477586121, 1.625052349763130e-03],
        [2.279098814286445, 1.681275693642324e-04],
        [2.589494771634804, 9.991381776988793e-06],
        [2.924452226719447, 3.045912464917075e-07],
        [3.291255446164529, 3.971518917788394e-09],
        [3.705103592109390, 1.578057352255922e-11],
        [4.207175651250870, 8.256966146499499e-15],
    ]
)


def product(activation: Activation, pair: Pair) -> float | None:
    """E f(X) f(Y) in closed form, or None where there is none for this activation and pair."""
    form = _FORMS.get(activation.name)
    # A user's own function may carry the name of one of ours.
    if form is None or ACTIVATIONS.get(activation.name) is not activation:
        return None
    # Below this norm the four terms of the double logistic cancel to nothing.
    if activation.name == "double_logistic" and min(pair.s, pair.t) < 0.1:
        return None
    return form(pair)


def _identity(pair: Pair) -> float:
    return pair.c


def _square(pair: Pair) -> float:
    return (pair.s * pair.t) ** 2 + 2 * pair.c**2


def _sign(pair: Pair) -> float:
    return 2 / pi * atan2(pair.c, pair.s * pair.t * pair.sine)


def _erf(pair: Pair) -> float:
    # (1 + 2 s^2)(1 + 2 t^2) - (2 c)^2, the square of the adjacent side.
    adjacent = 1 + 2 * pair.s**2 + 2 * pair.t**2 + 4 * pair.determinant
    return 2 / pi * atan2(2 * pair.c, sqrt(adjacent))


def _relu(pair: Pair) -> float:
    # Cho and Saul 2009, the arc-cosine kernel of degree 1.
    if pair.s * pair.t == 0:
        return 0.0
    angle = atan2(pair.sine, pair.cosine)
    return pair.s * pair.t / (2 * pi) * max(pair.sine + pair.cosine * (pi - angle), 0.0)


def _tanh(pair: Pair) -> float:
    u2, weight = np.square(_KOLMOGOROV[:, 0]), _KOLMOGOROV[:, 1]
    s2, t2 = pair.s**2, pair.t**2
    # (s^2 + u^2)(t^2 + v^2) - c^2 over all pairs of nodes u, v.
    adjacent = pair.determinant + s2 * u2 + t2 * u2[:, None] + u2 * u2[:, None]
    return float(weight @ np.arctan2(pair.c, np.sqrt(adjacent)) @ weight) * 2 / pi


def _sigmoid(pair: Pair) -> float:
    # The logistic function is (1 + tanh(z / 2)) / 2, and tanh averages to 0.
    return (1 + _tanh(pair.scaled(0.5))) / 4


def _double_logistic(pair: Pair) -> float:
    def term(a: float, b: float) -> float:
        """E sgn(X) sgn(Y) exp(-a X^2 - b Y^2)."""
        d = 1 + 2 * a * pair.s**2 + 2 * b * pair.t**2 + 4 * a * b * pair.determinant
        return 2 / pi * atan2(pair.c, sqrt(pair.determinant * d)) / sqrt(d)

    b = BEST_CURVATURE
    return term(0, 0) - term(b, 0) - term(0, b) + term(b, b)


_FORMS: dict[str, Callable[[Pair], float]] = {
    "identity": _identity,
    "square": _square,
    "sign": _sign,
    "erf": _erf,
    "relu": _relu,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "double_logistic": _double_logistic,
}
