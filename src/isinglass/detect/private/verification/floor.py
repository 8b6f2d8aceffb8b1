"""Empirical floor: the least price that attacks on the noise itself have shown, with confidence.

The attacker knows everything but whether somebody's records were counted: which cells they move,
and the law of the noise. His best test compares the likelihoods of all moved cells in all rounds.
To make the difference large beside the luck of the draws, the records of several such persons are
planted at once; what a group may lose follows from what one may, so a group that loses more than
that refutes the claim for one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.private.counts import RawCounts
from isinglass.detect.private.noise import RoundNoise
from isinglass.detect.private.verification.confidence import (
    expected_margin,
    highest_share,
    lowest_mean,
    lowest_share,
)
from isinglass.progress import Progress, quiet

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

#: The chance that a floor is higher than the truth, for each floor.
ERROR = 1e-6
_SEPARATION = 2.0  # deviations between the two hypotheses at which the bounds are tightest
_PILOT = 4  # one draw in so many more chooses the tests that the others are put to
_BATCH_CELLS = 1 << 14  # cells that get noise at a time
#: Of the loss, in the bound of rho; more than 1 where the noise is smaller than the claim says.
_FACTORS = (0.5, 0.65, 0.8, 1.0, 1.4, 2.0, 3.0, 4.0)
_CEILINGS = (0.7, 0.85, 0.95, 0.99)  # quantiles of the loss at which it is cut off there
_FLOOR_QUANTILE = 0.002
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Floor:
    """Lower bounds of what one person loses; `rho` is None where the claim is pure epsilon."""

    epsilon: float
    rho: float | None
    persons: int
    draws: int


@dataclass(frozen=True, slots=True)
class Target:
    """The cells of one round that a person's records move, how far, and the noise on them."""

    noise: RoundNoise
    moved: Counts


