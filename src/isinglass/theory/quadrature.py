"""Normal pair of a hidden unit's inputs for two records, and averages over it by quadrature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Pair:
    """A centered normal pair: standard deviations s and t, covariance c.

    `sine` is sqrt(1 - rho^2) and `gap` is E(X - Y)^2. Both are stored, not derived from c,
    because c has already lost them to rounding when the two records are close.
    """

    s: float
    t: float
    c: float
    sine: float
    gap: float

    @classmethod
    def of_moments(cls, s: float, t: float, c: float, *, slope: float = 1.0) -> Pair:
        """The pair with the given moments, both variables multiplied by `slope`.

        Raises `ValueError` when a moment is not finite, s or t is negative, or |c| > s t (a
        relative excess of 1e-9 passes as rounding).
        """
        check_scale("s", s)
        check_scale("t", t)
        if not abs(c) <= s * t * (1 + 1e-9):
            raise ValueError(f"|c| must be <= s t = {s * t}, got c = {c}")
        check_scale("slope", slope, positive=True)
        s, t, c = slope * s, slope * t, slope * slope * c
        c = min(max(c, -s * t), s * t)
        rho = c / (s * t) if s * t > 0 else 0.0
        sine = float(np.sqrt((1 - rho) * (1 + rho)))
        return cls(s, t, c, sine, (s - t) ** 2 + 2 * (s * t - c))

    @classmethod
    def of_records(
        cls, x: ArrayLike, y: ArrayLike, sigma_w: float, sigma_a: float, *, slope: float = 1.0
    ) -> Pair:
        """A + W.x and A + W.y, times `slope`, for normal W and A of the given scales.

        Raises `ValueError` when the records are not finite vectors of one length.
        """
        first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        if first.ndim != 1 or first.shape != second.shape:
            raise ValueError(
                f"x and y must be vectors of one length, got shapes {first.shape}, {second.shape}"
            )
        if not (np.isfinite(first).all() and np.isfinite(second).all()):
            raise ValueError("x and y must be finite, got a value that is not")
        check_scale("slope", slope, positive=True)
        # The offset A is one more coordinate, on which every record has the value 1.
        first = slope * np.append(sigma_w * first, sigma_a)
        second = slope * np.append(sigma_w * second, sigma_a)
        s, t = float(np.linalg.norm(first)), float(np.linalg.norm(second))
        difference, total = second - first, second + first
        if s * t > 0:
            # The part of `second` that is orthogonal to `first`; the shorter of difference and
            # total has the same part, and fewer digits to lose.
            short = min(difference, total, key=lambda vector: float(np.linalg.norm(vector)))
            direction = first / s
            sine = min(float(np.linalg.norm(short - (short @ direction) * direction)) / t, 1.0)
        else:
            sine = 1.0
        return cls(s, t, float(first @ second), sine, float(difference @ difference))

    @property
    def cosine(self) -> float:
        """The correlation rho, 0 when s or t is."""
        if self.s * self.t == 0:
            return 0.0
        if self.sine < 0.5:
            return float(np.copysign(np.sqrt((1 - self.sine) * (1 + self.sine)), self.c))
        return self.c / (self.s * self.t)

    @property
    def determinant(self) -> float:
        """s^2 t^2 - c^2."""
        return (self.s * self.t * self.sine) ** 2

    def scaled(self, factor: float) -> Pair:
        """The pair with both variables multiplied by `factor` > 0."""
        square = factor * factor
        return Pair(factor * self.s, factor * self.t, square * self.c, self.sine, square * self.gap)


def check_scale(name: str, value: float, *, positive: bool = False) -> None:
    """Raise `ValueError` unless `value` is finite and >= 0, or > 0 where it must be positive."""
    if not np.isfinite(value) or value < 0 or (positive and value == 0):
        raise ValueError(f"{name} must be finite and {'>' if positive else '>='} 0, got {value}")


Array = NDArray[Any]

_REACH = 9.0  # standard deviations; the normal mass beyond is 2e-19
_NARROWEST = 1e-9
_SIZES = (80, 120, 400)  # nodes a panel, tried in turn until two answers agree
_LAST_RESORT = 4000  # affordable for a single variable only
_SETTLED = 1e-10
_TOLERATED = 5e-3  # of what a jump away from 0 still changes at the finest nodes


def expect(function: Callable[[Array], Array], scale: float) -> float:
    """E function(X) for X ~ N(0, scale^2).

    Nodes are graded: dense where |X| is about 1 or less, so that neither a large `scale` nor a
    kink at 0 costs digits. Raises `ValueError` when the answer is not finite or when finer
    nodes keep changing it, as with a function that oscillates far from 0.
    """

    def attempt(size: int) -> tuple[Array, Array]:
        u, weight = _graded(np.zeros(()), _width(scale), size)
        return np.asarray(function(scale * u))[None], weight

    return float(_settle(attempt, (*_SIZES, _LAST_RESORT))[0])


def expect_pair(function: Callable[[Array, Array], Array], pair: Pair) -> Array:
    """E function(X, Y) for the normal pair; `function` may stack several results on axis 0.

    With X = s u and Y = t (cos u + sin v), u and v independent: the nodes in v are graded about
    the place where Y = 0, so kinks at X = 0 and Y = 0 fall between panels. Fails as `expect`
    does. About ten digits for functions that are smooth away from 0; a kink elsewhere leaves
    about four, a jump about three.
    """

    def attempt(size: int) -> tuple[Array, Array]:
        narrow = max(min(_width(pair.s), _width(pair.t), pair.sine), _NARROWEST)
        if pair.sine == 0:
            u, weight = _graded(np.zeros(()), _width(max(pair.s, pair.t)), size)
            return function(pair.s * u, pair.t * pair.cosine * u), weight
        u, weight_u = _graded(np.zeros(()), narrow, size)
        v, weight_v = _graded(-pair.cosine * u / pair.sine, _width(pair.t * pair.sine), size)
        u, weight_u = u[:, None], weight_u[:, None]
        y = pair.t * (pair.cosine * u + pair.sine * v)
        return function(np.broadcast_to(pair.s * u, y.shape), y), weight_u * weight_v

    return _settle(attempt, _SIZES)


def _settle(attempt: Callable[[int], tuple[Array, Array]], sizes: tuple[int, ...]) -> Array:
    """Refine until two answers agree, relative to the average of the absolute value."""
    previous: Array | None = None
    worst = np.inf
    for size in sizes:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            values, weight = attempt(size)
            terms = (values * weight).reshape(len(values), -1)
        answer, magnitude = terms.sum(axis=1), np.abs(terms).sum(axis=1)
        if not np.isfinite(answer).all():
            raise ValueError(
                "activation must stay finite out to nine standard deviations of its argument"
            )
        if previous is not None:
            worst = float(np.max(np.abs(answer - previous) / np.where(magnitude, magnitude, 1)))
            if worst <= _SETTLED:
                break
        previous = answer
    if worst > _TOLERATED:
        raise ValueError(
            "activation must vary slowly away from 0 to be averaged at this scale; "
            f"two sets of nodes differ by {worst:.1g}"
        )
    return np.asarray(answer)


def _width(scale: float) -> float:
    """The width, in standard deviations, of the stretch where |X| <= 1."""
    return 1.0 if scale <= 1 else 1 / scale


def _graded(center: Array, width: float, size: int) -> tuple[Array, Array]:
    """Nodes on [-9, 9], `width` apart near `center` and ever wider off it, with normal weights.

    The nodes are Gauss-Legendre in z on two panels that meet at z = 0, with the point at
    center + width sinh z. A new last axis holds the nodes of each center.
    """
    unit, weight = _legendre(size)
    middle = np.clip(center, -_REACH, _REACH)[..., None]
    left = np.arcsinh((-_REACH - middle) / width)
    right = np.arcsinh((_REACH - middle) / width)
    z = np.concatenate([left * unit, right * unit], axis=-1)
    length = np.concatenate([-left * weight, right * weight], axis=-1)
    points = middle + width * np.sinh(z)
    density = np.exp(-np.square(points) / 2) / np.sqrt(2 * np.pi)
    return points, length * width * np.cosh(z) * density


@lru_cache(maxsize=8)
def _legendre(size: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [0, 1], in blocks of 400 at most."""
    blocks = max(1, size // 400)
    nodes, weights = np.polynomial.legendre.leggauss(size // blocks)
    starts = np.arange(blocks)[:, None]
    return ((nodes + 1) / 2 + starts).ravel() / blocks, np.tile(weights / (2 * blocks), blocks)
