"""Numbers that texts hold, true and false among them as 1 and 0; and words for missing ones."""

from __future__ import annotations

import functools
import math
import re

import pyarrow as pa
import pyarrow.compute as pc

# What is allowed around a number, which is what Arrow's reader of CSV files allows.
_BLANKS = " \t"
_DIGITS = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
INFINITE = r"[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
_NUMBER = f"^({_DIGITS}|{INFINITE})$"
_TRUTHS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}

_number = re.compile(f"{_DIGITS}|{INFINITE}")

#: What people write into a column of numbers where there is none, beside Arrow's own words. Every
#: column of a wide file has a table of its own of such words, so these are few.
FREQUENT_WORDS = ("-", "--", ".", "?", "n.a.", "N.A.", "k.A.", "none", "None", "NONE")
#: And what is understood where texts are read one by one.
MISSING_WORDS = (
    *FREQUENT_WORDS, "\u2013", "\u2014", "n.a", "N.A", "n. a.", "na", "Na", "n/v", "n.v.", "N/V",
    "k. A.", "nil", "Nil", "NIL", "Null", "missing", "Missing", "MISSING", "<NA>", "(null)",
    "[null]", "(blank)", "\\N", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#N/V", "#NV",
    "#WERT!", "#BEZUG!",
)  # fmt: skip


def number_in(text: str) -> float:
    """The number that a text holds, rounded to the nearest float64; NaN where it holds none."""
    word = text.strip(_BLANKS)
    if _number.fullmatch(word):
        return float(word)
    return _TRUTHS.get(word, math.nan)


def numbers_in(texts: pa.Array) -> pa.Array:
    """The same for every text of an Arrow column, as float64; null or NaN where there is none.

    The number of one text follows from that text alone, whichever way the column is read.
    """
    try:
        return _parsed(pc.if_else(pc.equal(texts, ""), None, texts))
    except pa.ArrowInvalid:  # some text is no number, and Arrow says so of the column only
        pass
    words = pc.utf8_trim(texts, _BLANKS)
    found = _parsed(pc.if_else(pc.match_substring_regex(words, _NUMBER), words, None))
    for word, number in _TRUTHS.items():
        found = pc.if_else(pc.equal(words, word), number, found)
    return found


@functools.cache
def null_words() -> frozenset[str]:
    """Words that say that a value is missing, as nothing at all does."""
    from pyarrow import csv

    return frozenset(csv.ConvertOptions().null_values)


def _parsed(texts: pa.Array) -> pa.Array:
    """Arrow rounds each text to the nearest float64, as Python does."""
    return texts.cast(pa.float64())
