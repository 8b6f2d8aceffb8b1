"""Different values, counted in bounded memory: exact up to a limit, then by a sample of values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_PIECE = 1 << 20  # bytes of text that are hashed at once
_WEIGHTS = np.random.default_rng(0).integers(1, 2**63, size=4096, dtype=np.uint64) * np.uint64(
    2
) + np.uint64(1)


class ValueCounts:
    """How often each value occurs; of many values those whose hash is small enough stay.

    The threshold only ever falls, so the count of a value that is still there is exact.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._shift = 0
        self._hashes: Words = np.empty(0, dtype=np.uint64)
        self._counts: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def add(self, hashes: Words) -> None:
        """Take in one hash a value."""
        found, counts = np.unique(self._small(hashes), return_counts=True)
        place = np.searchsorted(self._hashes, found)
        known = np.zeros(len(found), dtype=bool)
        inside = place < len(self._hashes)
        known[inside] = self._hashes[place[inside]] == found[inside]
        self._counts[place[known]] += counts[known]
        if not known.all():
            self._hashes = np.insert(self._hashes, place[~known], found[~known])
            self._counts = np.insert(self._counts, place[~known], counts[~known])
        while len(self._hashes) > self._capacity:
            self._shift += 1
            keep = self._hashes >> np.uint64(64 - self._shift) == 0
            self._hashes, self._counts = self._hashes[keep], self._counts[keep]

    @property
    def exact(self) -> bool:
        return self._shift == 0

    @property
    def different(self) -> int:
        """How many different values there are, about, unless `exact`."""
        return len(self._hashes) << self._shift

    @property
    def repeated(self) -> int:
        """How many values are a repetition of an earlier one, about, unless `exact`."""
        return int((self._counts - 1).sum()) << self._shift

    @property
    def share_repeated(self) -> float:
        """The share of the different values that occur more than once."""
        return float((self._counts > 1).mean()) if len(self._counts) else 0.0

    def _small(self, hashes: Words) -> Words:
        if not self._shift:
            return hashes
        return np.asarray(hashes[hashes >> np.uint64(64 - self._shift) == 0])


def hash_numbers(values: NDArray[Any]) -> Words:
    """A hash of each number; whole ones of 64 bits are not rounded."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64) + 0.0  # which turns -0.0 into 0.0
    else:
        values = values.astype(np.int64)
    return _mixed(np.ascontiguousarray(values).view(np.uint64))


def hash_texts(texts: Any) -> Words:
    """A hash of each text, from its bytes and their places."""
    column = texts.cast(pa.large_binary()).fill_null(b"")
    if not len(column):
        return np.empty(0, dtype=np.uint64)
    buffers = column.buffers()
    ends = np.frombuffer(buffers[1], dtype=np.int64)[
        column.offset : column.offset + len(column) + 1
    ]
    data = np.frombuffer(buffers[2] or b"", dtype=np.uint8)
    found = np.empty(len(column), dtype=np.uint64)
    start = 0
    while start < len(column):
        stop = int(np.searchsorted(ends, ends[start] + _PIECE, side="right")) - 1
        stop = min(max(stop, start + 1), len(column))
        found[start:stop] = _sums(data, ends[start : stop + 1])
        start = stop
    return _mixed(found)


def hash_rows(columns: list[Words]) -> Words:
    """A hash of each row from those of its values."""
    found = np.zeros(len(columns[0]), dtype=np.uint64)
    for j, hashes in enumerate(columns):
        found = _mixed(found + hashes * _WEIGHTS[j % len(_WEIGHTS)])
    return found


def _sums(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> Words:
    lengths = np.diff(ends)
    piece = data[ends[0] : ends[-1]].astype(np.uint64) + np.uint64(1)
    within = np.arange(len(piece)) - np.repeat(ends[:-1] - ends[0], lengths)
    piece *= _WEIGHTS[within & (len(_WEIGHTS) - 1)]
    piece += (within >> 12).astype(np.uint64)
    upto = np.concatenate([np.zeros(1, np.uint64), np.cumsum(piece, dtype=np.uint64)])
    upto = upto[ends - ends[0]]
    return np.asarray(np.diff(upto) + lengths.astype(np.uint64))


def _mixed(words: Words) -> Words:
    """Every bit depends on all others (Steele, Lea and Flood, 2014)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))
