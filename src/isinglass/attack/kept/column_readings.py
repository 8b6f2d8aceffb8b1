"""Readings of a kept column: as numbers, as times and as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.kept.calendar_parts import UNITS, seconds_of_numbers, seconds_of_texts

Array = NDArray[Any]

#: Characters of a text that are read.
_LONGEST_TEXT = 40
#: This share of texts must be numbers for all to be read so.
_MOSTLY = 0.9


@dataclass(frozen=True, slots=True)
class Readings:
    """What each value of a column may mean; None where it means no such thing."""

    numbers: Array | None = field(default=None, repr=False)
    seconds: Array | None = field(default=None, repr=False)
    texts: Array | None = field(default=None, repr=False)

    @property
    def years(self) -> Array | None:
        """Calendar years of moments."""
        if self.seconds is None:
            return None
        days = np.floor(self.seconds / 86_400).astype("datetime64[D]")
        return days.astype("datetime64[Y]").astype(np.int64) + 1970.0


def read_column(values: Array, meaning: Array | str | None, *, is_category: bool) -> Readings:
    """The readings of values that stand here once each."""
    if isinstance(meaning, np.ndarray):
        places = np.rint(values).astype(np.intp)
        inside = (places >= 0) & (places < len(meaning))
        texts = np.array(
            [
                str(meaning[p])[:_LONGEST_TEXT].strip().casefold() if ok else ""
                for p, ok in zip(places, inside, strict=True)
            ]
        )
        return Readings(_numbers(texts), _filled(seconds_of_texts(texts.tolist())), texts)
    if is_category:
        return Readings()
    if meaning in UNITS:
        return Readings(None, seconds_of_numbers(values, str(meaning))[0])
    moments = seconds_of_numbers(values, None)
    return Readings(values, _filled(moments[0]) if moments else None)


def _filled(seconds: Array | None) -> Array | None:
    """Moments, the middle one where none is known."""
    if seconds is None or np.isfinite(seconds).all():
        return seconds
    return np.where(np.isfinite(seconds), seconds, np.nanmedian(seconds))


def _numbers(texts: Array) -> Array | None:
    found = np.full(len(texts), np.nan)
    for i, text in enumerate(texts):
        try:
            found[i] = float(text)
        except ValueError:
            if i == 50 and np.isnan(found[:50]).all():
                return None
    found[~np.isfinite(found)] = np.nan
    known = np.isfinite(found)
    if known.mean() < _MOSTLY:
        return None
    return np.where(known, found, np.median(found[known]))
