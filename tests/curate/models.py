"""Models that are charged to small ledgers: their prices and noised counts."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

from isinglass.curate.ledger.ledger import Ledger

MILLION, DELTA = 10**6, 10**9  # epsilon 1 and delta 1e-6, in their parts
COUNTS = bytes(range(256)) * 3
#: epsilon 1 at delta 1e-6, by MATH.md F.5; and what costs next to nothing at any delta
RHO, TINY = Fraction(2435, 100_000), Fraction(1, 10**30)


def charged(
    ledger: Ledger, name: str = "january", counts: bytes | None = None, **how: Any
) -> bytes:
    """Charge a model of epsilon 1 and delta 1e-6, or as `how` says."""
    price: dict[str, Any] = {
        "micro": MILLION, "femto": DELTA, "rho": RHO, "records_per_person": 1,
        "digest": hashlib.sha256(name.encode()).digest(), "request_id": name,
    }  # fmt: skip
    return ledger.charge_model(lambda: COUNTS if counts is None else counts, **(price | how))


def pure(ledger: Ledger, micro: int, name: str = "january", **how: Any) -> bytes:
    """Charge a model of pure epsilon."""
    return charged(ledger, name, micro=micro, femto=0, rho=None, **how)


def undrawn() -> bytes:
    """Draw: must not be called, because nothing is to be drawn."""
    raise AssertionError("drawn once more")


def begun(where: str, **terms: Any) -> Ledger:
    """A ledger that a model uses first."""
    ledger = Ledger(where)
    ledger.sign_models(**({"cap": 3 * MILLION, "delta_cap": 3 * DELTA} | terms))
    return ledger
