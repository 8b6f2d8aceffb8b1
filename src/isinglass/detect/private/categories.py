"""Places of values in the declared list of a column of categories."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass.table.columns import as_float64, is_numeric
from isinglass.table.number_text import number_in

Integers = NDArray[np.int64]
_NUMBERS: Any = (Real, Decimal, np.bool_)


def category_key(value: Any) -> float | str | None:
    """What makes two values the same category: a number, or a text that is none.

    A column's kind follows from all its values: one missing entry turns whole numbers into
    float64, one word turns them into text. So 1, 1.0, "1", "1.00" and true are the same in all
    of them: whole numbers count as the nearest float64, too. None is no category.
    """
    if isinstance(value, str):
        number = number_in(value)
        return value if math.isnan(number) else number
    if not isinstance(value, _NUMBERS):
        return None
    try:
        number = float(value)
    except OverflowError:  # as the text of so large a number is read
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a NaN that signals
        return None
    return None if math.isnan(number) else number


def may_be_categories(kind: pa.DataType) -> bool:
    """Whether the values of a kind of column are numbers or texts, whatever else stands in it."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return is_numeric(kind) or _is_text(kind)


class Places:
    """Where values stand in the list of a column's declared ones; the rest come after the last."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._places = {category_key(value): place for place, value in enumerate(values)}
        self._other = len(self._places)

    def of(self, values: Iterable[Any]) -> Integers:
        """The places of some values."""
        return np.fromiter(map(self._place, values), dtype=np.int64)

    def of_column(self, column: pa.Array) -> Integers:
        """The places of an Arrow column's entries; its different values are looked up once."""
        if pa.types.is_null(column.type):
            return np.full(len(column), self._other, dtype=np.int64)
        if not pa.types.is_dictionary(column.type):
            if is_numeric(column.type):
                column = as_float64(column)
            elif pa.types.is_string_view(column.type):
                column = column.cast(pa.large_string())
            column = column.dictionary_encode()
        found = self.of(column.dictionary.to_pylist())
        at = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return np.asarray(np.append(found, self._other)[at])

    def _place(self, value: Any) -> int:
        return self._places.get(category_key(value), self._other)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
