"""Parts of kept values that may predict the table: weekday, prefix, digits, words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.kept.calendar_parts import (
    UNITS,
    calendar_parts,
    seconds_of_numbers,
    seconds_of_texts,
)

Array = NDArray[Any]
#: Groups of some of a column's values, by their numbers among them.
Read = Callable[[Array], Sequence[Any] | Array]

#: The part that is the value itself.
WHOLE = "value"
#: Characters looked at in a text, at either end and one by one.
_LONGEST_TEXT, _MOST_CHARACTERS, _MOST_PIECES = 200, 12, 6
#: Words of a list that get a mark of their own, and in how many values a word must stand.
_MOST_WORDS, _LEAST_WORDS = 48, 3
#: Numbers of things that come round: hours, days, months, and counts of minutes or readings.
_ROUNDS = (
    7, 10, 12, 24, 60, 100, 365, 2, 3, 4, 5, 6, 8, 9, 14, 15, 16, 20, 26, 28, 30, 31, 32, 36, 48,
    50, 52, 64, 72, 90, 96, 120, 128, 144, 168, 180, 256, 288, 336, 360, 366, 672, 720, 1000, 1440,
)  # fmt: skip
#: Decimals, and digits in all, that are read as a whole number.
_MOST_DECIMALS, _LARGEST_WHOLE = 6, 2.0**53
#: This share of texts must hold a number for them to be read as numbers.
_MOSTLY = 0.9
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_BETWEEN_WORDS = re.compile(r"[;,|\[\]\"'\s/+&]+")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of one kept column: the group of each of the column's values.

    `effect` is the variance of what a group adds to a record, and `share` what all groups explain,
    both of a column of variance 1; 0 where they are not known.
    """

    column: int
    name: str
    values: Array = field(repr=False)  # the column's, each once, in order
    groups: Array = field(repr=False)
    #: For whoever has the release alone, and for whoever has records beside it.
    effect: tuple[float, float] = (0.0, 0.0)
    share: tuple[float, float] = (0.0, 0.0)

    def words(self, names: Sequence[str]) -> str:
        """What is read, in words."""
        return f"{self.name} of {names[self.column]}"

    def marks(self, kept: Array) -> None:
        """A part of one column has groups, but no waves."""

    def of(self, kept: Array) -> Array:
        """The groups of rows with these kept values; one group more for values never seen."""
        wanted = kept[:, self.column]
        place = np.minimum(np.searchsorted(self.values, wanted), len(self.values) - 1)
        unseen = int(self.groups.max()) + 1
        return np.where(self.values[place] == wanted, self.groups[place], unseen)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to read one part of a column's values; a `word` is one of several that add up."""

    name: str
    read: Read = field(repr=False)
    word: bool = False

    def groups(self, some: Array) -> Array:
        """Numbers from 0 of the groups that some of the values fall into."""
        numbers: dict[Any, int] = {}
        found = self.read(some)
        keys = found.tolist() if isinstance(found, np.ndarray) else found
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def recipes(values: Array, meaning: str | Array | None, *, is_category: bool) -> Iterator[Recipe]:
    """Ways to read parts of a column's values, each of which stands in `values` once.

    `meaning` are the texts that codes stand for, or the unit of a number that counts time since
    1970. Codes that stand for nothing known have no parts but the whole.
    """
    yield Recipe(WHOLE, partial(_taken, values))
    if isinstance(meaning, np.ndarray):
        # Of numpy's numbers a range would be searched one by one.
        places = np.rint(values).astype(np.intp).tolist()
        known = range(len(meaning))
        texts = [str(meaning[place])[:_LONGEST_TEXT] if place in known else "" for place in places]
        yield from _of_texts(texts)
    elif not is_category:
        yield from _of_numbers(values, meaning if meaning in UNITS else None)


