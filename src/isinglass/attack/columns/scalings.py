"""Scalings that a tool may have applied to a table: none, unit deviation, unit range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors, spans
from isinglass.attack.knowledge import ColumnStatistics

Array = NDArray[Any]
Both = tuple[Array, Array]


class Scalings:
    """Ways to bring released rows and records to units in which they might agree.

    What a tool scaled by is the table's; the release may be scaled, too, and hide it.
    """

    def __init__(
        self,
        released: Array,
        records: Array,
        some: Both,
        statistics: ColumnStatistics | None = None,
    ) -> None:
        """`statistics` of the whole table, where the records are but a few of them."""
        self.some = some  # some released rows and some records
        # Deviations here divide by n - 1; a tool may divide by n, its rows being the table's.
        self.by_n = float(np.sqrt(len(released) / max(len(released) - 1, 1)))
        self.released_mean, self.moved = released.mean(axis=0), divisors(deviations(released))
        if statistics is None:
            self.mean, self.unit = records.mean(axis=0), divisors(deviations(records))
            self.low, high = records.min(axis=0), records.max(axis=0)
        else:
            self.mean, self.unit = statistics.mean, divisors(statistics.deviation)
            self.low, high = statistics.low, statistics.high
        self.span = spans(self.low, high)

    def raw(self, z: Array, x: Array) -> Both:
        return z, x

    def in_units(self, z: Array, x: Array) -> Both:
        return z / self.unit, x / self.unit

    def standard(self, z: Array, x: Array) -> Both:
        return (z - self.released_mean) / self.moved, (x - self.mean) / self.unit

    def standard_records(self, z: Array, x: Array) -> Both:
        return z, (x - self.mean) / self.unit

    def from_mean(self, z: Array, x: Array) -> Both:
        return z / self.unit, (x - self.mean) / self.unit

    def standard_records_by_n(self, z: Array, x: Array) -> Both:
        return z, (x - self.mean) / self.unit * self.by_n

    def divided_records_by_n(self, z: Array, x: Array) -> Both:
        return z, x / self.unit * self.by_n

    def divided_records(self, z: Array, x: Array) -> Both:
        return z, x / self.unit

    def range_records(self, z: Array, x: Array) -> Both:
        return z, (x - self.low) / self.span

    def centered(self, z: Array, x: Array) -> Both:
        return z - self.released_mean, x - self.mean

    def centered_in_units(self, z: Array, x: Array) -> Both:
        return (z - self.released_mean) / self.unit, (x - self.mean) / self.unit

    def centered_standard_records(self, z: Array, x: Array) -> Both:
        return z - self.released_mean, (x - self.mean) / self.unit

    def centered_range_records(self, z: Array, x: Array) -> Both:
        return z - self.released_mean, (x - self.mean) / self.span
