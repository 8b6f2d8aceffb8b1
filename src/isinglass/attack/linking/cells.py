"""Linking by cells that were left nearly unchanged, weighted by how rare agreement is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.linking.families import Seen
from isinglass.attack.linking.record_fit import best_of, blocks

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: How near two values are, in deviations of their column.
NEAR = (1e-9, 1e-5, 1e-3, 1e-2, 5e-2, 0.2, 0.6)
#: Pairs that all columns together count for in each of them.
_SHARED = 4.0
#: A value is written in place of others if it stands in three times as many rows as it should,
#: or in so many where it should stand in none.
_WRITTEN = 2.0
_ROUNDS = 2
#: A lead counts if chance gives a smaller one in this share of rows ...
_USUAL = 0.98
#: ... and a single cell if hardly anybody else has its value.
_RARE = 0.8
#: Values that are farther apart than this tolerance tell little.
_TELLING = 3
#: Records that one row is compared with at a time, times rows.
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class CellFit:
    """Sums over columns of log ratios: how often a row's own record is so near, and any other."""

    released: Array = field(repr=False)
    records: Array = field(repr=False)
    reach: Array = field(repr=False)  # (tolerances, columns)
    weight: Array = field(repr=False)  # (tolerances, rows, columns): what each one adds

    @property
    def n_released(self) -> int:
        return len(self.released)

    @property
    def n_public(self) -> int:
        return len(self.records)

    def block(self, rows: slice) -> Array:
        released, weight = self.released[rows], self.weight[:, rows]
        fits = np.zeros((len(released), self.n_public))
        step = max(1, _BLOCK // max(1, len(released)))
        for start in range(0, self.n_public, step):
            part = slice(start, start + step)
            for j in range(released.shape[1]):
                apart = np.abs(released[:, j, np.newaxis] - self.records[part, j])
                for reach, more in zip(self.reach[:, j], weight[:, :, j], strict=True):
                    fits[:, part] += more[:, np.newaxis] * (apart <= reach)
        return fits

    def best(self) -> tuple[Rows, Array]:
        return best_of(self)


@dataclass(frozen=True, slots=True)
class Cells:
    """How near a cell is to its own record's value, and how often."""

    name: str
    columns: Array = field(repr=False)  # values of the public records, sorted
    written: Array = field(repr=False)  # those of the released rows
    reach: Array = field(repr=False)
    own: Array = field(repr=False)  # (tolerances + 1, columns): shares of own cells in each band

    def fit(self, rows: Array, records: Array) -> CellFit:
        n = len(self.columns)
        within = np.empty((len(self.reach) + 1, *rows.shape))
        for k, reach in enumerate(self.reach):
            within[k] = _within(rows, reach, self.columns)
        within[-1] = 1.0
        # Bands between one tolerance and the next; nobody else's record is as rare as can be.
        strangers = np.diff(within, axis=0, prepend=0.0)
        ratio = np.log(self.own)[:, np.newaxis] - np.log(np.maximum(strangers, 0.5 / n))
        weight = ratio[:-1] - ratio[1:]
        # A value written in place of many others says nothing of whom it was written for.
        usual = _within(rows, self.reach[0], self.columns) + _WRITTEN / len(self.written)
        weight[:, _within(rows, self.reach[0], self.written) > 3 * usual] = 0.0
        return CellFit(rows, records, self.reach, weight)


def _within(rows: Array, reach: Array, columns: Array) -> Array:
    """The share of a sorted column that lies within reach of each value."""
    found = np.empty(rows.shape)
    for j, column in enumerate(columns.T):
        above = np.searchsorted(column, rows[:, j] + reach[j], side="right")
        found[:, j] = above - np.searchsorted(column, rows[:, j] - reach[j], side="left")
    return found / len(columns)


@dataclass(frozen=True, slots=True)
class CellFamily:
    """Some cells nearly as they were, others changed beyond recognition: count those that agree.

    So swapped, suppressed or coarsely noised cells hide nothing: they count for nobody, and the
    others name the record. With known pairs, how often a row's own value is how near; without,
    any nearness is thought to be as frequent as any other.
    """

    columns: Array = field(repr=False)  # values of the public records, sorted
    written: Array = field(repr=False)  # those of the released rows
    name: str = "cells left as they were"

    def learned(self, seen: Seen) -> Cells:
        reach = np.array(NEAR)[:, np.newaxis] * divisors(deviations(seen.some_records))
        apart = np.abs(seen.rows - seen.records)
        band = (apart > reach[:, np.newaxis]).sum(axis=0)
        count = (band == np.arange(len(NEAR) + 1)[:, np.newaxis, np.newaxis]).sum(axis=1)
        shared = (count.sum(axis=1) + 0.5) / (count.sum() + 0.5 * len(count))
        own = (count + _SHARED * shared[:, np.newaxis]) / (len(seen.rows) + _SHARED)
        return Cells(self.name, self.columns, self.written, reach, own)


def taught_by_itself(
    family: CellFamily, seen: Seen, rows: Array, records: Array, rng: np.random.Generator
) -> Cells:
    """Without pairs: rows for which one record stands out are taken for pairs."""
    cells = family.learned(seen)
    for _ in range(_ROUNDS):
        clear = stands_out(cells, rows, records, rng)
        if not clear.any():
            break
        best = cells.fit(rows[clear], records).best()[0]
        cells = family.learned(replace(seen, rows=rows[clear], records=records[best]))
    return cells


def stands_out(
    cells: Cells, rows: Array, records: Array, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Whether one record fits a row better than the second by more than chance ever gives.

    Chance is a row whose values come from as many rows: it is nobody's. Each of its values is
    somebody's, though; so one that agrees in a single value, which nobody else has, may stand
    out as well, if values that are moved a little do not.
    """
    mixed = np.column_stack([rng.permutation(column) for column in rows.T])
    away = rng.uniform(2, 4, size=mixed.shape) * rng.choice([-1.0, 1.0], size=mixed.shape)
    moved = mixed + away * cells.reach[_TELLING]
    ours, chance, near = (_leads(cells.fit(z, records)) for z in (rows, mixed, moved))
    alone = max(np.quantile(near, _USUAL), _RARE * np.log(len(records)))
    return np.asarray(ours > min(np.quantile(chance, _USUAL), alone) + 1e-9)


def _leads(fit: CellFit) -> Array:
    leads = []
    for _, fits in blocks(fit):
        second, first = np.partition(fits, -2, axis=1)[:, -2:].T
        leads.append(first - second)
    return np.concatenate(leads)
