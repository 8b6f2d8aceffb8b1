"""Checks of values that a file states, by kind and size.

What a file says of itself is a claim. These checks keep it from costing more than reading it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MOST_NAMES = 1_000_000
LONGEST_NAME = 1 << 16
LONGEST_WORD = 100
LARGEST = 2**53  # up to which float64 holds every whole number


def word(value: Any, field: str, *, longest: int = LONGEST_WORD) -> str:
    """A short text."""
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError(f"{field} must be a text of at most {longest} characters")
    return value


def names(value: Any, field: str) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list | tuple) or len(value) > MOST_NAMES:
        raise ValueError(f"{field} must be a list of names")
    if not all(isinstance(v, str) and len(v) <= LONGEST_NAME for v in value):
        raise ValueError(f"{field} must be a list of names")
    return tuple(value)


def flag(value: Any, field: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{field} must be true or false")
    return value


def whole(value: Any, field: str, *, least: int = 0, most: int = LARGEST) -> int:
    """A whole number within limits."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{field} must be a whole number >= {least} and <= {most}")
    return value


def number(value: Any, field: str) -> float:
    """A finite number."""
    if not is_number(value):
        raise ValueError(f"{field} must be a finite number")
    return float(value)


def is_number(value: Any) -> bool:
    """Whether a value is a number that float64 holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= 10**300


def section(value: Any, field: str) -> dict[str, Any]:
    """Named values."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{field} must be a set of named values")
    return dict(value)


def pair(value: Any, field: str) -> tuple[float, float]:
    """A lower and an upper number."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"{field} must be two numbers, low and high")
    low, high = (number(v, field) for v in value)
    if low > high:
        raise ValueError(f"{field} must be two numbers, low and high")
    return low, high
