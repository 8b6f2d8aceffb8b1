"""Keyed digests by which an owner knows a table again, however it was rearranged meanwhile."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_ROWS = 256  # digests of rows that are kept
_VALUES = 64  # digests of values that are kept of a column
_MOST_COLUMNS = 256  # columns whose values are sampled
# Two tables are the same for us when this share of the smaller one's rows is in the other.
_SHARED_ROWS = 0.1
# Values may agree by chance where single precision has few of them: a column counts only if most
# of its values are different, and then most of them must be in the other table's column.
_DIFFERENT = 0.75
_SHARED_VALUES = 0.6
_PIECE_ROWS = 16384
# After so many rows, columns with many equal values are no longer sampled.
_TRIAL_ROWS = _PIECE_ROWS


@dataclass(frozen=True, slots=True)
class Sketch:
    """The digests that come first in a secret order, out of `different` ones about."""

    different: float
    digests: frozenset[str] = field(repr=False)

    def share(self, other: Sketch, size: int) -> float:
        """About what share of the smaller set is in the other, both sketched at this size."""
        smaller, larger = sorted((self.different, other.different))
        # What is in both sets is in both sketches if it comes early enough for the larger set.
        common = len(self.digests & other.digests) * max(1.0, larger / size)
        return common / max(smaller, 1.0)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Keyed digests of a table; none depends on the order of its rows or columns.

    `columns`: one digest of all values of a column, for tables with exactly the same rows.
    `rows`: a sample of rows, their columns known by name, for tables that share rows.
    `values`: a sample of values of each column that tells records apart, under no name, for
    tables that share rows but not columns. Samples are bottom-k sketches. Without the register's
    secret a digest says nothing about a value; nobody but the owner holds either.
    """

    n_rows: int
    columns: tuple[str, ...] = field(repr=False)
    rows: Sketch
    values: tuple[Sketch, ...] = ()

    def same_rows_as(self, other: Fingerprint) -> bool:
        """Do the two tables have rows in common, whatever columns each of them has?"""
        fewest = min(len(self.columns), len(other.columns))
        alike = len(set(self.columns) & set(other.columns))
        if self.n_rows == other.n_rows and fewest and alike >= max(1, fewest / 2):
            return True
        telling = min(self.rows.different / max(self.n_rows, 1),
                      other.rows.different / max(other.n_rows, 1))  # fmt: skip
        # Where most rows occur several times, other tables have the same ones by chance.
        if telling >= 0.5 and self.rows.share(other.rows, _ROWS) >= _SHARED_ROWS:
            return True
        # One column in common may be a count of rows or hours; two are the same records.
        needed = min(2, len(self.values), len(other.values))
        return needed > 0 and self._columns_in_common(other, needed) >= needed

    def _columns_in_common(self, other: Fingerprint, enough: int) -> int:
        found = 0
        for mine in self.values:
            if any(mine.share(theirs, _VALUES) >= _SHARED_VALUES for theirs in other.values):
                found += 1
                if found == enough:
                    break
        return found

    def to_json(self) -> dict[str, Any]:
        """As it stands in the register."""
        sketches = [[s.different, sorted(s.digests)] for s in (self.rows, *self.values)]
        return {"n_rows": self.n_rows, "columns": list(self.columns), "sketches": sketches}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Fingerprint:
        """Read it back."""
        rows, *values = (Sketch(float(n), frozenset(d)) for n, d in facts["sketches"])
        return cls(int(facts["n_rows"]), tuple(facts["columns"]), rows, tuple(values))


