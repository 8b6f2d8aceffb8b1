"""Facts of one column, gathered block by block in bounded memory."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from isinglass.table.columns import as_float64, is_numeric
from isinglass.table.number_format import blank_missing, is_grouped, numbers_written
from isinglass.table.number_text import FREQUENT_WORDS, MISSING_WORDS
from isinglass.table.roles.value_counts import ValueCounts, hash_numbers, hash_texts
from isinglass.table.row_order import RowOrderCheck
from isinglass.table.text_numbers import is_text

Floats = NDArray[np.float64]

MOST_COUNTED = 50_000  # different values of a column; more are estimated
MOST_SEEN = 24  # categories that are listed
_TRIAL = 4096  # values after which a form that hardly any has is looked for no more

#: What a whole text may be, besides a number.
FORMS = {
    "date": r"^([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}|"
    r"[0-9]{1,2}[ -][A-Za-z]{3,9}\.?[ -][0-9]{2,4}|[A-Za-z]{3,9} [0-9]{1,2},? [0-9]{4})"
    r"([T ,]+[0-9]{1,2}:[0-9]{2}.{0,20})?$",
    "time of day": r"^[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?$",
    "UUID": r"^[{]?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}[}]?$",
    "IBAN": r"^[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,4})?$",
    "e-mail address": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    "IP address": r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$",
    "digest": r"^([0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$",
    "phone number": r"^(\+|00?)[0-9][0-9 ()/.-]{6,18}[0-9]$",
    "leading zero": r"^0[0-9]+$",
    "long digits": r"^[0-9]{12,19}$",
    "prose": r"^\S+(\s+\S+){3,}$",
}
_RARE = pa.array(sorted({*MISSING_WORDS} - {*FREQUENT_WORDS}), pa.large_string())
_TIMES = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d")


class NumberFacts:
    """Facts of a column's numbers, as one of the ways to read them gives them."""

    def __init__(self) -> None:
        self.read = 0
        self.unread = 0
        self.first_unread: int | None = None
        self.low, self.high = np.inf, -np.inf
        self.whole = True
        self.zero_one = True
        self.rising = self.falling = True
        self._last: float | None = None
        self.order = RowOrderCheck(1)

    def add(self, values: Floats, rows: NDArray[np.intp]) -> None:
        """Take in the numbers of some rows; NaN is one that cannot be read."""
        bad = np.isnan(values)
        if bad.any():
            self.miss(rows[bad])
            values = values[~bad]
        finite = values[np.isfinite(values)]
        self.read += len(values)
        if not len(finite):
            return
        self.low, self.high = min(self.low, finite.min()), max(self.high, finite.max())
        self.whole = self.whole and bool((finite == np.floor(finite)).all())
        self.zero_one = self.zero_one and bool(((finite == 0) | (finite == 1)).all())
        if self.rising or self.falling:
            steps = np.diff(finite, prepend=finite[0] if self._last is None else self._last)
            steps = steps[1:] if self._last is None else steps
            self.rising = self.rising and bool((steps > 0).all())
            self.falling = self.falling and bool((steps < 0).all())
        self._last = float(finite[-1])
        self.order.add(finite[:, np.newaxis])

    def miss(self, rows: NDArray[np.intp]) -> None:
        """Take in rows whose texts are no numbers."""
        self.unread += len(rows)
        if self.first_unread is None and len(rows):
            self.first_unread = int(rows[0])

    @property
    def counts_rows(self) -> bool:
        """Whether the numbers go up or down with the row, without gaps to speak of."""
        wide = self.high - self.low
        return self.whole and (self.rising or self.falling) and wide < 2 * max(self.read, 1)

    @property
    def ordered(self) -> bool:
        """Whether a record's place tells its value, or its neighbors do."""
        return bool(len(self.order.trending()) or len(self.order.alike()))


