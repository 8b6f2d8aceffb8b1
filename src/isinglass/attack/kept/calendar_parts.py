"""Calendar parts (weekday, month, hour, ...) of dates and times in numbers or text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Seconds of one step of a number that counts time since 1970, by numpy's name of the unit.
UNITS = {"D": 86_400.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
#: A number counts time if all of its values lie in these years, as seconds.
_EARLIEST, _LATEST = 631_152_000.0, 4_102_444_800.0  # 1990 to 2100
#: Days from the first of a spreadsheet's calendar to 1970.
_SPREADSHEET = 25_569
#: This share of texts must be dates; what is none of them is a group of its own.
_MOST = 0.9

_TIME = r"(?:[T _,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?)?"
_START = r"\W*(?:[A-Za-z]{2,9},? )?"
_FORMS = tuple(
    re.compile(form + _TIME, re.ASCII)
    for form in (
        r"\W*(?P<year>\d{4})[-/. ]?(?P<month>\d{1,2})[-/. ]?(?P<day>\d{1,2})(?!\d)",
        r"\W*(?P<day>\d{1,2})[-/. ](?P<month>\d{1,2})[-/. ](?P<year>\d{4})(?!\d)",
        r"\W*(?P<month>\d{1,2})[-/. ](?P<day>\d{1,2})[-/. ](?P<year>\d{4})(?!\d)",
        _START + r"(?P<day>\d{1,2})[-/. ]*(?P<name>[A-Za-z]{3})[a-z]*[-/., ]+(?P<year>\d{4})",
        _START + r"(?P<name>[A-Za-z]{3})[a-z]*[. ]+(?P<day>\d{1,2}),? +(?P<year>\d{4})",
    )
)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}


def seconds_of_texts(texts: list[str]) -> Array | None:
    """Seconds since 1970 of texts that are dates, NaN for others; None where few are dates."""
    needed = _MOST * sum(1 for text in texts if text)
    # A form that does not even fit a few texts fits none of the column.
    few = texts[:: max(1, len(texts) // 20)]
    best, most = None, 0
    for form in _FORMS:
        if sum(1 for text in few if form.match(text)) * 2 < len(few):
            continue
        found = np.array([_fields(form.match(text)) for text in texts], dtype=np.float64)
        year, month, day, second = found.T
        right = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31) & (year >= 1)
        n = int(right.sum())
        if n > most and n >= needed:
            months = np.where(right, (year - 1970) * 12 + month - 1, 0).astype(np.int64)
            days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
            best, most = np.where(right, (days + day - 1) * 86_400 + second, np.nan), n
    return best


def _fields(found: re.Match[str] | None) -> tuple[float, float, float, float]:
    if found is None:
        return np.nan, np.nan, np.nan, 0.0
    got = found.groupdict()
    month = _MONTHS.get(got["name"].lower(), 0) if "name" in got else int(got["month"])
    clock = [int(got[name] or 0) for name in ("hour", "minute", "second")]
    second = clock[0] * 3600 + clock[1] * 60 + clock[2]
    return float(got["year"]), float(month), float(got["day"]), float(second)


def seconds_of_numbers(values: Array, unit: str | None) -> list[Array]:
    """Ways to read numbers as seconds since 1970: in the unit stated, or in any that fits."""
    if unit is not None:
        return [values * UNITS[unit]]
    # A mean may stand for missing values.
    whole = int((values != np.rint(values)).sum()) <= max(2, len(values) // 100)
    low, high = float(values.min()), float(values.max())
    found = [
        values * size
        for name, size in UNITS.items()
        if low * size >= _EARLIEST and high * size <= _LATEST and (whole or name != "D")
    ]
    days = (values - _SPREADSHEET) * UNITS["D"]
    if days.min() >= _EARLIEST and days.max() <= _LATEST:
        found.append(days)
    if whole and 19_000_101 <= low and high <= 21_001_231:
        as_text = seconds_of_texts([f"{value:.0f}" for value in values])
        found += [] if as_text is None else [as_text]
    return found


def calendar_parts(seconds: Array) -> Iterator[tuple[str, Array]]:
    """Names of parts of the calendar, and the number of the part each moment falls into.

    A moment that is not known has the number -1.
    """
    known = np.isfinite(seconds)
    moments = np.floor(np.where(known, seconds, 0.0)).astype(np.int64)
    days, clock = moments // 86_400, moments % 86_400
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    years = dates.astype("datetime64[Y]")
    of_year = days - years.astype("datetime64[D]").astype(np.int64)
    of_month = days - months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    weekday, hour = (days + 3) % 7, clock // 3600
    for name, part in (
        ("weekday", weekday),
        ("month", months % 12),
        ("hour", hour),
        ("year", years.astype(np.int64)),
        ("weekday and hour", weekday * 24 + hour),
        ("quarter of an hour", clock // 900),
        ("minute", clock // 60 % 60),
        ("day of the month", of_month),
        ("week of the year", of_year // 7),
        ("day of the year", of_year),
        ("month and year", months),
        ("week", (days + 3) // 7),
        ("day", days),
        ("minute of the day", clock // 60),
        ("second", clock % 60),
    ):
        yield name, np.where(known, part, -1)
