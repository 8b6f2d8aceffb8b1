"""Numbers in columns of any type: lists, times and text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from isinglass.auditing.files.align import LARGEST, as_numbers, flattened
from isinglass.table.columns import is_numeric

Array = NDArray[Any]

_NUMBER = re.compile(r"(?:(?<![\w.])[-+])?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_DATES = (
    "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%Y%m%dT%H%M%S", "%d-%m-%Y",
    "%b %d, %Y", "%b %d %Y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%B %d, %Y", "%d %B %Y",
)  # fmt: skip
_MONTHS = re.compile(
    r"\b(?:(jan)(?:uary)?|(feb)(?:ruary)?|(mar)(?:ch)?|(apr)(?:il)?|(may)|(june?)|(july?)|"
    r"(aug)(?:ust)?|(sept?)(?:ember)?|(oct)(?:ober)?|(nov)(?:ember)?|(dec)(?:ember)?)\b",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BEHIND = re.compile(r"(?<=\d)([A-Za-z]+)")
_POWERS = {"k": "e3", "K": "e3", "M": "e6", "B": "e9", "G": "e9", "bn": "e9", "T": "e12"}
#: One number with a currency, a unit of a few letters or a sign of per cent.
_ALONE = re.compile(
    r"\s*(?:[A-Z]{3}\s*)?[^\w\s.+-]?\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*\W?\s*(?:[A-Z]{3})?\s*"
)
_MOST_NUMBERS = 10_000  # in one cell
_READ = 1_000  # texts that are looked at for what no number says
#: Numbers that stand in a smaller share of the rows belong to a few texts, not to the records.
_FEWEST = 0.05


def read_numbers(column: pa.ChunkedArray) -> Array | None:
    """All numbers of a column, one or several a row; None where it holds none that vary.

    A cell that lacks one of them has the mean of the others.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    whole = as_numbers(column)
    if whole is not None:
        return _varying(whole[:, np.newaxis])
    if pa.types.is_nested(kind):
        found = flattened(column)
        return None if found is None else _varying(found)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    when = _times(column)
    return _varying(when[:, np.newaxis]) if when is not None else _in_text(column)


def single_numbers(column: pa.ChunkedArray) -> Array | None:
    """Text that is one number or date a cell, NaN where a cell is empty; None for other text."""
    if (when := _times(column)) is not None:
        return when
    texts = _plain(column.fill_null("").to_pylist())
    found = [_ALONE.fullmatch(text) for text in texts]
    if any(m is None and text.strip() for m, text in zip(found, texts, strict=True)):
        return None
    try:
        values = np.array([np.nan if m is None else float(m[1]) for m in found])
    except ValueError:
        return None
    known = values[np.isfinite(values)]
    return values if len(known) and np.ptp(known) > 0 and np.abs(known).max() < LARGEST else None


def is_all_numbers(column: pa.ChunkedArray) -> bool:
    """Whether a column says nothing that its numbers do not say."""
    return is_numeric(column.type) or pa.types.is_nested(column.type) or (
        as_numbers(column) is not None
    )  # fmt: skip


def may_encode(column: pa.ChunkedArray, n_values: int) -> bool:
    """Whether a text, numbers aside, is long and different enough in each row to hold as many.

    Two characters a value are left of numbers in base 16 or 64, more of any cipher.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    texts = column.fill_null("").to_pylist()
    texts = texts[:: max(1, len(texts) // _READ)]
    rest = [_NUMBER.sub("", text) for text in texts]
    long = sum(map(len, rest)) > (2 * n_values + 8) * len(rest)
    return long and len(set(rest)) > len(rest) / 2


def _times(column: pa.ChunkedArray) -> Array | None:
    """Dates and times that are written as text; None where it is no such text."""
    texts = pc.utf8_trim_whitespace(column)
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    if texts.null_count == len(texts):
        return None
    for unit in ("ns", "us"):
        try:
            return as_numbers(texts.cast(pa.timestamp(unit)))
        except pa.ArrowException:
            continue
    for form in _DATES:
        try:
            return as_numbers(pc.strptime(texts, format=form, unit="s"))
        except pa.ArrowException:
            continue
    return None


def _in_text(column: pa.ChunkedArray) -> Array | None:
    texts = column.fill_null("").to_pylist()
    texts = _plain(texts)
    rows = [_NUMBER.findall(text)[:_MOST_NUMBERS] for text in texts]
    width = max(map(len, rows), default=0)
    values = np.full((len(rows), width), np.nan)
    for i, row in enumerate(rows):
        values[i, : len(row)] = row
    known = np.abs(values) < LARGEST  # and no NaN
    often = known.mean(axis=0) >= _FEWEST
    values, known = values[:, often], known[:, often]
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return _varying(np.where(known, values, mean))


def _plain(texts: list[str]) -> list[str]:
    """Texts in which numbers are written with a point, without separators or words for powers."""
    if all(text.count(",") == len(_THOUSANDS.findall(text)) for text in texts) and any(
        "." in text or text.count(",") > 1 for text in texts
    ):
        texts = [text.replace(",", "") for text in texts]
    # A comma is a decimal point where no point is to be seen, and no other sign between numbers.
    elif not any("." in text for text in texts) and all(text.count(",") <= 1 for text in texts):
        texts = [text.replace(",", ".") for text in texts]
    behind = {letters for text in texts for letters in _BEHIND.findall(text)}
    if behind and behind <= _POWERS.keys():
        texts = [_BEHIND.sub(lambda m: _POWERS[m[1]], text) for text in texts]
    if sum(bool(_MONTHS.search(text)) for text in texts) > len(texts) / 2:
        texts = [_MONTHS.sub(lambda m: f" {m.lastindex} ", text) for text in texts]
    return texts


def _varying(values: Array) -> Array | None:
    varies = np.ptp(values, axis=0) > 0
    return values[:, varies] if varies.any() else None