class ColumnFacts:
    """What is known of a column once all of its blocks were added."""

    def __init__(self, name: str, kind: pa.DataType, *, is_csv: bool) -> None:
        self.name = name
        self.kind = kind
        self.is_csv = is_csv
        self.rows = 0
        self.missing = 0
        self.values = ValueCounts(MOST_COUNTED)
        self.numbers = {".": NumberFacts(), ",": NumberFacts()}
        self.plain = True  # every text so far is digits with a point, or nothing
        self.has_point = False
        self.signs: set[str] = set()  # currencies beside the numbers
        self.forms = dict.fromkeys(FORMS, 0)
        self.seen: set[str] | None = set()
        self.length = 0
        self._looked = 0  # values whose forms were looked for
        self._when: str | None = None  # how its dates are written; empty as in ISO 8601

    @property
    def known(self) -> int:
        return self.rows - self.missing

    @property
    def is_text(self) -> bool:
        return is_text(self.kind)

    @property
    def is_date(self) -> bool:
        return bool(pa.types.is_temporal(self.kind))

    def add(self, column: Any) -> NDArray[np.uint64]:
        """Take in the next rows; given back is a hash of each."""
        first, self.rows = self.rows, self.rows + len(column)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if self.is_text:
            return self._add_texts(column, first)
        if is_numeric(self.kind):
            return self._add_numbers(column, first)
        known = column.is_valid().to_numpy(zero_copy_only=False)
        self.missing += int((~known).sum())
        if self.is_date:
            whole = column.cast(pa.int32() if self.kind.bit_width == 32 else pa.int64())
            values = whole.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            self.numbers["."].add(values[known].astype(np.float64), first + np.flatnonzero(known))
            hashes = hash_numbers(values)
        elif pa.types.is_binary(self.kind) or pa.types.is_large_binary(self.kind):
            hashes = hash_texts(column)
        else:  # lists and structures: how they are written
            hashes = hash_texts(pa.array([repr(v) for v in column.to_pylist()], pa.large_string()))
        self.values.add(hashes[known])
        return np.where(known, hashes, 0).astype(np.uint64)

    def _add_numbers(self, column: Any, first: int) -> NDArray[np.uint64]:
        values = np.asarray(as_float64(column).to_numpy(zero_copy_only=False))
        known = np.isfinite(values)
        self.missing += int((~known).sum())
        if pa.types.is_integer(column.type):
            exact = column.fill_null(0).to_numpy(zero_copy_only=False)
            hashes = hash_numbers(exact)
        else:
            hashes = hash_numbers(values)
        self.values.add(hashes[known])
        self.numbers["."].add(values[known], first + np.flatnonzero(known))
        self._list(values[known])
        return np.where(known, hashes, 0).astype(np.uint64)

    def _list(self, values: Floats) -> None:
        """Keep the values of a column that has few."""
        if self.seen is None or len(self.seen) > MOST_SEEN:
            self.seen = None
            return
        if not self.values.exact or self.values.different > MOST_SEEN:
            self.seen = None
            return
        self.seen |= {f"{v:.17g}" for v in np.unique(values).tolist()}

    def _add_texts(self, column: Any, first: int) -> NDArray[np.uint64]:
        column = column.cast(pa.large_string())
        texts = blank_missing(column)
        known = texts.is_valid().to_numpy(zero_copy_only=False)
        hashes = hash_texts(texts)
        self.missing += int((~known).sum())
        self.values.add(hashes[known])
        if self.plain and texts.null_count:  # a word that only a reader of texts understands
            self.plain = not pc.any(pc.is_in(column, value_set=_RARE)).as_py()
        values = texts.drop_null()
        if len(values):
            rows = first + np.flatnonzero(known)
            self.length += int(pc.sum(pc.utf8_length(values)).as_py())
            self._add_written(values, rows)
            if self.seen is not None:
                few = self.values.exact and self.values.different <= MOST_SEEN
                self.seen = self.seen | set(values.unique().to_pylist()) if few else None
        return np.where(known, hashes, 0).astype(np.uint64)

    def _add_written(self, texts: Any, rows: NDArray[np.intp]) -> None:
        """Numbers, and other forms, that texts have."""
        plain = None
        if self.plain:  # after the first text that is not, each is looked at more closely
            with contextlib.suppress(pa.ArrowInvalid):
                plain = np.asarray(texts.cast(pa.float64()).to_numpy(zero_copy_only=False))
            self.plain = plain is not None and not np.isnan(plain).any()
        point, comma = self.numbers["."], self.numbers[","]
        if plain is not None:
            point.add(plain, rows)
            dotted = pc.match_substring(texts, ".")
            if pc.any(dotted).as_py():
                self.has_point = True
                wrong = pc.and_(dotted, pc.invert(is_grouped(texts, ".")))
                wrong_rows = wrong.to_numpy(zero_copy_only=False)
                comma.miss(rows[wrong_rows])
                comma.read += int((~wrong_rows).sum())
            else:
                comma.add(plain, rows)
            self._match(texts, ("leading zero", "long digits", "date"))
            return
        for mark, found in self.numbers.items():
            if found.read + found.unread >= _TRIAL and found.read < found.unread:
                found.miss(rows)
                continue
            values = numbers_written(texts, mark).to_numpy(zero_copy_only=False)
            found.add(np.asarray(values, dtype=np.float64), rows)
        if len(self.signs) < 2 and any(n.read > n.unread for n in self.numbers.values()):
            self._note_signs(texts)
        self._match(texts, tuple(FORMS))
        self._note_when(texts)

    def _note_signs(self, texts: Any) -> None:
        sign = r"\p{Sc}|[A-Z]{3}"
        pattern = rf"^[^0-9]*?(?P<before>{sign})?[^0-9]*[0-9][0-9.,' ]*(?P<behind>{sign})?"
        found = pc.extract_regex(texts, pattern)
        for part in ("before", "behind"):
            signs = pc.struct_field(found, part).drop_null().unique().slice(0, 3)
            self.signs |= set(signs.to_pylist()) - {""}

    def _match(self, texts: Any, forms: tuple[str, ...]) -> None:
        for form in forms:
            if self._looked < _TRIAL or self.forms[form]:
                found = pc.sum(pc.match_substring_regex(texts, FORMS[form])).as_py()
                self.forms[form] += found or 0
        self._looked += len(texts)

    def _note_when(self, texts: Any) -> None:
        """Whether dates go with the row, if they can be read."""
        if self.forms["date"] < 0.9 * self._looked:
            return
        for form in ("", *_TIMES) if self._when is None else (self._when,):
            try:
                if not form:
                    when = texts.cast(pa.timestamp("us"))
                else:
                    when = pc.strptime(texts, format=form, unit="us")
            except pa.ArrowException:
                continue
            self._when = form
            values = when.cast(pa.int64()).to_numpy(zero_copy_only=False)
            self.numbers["."].order.add(np.asarray(values, dtype=np.float64)[:, np.newaxis])
            return
