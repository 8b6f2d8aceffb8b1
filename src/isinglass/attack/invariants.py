"""What stays of a row that was multiplied by a number of its own: direction, ratios, sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.marginals import deviations, divisors

Array = NDArray[Any]


#: Names of the features that are the values themselves.
PLAIN = ("the same values", "in deviations from the mean")


def invariants(released: Array, records: Array) -> Iterator[tuple[str, Array, Array]]:
    """Features under which a released row and its record agree, if the release is of that kind.

    Columns must correspond. Each has a name, the features of the released rows, and those of the
    records; the latter in units in which they differ by about one.
    """
    center, unit = records.mean(axis=0), divisors(deviations(records))
    moved = divisors(deviations(released))
    pairs = {
        PLAIN[0]: (released / unit, records / unit),
        PLAIN[1]: (
            (released - released.mean(axis=0)) / moved,
            (records - center) / unit,
        ),
    }
    for name, (z, x) in pairs.items():
        yield name, z, x
        yield f"direction, {name}", direction(z), direction(x)
        yield f"size of each value, {name}", np.abs(z), np.abs(x)
    # Tools scale a table before they multiply its rows; what they scaled by is the table's.
    low = records.min(axis=0)
    span = np.where(np.ptp(records, axis=0) > 0, np.ptp(records, axis=0), 1.0)
    yield "direction of deviations", direction(released), direction((records - center) / unit)
    yield (
        "direction from the mean",
        direction(released / unit),
        direction((records - center) / unit),
    )
    yield "direction of ranges", direction(released), direction((records - low) / span)
    ours, theirs = (_log_ratios(m / unit) for m in (released, records))
    # Other units of a column only shift its logarithms.
    yield "ratios of values", ours - np.median(ours, axis=0), theirs - np.median(theirs, axis=0)


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
