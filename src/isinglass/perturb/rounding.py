"""Rounding of noisy numbers, so that their last digits tell nothing of what lies beneath.

Noise is one of 2**52 numbers. Of a float64 that is a value plus such a number, whoever holds a list
of candidate values can say that most of them never give it, whatever the size of the noise. On a
grid so coarse that each of its points stands for very many of those numbers, every candidate
gives every point, with the probability that the law of the noise says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.perturb.base import Perturbation
from isinglass.perturb.key import KeyFile

Array = NDArray[Any]

#: The grid is at most this part of the noise's deviation. Within 6.5 deviations a point then stands
#: for several numbers of the noise at the least, and for 2**32 in the middle.
_FINENESS = 2.0**-18


class RoundedNoise(Perturbation):
    """A perturbation that draws noise and rounds what it releases.

    Keys written before releases were rounded make the releases that they made then.
    """

    rounds_noise = True

    def key_file(self) -> KeyFile:
        stored = super().key_file()
        stored.facts["rounded"] = self.rounds_noise
        return stored

    def _restore(self, stored: KeyFile) -> None:
        super()._restore(stored)
        self.rounds_noise = stored.facts.get("rounded", False) is True


def noise_grid(deviations: ArrayLike) -> Array:
    """The grid of numbers with noise of these deviations: powers of two, 0 where there is none."""
    scales = np.asarray(deviations, dtype=np.float64)
    exponents = np.frexp(scales)[1] - 1  # the power of two at or below each
    return np.where(scales > 0, np.ldexp(_FINENESS, exponents), 0.0)


def round_to_grid(values: Array, grid: Array) -> None:
    """Round float64 numbers in place to multiples of each column's grid; 0 leaves a column."""
    live = grid > 0
    if not live.any():
        return
    step = np.where(live, grid, 1.0)
    with np.errstate(over="ignore"):  # so far out that float64 is coarser than the grid
        rounded = values / step
        np.rint(rounded, out=rounded)
        rounded *= step
    np.copyto(values, rounded, where=live & np.isfinite(rounded))


def round_factors(values: Array, deviation: float) -> None:
    """Round in place to so many binary digits that products with noisy factors need no more."""
    digits = int(-np.log2(_FINENESS)) + max(0, 1 - int(np.frexp(deviation)[1]))
    if digits >= 52:
        return
    mantissa, exponent = np.frexp(values)
    np.rint(np.ldexp(mantissa, digits, out=mantissa), out=mantissa)
    np.ldexp(mantissa, exponent - digits, out=values)
