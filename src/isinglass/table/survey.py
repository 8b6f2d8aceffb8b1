"""Survey of a table's columns: rows, range and deviation in one pass, exact medians in a few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.errors import TableError

Vector = NDArray[np.float64]

_GROUP_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Survey:
    """Facts about a table that a perturbation may need; private, so its values never print."""

    n_rows: int
    low: Vector = field(repr=False)
    high: Vector = field(repr=False)
    deviation: Vector = field(repr=False)
    dtype: Any = np.float64

    @property
    def n_columns(self) -> int:
        return len(self.low)

    def constant(self) -> NDArray[np.intp]:
        """Positions of the columns that hold one value only."""
        return np.flatnonzero(self.low == self.high)


@dataclass(frozen=True, slots=True, repr=False)
class RunningMoments:
    """How many rows, their means, and their squared distances from them, summed.

    Rows may count as less than one each, so `count` is no whole number then.
    """

    count: float
    mean: Vector
    squares: Vector

    def joined(self, columns: NDArray[np.float64]) -> RunningMoments:
        """With more rows, one column of them a line (Chan, Golub and LeVeque, 1979)."""
        rows = columns.shape[1]
        if rows == 0:
            return self
        mean = columns.mean(axis=1)
        centered = columns - mean[:, np.newaxis]
        squares = np.square(centered, out=centered).sum(axis=1)
        if self.count == 0:
            return RunningMoments(rows, mean, squares)
        total = self.count + rows
        gap = mean - self.mean
        return RunningMoments(
            total,
            self.mean + gap * (rows / total),
            self.squares + squares + gap**2 * (self.count * rows / total),
        )

    def faded(self, share: float) -> RunningMoments:
        """The same rows, each counting only so much."""
        return RunningMoments(self.count * share, self.mean, self.squares * share)


class Surveyor:
    """Gathers a `Survey` block by block, in memory that does not grow with the rows.

    Rows are summed in groups cut at fixed row numbers: deviations decide how much noise is
    added, and must be the same to the last bit however the rows were batched. They cost more
    than all the rest; without them they come out as NaN.
    """

    def __init__(self, n_columns: int, *, deviation: bool = True) -> None:
        self._wants_deviation = deviation
        self._n_rows = 0
        self._dtype: Any = np.float64
        self._low = np.full(n_columns, np.inf)
        self._high = np.full(n_columns, -np.inf)
        self._moments = RunningMoments(0, np.zeros(n_columns), np.zeros(n_columns))
        group = max(64, min(4096, _GROUP_BYTES // (8 * max(n_columns, 1))))
        self._group = np.empty((n_columns, group if deviation else 0))
        self._filled = 0
        self._origin = np.zeros(n_columns)

    def add(self, block: NDArray[Any]) -> None:
        """Take in rows; all entries must be finite."""
        rows = len(block)
        if rows == 0:
            return
        self._dtype = block.dtype
        np.minimum(self._low, block.min(axis=0), out=self._low)
        np.maximum(self._high, block.max(axis=0), out=self._high)
        if self._wants_deviation:
            # What is too large for the sums comes out as an infinite deviation.
            with np.errstate(over="ignore", invalid="ignore"):
                self._add_moments(block)
        self._n_rows += rows

    def _add_moments(self, block: NDArray[Any]) -> None:
        if self._n_rows == 0:
            # All is measured from the first row, so that a large offset costs no digits.
            self._origin[:] = block[0]
        start = 0
        while start < len(block):
            piece = block[start : start + self._group.shape[1] - self._filled]
            place = self._group[:, self._filled : self._filled + len(piece)]
            np.subtract(piece.T, self._origin[:, np.newaxis], out=place)
            self._filled += len(piece)
            start += len(piece)
            if self._filled == self._group.shape[1]:
                self._moments = self._moments.joined(self._group)
                self._filled = 0

    def result(self) -> Survey:
        """The facts so far."""
        # Adding zero makes 0.0 of -0.0: which of them is the smaller would depend on the blocks.
        low, high = self._low + 0.0, self._high + 0.0
        if not self._wants_deviation:
            return Survey(self._n_rows, low, high, np.full_like(low, np.nan), self._dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self._moments.joined(self._group[:, : self._filled]).squares
        # A constant column's deviation is 0, not the rounding that is left of it.
        deviation = np.where(low < high, np.sqrt(squares / max(self._n_rows - 1, 1)), 0.0)
        return Survey(self._n_rows, low, high, deviation, self._dtype)


def survey(X: NDArray[Any]) -> Survey:
    """Survey an array in memory, in blocks small enough to stay in cache."""
    gather = Surveyor(X.shape[1])
    step = max(1, (1 << 18) // max(X.shape[1], 1))
    for start in range(0, len(X), step):
        gather.add(X[start : start + step])
    return gather.result()


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
