"""Records as counts and scores take them: columns of numbers, and codes of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from isinglass.detect.base import NUMBERS, Detector
from isinglass.detect.private.categories import Places
from isinglass.detect.private.columns import (
    CategoryColumn,
    NumberColumn,
    PublicColumn,
)
from isinglass.detect.private.log_edges import log_cells
from isinglass.table.columns import refuse_columns

Array = NDArray[Any]
Integers = NDArray[np.int64]

#: Whatever a value is, it has a cell: nothing about a table is refused for what its values are.
_ANY_NUMBER: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": 0}

_TWO_DIMENSIONS = "X must have two dimensions: a row for each record. Reshape your data"
_NUMBERS_ONLY = (
    "X must hold numbers only where no categories are declared; it has text in it, or something "
    "else that is no number"
)
#: How messages begin that speak of shapes, types and names of columns alone.
_HARMLESS = (
    "X must ", "X has ", "X does not have valid feature names", "The feature names should match",
    "Feature names are only supported", "Found array with 0 feature(s)", "Sparse data was passed",
    "np.matrix is not supported", "Unable to find the number of features",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CodedRecords:
    """Some records: float64 or float32 numbers, and a code for each value of a category.

    Values of a logarithmic column have been replaced by their cells.
    """

    numbers: Array = field(repr=False)
    codes: Integers = field(repr=False)

    def __len__(self) -> int:
        return len(self.numbers)

    def part(self, start: int, stop: int) -> CodedRecords:
        """Some of the records, row after row in memory."""
        return CodedRecords(np.ascontiguousarray(self.numbers[start:stop]), self.codes[start:stop])


def column_names(X: Any, detector: Detector) -> list[str]:
    """The names of a frame's columns, or the positions of an array's."""
    if hasattr(detector, "n_features_in_"):
        del detector.n_features_in_
    validate_data(detector, X, reset=True, skip_check_array=True)
    if not hasattr(detector, "n_features_in_"):
        raise ValueError(_TWO_DIMENSIONS)
    names = getattr(detector, "feature_names_in_", range(detector.n_features_in_))
    return [str(name) for name in names]


def records_of(
    X: Any, columns: Sequence[PublicColumn], detector: Detector, *, reset: bool = False
) -> CodedRecords:
    """The records of an array or a frame with the declared columns.

    What scikit-learn, pandas and others say of values that they cannot take often quotes them. So
    whatever they say is replaced, unless it is known to speak of shapes and names alone.
    """
    try:
        return _records_of(X, columns, detector, reset=reset)
    except (MemoryError, Warning):  # warnings may be errors, and speak of names
        raise
    except Exception as error:
        kind, said = _sentence(error)
    raise kind(said)


def _sentence(error: Exception) -> tuple[type[Exception], str]:
    """A kind of error and a sentence that holds no value."""
    said = str(error)
    if said.startswith(_HARMLESS):
        return type(error), said
    if said.startswith("Complex data not supported"):  # and then all of it
        return ValueError, "Complex data not supported: X must hold real numbers"
    if said.startswith(("Expected 2D", "Found array with dim")):  # the same
        return ValueError, _TWO_DIMENSIONS
    if isinstance(error, TypeError):  # in the words that scikit-learn looks for
        return TypeError, f"{_NUMBERS_ONLY}: an argument must be a string or a real number"
    return ValueError, _NUMBERS_ONLY


def _records_of(
    X: Any, columns: Sequence[PublicColumn], detector: Detector, *, reset: bool
) -> CodedRecords:
    if any(isinstance(c, CategoryColumn) for c in columns):
        validate_data(detector, X, reset=reset, skip_check_array=True)
        numbers, codes = _numbers_and_codes(X, columns)
    else:
        numbers = detector._validated(X, reset=reset, dtype=NUMBERS, **_ANY_NUMBER)
        codes = np.empty((len(numbers), 0), dtype=np.int64)
    return coded(numbers, codes, columns)


def coded(numbers: Array, codes: Integers, columns: Sequence[PublicColumn]) -> CodedRecords:
    """The records, with cells in place of the values of logarithmic columns."""
    declared = [c for c in columns if isinstance(c, NumberColumn)]
    logarithmic = [j for j, c in enumerate(declared) if c.log]
    if logarithmic:
        numbers = numbers.copy()
        for j in logarithmic:
            numbers[:, j] = log_cells(numbers[:, j], declared[j].low, declared[j].high)
    return CodedRecords(numbers, codes)


def _numbers_and_codes(X: Any, columns: Sequence[PublicColumn]) -> tuple[Array, Integers]:
    listed = [(j, c) for j, c in enumerate(columns) if isinstance(c, CategoryColumn)]
    others = [j for j, c in enumerate(columns) if isinstance(c, NumberColumn)]
    if hasattr(X, "columns"):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        schema = frame.schema
        kinds = [schema[frame.columns[j]] for j, _ in listed]
        allowed = (nw.String, nw.Boolean, nw.Categorical, nw.Enum, nw.Object, nw.Unknown)
        fit = [kind.is_numeric() or kind in allowed for kind in kinds]
        values = [frame[:, j].to_list() for j, _ in listed]
        rest = frame[:, others].to_native() if others else np.empty((len(frame), 0))
    else:
        table = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)
        fit = [table.dtype.kind in "biufOU" for _ in listed]
        values = [table[:, j].tolist() for j, _ in listed]
        rest = table[:, others]
    if wrong := [c.name for (_, c), fits in zip(listed, fit, strict=True) if not fits]:
        raise ValueError(
            "X must hold texts, numbers, true or false where categories are declared; these "
            f"columns hold something else: {', '.join(wrong[:8])}"
        )
    codes = np.empty((len(values[0]), len(listed)), dtype=np.int64)
    for k, (_, column) in enumerate(listed):
        codes[:, k] = Places(column.values).of(values[k])
    if not others:
        return np.empty((len(codes), 0)), codes
    refuse_columns(rest)
    return np.asarray(check_array(rest, dtype=NUMBERS, **_ANY_NUMBER)), codes
