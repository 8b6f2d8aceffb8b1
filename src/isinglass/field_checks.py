"""Checks of values read from a file, by type and size.

A file may be forged: these checks bound what its values can cost in time and memory.
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
    """The value, if it is a short text; else raise ValueError."""
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError(f"{field} must be a text of at most {longest} characters")
    return value


def names(value: Any, field: str) -> tuple[str, ...]:
    """The value as a tuple, if it is a list of texts; else raise ValueError."""
    if not isinstance(value, list | tuple) or len(value) > MOST_NAMES:
        raise ValueError(f"{field} must be a list of names")
    if not all(isinstance(v, str) and len(v) <= LONGEST_NAME for v in value):
        raise ValueError(f"{field} must be a list of names")
    return tuple(value)


def flag(value: Any, field: str) -> bool:
    """The value, if it is True or False; else raise ValueError."""
    if not isinstance(value, bool):
        raise ValueError(f"{field} must be true or false")
    return value


def whole(value: Any, field: str, *, least: int = 0, most: int = LARGEST) -> int:
    """The value, if it is a whole number within limits; else raise ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{field} must be a whole number >= {least} and <= {most}")
    return value


def number(value: Any, field: str) -> float:
    """The value as a float, if it is a finite number; else raise ValueError."""
    if not is_number(value):
        raise ValueError(f"{field} must be a finite number")
    return float(value)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number within the range of float64."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= 10**300


def section(value: Any, field: str) -> dict[str, Any]:
    """The value as a dict, if it maps names to values; else raise ValueError."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{field} must be a set of named values")
    return dict(value)


def pair(value: Any, field: str) -> tuple[float, float]:
    """The value as two floats, if it is [low, high] with low <= high; else raise ValueError."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"{field} must be two numbers, low and high")
    low, high = (number(v, field) for v in value)
    if low > high:
        raise ValueError(f"{field} must be two numbers, low and high")
    return low, high
