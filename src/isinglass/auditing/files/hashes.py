"""Search for unsalted hashes of values or records in a release."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass.auditing.files.table_text import held
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.table.columns import as_float64, is_numeric
from isinglass.table.read import MemoryTable, Table

Array = NDArray[Any]

#: Values of a column, or records, whose hashes are looked for; three that are found are no chance.
_TRIED, _HITS = 12, 3
#: Numbers that there must be for each released one, lest they meet by chance; and the share of
#: released values that must be hashes of the table's.
_SPARSE, _LEAST = 1_000, 0.3
#: Shorter texts, and smaller numbers, may meet by chance.
_SHORTEST, _SMALLEST = 6, 100_000
_EXACT = 2**53  # larger whole numbers are read as others
_BETWEEN = (",", ";", "|", " ", "", "-", "_")
_PREFIXES = (6, 7, 8, 10, 12, 13, 14, 15, 16, 32, 40, 64)  # hexadecimal digits read as a number
_MODULI = (None, *(10**k for k in range(6, 13)), 2**31 - 1, 2**31, 2**32, 2**53)
_DIGITS = "0123456789abcdef"

Written = Callable[[float], str]
Hash = Callable[[bytes], bytes]
Shape = Callable[[bytes], Hashable]


def _crc32(text: bytes) -> bytes:
    return zlib.crc32(text).to_bytes(4, "big")


_HASHES: tuple[Hash, ...] = (
    _crc32,
    lambda text: hashlib.md5(text, usedforsecurity=False).digest(),
    lambda text: hashlib.sha1(text, usedforsecurity=False).digest(),
    lambda text: hashlib.sha256(text).digest(),
)


@dataclass(frozen=True, slots=True)
class _Source:
    """What may have been hashed: one column, or records, written in one way."""

    columns: tuple[Array, ...] = field(repr=False)  # numbers, or texts
    ways: tuple[Written, ...]
    between: str = ""

    def texts(self, n: int | None = None) -> list[str]:
        """Of the first n rows, or of all."""
        written = [
            [str(v) for v in column[:n]] if column.dtype.kind in "UO" else
            [way(float(v)) for v in column[:n]]
            for column, way in zip(self.columns, self.ways, strict=True)
        ]  # fmt: skip
        return [self.between.join(row) for row in zip(*written, strict=True)]

    def numbers(self) -> Array:
        return np.column_stack(
            [
                c if c.dtype.kind == "f" else np.unique(c, return_inverse=True)[1].astype(float)
                for c in self.columns
            ]
        )


@dataclass(frozen=True)
class _Trials:
    """Hashes of a few values of every source, in every way of hashing."""

    recipes: list[tuple[_Source, Hash]] = field(repr=False)
    digests: list[list[bytes]] = field(repr=False)

    @staticmethod
    def of(sources: Sequence[_Source]) -> _Trials:
        recipes, digests = [], []
        for source in sources:
            some = [t.encode() for t in dict.fromkeys(source.texts(20 * _TRIED))][:_TRIED]
            for way in _HASHES if len(some) > 1 else ():
                recipes.append((source, way))
                digests.append([way(text) for text in some])
        return _Trials(recipes, digests)

    @cached_property
    def numbers(self) -> Array:
        """All of them as numbers: recipe, hash, shape; 0 for none, or one that is too large."""
        found = np.full((len(self.digests), _TRIED, len(_NUMBERS)), 0, dtype=np.int64)
        for i, digests in enumerate(self.digests):
            for j, digest in enumerate(digests):
                for k, (_, shape) in enumerate(_NUMBERS):
                    number = shape(digest)
                    if isinstance(number, int) and abs(number) < _EXACT and number != 0:
                        found[i, j, k] = number
        return found

    def in_numbers(self, there: Array) -> Iterator[tuple[int, Shape]]:
        """Recipes, and shapes, by which several of these hashes are among these numbers."""
        wide = [k for k, (size, _) in enumerate(_NUMBERS) if size >= _SPARSE * len(there)]
        hits = np.isin(self.numbers[:, :, wide], there).sum(axis=1)
        needed = np.array([min(_HITS, len(digests)) for digests in self.digests])
        for i, k in np.argwhere(hits >= needed[:, np.newaxis]):
            yield int(i), _NUMBERS[wide[k]][1]

    def in_texts(self, there: set[str], length: int) -> Iterator[tuple[int, Shape]]:
        """The same for texts of this length."""
        shapes = list(_text_shapes(length))
        for i, digests in enumerate(self.digests):
            for shape in shapes:
                if sum(shape(d) in there for d in digests) >= min(_HITS, len(digests)):
                    yield i, shape


def without_hashes(
    table: Table, release: Table, names: Sequence[str], apart: Sequence[str], notes: list[AuditNote]
) -> Table:
    """The release with hashes replaced by the values, or records, that they are hashes of.

    `names` are the table's columns that are attacked; released columns `apart` are left alone.
    """
    found: dict[str, Array] = {}
    trials: _Trials | None = None
    for name, values in _suspects(release, apart):
        trials = trials or _Trials.of(list(_sources(held(table, names))))
        undone = _undone(values, trials)
        if undone is not None:
            found[name] = undone
    if not found:
        return release
    whole = held(release, release.schema.names)
    for name, undone in found.items():
        at = whole.schema.get_field_index(name)
        whole = whole.remove_column(at)
        for j, column in enumerate(undone.T):
            own = name if undone.shape[1] == 1 else f"{name}.{j}"
            whole = whole.add_column(at + j, own, pa.array(column, from_pandas=True))
    notes.append(AuditNote.of(Kind.HASHES_UNDONE, columns=tuple(found)))
    return MemoryTable(whole, release.name)


def _suspects(release: Table, apart: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
    """Columns whose values are long enough to be hashes, with the values."""
    names = [n for n in release.schema.names if n not in apart]
    whole = held(release, names) if names else pa.table({})
    for name in names:
        column = whole.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        kind = column.type
        if is_numeric(kind):
            numbers = np.asarray(as_float64(column).fill_null(0.0).to_numpy())
            if (
                (np.abs(numbers) < _EXACT).all()
                and not (numbers % 1).any()
                and (np.abs(numbers).max(initial=0.0) >= _SMALLEST)
            ):
                yield name, [int(v) for v in numbers]
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            texts = column.fill_null("").to_pylist()
            if len({len(t) for t in texts if t}) <= 3 and max(map(len, texts)) >= _SHORTEST:
                yield name, texts


def _sources(table: pa.Table) -> Iterator[_Source]:
    columns = [_values(table.column(name)) for name in table.column_names]
    ways = [_written(column) for column in columns]
    for column, several in zip(columns, ways, strict=True):
        for way in several:
            yield _Source((column,), (way,))
    for i in range(max(map(len, ways), default=0)):
        chosen = tuple(several[min(i, len(several) - 1)] for several in ways)
        for sign in _BETWEEN:
            yield _Source(tuple(columns), chosen, sign)


def _values(column: pa.ChunkedArray) -> Array:
    if is_numeric(column.type):
        return np.asarray(as_float64(column).to_numpy(), dtype=np.float64)
    return np.array([str(v) for v in column.to_pylist()])


def _written(values: Array) -> list[Written]:
    """The ways in which numbers may be written; texts are written as they are."""
    if values.dtype.kind != "f":
        return [repr]
    if (values[np.isfinite(values)] % 1 == 0).all():
        return [lambda v: str(int(v)) if np.isfinite(v) else "", repr]
    return [repr, "{:.2f}".format, "{:.1f}".format, "{:.3f}".format]


def _undone(values: list[Any], trials: _Trials) -> Array | None:
    """For each released value the numbers that were hashed; None where they are no hashes."""
    is_text = isinstance(values[0], str)
    best: Array | None = None
    for reading in _readings(values) if is_text else (values,):
        if is_text:
            length = max(map(len, reading))
            if length < _SHORTEST:
                continue
            promising = trials.in_texts(set(reading) - {""}, length)
        else:
            promising = trials.in_numbers(np.setdiff1d(reading, [0]))
        for i, shape in promising:
            found = _looked_up(reading, *trials.recipes[i], shape)
            # Two columns may hold some of the same values.
            if _known(found) > max(_LEAST * len(found), 0 if best is None else _known(best)):
                best = found
    return best


def _known(numbers: Array) -> int:
    return int(np.isfinite(numbers).all(axis=1).sum())


def _looked_up(reading: list[Any], source: _Source, way: Hash, shape: Shape) -> Array:
    places = {shape(way(text.encode())): i for i, text in enumerate(source.texts())}
    rows = np.array([places.get(value, -1) for value in reading], dtype=np.intp)
    return np.where(rows[:, np.newaxis] >= 0, source.numbers()[rows], np.nan)


def _readings(texts: list[str]) -> Iterator[list[str]]:
    """Texts as they stand; without what all begin with; and as digits, where they use sixteen."""
    yield texts
    first, last = min(filter(None, texts)), max(texts)
    start = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    cut = [t[start:] for t in texts]
    if start:
        yield cut
    low = [t.lower() for t in cut]
    if low != cut:
        yield low
    letters = sorted(set("".join(low)))
    if len(letters) == len(_DIGITS) and "".join(letters) != _DIGITS:
        turned = str.maketrans("".join(letters), _DIGITS)
        yield [t.translate(turned) for t in low]


def _text_shapes(length: int) -> Iterator[Shape]:
    yield lambda d: d.hex()[:length]
    yield lambda d: d.hex()[:length].upper()
    yield lambda d: d.hex()[-length:]
    yield lambda d: base64.b64encode(d).decode()[:length]
    yield lambda d: base64.urlsafe_b64encode(d).decode()[:length]
    yield lambda d: base64.b32encode(d).decode()[:length]
    yield lambda d: str(int.from_bytes(d, "big"))[:length]


def _first_bytes(digest: bytes, size: int, order: Literal["little", "big"], signed: bool) -> int:
    return int.from_bytes(digest[:size], order, signed=signed)


def _first_digits(digest: bytes, n: int, modulus: int | None) -> int:
    number = int(digest.hex()[:n], 16)
    return number if modulus is None else number % modulus


#: How many numbers there are of each shape, and the shape.
_NUMBERS: tuple[tuple[float, Shape], ...] = (
    *(
        (float(min(16**n, modulus or 16**n)), partial(_first_digits, n=n, modulus=modulus))
        for n in _PREFIXES
        for modulus in _MODULI
        if modulus is None or modulus < 16**n
    ),
    *((256.0**n, partial(_first_bytes, size=n, order="little", signed=False)) for n in (4, 8)),
    *((256.0**n, partial(_first_bytes, size=n, order="big", signed=True)) for n in (4, 8)),
)
