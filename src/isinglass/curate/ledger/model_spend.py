"""Spends of guaranteed models: what each costs, and what all of them together cost a person."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from isinglass.epsilon import MICRO, MOST, fraction

#: parts of delta in 1
FEMTO = 10**15
#: orders at which the conversion from rho is tried, as logarithms of what they have above 1
_LOWEST, _HIGHEST, _STEPS = -14.0, 40.0, 200


@dataclass(frozen=True, slots=True)
class ModelSpend:
    """What one model costs a person with `records_per_person` records in the table.

    `micro` is epsilon in millionths and `femto` delta in parts of 1e-15, as they are charged. `rho`
    is what the noise costs in zero-concentrated differential privacy (zCDP); it is None where
    epsilon is pure, and then delta is 0.
    """

    micro: int
    femto: int
    rho: Fraction | None
    records_per_person: int

    def refuse_unsound(self) -> None:
        """Refuse a price that no noise has: what is charged must cover what is used."""
        k = self.records_per_person
        if type(self.micro) is not int or not 1 <= self.micro <= MOST:
            raise ValueError(
                f"micro must be a whole number of millionths of epsilon from 1 to {MOST}, "
                f"got {self.micro}"
            )
        if type(self.femto) is not int or not 0 <= self.femto < FEMTO:
            raise ValueError(
                f"femto must be a whole number of parts of 1e-15 from 0 to below {FEMTO}, "
                f"got {self.femto}"
            )
        if type(k) is not int or k < 1:
            raise ValueError(f"records_per_person must be a whole number > 0, got {k}")
        if (self.rho is None) != (self.femto == 0):
            raise ValueError("rho must be given where delta is above 0, and only there")
        if self.rho is not None:
            if not isinstance(self.rho, Fraction) or self.rho <= 0:
                raise ValueError(f"rho must be a fraction > 0, got {self.rho}")
            # Others may look for the best order less finely, never more so than by a rounding.
            if zcdp_epsilon(self.rho, self.femto) > self.micro / MICRO * (1 + 1e-6):
                raise ValueError(
                    "rho must cost no more than epsilon at this delta, got one that does"
                )

    def to_json(self) -> dict[str, Any]:
        """As the ledger's entry keeps it, beside its price."""
        rho = None if self.rho is None else str(self.rho)
        return {"rho": rho, "delta": self.femto, "records_per_person": self.records_per_person}

    @classmethod
    def from_json(cls, micro: int, facts: dict[str, Any]) -> ModelSpend:
        """As the ledger's entry kept it."""
        rho = None if facts["rho"] is None else Fraction(facts["rho"])
        return cls(micro, int(facts["delta"]), rho, int(facts["records_per_person"]))

    def to_bytes(self) -> bytes:
        """The same price, and no other, has these bytes."""
        numbers = struct.pack("<3q", self.micro, self.femto, self.records_per_person)
        return numbers + str(self.rho).encode() + b"\0"

    def epsilon_for(self, records: int) -> float:
        """Epsilon, at the model's own delta, of a person with so many records in the table."""
        k = self.records_per_person
        if self.rho is None:
            return _up(fraction(self.micro) * Fraction(records, k))
        if records <= k:
            return self.micro / MICRO
        return zcdp_epsilon(self.rho * Fraction(records, k) ** 2, self.femto)


@dataclass(frozen=True, slots=True)
class ModelTotals:
    """All models that were paid for from one ledger."""

    spends: tuple[ModelSpend, ...] = ()

    @property
    def micro(self) -> int:
        """The sum of epsilon as charged, in millionths."""
        return sum(spend.micro for spend in self.spends)

    @property
    def femto(self) -> int:
        """The sum of delta, in parts of 1e-15."""
        return sum(spend.femto for spend in self.spends)

    def epsilon_for(self, records: int) -> float:
        """Epsilon, at the sum of delta, of a person with so many records in the table.

        m records under noise for k cost m^2 / k^2 times rho, and m / k times a pure epsilon; rho
        and pure epsilons add up, and the sum of rho is converted anew. "m times epsilon" would be
        too little where delta is not 0. The plain sum over models is a bound as well.
        """
        if not self.spends:
            return 0.0
        rho, pure = Fraction(0), Fraction(0)
        for spend in self.spends:
            times = Fraction(records, spend.records_per_person)
            if spend.rho is None:
                pure += fraction(spend.micro) * times
            else:
                rho += spend.rho * times**2
        together = _up(pure) + (zcdp_epsilon(rho, self.femto) if rho else 0.0)
        return min(together, _sum([spend.epsilon_for(records) for spend in self.spends]))


#: where no model was paid for
NO_MODELS = ModelTotals()


def zcdp_epsilon(rho: Fraction, femto: int) -> float:
    """Epsilon of zCDP `rho` at a delta in parts of 1e-15, rounded up.

    For every order a > 1, (epsilon, delta) holds with
    epsilon = a rho + (log(1 / (a delta)) + (a - 1) log(1 - 1 / a)) / (a - 1)
    (Canonne, Kamath, Steinke 2020, Corollary 13). The least is looked for; missing it is safe.
    """
    if femto < 1:
        raise ValueError(f"femto must be >= 1, got {femto}")
    cost, log_delta = _up(rho), math.log(femto) - math.log(FEMTO)

    def epsilon(t: float) -> float:
        above = math.exp(t)
        order = 1 + above
        rest = -log_delta - math.log(order) + above * (t - math.log(order))
        return order * cost + rest / above

    width = (_HIGHEST - _LOWEST) / _STEPS
    best = min((_LOWEST + i * width for i in range(_STEPS + 1)), key=epsilon)
    low, high = best - width, best + width
    while high - low > 1e-9:
        one, two = low + (high - low) / 3, high - (high - low) / 3
        if epsilon(one) <= epsilon(two):
            high = two
        else:
            low = one
    return max(0.0, epsilon(low)) * (1 + 1e-12)


def parse_delta(delta: Any, name: str = "delta") -> int:
    """The whole number of parts of 1e-15 that `delta` is, read as it is written; 0 for none."""
    try:
        read = Decimal(str(delta))
        # A few characters can name a number of a billion digits; it is never written out.
        small = read.is_finite() and -16 < read.adjusted() < 0
        parts = Fraction(read) * FEMTO if small or read == 0 else Fraction(-1)
    except (InvalidOperation, ValueError):
        parts = Fraction(-1)
    if isinstance(delta, bool) or parts.denominator != 1 or parts < 0:
        raise ValueError(f"{name} must be >= 0 and < 1, in whole parts of 1e-15, got {delta}")
    return int(parts)


def delta_text(femto: int) -> str:
    """The delta of so many parts of 1e-15 in decimals: exact."""
    return str(Decimal(femto).scaleb(-15).normalize()).lower()


def _up(exact: Fraction) -> float:
    """The least float64 that is not below a fraction, or the next."""
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def _sum(parts: Sequence[float]) -> float:
    return _up(sum(map(Fraction, parts), Fraction(0)))
