"""Residues of values modulo the step of a noise that comes in steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.linking.families import FeatureFamily, Of, Seen

Array = NDArray[Any]

#: Grids that are tried, in deviations of a column: coarser ones than its spread, and finer ones.
_COARSEST, _FINEST = 1e2, 1e-4
_LARGE = 20_000
#: Known pairs whose differences are searched for a grid of their own.
_MOST_SEARCHED = 40
#: Of grids that agree about as well the coarsest leaves most of a value.
_ABOUT_AS_WELL = 0.97


def residues(records: Array, *, known: bool) -> Iterator[FeatureFamily]:
    """Values modulo a grid, as points on a circle.

    With known pairs one kind of features: for each column the grid under which they agree best.
    Without, one kind for each grid that people use.
    """
    unit = divisors(deviations(records))
    if known:
        # Pairs say which grid it is; without any the widest column's deviation would do as well.
        yield FeatureFamily("values modulo a grid", _modulo(unit), _fit)
        return
    # Steps of 2 or 5 are steps of 1 as well; in a large table that has to do.
    digits = (1, 2, 5) if len(records) <= _LARGE else (1,)
    for grid in round_numbers(_FINEST * unit.min(), _COARSEST * unit.max(), digits):
        fine = (grid >= _FINEST * unit) & (grid <= _COARSEST * unit)
        yield FeatureFamily(f"values modulo {grid:g}", _modulo(np.where(fine, grid, np.inf)))


def round_numbers(low: float, high: float, digits: tuple[int, ...] = (1, 2, 5)) -> list[float]:
    """1, 2 and 5 times powers of ten, the largest first."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    found = [m * 10.0**k for k in powers for m in digits]
    return sorted((g for g in found if low <= g <= high), reverse=True)


def _modulo(grid: Array) -> Of:
    def of(rows: Array, records: Array) -> tuple[Array, Array]:
        return on_circle(rows / grid), on_circle(records / grid)

    return of


def on_circle(turns: Array) -> Array:
    """Points on a circle, once round for each full turn."""
    angle = 2 * np.pi * np.remainder(turns, 1.0)
    return np.hstack([np.cos(angle), np.sin(angle)])


def _fit(seen: Seen) -> Of:
    unit = divisors(deviations(seen.some_records))
    columns = zip(
        seen.rows.T, seen.records.T, seen.some_rows.T, seen.some_records.T, unit, strict=True
    )
    return _modulo(np.array([_best_grid(*column) for column in columns]))


def _best_grid(z: Array, x: Array, some_z: Array, some_x: Array, unit: float) -> float:
    """The grid under which known pairs agree most, and more than strangers do."""
    grids = round_numbers(_FINEST * unit, _COARSEST * unit) + _steps(z - x, unit)
    grids = sorted(grids, reverse=True)
    per = 2j * np.pi / np.array(grids)[:, np.newaxis]
    agree = np.abs(np.exp(per * (z - x)).mean(axis=1))
    # Were they strangers, what each side shows by itself would be left.
    sides = [np.abs(np.exp(per * side).mean(axis=1)) for side in (some_z, some_x)]
    more = agree - sides[0] * sides[1]
    return grids[int(np.argmax(more >= _ABOUT_AS_WELL * more.max()))]


def _steps(noise: Array, unit: float) -> list[float]:
    """Steps in which the noise may have been drawn: the smallest gaps between its values."""
    some = noise[:_MOST_SEARCHED]
    gaps = np.sort(np.abs(some[:, np.newaxis] - some)[np.triu_indices(len(some), 1)])
    gaps = gaps[gaps > 0.1 * _FINEST * unit]
    if not len(gaps):
        return []
    found = []
    for step in gaps[[0, len(gaps) // 50, len(gaps) // 10]] / np.array([[1], [2], [3]]):
        for grid in step.tolist():
            # Longer gaps hold more steps and tell the step better, once it is nearly known.
            for most in (10, 100, 1000):
                near = gaps[gaps < most * grid]
                count = np.rint(near / grid)
                if count.any():
                    grid = float((near * count).sum() / np.square(count).sum())
            found.append(grid)
    return found
