"""Numbers as people write them: decimal comma, thousands, currency and percent signs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from isinglass.table.number_text import INFINITE, MISSING_WORDS, null_words

#: Marks between whole and part, and what may stand between thousands beside each.
MARKS: Mapping[str, str] = {".": ",", ",": "."}
_SPACES = "[ \u00a0\u2009\u202f]"
_APOSTROPHES = "['\u2019]"
_SIGN = "[+\u2212-]?"
_UNIT = r"(?:\p{Sc}|[A-Z]{3})?"


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How the numbers of a table's texts are written.

    `mark` stands between whole and part in every text column that turns out to hold numbers;
    `columns` are declared to hold them, each with a mark of its own; `words` say that a value is
    missing, as well as those that always do.
    """

    mark: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for mark in (self.mark, *self.columns.values()):
            if mark is not None and mark not in MARKS:
                raise ValueError(f"decimal must be . or , got {mark!r}")

    @classmethod
    def of(cls, decimal: str | NumberFormat | None) -> NumberFormat:
        """A mark of every column as a format; a format as it is."""
        return decimal if isinstance(decimal, cls) else cls(mark=decimal)  # type: ignore[arg-type]


def blank_missing(texts: Any, words: tuple[str, ...] = ()) -> Any:
    """The same texts without the blanks around them; null where a word says that none is there."""
    trimmed = pc.utf8_trim_whitespace(texts.cast(pa.large_string()))
    return pc.if_else(pc.is_in(trimmed, value_set=_missing(words)), None, trimmed)


@functools.cache
def _missing(words: tuple[str, ...]) -> Any:
    return pa.array(sorted({*null_words(), *MISSING_WORDS, *words}), pa.large_string())


def numbers_written(texts: Any, mark: str, words: tuple[str, ...] = ()) -> Any:
    """The number of every text, as float64; null where it is missing, NaN where none can be read.

    The number of one text follows from that text alone. A percent sign divides by 100, a currency
    sign or code beside the number is passed over, parentheses around an amount make it negative.
    """
    known = blank_missing(texts, words)
    plain = known if mark == "." else _with_point(known)
    if plain is not None:
        try:
            return plain.cast(pa.float64())
        except pa.ArrowInvalid:  # some text is more than digits and a point
            pass
    return _parsed(known, mark)


def is_grouped(texts: Any, mark: str) -> Any:
    """Which texts could be whole numbers with this sign between their thousands."""
    return pc.match_substring_regex(texts, rf"^[+-]?[0-9]{{1,3}}(\{mark}[0-9]{{3}})+$")


def _with_point(texts: Any) -> Any | None:
    """Texts with a point for a comma; None where there are points already."""
    if pc.any(pc.match_substring(texts, ".")).as_py():
        return None
    return pc.replace_substring(texts, ",", ".")


def _parsed(known: Any, mark: str) -> Any:
    found = pc.extract_regex(known, _pattern(mark))
    part = {name: pc.struct_field(found, name) for name in _GROUPS}
    digits = pc.replace_substring_regex(part["whole"], "[^0-9]", "")
    empty = pc.and_(pc.equal(digits, ""), pc.equal(part["fraction"], ""))
    unclosed = pc.not_equal(pc.equal(part["open"], "("), pc.equal(part["close"], ")"))
    percent = pc.equal(part["percent"], "%")
    twice = pc.and_(percent, pc.not_equal(part["power"], ""))
    power = pc.if_else(percent, _text("e-2"), part["power"])
    text = pc.binary_join_element_wise(digits, _text("."), part["fraction"], power, _text(""))
    wrong = pc.or_(pc.or_(empty, unclosed), twice)
    signs = pc.binary_join_element_wise(part["sign"], part["inner"], _text(""))
    wrong = pc.or_(wrong, pc.greater(pc.utf8_length(signs), 1))
    read = pc.if_else(wrong, None, text).cast(pa.float64())
    minus = pc.match_substring_regex(signs, "[\u2212-]")
    negative = pc.or_(minus, pc.equal(part["open"], "("))
    read = pc.if_else(negative, pc.negate(read), read)
    infinite = pc.match_substring_regex(known, f"^{INFINITE}$")
    if pc.any(infinite).as_py():
        read = pc.if_else(infinite, pc.if_else(infinite, known, None).cast(pa.float64()), read)
    return pc.if_else(pc.is_valid(known), pc.fill_null(read, float("nan")), None)


def _text(text: str) -> Any:
    return pa.scalar(text, pa.large_string())


_GROUPS = ("sign", "open", "inner", "whole", "fraction", "power", "percent", "close")


@functools.cache
def _pattern(mark: str) -> str:
    point, other = rf"\{mark}", rf"\{MARKS[mark]}"
    grouped = "|".join(
        rf"[0-9]{{1,3}}(?:{between}[0-9]{{3}})+" for between in (other, _SPACES, _APOSTROPHES)
    )
    return (
        rf"^(?P<sign>{_SIGN})\s*(?P<open>\(?)\s*{_UNIT}\s*(?P<inner>{_SIGN})\s*"
        rf"(?P<whole>{grouped}|[0-9]*)(?:{point}(?P<fraction>[0-9]*))?"
        rf"(?P<power>(?:[eE][+-]?[0-9]+)?)\s*(?P<percent>%?)\s*{_UNIT}\s*(?P<close>\)?)$"
    )
