"""Public projections: directions from a seed, and columns scaled by an integer asinh.

Everybody computes them anew from public numbers, so they are made of whole numbers alone: on every
machine they come out the same.
"""

from __future__ import annotations

import functools
import hashlib
import math
from operator import mul

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

ONE = 1 << 12  # 1 in tables of directions and of scaled values
LIMIT = 64  # scaled values lie between -LIMIT and LIMIT
FINE = 1 << 10  # parts of a cell in which the middle of a column is given
_UNIT = 60  # bits after the point of unit vectors
_SHIFT = 30  # bits after the point of logarithms
_LN_2 = 744_261_118  # round(2**30 ln 2)
_ASINH_1 = 946_367_683  # round(2**30 asinh 1)
_TERMS = 12  # of the series of atanh, which is asked at most for 1/3


@functools.lru_cache(maxsize=8)
def directions(seed: str, n_columns: int, n_projections: int) -> NDArray[np.float64]:
    """Unit vectors times `ONE`, one in each column, rounded to whole numbers.

    Each `n_columns` of them are orthogonal to each other before rounding. Their numbers are drawn
    by SHAKE-256 from the public seed; a sum of twelve uniform numbers is nearly normal, so that
    they point nearly evenly in all directions.
    """
    W = np.empty((n_columns, n_projections))
    units: list[list[int]] = []
    for t in range(n_projections):
        if t % n_columns == 0:
            units = []
        units.append(_unit(f"{seed}/{n_columns}/{t}", n_columns, units))
        half = 1 << (_UNIT - 1)
        W[:, t] = [(ONE * x + half) >> _UNIT for x in units[-1]]
    W.flags.writeable = False
    return W


def _unit(seed: str, n: int, others: list[list[int]]) -> list[int]:
    """A unit vector orthogonal to `others`, times 2**60: Gram and Schmidt's method."""
    for attempt in range(1 << 30):
        drawn = hashlib.shake_256(f"{seed}/{attempt}".encode()).digest(24 * n)
        uniform = np.frombuffer(drawn, dtype="<u2").reshape(n, 12).astype(np.int64)
        v = [int(x) << (_UNIT - 18) for x in 2 * uniform.sum(axis=1) - 12 * 65_535]
        for u in others:
            along = sum(map(mul, v, u)) >> _UNIT
            v = [x - (along * y >> _UNIT) for x, y in zip(v, u, strict=True)]
        length = math.isqrt(sum(map(mul, v, v)))
        if length >> (_UNIT - 10):  # else what is left is too short to have a direction
            return [(x << _UNIT) // length for x in v]
    raise AssertionError("unreachable")


def scaled(twice: Integers, middle: int, half: int) -> Integers:
    """round(ONE asinh((x - middle) / half) / asinh(1)), held to the limit, for places on the grid.

    `twice` holds twice the places, in cells; `middle` and `half` are whole parts of a cell, `FINE`
    of them in one. The result may be one off from the rounded value. With a the difference and h
    the half width, asinh(a/h) is the logarithm of (|a| + sqrt(a^2 + h^2)) / h.
    """
    a, h = twice * FINE - 2 * middle, 2 * half
    size = np.abs(a)
    # Eight times the root keeps three more bits: a and h are below 2**28, so nothing overflows.
    ratio = ((8 * size + _root(64 * (a * a + h * h))) << _SHIFT - 3) // h
    ratio = np.maximum(ratio, 1 << _SHIFT)
    units = (_logarithm(ratio) * ONE + _ASINH_1 // 2) // _ASINH_1
    return np.asarray(np.sign(a) * np.minimum(units, LIMIT * ONE))


def _root(square: Integers) -> Integers:
    """The whole part of the root: float64's, put right where its rounding shows."""
    root = np.sqrt(square).astype(np.int64)
    root -= root * root > square
    root += (root + 1) * (root + 1) <= square
    return root


def _logarithm(x: Integers) -> Integers:
    """2**30 times the logarithm of x / 2**30, which is at least 1."""
    twos = np.zeros_like(x)
    for bits in (16, 8, 4, 2, 1):
        large = x >> bits >= 1 << _SHIFT
        twos += bits * large
        x = np.where(large, x >> bits, x)
    # ln m = 2 atanh((m - 1) / (m + 1)) for m between 1 and 2
    one = 1 << _SHIFT
    s = ((x - one) << _SHIFT) // (x + one)
    square = s * s >> _SHIFT
    series = np.zeros_like(s)
    for k in range(_TERMS, -1, -1):
        series = one // (2 * k + 1) + (series * square >> _SHIFT)
    return np.asarray(2 * (s * series >> _SHIFT) + twos * _LN_2)
