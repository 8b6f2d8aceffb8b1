"""Features that survive a factor per row: direction, ratios, sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.scalings import Scalings
from isinglass.attack.linking.families import FeatureFamily, Of

Array = NDArray[Any]


#: Names of the features that are the values themselves.
PLAIN = ("the same values", "in deviations from the mean")


def invariants(scalings: Scalings) -> Iterator[FeatureFamily]:
    """Kinds of features under which a row and its record agree, if the release is of that kind.

    Columns must correspond.
    """
    for name, of in zip(PLAIN, (scalings.in_units, scalings.standard), strict=True):
        yield FeatureFamily(name, of)
        yield FeatureFamily(f"direction, {name}", both(direction, of))
        yield FeatureFamily(f"size of each value, {name}", both(np.abs, of))
    # Tools scale a table before they multiply its rows; what they scaled by is the table's.
    yield FeatureFamily("direction of deviations", both(direction, scalings.standard_records))
    yield FeatureFamily("direction from the mean", both(direction, scalings.from_mean))
    yield FeatureFamily("direction of ranges", both(direction, scalings.range_records))
    # Other units of a column only shift its logarithms.
    middle = [np.median(m, axis=0) for m in both(_log_ratios, scalings.in_units)(*scalings.some)]

    def ratios(rows: Array, records: Array) -> tuple[Array, Array]:
        z, x = both(_log_ratios, scalings.in_units)(rows, records)
        return z - middle[0], x - middle[1]

    yield FeatureFamily("ratios of values", ratios)


def both(what: Any, of: Of) -> Of:
    """A function of the rows, of both sides."""

    def features(rows: Array, records: Array) -> tuple[Array, Array]:
        z, x = of(rows, records)
        return what(z), what(x)

    return features


def direction(rows: Array) -> Array:
    """Rows of length one, the largest value positive: a number of its own changes nothing.

    Noise may change which value is the largest, and so turn a row; without noise none does.
    """
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(length > 0, length, 1.0)
    largest = np.take_along_axis(unit, np.abs(unit).argmax(axis=1)[:, np.newaxis], axis=1)
    # The other way round for a row of zeros only, which has no direction.
    return np.asarray(unit * np.where(largest < 0, -1.0, 1.0))


def _log_ratios(rows: Array) -> Array:
    """Logarithms of sizes less their mean in the row; zeros count as very small."""
    size = np.abs(rows)
    logs = np.log(np.maximum(size, 1e-9))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))
