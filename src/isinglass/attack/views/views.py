"""Views: transformations of a release to attack instead of the release itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.noise.common_seeds import without_public_noise
from isinglass.attack.views import column_views, row_views
from isinglass.attack.views.row_graph import row_numbers, slow_vectors
from isinglass.attack.views.row_transforms import row_transforms

Array = NDArray[Any]
Turn = Callable[[Array, ColumnStatistics], Array]

#: Powers of ten by which a number is multiplied before its whole part is dropped.
_DIGITS = range(-4, 11)
#: Lowest bits of a number's 52 that may carry another number.
_BITS = (16, 24, 32)
#: Widest directions that noise shared by all columns may take up.
_SHARED = (1, 2, 3, 5, 8, 13)


@dataclass(frozen=True, slots=True)
class View:
    """A release turned into another table with as many rows, in a few words and as a function.

    `turn` takes the release and the column statistics that everybody knows.
    """

    name: str
    turn: Turn = field(repr=False)
    along_rows: bool = False  # it needs the rows in the order of the table
    whole: bool = False  # it was made for all rows of one release
    by_column: bool = False  # each column is turned by itself, so that a few show what it is worth
    #: What it takes from beside the release, a row for each of its rows, and how.
    beside: Array | None = field(default=None, repr=False, compare=False)
    made_of: Callable[[Array], Turn] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def using(cls, name: str, beside: Array, made_of: Callable[[Array], Turn]) -> View:
        """One that needs more than the release, row for row."""
        return cls(name, made_of(beside), whole=True, beside=beside, made_of=made_of)

    def at(self, rows: NDArray[np.intp]) -> View:
        """The same for a release of these rows only."""
        if self.beside is None or self.made_of is None:
            return self
        part = self.beside[rows]
        return replace(self, turn=self.made_of(part), beside=part)


def views(n_columns: int) -> Iterator[View]:
    """All views of a release with this many columns."""
    yield View("values outside the known range replaced by the mean", _inside)
    yield View("values cut off at the known range", _cut)
    yield View("ranks as a normal distribution", _normal_scores)
    yield View("columns of two values read as such", column_views.two_values_read)
    for name, function in _FUNCTIONS.items():
        yield View(name, _of_each(function))
    yield View("without what all columns of a row share", _without_shared)
    yield View("without the row's mean", _without_row_mean)
    for n in _SHARED:
        if n < n_columns:
            yield View(f"without the {n} widest directions", _without_widest(n))
    for power in _DIGITS:
        yield View(f"the digits after place {power}", _digits(power))
    for n in _BITS:
        yield View(f"the lowest {n} bits of each number", _lowest_bits(n))
    yield View("columns with their partners", column_views.without_partners)
    for name, turn in column_views.shares(n_columns):
        yield View(name, turn)
    for name, turn in row_views.ROW_VIEWS.items():
        yield View(name, turn, along_rows=True)
    yield View(
        "without noise of a well-known seed", without_public_noise, along_rows=True, whole=True
    )


def file_views(Z: Array) -> Iterator[View]:
    """Views that only some files have: of so many rows, or of columns that name rows."""
    for name, turn in row_transforms(len(Z)):
        yield View(name, turn, along_rows=True, whole=True, by_column=True)
    if row_numbers(Z) is not None:
        name = "slow vectors of the graph of row numbers"
        yield View(name, slow_vectors, along_rows=True, whole=True)


def group_views(columns: Iterable[Array]) -> Iterator[View]:
    """Rows less the mean of those that agree in a column, for columns in which many do."""
    for column in columns:
        n_values = len(np.unique(column))
        if 1 < n_values <= len(column) / 2:
            name = "rows less the mean of those that agree in a column"
            yield View.using(name, column, column_views.without_group_means)


def views_beside(Z: Array, others: Iterable[Array]) -> Iterator[View]:
    """Columns put together with those of another table that left, where that is as large."""
    for other in others:
        if other.shape == Z.shape:
            for name, made_of in column_views.shares_beside():
                yield View.using(name, np.asarray(other, dtype=np.float64), made_of)


def _inside(Z: Array, known: ColumnStatistics) -> Array:
    if Z.shape[1] != len(known.mean):
        return Z
    return np.where((known.low <= Z) & (known.high >= Z), Z, known.mean)


def _cut(Z: Array, known: ColumnStatistics) -> Array:
    return np.clip(Z, known.low, known.high) if Z.shape[1] == len(known.mean) else Z


def _normal_scores(Z: Array, known: ColumnStatistics) -> Array:
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(Z, axis=0) - 0.5) / len(Z)))


#: Of the size of a value; its sign stays.
_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "logarithms": np.log1p,
    "exponentials": lambda size: np.expm1(np.minimum(size, 300.0)),
    "squares": np.square,
    "square roots": np.sqrt,
    "inverses": lambda size: 1.0 / np.maximum(size, 1e-9),
}


def _of_each(function: Callable[[Array], Array]) -> Turn:
    def turn(Z: Array, known: ColumnStatistics) -> Array:
        return np.asarray(np.sign(Z) * function(np.abs(Z)))

    return turn


def _in_units(Z: Array, known: ColumnStatistics) -> Array:
    """In deviations of the table's columns, where the release may have those; else of its own."""
    unit = known.deviation if Z.shape[1] == len(known.mean) else deviations(Z)
    return np.asarray((Z - Z.mean(axis=0)) / divisors(unit))


def _without_row_mean(Z: Array, known: ColumnStatistics) -> Array:
    return np.asarray(Z - Z.mean(axis=1, keepdims=True))


def _without_shared(Z: Array, known: ColumnStatistics) -> Array:
    """The best linear estimate where one number a row was added to all columns.

    What a column varies too much is that number's share in it, so its covariance N is known, and
    the estimate is (I - N C^-1) z with C the covariance of the release.
    """
    if Z.shape[1] != len(known.mean) or len(Z) < 2:
        return Z
    centered = Z - Z.mean(axis=0)
    C = np.atleast_2d(np.cov(centered.T))
    excess = np.sqrt(np.maximum(np.diag(C) - np.square(known.deviation), 0.0))
    weights = np.linalg.pinv(C, rcond=1e-10, hermitian=True) @ np.outer(excess, excess)
    return np.asarray(known.mean + centered - centered @ weights)


def _without_widest(n: int) -> Turn:
    def turn(Z: Array, known: ColumnStatistics) -> Array:
        rows = _in_units(Z, known)
        _, directions = np.linalg.eigh(np.atleast_2d(rows.T @ rows))
        widest = directions[:, -n:]
        return np.asarray(rows - (rows @ widest) @ widest.T)

    return turn


def _digits(power: int) -> Turn:
    def turn(Z: Array, known: ColumnStatistics) -> Array:
        moved = Z * 10.0**power
        # A digit that rounding left just below the next whole number belongs to that one.
        rounding = 4 * np.spacing(np.abs(moved))
        return np.asarray(np.maximum(moved - np.floor(moved + rounding), 0.0))

    return turn


def _lowest_bits(n: int) -> Turn:
    def turn(Z: Array, known: ColumnStatistics) -> Array:
        bits = np.ascontiguousarray(Z, dtype=np.float64).view(np.uint64)
        return np.asarray((bits & np.uint64(2**n - 1)).astype(np.float64))

    return turn
