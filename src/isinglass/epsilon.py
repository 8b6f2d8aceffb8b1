"""Epsilon and delta as they are charged: whole parts, read as decimals, never rounded."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

MICRO = 10**6
#: parts of delta in 1
FEMTO = 10**15
#: no price and no budget is larger, so that sums stay whole numbers of 64 bits
MOST = 10**6 * MICRO
#: Decimal alone would also read underscores, spaces, and digits of every script
_WRITTEN = re.compile(r"[0-9.eE+-]+")


def micro(epsilon: Any, name: str = "epsilon") -> int:
    """The whole number of millionths that `epsilon` is, which is what is charged and used.

    A decimal is read as it is written: 0.1 is one tenth, not the float64 nearest to it. What is
    not a whole number of millionths, at least one, is refused rather than rounded.
    """
    rule = f"{name} must be a number > 0 in whole millionths, at most {MOST // MICRO}"
    parts = Fraction(0)
    try:
        if isinstance(epsilon, Fraction):
            parts = epsilon * MICRO
        elif not isinstance(epsilon, bool) and _WRITTEN.fullmatch(str(epsilon)):
            read = Decimal(str(epsilon))
            # A few characters can name a number of a billion digits; it is never written out.
            if read.is_finite() and -7 < read.adjusted() < 12:
                parts = Fraction(read) * MICRO
    except (InvalidOperation, ValueError, TypeError):
        pass
    if parts.denominator != 1 or not 1 <= parts <= MOST:
        raise ValueError(f"{rule}, got {epsilon}")
    return int(parts)


def fraction(parts: int) -> Fraction:
    """The epsilon of so many millionths, exactly: what a mechanism runs at."""
    return Fraction(parts, MICRO)


def as_float(parts: int) -> float:
    """The epsilon of so many millionths, to show."""
    return parts / MICRO


def text(parts: int) -> str:
    """The epsilon of so many millionths in decimals, without trailing zeros: exact."""
    whole, rest = divmod(parts, MICRO)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")


def femto(delta: Any, name: str = "delta") -> int:
    """The whole number of parts of 1e-15 that `delta` is, read as it is written; 0 for none."""
    parts = Fraction(-1)
    try:
        if not isinstance(delta, bool):
            read = Decimal(str(delta))
            # A few characters can name a number of a billion digits; it is never written out.
            if read == 0 or (read.is_finite() and -16 < read.adjusted() < 0):
                parts = Fraction(read) * FEMTO
    except (InvalidOperation, ValueError):
        pass
    if parts.denominator != 1 or parts < 0:
        raise ValueError(f"{name} must be >= 0 and < 1, in whole parts of 1e-15, got {delta}")
    return int(parts)


def delta_text(parts: int) -> str:
    """The delta of so many parts of 1e-15 in decimals: exact."""
    return str(Decimal(parts).scaleb(-15).normalize()).lower()
