"""Checks of what a floor cannot see: what moves, what it costs, and the exact law of the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from isinglass.detect.private.counts import RawCounts
from isinglass.detect.private.layout import Layout
from isinglass.detect.private.noise import SLICE, ModelPrice, RoundNoise, add_noise
from isinglass.detect.private.verification.confidence import share_p_value
from isinglass.detect.private.verification.floor import ERROR
from isinglass.detect.private.verification.noise_law import noise_p_value, upper_tail
from isinglass.detect.private.verification.trial import (
    LARGE_TABLE,
    CountedRound,
    Insertions,
    random_records,
)
from isinglass.epsilon import FEMTO, as_float, fraction
from isinglass.progress import Progress

Counts = NDArray[np.int64]

#: Where whole numbers show at once, and where float64 lacks the last digits.
SMALL_SCALE, LARGE_SCALE = 0.5, 2.0**57
_DRAWS = 10_000  # at either
_ROUNDING = 1e-6  # share by which a delta found by search may differ


@dataclass(frozen=True, slots=True)
class Check:
    """A named fact that must hold, and what was seen."""

    name: str
    passed: bool
    found: str


@dataclass(frozen=True, slots=True)
class NoiseOfTable:
    """What was added to the counts of one table, in one round."""

    counted: CountedRound
    records: int
    noise: Counts
    deviation: float


def check_insertions(seen: Insertions, records: int) -> Check:
    """A person's records move at most K cells in every round, each by their number."""
    most, allowed = (" + ".join(map(str, n)) for n in (seen.most_cells, seen.priced_cells))
    found = (
        f"at most {most} cells moved, each by {records}, in {seen.records} insertions into two "
        f"tables; {allowed} are priced"
    )
    if seen.faults:
        found = (
            f"in the round of {' and '.join(seen.faults)}, a record moved more cells than are "
            f"priced, or not by {records}, or otherwise beside other records: at most {most} "
            f"cells moved, {allowed} are priced"
        )
    return Check("inserted records", not seen.faults, found)


def check_price(rounds: Sequence[CountedRound], seen: Insertions, price: ModelPrice) -> Check:
    """What was moved costs no more than the claim, in fractions; OpenDP is asked for nothing."""
    spent = Fraction(0)
    for counted, moved in zip(rounds, seen.person, strict=True):
        sizes, scale = [abs(int(x)) for x in moved], Fraction(counted.noise.scale)
        if price.pure:
            spent += sum(sizes) / scale
        else:
            spent += Fraction(sum(x * x for x in sizes)) / (2 * scale * scale)
    whole = fraction(price.micro) if price.rho is None else price.rho
    unit = "epsilon" if price.pure else "rho"
    found = f"what moved costs {unit} {float(spent):.6g} of {float(whole):.6g}"
    passed = spent <= whole
    if price.rho is not None:
        delta = delta_of(float(price.rho), as_float(price.micro))
        passed &= delta <= price.femto / FEMTO * (1 + _ROUNDING)
        found += f", which is delta {delta:.6g} at epsilon {as_float(price.micro):g}"
    return Check("price", passed, found)


def delta_of(rho: float, epsilon: float) -> float:
    """The delta at epsilon of rho-zCDP (Canonne, Kamath and Steinke 2020), by search."""

    def log_delta(log_beta: float) -> float:  # beta = alpha - 1
        beta = math.exp(log_beta)
        alpha = 1 + beta
        return beta * (alpha * rho - epsilon) - log_beta - alpha * math.log1p(1 / beta)

    start = math.log(max(epsilon / (2 * rho), 1e-3))
    found = minimize_scalar(log_delta, bounds=(start - 12, start + 12), method="bounded",
                            options={"xatol": 1e-9})  # fmt: skip
    return math.exp(min(0.0, float(found.fun)))


def noise_of_tables(
    rounds: Sequence[CountedRound],
    layout: Layout,
    rng: np.random.Generator,
    *,
    n_jobs: int | None,
    progress: Progress,
) -> list[NoiseOfTable]:
    """Count an empty table, its neighbor and a large one as a fit would; take the counts off."""
    made = []
    sizes = (0, 1, LARGE_TABLE)
    for i, n in enumerate(sizes):
        progress("counting tables", i, len(sizes))
        table = [random_records(layout, n, rng)]
        for counted in rounds:
            left = counted.noised(table, n_jobs=n_jobs)
            noise = left.values - counted.exact(table)
            made.append(NoiseOfTable(counted, n, noise, left.deviation))
    return made


