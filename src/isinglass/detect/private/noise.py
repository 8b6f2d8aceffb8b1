"""Noise and its price: discrete Gaussian and discrete Laplace from OpenDP, whose only door this is.

A record adds 1 to at most K cells of a round, whatever the table. k records a person therefore
change the counts by at most k K in the sum of changes and k sqrt(K) in the root of their squares.
Discrete Gaussian noise of scale s on every cell then costs K k^2 / (2 s^2) of zero-concentrated
differential privacy (zCDP; Canonne, Kamath, Steinke 2020), and rounds add up although the second
depends on the first. Discrete Laplace noise of scale s costs k K / s of pure epsilon.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.epsilon import FEMTO, fraction
from isinglass.threads import spread

Counts = NDArray[np.int64]

_LAST_SHARE = Fraction(1, 20)
SLICE = 1 << 13  # cells that a thread draws noise for at a time


@dataclass(frozen=True, slots=True)
class RoundNoise:
    """The noise on every cell of one round.

    `cells` is the most cells that one record moves, `records` the most records of one person.
    """

    cells: int
    records: int
    scale: float
    pure: bool

    def cost(self) -> Fraction:
        """OpenDP's price: rho of zCDP or, where pure, epsilon."""
        mechanism = _laplace(self.scale) if self.pure else _gaussian(self.scale)
        return Fraction(mechanism.map(sensitivity(self.cells, self.records, pure=self.pure)))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, nearly: which estimates rely on, and no price."""
        return self.scale * math.sqrt(2) if self.pure else self.scale


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """What a model costs one person, and the noise of its rounds.

    `micro` is epsilon in millionths, `femto` delta in parts of 10**-15; 0 means pure epsilon.
    `rho` is the zCDP that the rounds share, None where pure.
    """

    micro: int
    femto: int
    records: int
    rho: Fraction | None
    rounds: tuple[RoundNoise, ...]
    _scale: float = field(repr=False)  # of noise that costs `rho` where one cell changes by one

    @property
    def pure(self) -> bool:
        return self.femto == 0

    def epsilon_for(self, records: int) -> float:
        """The epsilon, at the same delta, of somebody who has so many records in the table.

        rho grows with the square of the records, and is converted anew: `records` times epsilon
        would be too little where delta is not 0. Infinite where no epsilon is known.
        """
        if self.pure:
            return float(fraction(self.micro) * records / self.records)
        try:
            return _converted(self._scale, self.femto, _up(Fraction(records, self.records)))
        except _refusals():
            return math.inf


def price_rounds(
    micro: int, femto: int, cells: Sequence[int], *, last: int | None = None, records: int = 1
) -> ModelPrice:
    """The noise of all rounds of a model, for what one person may lose.

    `cells` has an entry for each round; these divide the price equally, except for a twentieth
    that goes to a `last`, small round if there is one. This is the only place where scales are
    computed: each is the smallest float64 whose price, by OpenDP's map, stays within its share.
    """
    pure = femto == 0
    rho, base = None, 0.0
    if not pure:
        base = _scale_for_all(micro, femto)
        rho = Fraction(_gaussian(base).map(1.0))
    whole = fraction(micro) if rho is None else rho
    end = Fraction(0) if last is None else _LAST_SHARE
    moved = [(n, (1 - end) / len(cells)) for n in cells] + ([] if last is None else [(last, end)])
    rounds = tuple(_round_noise(n, records, whole * share, pure) for n, share in moved)
    if sum(r.cost() for r in rounds) > whole:  # a check of the arithmetic above, not of a setting
        raise AssertionError("the rounds cost more than the model")
    return ModelPrice(micro, femto, records, rho, rounds, base)


def add_noise(counts: Counts, noise: RoundNoise, *, n_jobs: int | None = 1) -> Counts:
    """`counts` with noise drawn afresh for every cell; nobody can repeat the draw.

    The noise of each cell is independent, so threads share the cells among them.
    """
    if counts.dtype != np.int64 or counts.ndim != 1:
        raise TypeError("counts must be a vector of 64-bit integers")
    if not 0 < noise.scale < math.inf:  # OpenDP takes 0, which would let the counts out as they are
        raise ValueError(f"noise must have a scale > 0, got {noise.scale:g}")
    mechanism = _laplace(noise.scale) if noise.pure else _gaussian(noise.scale)
    noised = np.empty_like(counts)

    def draw(start: int, stop: int) -> None:
        noised[start:stop] = mechanism(counts[start:stop])

    spread(draw, len(counts), n_jobs=n_jobs, step=SLICE)
    return noised


def sensitivity(cells: int, records: int, *, pure: bool) -> float | int:
    """The most that one person's records change a round's counts by, rounded up.

    The sum of the changes, as a whole number, where pure; else the root of their squares.
    """
    if pure:
        return cells * records
    root = math.sqrt(cells * records**2)
    while Fraction(root) ** 2 < cells * records**2:
        root = math.nextafter(root, math.inf)
    return root


@functools.lru_cache(maxsize=64)
def _round_noise(cells: int, records: int, most: Fraction, pure: bool) -> RoundNoise:
    def affordable(scale: float) -> bool:
        return RoundNoise(cells, records, scale, pure).cost() <= most

    return RoundNoise(cells, records, _smallest(affordable), pure)


@functools.lru_cache(maxsize=64)
def _scale_for_all(micro: int, femto: int) -> float:
    """The smallest scale at which a cell that changes by one costs at most (epsilon, delta)."""

    def affordable(scale: float) -> bool:
        return Fraction(_converted(scale, femto, 1.0)) <= fraction(micro)

    return _smallest(affordable)


def _smallest(affordable: Callable[[float], bool]) -> float:
    """The smallest float64 that is affordable: whatever is larger is, too."""
    too_much: tuple[type[Exception], ...] = (*_refusals(), OverflowError)

    def holds(scale: float) -> bool:
        try:
            return affordable(scale)
        except too_much:
            return False

    high = 1.0
    while not holds(high):
        high *= 2
    low = high / 2
    while holds(low):
        low, high = low / 2, low
    while (middle := low + (high - low) / 2) not in (low, high):
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _converted(scale: float, femto: int, change: float) -> float:
    """OpenDP's epsilon at delta of Gaussian noise on a cell that changes by so much."""
    delta = femto / FEMTO
    if Fraction(delta) > Fraction(femto, FEMTO):
        delta = math.nextafter(delta, 0)
    curve = _opendp().c.make_zCDP_to_approxDP(_gaussian(scale)).map(change)
    return float(curve.epsilon(delta))


def _up(ratio: Fraction) -> float:
    """The smallest float64 that is not below a fraction, or the next."""
    near = float(ratio)
    return near if Fraction(near) >= ratio else math.nextafter(near, math.inf)


def _gaussian(scale: float) -> Any:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return dp.m.make_gaussian(*space, scale=scale)


def _laplace(scale: float) -> Any:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return dp.m.make_laplace(*space, scale=scale)


def _refusals() -> tuple[type[Exception], ...]:
    """What OpenDP raises for a price that it cannot compute."""
    from opendp.mod import OpenDPException

    return (OpenDPException,)


@functools.cache
def _opendp() -> Any:
    """OpenDP, loaded when the first price is asked for: it takes a second."""
    import opendp.prelude as dp

    dp.enable_features("contrib")  # as OpenDP calls all its proven mechanisms
    return dp
