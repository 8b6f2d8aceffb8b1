"""Functions of two kept columns: difference, ratio, equality, grid cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.kept.column_readings import Readings
from isinglass.attack.kept.derived_columns import as_whole

Array = NDArray[Any]
#: A name with {0} and {1} for the columns, and keys or numbers from the places of values.
Function = tuple[str, Callable[[Array, Array], Array]]

_DAY, _YEAR = 86_400.0, 365.2425 * 86_400.0
#: Sizes of squares: all small ones, or where there are many columns the usual ones.
_SIZES = (*range(1, 41), 45, 48, 50, 60, 64, 72, 75, 80, 90, 96, 100, 120, 128, 150, 200, 250, 500)
_FEW_SIZES = (1, 2, 3, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100)
_REMAINDERS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 24)


def combined_numbers(a: Readings, b: Readings) -> Iterator[Function]:
    """Numbers made of two columns, such as a difference."""
    if a.seconds is not None and b.seconds is not None:
        for what, unit in (("days", _DAY), ("hours", _DAY / 24), ("years", _YEAR)):
            yield (
                f"{what} between {{0}} and {{1}}",
                partial(_between, a.seconds / unit, b.seconds / unit),
            )
        midnights = (np.floor(s / _DAY) for s in (a.seconds, b.seconds))
        yield "midnights between {0} and {1}", partial(_between, *midnights)
    for one, other, years in (
        (a.numbers, b.numbers, ""), (a.years, b.numbers, "years "), (a.numbers, b.years, "years "),
    ):  # fmt: skip
        if one is not None and other is not None:
            yield f"difference of {years}{{0}} and {{1}}", partial(_minus, one, other)
    if a.numbers is None or b.numbers is None:
        return
    yield "sum of {0} and {1}", partial(_plus, a.numbers, b.numbers)
    if a.numbers.min() > 0 and b.numbers.min() > 0:
        first, second = np.log(a.numbers), np.log(b.numbers)
        yield "ratio of {0} to {1}", partial(_minus, first, second)
        yield "product of {0} and {1}", partial(_plus, first, second)
        yield "ratio of {0} to the square of {1}", partial(_minus, first, 2 * second)
        yield "ratio of {1} to the square of {0}", partial(_second_minus, second, 2 * first)


def equalities(a: Readings, b: Readings) -> Iterator[Function]:
    """Whether two columns, or the same part of both, are equal."""
    if a.texts is not None and b.texts is not None:
        yield "equality of {0} and {1}", partial(_equal, a.texts, b.texts)
        yield "{0} and {1} in either order", partial(_either, a.texts, b.texts)
        for what, cut in _cuts(a.texts, b.texts):
            one, other = (
                np.array([t[cut] for t in texts.tolist()]) for texts in (a.texts, b.texts)
            )
            yield f"equality of the {what} of {{0}} and {{1}}", partial(_equal, one, other)
            yield f"{what} of {{0}} and {{1}} in either order", partial(_either, one, other)
    if a.numbers is not None and b.numbers is not None:
        yield "order of {0} and {1}", partial(_sign, a.numbers, b.numbers)
    if a.seconds is not None and b.seconds is not None:
        yield "order of {0} and {1}", partial(_sign, a.seconds, b.seconds)
        for what, rounded in _calendar(a.seconds, b.seconds):
            yield f"equality of the {what} of {{0}} and {{1}}", partial(_equal, *rounded)


def boards(a: Readings, b: Readings, *, few: bool) -> Iterator[Function]:
    """Fields of a checkerboard, and squares, of two whole numbers."""
    if a.numbers is None or b.numbers is None:
        return
    one, other = as_whole(a.numbers), as_whole(b.numbers)
    if one is None or other is None:
        return
    reach = min(int(np.ptp(one)), int(np.ptp(other)))
    for size in _FEW_SIZES if few else _SIZES:
        if size <= reach:
            yield f"checkerboard of {{0}} and {{1}} by {size}", partial(_checker, one, other, size)
    for parts in (3, 5, 8, 12, 20):
        if parts <= reach:
            size = max(1, reach // parts)
            yield "squares of {0} and {1}", partial(_squares, one, other, size)


def remainders(numbers: Callable[[Array, Array], Array]) -> Iterator[tuple[int, Any]]:
    """Remainders of whole differences and sums."""
    for size in _REMAINDERS:
        yield size, partial(_remainder, numbers, size)


def banded(numbers: Callable[[Array, Array], Array], edges: Array) -> Any:
    """Groups between edges."""
    return partial(_banded, numbers, edges)


def _cuts(one: Array, other: Array) -> Iterator[tuple[str, slice]]:
    longest = max(max(map(len, one.tolist())), max(map(len, other.tolist())))
    for n in range(1, min(longest, 5)):
        characters = "character" if n == 1 else f"{n} characters"
        yield f"first {characters}", slice(n)
        if n < 4:
            yield f"last {characters}", slice(-n, None)


def _calendar(one: Array, other: Array) -> Iterator[tuple[str, tuple[Array, Array]]]:
    days = [np.floor(s / _DAY).astype(np.int64) for s in (one, other)]
    months = [d.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) for d in days]
    yield "day", (days[0], days[1])
    yield "weekday", (days[0] % 7, days[1] % 7)
    yield "month", (months[0] % 12, months[1] % 12)
    yield "month and year", (months[0], months[1])
    yield "year", (months[0] // 12, months[1] // 12)
    hours = [np.floor(s / 3600).astype(np.int64) % 24 for s in (one, other)]
    yield "hour", (hours[0], hours[1])


def _between(a: Array, b: Array, i: Array, j: Array) -> Array:
    # Moments a whole hour apart may be less than that by a rounding error.
    return np.asarray(np.floor(b[j] - a[i] + 1e-9))


def _minus(a: Array, b: Array, i: Array, j: Array) -> Array:
    return np.asarray(np.round(a[i] - b[j], 9))


def _second_minus(b: Array, a: Array, i: Array, j: Array) -> Array:
    return np.asarray(np.round(b[j] - a[i], 9))


def _plus(a: Array, b: Array, i: Array, j: Array) -> Array:
    return np.asarray(np.round(a[i] + b[j], 9))


def _equal(a: Array, b: Array, i: Array, j: Array) -> Array:
    return np.asarray(a[i] == b[j])


def _sign(a: Array, b: Array, i: Array, j: Array) -> Array:
    return np.asarray(np.sign(a[i] - b[j]))


def _either(a: Array, b: Array, i: Array, j: Array) -> Array:
    values, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    one, other = codes[: len(a)][i], codes[len(a) :][j]
    return np.asarray(np.minimum(one, other) * len(values) + np.maximum(one, other))


def _checker(a: Array, b: Array, size: int, i: Array, j: Array) -> Array:
    return np.asarray((a[i] // size + b[j] // size) % 2)


def _squares(a: Array, b: Array, size: int, i: Array, j: Array) -> Array:
    width = int(b.max()) // size - int(b.min()) // size + 1
    return np.asarray(a[i] // size * width + (b[j] // size - int(b.min()) // size))


def _remainder(numbers: Callable[[Array, Array], Array], size: int, i: Array, j: Array) -> Array:
    return np.asarray(numbers(i, j) % size)


def _banded(numbers: Callable[[Array, Array], Array], edges: Array, i: Array, j: Array) -> Array:
    return np.searchsorted(edges, numbers(i, j), side="right")