def _of_numbers(values: Array, unit: str | None) -> Iterator[Recipe]:
    for seconds in seconds_of_numbers(values, unit):
        for name, part in calendar_parts(seconds):
            yield Recipe(name, partial(_taken, part))
    whole = as_whole(values)
    if whole is None:
        return
    least = int(whole.min())
    if least > 0 and (step := int(np.gcd.reduce(whole - least))) > 1:
        # Hours written as seconds come round as hours do.
        yield from _digits((whole - least) // step, "count")
    yield from _digits(whole, "number")


def _digits(whole: Array, what: str) -> Iterator[Recipe]:
    """Leading digits, digits in the middle, and remainders of whole numbers."""
    largest = int(np.abs(whole).max())
    for power in range(1, len(str(largest))):
        yield Recipe(f"{what} by {10**power:,}", partial(_quotient, whole, 10**power, None))
    for size in _ROUNDS:
        if size <= largest:
            yield Recipe(f"remainder of {what} by {size}", partial(_quotient, whole, 1, size))
    for size in (24, 60, 1440, 3600):
        # The hour of minutes, the day of hours, and so on.
        for rounds in (7, 12, 24, 60):
            if size * rounds <= largest:
                name = f"remainder of {what} by {size} by {rounds}"
                yield Recipe(name, partial(_quotient, whole, size, rounds))
    for power in range(1, len(str(largest)) - 1):
        for size in (10, 100):
            yield Recipe(f"digits of {what}", partial(_quotient, whole, 10**power, size))


def _taken(part: Array, some: Array) -> Array:
    return np.asarray(part[some])


def _quotient(whole: Array, size: int, rounds: int | None, some: Array) -> Array:
    found = whole[some] // size
    return np.asarray(found if rounds is None else found % rounds)


def as_whole(values: Array) -> Array | None:
    """Numbers without their decimal point; None where they have too many digits.

    A few may be no such number, as the mean that stands for a missing one: they are rounded.
    """
    most_others = max(2, len(values) // 100)
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = values * 10.0**decimals
        if np.abs(scaled).max() >= _LARGEST_WHOLE:
            return None
        others = np.abs(scaled - np.rint(scaled)) > 1e-9 * np.maximum(np.abs(scaled), 1.0)
        if others.sum() <= min(most_others, len(values) // 2):
            return np.rint(scaled).astype(np.int64)
    return None


def _of_texts(texts: list[str]) -> Iterator[Recipe]:
    yield Recipe("text without case", partial(_items, [t.strip().casefold() for t in texts]))
    seconds = seconds_of_texts(texts)
    if seconds is not None:
        for name, part in calendar_parts(seconds):
            yield Recipe(name, partial(_taken, part))
    pieces = [_PIECES.findall(text) for text in texts]
    most = max(map(len, pieces))
    if most > 1:
        for at in range(min(most, _MOST_PIECES)):
            yield Recipe(f"piece {at + 1}", partial(_pieces, pieces, at))
        yield Recipe("last piece", partial(_pieces, pieces, -1))
        yield Recipe("last piece but one", partial(_pieces, pieces, -2))
    yield from _words(texts)
    longest = max(map(len, texts))
    for n in range(1, min(longest, _MOST_CHARACTERS + 1)):
        s = "s" * (n > 1)
        yield Recipe(f"first {n} character{s}", partial(_cut, texts, slice(n)))
        yield Recipe(f"last {n} character{s}", partial(_cut, texts, slice(-n, None)))
    for at in range(1, min(longest, _MOST_CHARACTERS)):
        yield Recipe(f"character {at + 1}", partial(_cut, texts, slice(at, at + 1)))
    yield Recipe("length", partial(_items, [len(text) for text in texts]))
    yield Recipe("number of pieces", partial(_items, [len(some) for some in pieces]))
    for at in range(min(most, 2)):
        numbers = [_piece(some, at) for some in pieces]
        written = [number for number in numbers if number.isdecimal()]
        if len(written) >= _MOSTLY * len(numbers):
            missing = written[0]
            read = [float(number if number.isdecimal() else missing) for number in numbers]
            for recipe in _of_numbers(np.minimum(read, _LARGEST_WHOLE), None):
                yield Recipe(f"{recipe.name} of piece {at + 1}", recipe.read)


def _items(items: Sequence[Any], some: Array) -> list[Any]:
    return [items[i] for i in some]


def _cut(texts: list[str], where: slice, some: Array) -> list[str]:
    return [texts[i][where] for i in some]


def _pieces(pieces: list[list[str]], at: int, some: Array) -> list[str]:
    return [_piece(pieces[i], at) for i in some]


def _piece(pieces: list[str], at: int) -> str:
    return pieces[at] if -len(pieces) <= at < len(pieces) else ""


def _words(texts: list[str]) -> Iterator[Recipe]:
    """A mark for each word of lists, wherever it stands; its name does not say which word."""
    words = [{word for word in _BETWEEN_WORDS.split(text.casefold()) if word} for text in texts]
    if sum(map(len, words)) < 1.5 * len(words):
        return
    count = Counter(word for some in words for word in some)
    for word, n in count.most_common(_MOST_WORDS):
        if _LEAST_WORDS <= n < len(words):
            yield Recipe("single words", partial(_has, words, word), word=True)
    yield Recipe("number of words", partial(_items, [len(some) for some in words]))


def _has(words: list[set[str]], word: str, some: Array) -> list[bool]:
    return [word in words[i] for i in some]
