"""Averages over one or two normal variables, at any scale and any correlation."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.theory.pair import Pair

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
