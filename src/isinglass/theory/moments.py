"""Moments of inner products and distances under random distortion, and of one hidden unit.

A record x leaves as B + Q f(slope (A + W x)). W (n_hidden rows), A, Q (n_components rows) and B
have independent normal entries of standard deviations sigma_w, sigma_a, sigma_q, sigma_b. In one
hidden coordinate two records become a normal pair (X, Y) with s^2 = sigma_w^2 |x|^2 + sigma_a^2,
t^2 likewise for y, and c = sigma_w^2 x.y + sigma_a^2; everything below is an average over it.

Reference: Bhaduri, Stefanski and Srivastava, "Privacy-preserving outlier detection through random
nonlinear data distortion", 2011. Lemma 6.3 is printed wrong there; what stands here was derived
anew and checked by simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.activations import ACTIVATIONS, Activation
from isinglass.activations import activation as look_up
from isinglass.theory.quadrature import Pair, check_scale, expect, expect_pair

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The sizes and scales of a distortion with normal weights; standard deviations throughout.

    Raises `ValueError` when a size is below 1, a scale is negative or not finite, or sigma_w or
    slope is 0.

    Examples
    --------
    >>> setting = ig.theory.Setting(n_hidden=60, n_components=29)
    >>> setting.n_hidden
    60
    """

    n_hidden: int
    n_components: int
    sigma_w: float = 1.0
    sigma_a: float = 1.0
    sigma_q: float = 1.0
    sigma_b: float = 0.0
    slope: float = 1.0

    def __post_init__(self) -> None:
        for size in ("n_hidden", "n_components"):
            if not getattr(self, size) >= 1:
                raise ValueError(f"{size} must be >= 1, got {getattr(self, size)}")
        for scale in ("sigma_a", "sigma_q", "sigma_b"):
            check_scale(scale, getattr(self, scale))
        for scale in ("sigma_w", "slope"):
            check_scale(scale, getattr(self, scale), positive=True)

    def pair(self, x: ArrayLike, y: ArrayLike) -> Pair:
        """The normal pair that x and y become in one hidden coordinate, times the slope."""
        return Pair.of_records(x, y, self.sigma_w, self.sigma_a, slope=self.slope)


def expected_product(
    activation: ActivationLike, s: float, t: float, c: float, *, slope: float = 1.0
) -> float:
    """E f(slope X) f(slope Y) for the normal pair with standard deviations s, t, covariance c.

    The integral in Bhaduri et al., eq. 12. In closed form for every activation of the package;
    by quadrature for a function of one's own, to about ten digits if it is smooth away from 0.
    Raises `ValueError` for moments no pair has, and when the quadrature does not settle.

    Examples
    --------
    >>> round(ig.theory.expected_product('identity', 1.0, 1.0, 0.5), 4)
    0.5
    """
    return product_of(resolve(activation), Pair.of_moments(s, t, c, slope=slope))


def expected_square(activation: ActivationLike, s: float, *, slope: float = 1.0) -> float:
    """E f(slope X)^2 for X ~ N(0, s^2); `expected_product` with X = Y, and fails as it does.

    Examples
    --------
    >>> round(ig.theory.expected_square('tanh', 1.0), 4)
    0.3943
    """
    return square_of(resolve(activation), Pair.of_moments(s, s, s * s, slope=slope).s)


def hidden_moments(
    activation: ActivationLike, s: float, t: float, c: float, *, slope: float = 1.0
) -> HiddenMoments:
    """All six moments of one hidden coordinate; see `HiddenMoments` and `expected_product`.

    Examples
    --------
    >>> round(ig.theory.hidden_moments('identity', 1.0, 1.0, 0.5).c_f, 4)
    0.5
    """
    return moments_of(resolve(activation), Pair.of_moments(s, t, c, slope=slope))


