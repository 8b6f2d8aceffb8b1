"""Exact medians of many columns, in memory that does not grow with the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.errors import TableError

Blocks = Callable[[], Iterator[NDArray[Any]]]
Words = NDArray[np.uint64]

# How many entries are gathered in the end, and counters kept until then, over all columns.
_ENOUGH = 1 << 22
_COUNTERS = 1 << 22
_MOST_BITS = 12
_SIGN = np.uint64(1 << 63)


def medians_to_fill(
    table: str,
    names: Sequence[str],
    blocks: Callable[[Sequence[str]], Iterator[NDArray[Any]]],
    remedy: str,
) -> NDArray[np.float64]:
    """The median of every column that misses values; 0 for the others, which need none.

    `blocks` starts a pass over some columns. A column without a single value has no median, and
    `remedy` says what to do about it.
    """
    holes = np.zeros(len(names), dtype=bool)
    for block in blocks(names) if names else ():
        holes |= ~np.isfinite(block).all(axis=0)
    missing = [name for name, hole in zip(names, holes, strict=True) if hole]
    middle = np.zeros(len(names))
    if missing:
        middle[holes] = medians(lambda: blocks(missing), len(missing))
    empty = [name for name, m in zip(names, middle, strict=True) if np.isnan(m)]
    if empty:
        raise TableError(
            f"{table} has columns without a single value: {', '.join(empty)}; {remedy}"
        )
    return middle


def medians(blocks: Blocks, n_columns: int) -> NDArray[np.float64]:
    """The median of every column over its finite entries; NaN where a column has none.

    `blocks` starts a new pass over the table. Numbers are ordered as their bits are (`_words`),
    so a pass counts the entries by their leading bits, and the next pass counts only those that
    begin like the middle one, by the bits that follow, until what is left fits into memory.
    """
    searches = [_MedianSearch(column, _share(_COUNTERS, n_columns)) for column in range(n_columns)]
    most = _share(_ENOUGH, n_columns)
    while wide := [s for s in searches if s.inside > most and s.shift > 0]:
        for search in wide:
            search.start()
        for block in blocks():
            for search in wide:
                search.count(block)
        for search in wide:
            search.narrow()
    for block in blocks():
        for search in searches:
            search.gather(block)
    return np.array([search.median() for search in searches])


def _share(total: int, n_columns: int) -> int:
    return max(2, total // max(n_columns, 1))


class _MedianSearch:
    """The middle of one column: entries whose words begin with `prefix`, `shift` bits to go."""

    def __init__(self, column: int, counters: int) -> None:
        self._column = column
        self._step = min(_MOST_BITS, counters.bit_length() - 1)
        self._rank = -1  # of the lower middle entry, among those inside; unknown before a pass
        self._total = 0
        self._prefix = 0
        self._gathered: list[Words] = []
        self._above = np.uint64(2**64 - 1)  # the least word beyond the prefix
        self.inside: float = np.inf
        self.shift = 64

    def start(self) -> None:
        self._bits = min(self._step, self.shift)
        self._counts = np.zeros(1 << self._bits, dtype=np.int64)

    def count(self, block: NDArray[Any]) -> None:
        words = self._matching(_words(block[:, self._column]))
        places = (words >> np.uint64(self.shift - self._bits)) & np.uint64((1 << self._bits) - 1)
        self._counts += np.bincount(places.astype(np.intp), minlength=len(self._counts))

    def narrow(self) -> None:
        if self._rank < 0:
            self._total = int(self._counts.sum())
            self._rank = max(self._total - 1, 0) // 2
        upto = np.cumsum(self._counts)
        place = min(int(np.searchsorted(upto, self._rank, side="right")), len(upto) - 1)
        self.inside = int(self._counts[place])
        self._rank -= int(upto[place]) - int(self.inside)
        self._prefix = self._prefix << self._bits | place
        self.shift -= self._bits

    def gather(self, block: NDArray[Any]) -> None:
        words = _words(block[:, self._column])
        matching = self._matching(words)
        if self.shift:
            self._gathered.append(matching)
        above = words[words > self._last]
        if len(above):
            self._above = min(self._above, above.min())

    def median(self) -> float:
        """Of an even count, the mean of the two in the middle."""
        if self._total == 0:
            return float("nan")
        if self.shift:
            inside = np.sort(np.concatenate(self._gathered))
        else:
            inside = np.full(int(self.inside), self._prefix, dtype=np.uint64)
        lower = inside[self._rank]
        upper = lower
        if self._total % 2 == 0:
            upper = inside[self._rank + 1] if self._rank + 1 < len(inside) else self._above
        low, high = _number(lower), _number(upper)
        middle = (low + high) / 2
        return middle if np.isfinite(middle) else low / 2 + high / 2

    @property
    def _last(self) -> np.uint64:
        """The greatest word that begins with the prefix."""
        return np.uint64(((self._prefix + 1) << self.shift) - 1)

    def _matching(self, words: Words) -> Words:
        if self.shift == 64:
            return words
        begin_alike = words >> np.uint64(self.shift) == np.uint64(self._prefix)
        return np.asarray(words[begin_alike])


def _words(entries: NDArray[Any]) -> Words:
    """The finite entries as whole numbers in the same order."""
    numbers = entries[np.isfinite(entries)].astype(np.float64)
    bits = (numbers + 0.0).view(np.uint64)  # adding zero turns -0.0 into 0.0
    return np.asarray(np.where(bits & _SIGN, ~bits, bits | _SIGN))


def _number(word: np.uint64) -> float:
    bits = word ^ _SIGN if word & _SIGN else ~word
    return float(np.array([bits], dtype=np.uint64).view(np.float64)[0])