def measure_floor(
    targets: Sequence[Target],
    delta: float,
    draws: int,
    *,
    pure: bool,
    n_jobs: int | None = 1,
    progress: Progress = quiet,
) -> Floor:
    """Draw the noise with and without planted records, and bound epsilon and rho from below."""
    targets = [t for t in targets if len(t.moved)]
    if not targets:  # records that move nothing lose nothing
        return Floor(0.0, None if pure else 0.0, 1, 0)
    persons = group_size(targets)
    pilot = max(draws // _PILOT, 1)
    total, done = 2 * (pilot + draws), 0

    def losses(n: int, planted: bool) -> Floats:
        nonlocal done
        size = max(1, _BATCH_CELLS // sum(len(t.moved) for t in targets))
        found = []
        for start in range(0, n, size):
            progress("drawing noise", done, total)
            part = min(size, n - start)
            found.append(_losses(targets, persons, part, planted, n_jobs))
            done += part
        return np.concatenate(found)

    # The tests are chosen on draws of their own: on those they are put to, they would fit by luck.
    first = losses(pilot, True), losses(pilot, False)
    planted, empty = losses(draws, True), losses(draws, False)
    progress("drawing noise", total, total)
    epsilon = _epsilon(first, planted, empty, delta, persons)
    rho = None if pure else _divergence(first, planted, empty) / persons**2
    return Floor(epsilon, rho, persons, draws)


def group_size(targets: Sequence[Target]) -> int:
    """How many persons to plant so that the likelihoods differ clearly."""
    information = sum(float((t.moved / t.noise.scale) @ (t.moved / t.noise.scale)) for t in targets)
    return max(1, round(_SEPARATION / math.sqrt(information)))


def epsilon_from_shares(planted: float, empty: float, delta: float, persons: int) -> float:
    """The largest epsilon that is refuted by an event of these chances, with records and without.

    For a group of m, planted <= e^(m epsilon) empty + delta (e^(m epsilon) - 1)/(e^epsilon - 1).
    """

    def refuted(epsilon: float) -> bool:
        grown = persons * epsilon
        shares = persons if epsilon == 0 else math.expm1(grown) / math.expm1(epsilon)
        return planted > math.exp(grown) * empty + delta * shares

    if planted <= 0 or not refuted(0.0):
        return 0.0
    low, high = 0.0, -math.log(empty) / persons  # at which the first term alone is 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def _losses(
    targets: Sequence[Target], persons: int, n: int, planted: bool, n_jobs: int | None
) -> Floats:
    """How much likelier each noised outcome is with the records than without, in logarithms."""
    total = np.zeros(n)
    for target in targets:
        change = target.moved * persons
        noise = target.noise
        raw = RawCounts(n * len(change))
        if planted:
            raw.fill(functools.partial(_add, np.tile(change, n)))
        y = raw.noised(noise, n_jobs=n_jobs).values.reshape(n, -1).astype(np.float64)
        if noise.pure:
            total += (np.abs(y) - np.abs(y - change)).sum(axis=1) / noise.scale
        else:
            total += ((y - change / 2) * change).sum(axis=1) / noise.scale**2
    return total


def _add(change: Counts, counts: Counts) -> None:
    counts += change


def _epsilon(
    pilot: tuple[Floats, Floats], planted: Floats, empty: Floats, delta: float, persons: int
) -> float:
    """The floor of epsilon: an event of losses from some threshold on."""
    n = len(planted)

    def floor(hits: float, false: float) -> float:
        low = lowest_share(round(hits), n, ERROR / 2)
        high = highest_share(round(false), n, ERROR / 2)
        return epsilon_from_shares(low, high, delta, persons)

    def expected(threshold: float) -> float:
        # Half a hit more, so that no event seems impossible to few draws.
        hits, false = ((p >= threshold).sum() + 0.5 for p in pilot)
        return floor(n * hits / (len(pilot[0]) + 1), n * false / (len(pilot[1]) + 1))

    candidates = np.quantile(np.concatenate(pilot), np.linspace(0.01, 0.995, 80))
    threshold = max(candidates, key=expected)
    return floor((planted >= threshold).sum(), (empty >= threshold).sum())


def _divergence(pilot: tuple[Floats, Floats], planted: Floats, empty: Floats) -> float:
    """A lower bound of the mean loss with the records planted, which zCDP holds to rho.

    By Donsker and Varadhan, it is at least E[f] with the records minus log E[exp f] without, for
    every function f; for the loss itself they are equal. f is the loss, scaled and cut off so that
    both means are of bounded numbers.
    """

    def parts(
        factor: float, low: float, high: float, with_: Floats, without: Floats
    ) -> tuple[Floats, Floats]:
        span = math.exp(high) - math.exp(low)
        gain = (np.clip(factor * with_, low, high) - low) / (high - low)
        cost = (math.exp(high) - np.exp(np.clip(factor * without, low, high))) / span
        return gain, cost

    def bound(low: float, high: float, gain: float, cost: float) -> float:
        mean = low + (high - low) * gain
        return mean - math.log(math.exp(high) - (math.exp(high) - math.exp(low)) * cost)

    best = (-math.inf, 1.0, 0.0, 1.0)
    for factor in _FACTORS:
        low = factor * float(np.quantile(pilot[0], _FLOOR_QUANTILE))
        for quantile in _CEILINGS:
            high = factor * float(np.quantile(pilot[0], quantile))
            if not low < high:
                continue
            both = parts(factor, low, high, *pilot)
            means = [
                x.mean() - expected_margin(len(planted), ERROR / 2, float(x.var())) for x in both
            ]
            if min(means) > 0:
                best = max(best, (bound(low, high, *means), factor, low, high))
    _, factor, low, high = best
    chosen = parts(factor, low, high, *pilot)
    final = parts(factor, low, high, planted, empty)
    lowest = [
        lowest_mean(x, ERROR / 2, float(guess.var()))
        for x, guess in zip(final, chosen, strict=True)
    ]
    return max(0.0, bound(low, high, *lowest))
