"""Exact mass functions of the noise, and how well draws agree with them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from isinglass.detect.private.verification.confidence import share_p_value

Draws = NDArray[np.int64]

#: Multiples of the scale at which tails are compared.
_TAILS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0)
_SUMMED = 10_000.0  # up to this scale, masses of the discrete Gaussian are added one by one
_REACH = 40  # scales beyond which float64 holds no mass of it
_DIVISORS = (2, 4, 64)  # of draws: float noise lacks the last digits, or has too few odd numbers
_EVEN = 20  # scales of so many divisors at which the remainders of a Gaussian are even, to 1e-300


def noise_p_value(noise: Draws, scale: float, *, pure: bool) -> float:
    """The chance that exact noise disagrees this much with its mass function, at most.

    Every event is compared by an exact binomial test, and the smallest chance is multiplied by
    their number.
    """
    found = [share_p_value(int(hits), len(noise), p) for hits, p in _events(noise, scale, pure)]
    return min(1.0, min(found) * len(found))


def upper_tail(least: int, scale: float, *, pure: bool) -> float:
    """The chance that the noise is `least` or more, which is at least 1."""
    if pure:  # the sum of a geometric series
        return math.exp(-least / scale) / (1 + math.exp(-1 / scale))
    if scale > _SUMMED:  # the error of the integral is a share of about 1 / scale**2
        return float(ndtr(-(least - 0.5) / scale))
    reach = math.ceil(_REACH * scale) + 1
    mass = np.exp(-((np.arange(reach + 1) / scale) ** 2) / 2)
    return float(mass[least:].sum() / (2 * mass.sum() - 1))


def divisible(divisor: int, scale: float, *, pure: bool) -> float:
    """The chance that the noise is a multiple of a number."""
    if pure:
        once, often = 1 / scale, divisor / scale
        return math.tanh(once / 2) / math.tanh(often / 2)
    if scale > _EVEN * divisor:
        return 1 / divisor
    reach = math.ceil(_REACH * scale) + 1
    mass = np.exp(-((np.arange(reach + 1) / scale) ** 2) / 2)
    return float((2 * mass[::divisor].sum() - 1) / (2 * mass.sum() - 1))


def _events(noise: Draws, scale: float, pure: bool) -> Iterator[tuple[int, float]]:
    """How often something is seen, and its exact chance."""
    for least in sorted({max(1, math.ceil(multiple * scale)) for multiple in _TAILS}):
        chance = upper_tail(least, scale, pure=pure)
        above, below = (noise >= least).sum(), (noise <= -least).sum()
        yield above, chance
        yield below, chance
        yield above + below, 2 * chance
    for divisor in _DIVISORS:
        yield (noise % divisor == 0).sum(), divisible(divisor, scale, pure=pure)