def expected_inner_product(
    x: ArrayLike, y: ArrayLike, activation: ActivationLike, setting: Setting
) -> float:
    """E[x*.y*] of the distorted records: p sigma_b^2 + p m sigma_q^2 c_f.

    Bhaduri et al., eq. 12, with p = n_components, m = n_hidden. Raises `ValueError` when x and y
    are not finite vectors of one length or the activation cannot be averaged.

    Examples
    --------
    >>> setting = ig.theory.Setting(n_hidden=60, n_components=29)
    >>> round(float(ig.theory.expected_inner_product([0.1, 0.4], [0.3, 0.2], 'tanh', setting)), 4)
    700.2534
    """
    c_f = product_of(resolve(activation), setting.pair(x, y))
    p, m = setting.n_components, setting.n_hidden
    return p * setting.sigma_b**2 + p * m * setting.sigma_q**2 * c_f


def variance_inner_product(
    x: ArrayLike, y: ArrayLike, activation: ActivationLike, setting: Setting
) -> float:
    """Var(x*.y*) over the draw of the key. Fails as `expected_inner_product` does.

    Bhaduri et al., Lemma 6.3, corrected: the print has 3 p kappa for (p + 2) kappa and lacks
    2 c_f and (m - 1) c_f^2, so it is right only for p = m = 1 and sigma_b = 0.

    Examples
    --------
    >>> setting = ig.theory.Setting(n_hidden=60, n_components=29)
    >>> round(float(ig.theory.variance_inner_product([0.1, 0.4], [0.3, 0.2], 'tanh', setting)), 4)
    41019.8301
    """
    h = moments_of(resolve(activation), setting.pair(x, y))
    p, m = setting.n_components, setting.n_hidden
    b2, q2 = setting.sigma_b**2, setting.sigma_q**2
    # Given F = f(A + Wx) and G = f(A + Wy), the p coordinate pairs are independent centered
    # normals with variances al = b2 + q2 F.F, be = b2 + q2 G.G and covariance ga = b2 + q2 F.G;
    # so the variance is p E[al be + ga^2] + p^2 Var(ga).
    offset = 2 * p * b2**2 + p * m * b2 * q2 * (h.mu_x + h.mu_y + 2 * h.c_f)
    own = (p + 2) * h.kappa - p * h.c_f**2
    across = (m - 1) * (h.mu_x * h.mu_y + h.c_f**2)
    return offset + p * m * q2**2 * (own + across)


def expected_squared_distance(
    x: ArrayLike, y: ArrayLike, activation: ActivationLike, setting: Setting
) -> float:
    """E |x* - y*|^2 of the distorted records: p m sigma_q^2 h2. Fails as the inner product does.

    Follows from Bhaduri et al., eq. 12. The offset B drops out of every distance.

    Examples
    --------
    >>> setting = ig.theory.Setting(n_hidden=60, n_components=29)
    >>> found = ig.theory.expected_squared_distance([0.1, 0.4], [0.3, 0.2], 'tanh', setting)
    >>> round(float(found), 4)
    60.2379
    """
    pair = setting.pair(x, y)
    h2 = moments_of(resolve(activation), pair).h2
    return setting.n_components * setting.n_hidden * setting.sigma_q**2 * h2


def variance_squared_distance(
    x: ArrayLike, y: ArrayLike, activation: ActivationLike, setting: Setting
) -> float:
    """Var |x* - y*|^2 over the draw of the key. Fails as `expected_inner_product` does.

    p m sigma_q^4 ((p + 2) h4 + (2 (m - 1) - p) h2^2); the paper has no such formula. It follows
    as Lemma 6.3 does: given D = F - G, x* - y* is normal with variance sigma_q^2 |D|^2.

    Examples
    --------
    >>> setting = ig.theory.Setting(n_hidden=60, n_components=29)
    >>> found = ig.theory.variance_squared_distance([0.1, 0.4], [0.3, 0.2], 'tanh', setting)
    >>> round(float(found), 4)
    489.902
    """
    h = moments_of(resolve(activation), setting.pair(x, y))
    p, m = setting.n_components, setting.n_hidden
    return p * m * setting.sigma_q**4 * ((p + 2) * h.h4 + (2 * (m - 1) - p) * h.h2**2)


