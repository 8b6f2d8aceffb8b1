"""Float32 stand-ins of rows, with error bounds, for the first look of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.kernels.extent import extent
from isinglass.kernels.nearest import slack_of
from isinglass.threads import spread

Array = NDArray[Any]
Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]

_LARGEST = 1e150  # the square of anything beyond may overflow
_SMALLEST = 1e-140  # the square of anything below may underflow
_ROWS = 1 << 14
_FAR = 1e15  # stand-ins end here, so that their squares stay finite in float32


@dataclass(frozen=True, slots=True)
class RowSpace:
    """The distance of a table's rows: weighted squares of numbers, mismatches of codes.

    `columns` are those with a weight above zero; `mismatch` is what two different codes in a
    discrete column add to the square, 0 for numeric columns. A stand-in is `(row - center) *
    factor` in the `live` columns, those in which the table's rows differ. Distances of stand-ins
    are `scale` times those of rows, up to a blur that is zero where `exact`.
    """

    columns: NDArray[np.int64]
    weight: Doubles
    mismatch: Doubles
    live: NDArray[np.bool_] = field(repr=False)
    center: Doubles = field(repr=False)
    factor: Doubles = field(repr=False)
    scale: float
    exact: bool

    @property
    def gap(self) -> Floats:
        """What a mismatch adds to the square of two stand-ins, for every live column."""
        return (self.mismatch[self.live] * self.scale**2).astype(np.float32)

    @property
    def slack(self) -> float:
        """How much a float32 sum of squares may be off, as a factor on its root."""
        return slack_of(len(self.columns))

    def stand_ins(self, X: Array, *, n_jobs: int | None = 1) -> Floats:
        """float32 rows of the live columns; `X` itself where nothing need be changed."""
        columns = self.columns[self.live]
        all_of_them = len(columns) == X.shape[1]
        as_they_are = self._exact_for(X) and np.all(self.factor == 1)
        if as_they_are and all_of_them and X.flags.c_contiguous:
            return X
        Y = np.empty((len(X), len(columns)), dtype=np.float32)
        center, factor = self.center[self.live], self.factor[self.live]
        if self._exact_for(X):
            center, factor = center.astype(np.float32), factor.astype(np.float32)

        def part(a: int, b: int) -> None:
            rows = X[a:b] if all_of_them else X[a:b, columns]
            Y[a:b] = np.clip((rows - center) * factor, -_FAR, _FAR)

        spread(part, len(X), n_jobs=n_jobs, step=_ROWS)
        return Y

    def _exact_for(self, X: Array) -> bool:
        """Whether stand-ins of `X` are not rounded; those of float64 rows are."""
        return self.exact and X.dtype == np.float32

    def queries(self, X: Array) -> tuple[Floats, Floats, Floats]:
        """Stand-ins of other rows; how far off each may be; what columns that are not live add."""
        Y = self.stand_ins(X)
        if len(Y) and self.live.all() and self._exact_for(X) and -_FAR < Y.min() <= Y.max() < _FAR:
            nothing = np.zeros(len(X), dtype=np.float32)
            return Y, nothing, nothing
        Y = np.clip(Y, -_FAR, _FAR)  # so that no square becomes infinite
        blur = np.zeros(len(X))
        if not self._exact_for(X):
            blur = np.sqrt(np.square(Y, dtype=np.float64).sum(axis=1)) * 2.0**-23
        offset = np.zeros(len(X))
        for t in np.flatnonzero(~self.live):
            step = X[:, self.columns[t]].astype(np.float64) - self.center[t]
            if self.mismatch[t]:
                offset += np.where(step != 0, self.mismatch[t], 0.0) * self.scale**2
            else:
                offset += (step * self.factor[t]) ** 2
        # Too far off for float32: such a query is compared with every row in float64.
        lost = (np.abs(Y) >= _FAR).any(axis=1) | (offset >= _FAR**2)
        blur[lost] = np.inf
        return Y, blur.astype(np.float32), np.minimum(offset, _FAR**2).astype(np.float32)


def space_of(
    low: Doubles,
    high: Doubles,
    sample: Array,
    *,
    weights: Doubles | None = None,
    discrete: Sequence[int] = (),
) -> RowSpace:
    """Choose how the rows of a table are represented, from its columns' ranges and some rows.

    Rounding costs nothing but a wider look around, so the choice never changes an answer. float32
    rows of a handy size stand for themselves. Discrete columns hold codes, whole numbers below
    2^24; they are only compared and sorted, so any spacing does.
    """
    weight = np.ones(len(low)) if weights is None else np.asarray(weights, dtype=np.float64)
    coded = np.zeros(len(low), dtype=bool)
    coded[list(discrete)] = True
    live = (weight > 0) & (high > low)
    if not live.any():  # all rows are alike; one column keeps the index simple
        live[np.argmax(weight > 0)] = True
    root = np.sqrt(weight)
    widest = float(np.where(coded, root, (high - low) * root)[live].max(initial=0.0))
    if 0 < widest < _SMALLEST:
        raise ValueError(f"columns must differ by {_SMALLEST:g} or more, got less; scale them")
    if widest > 2 * _LARGEST:
        raise ValueError(f"weighted columns must differ by {2 * _LARGEST:g} at most, got more")
    scale = 1.0
    if widest and not 2.0**-20 <= widest <= 2.0**40:
        scale = float(2.0 ** -np.frexp(widest)[1])
    plain = bool(np.all(weight[live & ~coded] == 1))
    small = bool(np.all(np.maximum(np.abs(low), np.abs(high))[live] < _FAR))
    exact = sample.dtype == np.float32 and scale == 1.0 and plain and small
    with np.errstate(divide="ignore"):
        spacing = 2.0 ** np.floor(np.log2(root * scale / np.maximum(high - low, 1.0)))
    center = low.copy()  # the value itself where all rows agree
    if exact:
        center[live] = 0.0
    else:
        middle = np.median(sample.astype(np.float64), axis=0)
        center[live] = np.where(coded, 0.0, middle)[live]
    columns = np.flatnonzero(weight > 0)
    return RowSpace(
        columns,
        weight[columns],
        np.where(coded, weight, 0.0)[columns],
        live[columns],
        center[columns],
        np.where(coded, spacing, root * scale)[columns],
        scale,
        exact,
    )


def some_rows(X: Array) -> Array:
    """A thousand rows or so, always the same."""
    rows = np.random.default_rng(0).integers(0, len(X), min(len(X), 1024))
    return X[np.sort(rows)]


def ranges(X: Array, n_jobs: int | None = None) -> tuple[Doubles, Doubles]:
    """Smallest and largest value of every column, read once; NaN where one is not finite."""
    parts, width = -(-len(X) // _ROWS), X.shape[1]
    low = np.full((parts, width), np.inf, dtype=X.dtype)
    high = np.full((parts, width), -np.inf, dtype=X.dtype)
    nothing = np.zeros((parts, width), dtype=X.dtype)

    def look(a: int, b: int) -> None:
        part = a // _ROWS
        extent(X[a:b], low[part], high[part], nothing[part])

    spread(look, len(X), n_jobs=n_jobs, step=_ROWS)
    spoiled = nothing.sum(axis=0).astype(np.float64)
    return low.min(axis=0) + spoiled, high.max(axis=0) + spoiled


def refuse_unbounded(low: Doubles, high: Doubles, name: str) -> None:
    """Distances need numbers, and squares of them."""
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(f"{name} contains NaN or infinity; leave such rows out or fill them in")
    if max(-low.min(initial=0.0), high.max(initial=0.0)) > _LARGEST:
        raise ValueError(f"{name} must hold values up to {_LARGEST:g}, got larger ones; scale it")
