"""How a verdict follows from numbers: by counting, by counterexample, or beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot, sqrt

import numpy as np

from isinglass_papers.core.result import Number, Verdict

#: Standard errors beyond which a difference is no longer put down to chance: 1 case in 370.
CHANCE = 3.0


@dataclass(frozen=True, slots=True)
class Repeated:
    """A number over independent keys; `low` to `high` is one standard deviation either way."""

    mean: float
    deviation: float
    keys: int

    @classmethod
    def of(cls, found: Sequence[float]) -> Repeated:
        """Of one value for each key; a single key has no deviation that could be known."""
        spread = float(np.std(found, ddof=1)) if len(found) > 1 else 0.0
        return cls(float(np.mean(found)), spread, len(found))

    @property
    def low(self) -> float:
        return self.mean - self.deviation

    @property
    def high(self) -> float:
        return self.mean + self.deviation

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / sqrt(self.keys)

    def above(self, other: Repeated) -> bool:
        """Whether this mean is the larger one beyond chance."""
        return self.mean - other.mean > CHANCE * hypot(self.error, other.error)

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.deviation:.1f}"


def verdict_by_count(met: int, tried: int, none: Verdict = "not reproduced") -> Verdict:
    """True in all cases, in some of them, or in none."""
    if met == tried:
        return "holds"
    return "holds conditionally" if met else none


def refuted(counterexample: bool) -> Verdict:
    """About all cases: one case against it, evaluated by this run, is enough."""
    return "does not hold" if counterexample else "not reproduced"


def within_chance(measured: float, expected: float, error: float) -> bool:
    """Whether a mean of standard error `error` may be one of `expected`."""
    return abs(measured - expected) <= CHANCE * error


def noted(number: Number, why: str) -> Number:
    """The number with a reason, where one is owed."""
    return number if number.agrees else replace(number, note=why)