def mean_squared_slope(activation: ActivationLike, sigma_a: float, slope: float = 1.0) -> float:
    """E (d/dz f(slope z))^2 at z = A ~ N(0, sigma_a^2): how steep f is where records near 0 fall.

    There E |x* - y*|^2 is about p m sigma_q^2 sigma_w^2 times this times |x - y|^2 (from
    Bhaduri et al., eq. 12). A function of one's own is differentiated numerically, to about
    eight digits. Raises `ValueError` for sign, which has no slope to speak of, and for a
    function whose difference quotient at 0 grows without end.

    Examples
    --------
    >>> round(ig.theory.mean_squared_slope('tanh', 1.0), 4)
    0.4644
    """
    check_scale("sigma_a", sigma_a)
    check_scale("slope", slope, positive=True)
    f = resolve(activation)
    if f is ACTIVATIONS["sign"]:
        raise ValueError("activation must have a derivative, got 'sign'")
    if f is ACTIVATIONS["relu"]:
        return slope**2 / 2  # for sigma_a = 0 too, as the average over both sides of the kink
    s = slope * sigma_a
    if f is ACTIVATIONS["square"]:
        return 4 * slope**2 * s**2
    if f.derivative is not None:
        derivative = f.derivative
        return slope**2 * expect(lambda z: np.square(derivative(z)), s)
    coarse, fine = (_differenced(f.function, s, step) for step in (1e-5, 5e-6))
    if fine > 1.5 * coarse + 1e-6:
        raise ValueError(f"activation must not jump where A falls, got {f.name!r}, which does")
    return slope**2 * fine


def _differenced(function: Callable[[Array], Array], s: float, step: float) -> float:
    """E f'(X)^2 from the mean of both one-sided difference quotients, squared.

    The error is of second order in the step, and a kink counts half for each side.
    """

    def squared(z: Array) -> Array:
        h = step * np.maximum(1, np.abs(z))
        here = function(z)
        ahead, behind = (function(z + h) - here) / h, (here - function(z - h)) / h
        return np.asarray((np.square(ahead) + np.square(behind)) / 2)

    return expect(squared, s)


def distance_preserving_sigma_q(
    activation: ActivationLike,
    n_hidden: int,
    n_components: int,
    sigma_w: float,
    sigma_a: float,
    slope: float = 1.0,
) -> float:
    """The sigma_q that keeps squared distances between records near 0, on average over keys.

    1 / (sigma_w sqrt(p m E f'(A)^2)), from Bhaduri et al., eq. 12, with `mean_squared_slope`.
    For the identity it keeps all of them, with relative spread sqrt(2/m + 2/p + 4/(p m)) in one
    draw. Sign has no linear regime; it gets 1 / sqrt(p m), so that the mean squared distance is
    that of the hidden signs, 0 to 4. Raises `ValueError` when f is flat where A falls (square
    and double logistic with sigma_a = 0): then sigma_q must be given.

    Examples
    --------
    >>> round(ig.theory.distance_preserving_sigma_q('identity', 60, 29, 1.0, 1.0), 4)
    0.024
    """
    Setting(
        n_hidden=n_hidden,
        n_components=n_components,
        sigma_w=sigma_w,
        sigma_a=sigma_a,
        slope=slope,
    )
    f = resolve(activation)
    if f is ACTIVATIONS["sign"]:
        return 1 / sqrt(n_components * n_hidden)
    steepness = mean_squared_slope(f, sigma_a, slope)
    if not steepness > 0:
        raise ValueError(
            f"sigma_q must be given for activation {f.name!r} with sigma_a = {sigma_a}: it is "
            "flat there, so no scale keeps small distances"
        )
    return 1 / (sigma_w * sqrt(n_components * n_hidden * steepness))


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
    from isinglass.theory import closed_forms  # a release needs the slope alone

    closed = closed_forms.product(activation, pair)
    if closed is not None:
        return closed
    f = activation.function
    return float(expect_pair(lambda x, y: (f(x) * f(y))[None], pair)[0])


def square_of(activation: Activation, s: float) -> float:
    """E f(X)^2 for X ~ N(0, s^2): the closed form, or quadrature where there is none."""
    from isinglass.theory import closed_forms

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