def check_same_noise(made: Sequence[NoiseOfTable]) -> Check:
    """The noise has the scale of the price, whatever the table."""
    wrong = []
    for part in made:
        noise = part.counted.noise
        p = noise_p_value(part.noise, noise.scale, pure=noise.pure)
        if p < ERROR / len(made) or part.deviation != noise.deviation:
            wrong.append(f"{part.records:,} records ({part.counted.name})")
    sizes = list(dict.fromkeys(f"{part.records:,}" for part in made))
    found = f"of one scale for tables of {', '.join(sizes[:-1])} and {sizes[-1]} records"
    if wrong:
        found = f"of another scale than the price says for tables of {', '.join(wrong)}"
    return Check("same noise for every table", not wrong, found)


def check_exact_noise(made: Sequence[NoiseOfTable], *, n_jobs: int | None) -> Check:
    """What comes out has the exact mass function: at the scales used, a small and a large one."""
    draws: dict[RoundNoise, list[Counts]] = {}
    for part in made:
        draws.setdefault(part.counted.noise, []).append(part.noise)
    for scale in (SMALL_SCALE, LARGE_SCALE):
        noise = RoundNoise(1, 1, scale, made[0].counted.noise.pure)
        draws[noise] = [RawCounts(_DRAWS).noised(noise, n_jobs=n_jobs).values]
    wrong, total = [], 0
    for noise, parts in draws.items():
        together = np.concatenate(parts)
        total += len(together)
        if noise_p_value(together, noise.scale, pure=noise.pure) < ERROR / len(draws):
            wrong.append(f"{noise.scale:.6g}")
    kind = "Laplace" if made[0].counted.noise.pure else "Gaussian"
    found = f"{total:,} draws agree with the discrete {kind} into its tails, at {len(draws)} scales"
    if wrong:
        found = f"draws do not agree with the discrete {kind} of scale {', '.join(wrong)}"
    return Check("exact noise", not wrong, found)


def check_whole_numbers(made: Sequence[NoiseOfTable]) -> Check:
    """Noised counts are 64-bit integers, and nothing else is given noise."""
    kinds = {part.noise.dtype for part in made}
    refused = True
    for kind in (np.float64, np.float32, np.int32):
        try:
            add_noise(np.zeros(1, dtype=kind), made[0].counted.noise)
            refused = False
        except TypeError:
            continue
    passed = kinds == {np.dtype(np.int64)} and refused
    found = "counts are 64-bit integers before and after the noise"
    if not passed:
        found = f"counts with noise are {' and '.join(sorted(map(str, kinds)))}"
        found += "" if refused else ", and floating-point counts are given noise"
    return Check("whole numbers", passed, found)


def check_fresh_noise(made: Sequence[NoiseOfTable]) -> Check:
    """No cell has the noise of another cell, nor of the same cell when another table is counted.

    Where their noise is independent, two cells are both above 0 with the square of one's chance.
    """
    pairs = []
    for i, part in enumerate(made):
        pairs.append((part, "the next cell", part.noise[:-1:2], part.noise[1::2]))
        if len(part.noise) > SLICE:  # each cell in one pair
            pairs.append((part, "the next slice", part.noise[:SLICE], part.noise[SLICE:][:SLICE]))
        pairs += [
            (part, "another table", part.noise, other.noise)
            for other in made[:i]
            if other.counted is part.counted
        ]
    wrong = set()
    for part, which, one, other in pairs:
        noise = part.counted.noise
        least = min(len(one), len(other))
        both = int(((one[:least] > 0) & (other[:least] > 0)).sum())
        chance = upper_tail(1, noise.scale, pure=noise.pure) ** 2
        if share_p_value(both, least, chance) < ERROR / len(pairs):
            wrong.add(which)
    found = "no noise of one cell is in another, nor in the same cell of another table"
    if wrong:
        found = f"the noise of a cell goes with that of {' and of '.join(sorted(wrong))}"
    return Check("fresh noise", not wrong, found)