class Fingerprinter:
    """Gathers a fingerprint block by block.

    Values are rounded to float32 first, so that a table and its copy as text look the same. What
    is sampled is decided by fast keyed sums; what is stored is a keyed BLAKE2b of it.
    """

    def __init__(self, secret: bytes, names: Sequence[str]) -> None:
        self._secret = secret
        self._n_rows = 0
        self._factors = [np.uint64(self._word(b"column", n.encode()) | 1) for n in names]
        self._mixer = np.uint64(self._word(b"rows", b"") | 1)
        # An odd factor maps 32 bits to 32 bits one to one, so no two values share a tag.
        self._tagger = np.uint32(self._word(b"values", b"") & 0xFFFFFFFF | 1)
        self._sums = np.zeros(len(names), dtype=np.uint64)
        self._rows = np.empty(0, dtype=np.uint64)
        self._tags = [np.empty(0, dtype=np.uint32) for _ in names]
        self._sampled = np.arange(len(names)) < _MOST_COLUMNS
        self._constant: list[int | None] = [None] * len(names)
        self._varies = np.zeros(len(names), dtype=bool)

    def _word(self, kind: bytes, text: bytes) -> int:
        return int.from_bytes(self._digest(kind, text, 8), "little")

    def _digest(self, kind: bytes, text: bytes, size: int) -> bytes:
        return hashlib.blake2b(text, key=self._secret, person=kind, digest_size=size).digest()

    def add(self, block: NDArray[Any]) -> None:
        """Take in rows."""
        # In pieces that stay in cache. They end at fixed rows, and so does the trial, so that
        # what is sampled does not depend on the blocks.
        while len(block):
            piece = block[: _PIECE_ROWS - self._n_rows % _PIECE_ROWS]
            block = block[len(piece) :]
            self._take(piece)

    def _take(self, block: NDArray[Any]) -> None:
        sums = np.zeros(len(block), dtype=np.uint64)
        words = np.empty(len(block), dtype=np.uint64)
        numbers = np.empty(len(block), dtype=np.float32)
        tags = np.empty(len(block), dtype=np.uint32)
        bits = numbers.view(np.uint32)
        with np.errstate(over="ignore"):
            for j, factor in enumerate(self._factors):
                # Adding zero turns -0.0 into 0.0.
                np.add(block[:, j], np.float32(0), out=numbers, casting="same_kind")
                words[:] = bits
                total = words.sum()
                self._sums[j] += total
                if not self._varies[j]:
                    self._look_for_change(j, bits)
                if self._sampled[j]:
                    np.multiply(bits, self._tagger, out=tags)
                    self._tags[j] = _first(self._tags[j], tags, _VALUES)
                words *= factor
                sums += words
            # The low bits of a sum of products are weak; fold the high ones in.
            sums ^= sums >> np.uint64(32)
            sums *= self._mixer
            sums ^= sums >> np.uint64(29)
            self._rows = _first(self._rows, sums, _ROWS)
        self._n_rows += len(block)
        if self._n_rows == _TRIAL_ROWS:
            self._sampled &= [self._tells_apart(tags) for tags in self._tags]

    def _look_for_change(self, column: int, bits: NDArray[np.uint32]) -> None:
        first = self._constant[column]
        if first is None:
            first = self._constant[column] = int(bits[0])
        self._varies[column] = bool((bits != first).any())

    def _tells_apart(self, tags: NDArray[np.uint32]) -> bool:
        return len(tags) > 0 and _different(tags, _VALUES) >= _DIFFERENT * self._n_rows

    def result(self) -> Fingerprint:
        """The fingerprint of all rows so far."""
        # A column of one value says nothing about which table it is in, unless all are such.
        telling = self._varies if self._varies.any() else ~self._varies
        columns = sorted(
            self._digest(b"all values", b"%d:%d" % (self._n_rows, total), 16).hex()
            for total in self._sums[telling].tolist()
        )
        values = [
            self._sketch(tags, _VALUES)
            for tags, sampled in zip(self._tags, self._sampled, strict=True)
            if sampled and self._tells_apart(tags)
        ]
        return Fingerprint(
            self._n_rows, tuple(columns), self._sketch(self._rows, _ROWS), tuple(values)
        )

    def _sketch(self, words: NDArray[Any], size: int) -> Sketch:
        kind = b"row" if words.dtype == np.uint64 else b"value"
        digests = (self._digest(kind, word.tobytes(), 8).hex() for word in words)
        return Sketch(_different(words, size), frozenset(digests))


def _first(sketch: NDArray[Any], words: NDArray[Any], size: int) -> NDArray[Any]:
    """The smallest different words of both."""
    if len(sketch) == size:
        words = words[words < sketch[-1]]
        if not len(words):
            return sketch
    return np.union1d(sketch, words)[:size]


def _different(words: NDArray[Any], size: int) -> float:
    """About how many different words there were, by how dense the smallest of them lie."""
    if len(words) < size:
        return float(len(words))
    return float((size - 1) * 2.0 ** (8 * words.itemsize) / (float(words[-1]) + 1))
