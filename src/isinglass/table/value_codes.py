"""Codes of a column's values: whole numbers by first appearance."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from isinglass.errors import TableError
from isinglass.messages import spell

MOST_VALUES = 1 << 20  # of a discrete column; more are names, and every row has its own


class ValueCodes:
    """The values of a discrete column met so far; a value's code is its place among them."""

    def __init__(self, table: str, column: str, *, nulls: bool) -> None:
        self._where = f"{table}, column {column}"
        self._nulls = nulls  # whether a missing value is one of them
        self._known: pa.Array | None = None

    def of(self, column: pa.Array) -> NDArray[np.float64]:
        """Codes of a column's entries, NaN for missing ones unless they count as a value."""
        try:
            codes = self._look_up(_comparable(column))
        except pa.ArrowException:  # its text quotes a value
            raise TableError(
                f"{self._where} holds neither text nor numbers and cannot be discrete; leave it "
                f"out with {spell('drop')}"
            ) from None
        return np.asarray(codes.cast(pa.float64()).to_numpy(zero_copy_only=False))

    def _look_up(self, values: pa.Array) -> pa.Array:
        if self._known is None:
            self._known = pa.array([], type=values.type)
        codes = pc.index_in(values, value_set=self._known)
        new = pc.is_null(codes) if self._nulls else pc.and_(pc.is_null(codes), values.is_valid())
        if not pc.any(new).as_py():
            return codes
        self._known = pa.concat_arrays([self._known, values.filter(new).unique()])
        if len(self._known) > MOST_VALUES:
            raise TableError(
                f"{self._where} has more than {MOST_VALUES:,} different values, too many for a "
                f"discrete one; leave it out with {spell('drop')}"
            )
        return pc.index_in(values, value_set=self._known)


def _comparable(column: pa.Array) -> pa.Array:
    """The same entries; an empty text and a number that is not finite are missing."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_floating(kind):
        numbers = pc.add(column.cast(pa.float64()), 0.0)  # which turns -0.0 into 0.0
        return pc.if_else(pc.is_finite(numbers), numbers, None)
    if pa.types.is_null(kind) or kind in (pa.string(), pa.large_string(), pa.string_view()):
        texts = column.cast(pa.large_string())
        return pc.if_else(pc.equal(texts, ""), None, texts)
    return column
