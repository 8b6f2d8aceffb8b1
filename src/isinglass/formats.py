"""Shares, numbers and untrusted strings as printable text."""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Callable
from typing import Any


def finite(value: Any) -> bool:
    """Whether a value is a finite number."""
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


def share_beside(value: float | None, limit: float) -> str:
    """A share with as many digits as show on which side of a limit it is."""
    shown = share(value)
    if value is None or not finite(value) or value == limit or shown != share(limit):
        return shown
    for digits in range(1, 9):
        if (shown := f"{100 * value:.{digits}f}") != f"{100 * limit:.{digits}f}":
            break
    return f"{shown} %"


def number(value: float | None) -> str:
    """A count or a measurement, short enough for a table."""
    if value is None or not finite(value):
        return "–"
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def counted(count: int, noun: str) -> str:
    """A count with its noun, such as `1 row` or `2,000 rows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def interval(low: float | None, high: float | None) -> str:
    """Both ends, rounded outward so that whatever was between them still is; or a dash."""
    if low is None or high is None or not (finite(low) and finite(high)):
        return "–"
    return f"{_rounded(low, math.floor)} to {_rounded(high, math.ceil)}"


def _rounded(value: float, outward: Callable[[float], int]) -> str:
    percent = round(100 * value, 9)  # as it stands, 100 * 0.07 is a little more than 7
    if 0 < percent < 1 or 99 < percent < 100:
        tenths = outward(round(10 * percent, 9))
        return f"{tenths / 10:.1f} %" if 0 < tenths < 1000 else f"{tenths // 10} %"
    return f"{outward(percent)} %"


def printable(text: str, *, keep: str = "") -> str:
    r"""The text on one line, with `\x1b`, `\u202e` and the like in place of what has no shape.

    Control characters move a terminal's cursor and abort the chart engine, marks of direction
    reorder the words around them, a line break lets a name pass for a line of ours, and half a
    surrogate pair cannot be encoded at all. `keep` names characters that are let through.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep or unicodedata.category(c) == "Zs" else _escaped(c)
        for c in text
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def shorten(text: str, most: int = 200) -> str:
    """The text, its middle replaced by an ellipsis if it is longer than `most`."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def html_text(value: object) -> str:
    """Anything as the text of a page, or of one of its attributes in double quotes."""
    return html.escape(printable(str(value)))
