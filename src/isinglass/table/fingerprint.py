"""Keyed fingerprint of a table that survives rearrangement."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import field_checks

Words = NDArray[np.uint64]

_ROWS = 1024  # digests of rows that are kept
_FEWER = 128  # digests of rows without one column that are kept, for each column
_VALUES = 64  # digests of values that are kept of a column
_MOST_COLUMNS = 64  # columns that are left out in turn, and whose values are sampled
# Two tables are the same for us when this share of the smaller one's rows is in the other.
_SHARED_ROWS = 0.1
# Values may agree by chance where single precision has few of them: a column counts only if most
# of its values are different, and then most of them must be in the other table's column.
_DIFFERENT = 0.75
_SHARED_VALUES = 0.6
_RICH = 16  # different values that make a column more than a code
_POSSIBLE = 16
_PIECE_ROWS = 16384
# Rows that are looked at in every way; the rest is only known by its names.
_DEEP_ROWS = 16 * _PIECE_ROWS
# After so many rows, columns with many equal values are no longer sampled.
_TRIAL_ROWS = _PIECE_ROWS


@dataclass(frozen=True, slots=True)
class Sketch:
    """The digests that come first in a secret order, out of `different` ones about."""

    different: float
    in_order: tuple[str, ...] = field(repr=False)

    @property
    def digests(self) -> frozenset[str]:
        return frozenset(self.in_order)

    def cut(self, size: int) -> Sketch:
        """The same sketch at a smaller size."""
        return Sketch(self.different, self.in_order[:size])

    def to_json(self) -> list[Any]:
        return [self.different, list(self.in_order)]

    @classmethod
    def from_json(cls, stored: list[Any]) -> Sketch:
        different, in_order = stored
        return cls(
            field_checks.number(different, "a sketch"), field_checks.names(in_order, "a sketch")
        )

    def share(self, other: Sketch, size: int) -> float:
        """About what share of the smaller set is in the other, both sketched at this size."""
        smaller, larger = sorted((self.different, other.different))
        # What is in both sets is in both sketches if it comes early enough for the larger set.
        common = len(self.digests & other.digests) * max(1.0, larger / size)
        return common / max(smaller, 1.0)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Keyed digests of a table; none depends on the order of its rows or columns.

    `table`: one digest of everything. `columns`: one digest of all values of a column, for
    tables with exactly the same rows. `rows`: a sample of rows, their columns known by name;
    `fewer`: the same without one column, for each in turn; `nameless`: a sample of rows that does
    not know which value is in which column. `values`: a sample of values of each column that
    tells records apart, under no name. Samples are bottom-k sketches. Without the register's
    secret a digest says nothing about a value; nobody but the owner holds either.
    """

    n_rows: int
    table: str = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)
    rows: Sketch = field(repr=False)
    nameless: Sketch = field(repr=False)
    fewer: tuple[Sketch, ...] = field(repr=False, default=())
    values: tuple[Sketch, ...] = field(repr=False, default=())

    def same_rows_as(self, other: Fingerprint) -> bool:
        """Do the two tables have rows in common, whatever columns each of them has?"""
        if self.table == other.table:
            return True
        fewest = min(len(self.columns), len(other.columns))
        alike = len(set(self.columns) & set(other.columns))
        if self.n_rows == other.n_rows and fewest and alike >= max(1, fewest / 2):
            return True
        return (
            self._share_rows(self.rows, other, other.rows, _ROWS)
            or self._share_rows(self.nameless, other, other.nameless, _ROWS)
            or self._share_rows_but_for_a_column(other)
            or self._share_columns(other)
        )

    def _share_rows(self, mine: Sketch, other: Fingerprint, theirs: Sketch, size: int) -> bool:
        # Where most rows occur several times, other tables have the same ones by chance.
        deep = size < _ROWS or mine is self.nameless
        for sketch, n_rows in ((mine, self.n_rows), (theirs, other.n_rows)):
            if sketch.different < (min(n_rows, _DEEP_ROWS) if deep else n_rows) / 2:
                return False
        return mine.share(theirs, size) >= _SHARED_ROWS

    def _share_rows_but_for_a_column(self, other: Fingerprint) -> bool:
        """One column more, one less, or one exchanged."""
        mine, theirs = (
            [p.rows.cut(_FEWER), *p.fewer] if p.fewer else [p.rows.cut(_FEWER)]
            for p in (self, other)
        )
        known = {digest for sketch in theirs for digest in sketch.digests}
        return any(
            self._share_rows(one, other, two, _FEWER)
            for one in mine
            if one.digests & known
            for two in theirs
        )

    def _share_columns(self, other: Fingerprint) -> bool:
        # One column in common may be anything; two are the same records.
        found = 0
        for mine in self.values:
            if any(mine.share(theirs, _VALUES) >= _SHARED_VALUES for theirs in other.values):
                found += 1
        return found >= 2

    def to_json(self) -> dict[str, Any]:
        """As it stands in the register."""
        return {
            "n_rows": self.n_rows,
            "table": self.table,
            "columns": list(self.columns),
            "rows": self.rows.to_json(),
            "nameless": self.nameless.to_json(),
            "fewer": [sketch.to_json() for sketch in self.fewer],
            "values": [sketch.to_json() for sketch in self.values],
        }

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Fingerprint:
        """Read it back."""
        return cls(
            field_checks.whole(facts["n_rows"], "n_rows"),
            field_checks.word(facts["table"], "table"),
            field_checks.names(facts["columns"], "columns"),
            Sketch.from_json(facts["rows"]),
            Sketch.from_json(facts["nameless"]),
            tuple(Sketch.from_json(sketch) for sketch in facts["fewer"]),
            tuple(Sketch.from_json(sketch) for sketch in facts["values"]),
        )


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
        self._offset = np.uint64(self._word(b"nameless", b""))
        # An odd factor maps 32 bits to 32 bits one to one, so no two values share a tag.
        self._tagger = np.uint32(self._word(b"values", b"") & 0xFFFFFFFF | 1)
        width = len(names)
        self._sums = np.zeros(width, dtype=np.uint64)
        self._rows = np.empty(0, dtype=np.uint64)
        self._nameless = np.empty(0, dtype=np.uint64)
        self._fewer = [np.empty(0, dtype=np.uint64) for _ in range(min(width, _MOST_COLUMNS))]
        self._tags = [np.empty(0, dtype=np.uint32) for _ in names]
        self._sampled = np.arange(width) < _MOST_COLUMNS
        # A column that only rises or only falls counts rows or hours, and is in many tables.
        self._rises = np.ones(width, dtype=bool)
        self._falls = np.ones(width, dtype=bool)
        self._last = np.zeros(width, dtype=np.float32)

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
        rows = len(block)
        deep = self._n_rows < _DEEP_ROWS
        products = np.empty((len(self._fewer) if deep else 0, rows), dtype=np.uint64)
        words, squares = np.empty((2, rows), dtype=np.uint64)
        total = np.zeros(rows, dtype=np.uint64)
        nameless = np.full(rows, self._offset)
        numbers = np.empty(rows, dtype=np.float32)
        tags = np.empty(rows, dtype=np.uint32)
        bits = numbers.view(np.uint32)
        with np.errstate(over="ignore"):
            for j, factor in enumerate(self._factors):
                # Adding zero turns -0.0 into 0.0.
                np.add(block[:, j], np.float32(0), out=numbers, casting="same_kind")
                words[:] = bits
                self._sums[j] += words.sum()
                if deep:
                    np.multiply(words, words, out=squares)
                    nameless += squares
                if self._rises[j] or self._falls[j]:
                    self._look_at_direction(j, numbers)
                if deep and self._sampled[j]:
                    np.multiply(bits, self._tagger, out=tags)
                    self._tags[j] = _first(self._tags[j], tags, _VALUES)
                words *= factor
                total += words
                if j < len(products):
                    products[j] = words
            for j, product in enumerate(products):
                without = np.subtract(total, product, out=product)
                self._fewer[j] = _first(self._fewer[j], without, _FEWER)
            if deep:
                # Sums of keyed products are evenly spread; sums of squares are not yet.
                nameless *= self._mixer
                self._nameless = _first(self._nameless, nameless, _ROWS)
            self._rows = _first(self._rows, total, _ROWS)
        self._n_rows += rows
        if self._n_rows == _TRIAL_ROWS:
            self._sampled &= [len(t) < _RICH or self._tells_apart(t) for t in self._tags]

    def _look_at_direction(self, column: int, numbers: NDArray[np.float32]) -> None:
        first = numbers[0] if self._n_rows == 0 else self._last[column]
        if self._rises[column]:
            steps = (numbers[1:] >= numbers[:-1]).all() and numbers[0] >= first
            self._rises[column] = steps
        if self._falls[column]:
            self._falls[column] = (numbers[1:] <= numbers[:-1]).all() and numbers[0] <= first
        self._last[column] = numbers[-1]

    def _tells_apart(self, tags: NDArray[np.uint32]) -> bool:
        return _different(tags, _VALUES) >= _DIFFERENT * min(self._n_rows, _DEEP_ROWS)

    def result(self) -> Fingerprint:
        """The fingerprint of all rows so far."""
        moving = ~(self._rises | self._falls)
        sums = sorted(b"%d:%d" % (self._n_rows, total) for total in self._sums.tolist())
        columns = sorted(
            self._digest(b"all values", b"%d:%d" % (self._n_rows, total), 16).hex()
            for total, tags, moves in zip(self._sums.tolist(), self._tags, moving, strict=True)
            if moves and len(tags) >= _RICH
        )
        values = [
            self._sketch(tags, _VALUES)
            for tags, sampled, moves in zip(self._tags, self._sampled, moving, strict=True)
            if sampled and moves and len(tags) >= _RICH and self._tells_apart(tags)
        ]
        # Rows may agree by chance where few are possible: the columns that move must allow for
        # many times as many as there are.
        possible = np.where(
            moving, np.log([max(_different(tags, _VALUES), 1.0) for tags in self._tags]), 0.0
        )
        enough = np.log(_POSSIBLE * max(self._n_rows, 1))
        whole = possible.sum() >= enough
        fewer = [
            self._sketch(words, _FEWER)
            for words, without in zip(self._fewer, possible.sum() - possible, strict=False)
            if without >= enough
        ]
        return Fingerprint(
            self._n_rows,
            self._digest(b"table", b" ".join(sums), 16).hex(),
            tuple(columns),
            self._sketch(self._rows, _ROWS) if whole else Sketch(0.0, ()),
            self._sketch(self._nameless, _ROWS) if whole else Sketch(0.0, ()),
            tuple(fewer),
            tuple(values),
        )

    def _sketch(self, words: NDArray[Any], size: int) -> Sketch:
        kind = b"row" if words.dtype == np.uint64 else b"value"
        digests = (self._digest(kind, word.tobytes(), 8).hex() for word in words)
        return Sketch(_different(words, size), tuple(digests))


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
