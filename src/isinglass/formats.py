"""Shares and numbers as text for people."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def finite(value: Any) -> bool:
    """Whether a number is there to be shown."""
    return isinstance(value, int | float) and math.isfinite(value)


def share(value: float | None) -> str:
    """A share of one as a percentage; never rounded to all or nothing unless it is."""
    if value is None or not finite(value):
        return "–"
    percent = round(100 * value, 9)
    if 0 < percent < 1 or 99 < percent < 100:
        percent = min(max(round(percent, 1), 0.1), 99.9)
        return f"{percent:.1f} %"
    return f"{percent + 0.0:.0f} %"


def number(value: float | None) -> str:
    """A count or a measurement, short enough for a table."""
    if value is None or not finite(value):
        return "–"
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def interval(low: float | None, high: float | None) -> str:
    """Both ends, rounded outwards so that whatever was between them still is; or a dash."""
    if low is None or high is None or not (finite(low) and finite(high)):
        return "–"
    return f"{_rounded(low, math.floor)} to {_rounded(high, math.ceil)}"


def _rounded(value: float, outwards: Callable[[float], int]) -> str:
    percent = round(100 * value, 9)  # as it stands, 100 * 0.07 is a little more than 7
    if 0 < percent < 1 or 99 < percent < 100:
        tenths = outwards(round(10 * percent, 9))
        return f"{tenths / 10:.1f} %" if 0 < tenths < 1000 else f"{tenths // 10} %"
    return f"{outwards(percent)} %"
