"""Rounds of counts on tables that are made here, and what one person's records move in them.

No private table comes near: whoever verifies makes every record. Such a table's counts may be read
without noise, by a way that nothing else takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.private.columns import CategoryColumn, NumberColumn
from isinglass.detect.private.counts import (
    NoisedCounts,
    RawCounts,
    count_columns,
    count_leaves_of,
    count_projections,
)
from isinglass.detect.private.estimates import model_of, read_columns, read_projections
from isinglass.detect.private.layout import Layout
from isinglass.detect.private.model import scaled_table
from isinglass.detect.private.noise import ModelPrice, RoundNoise
from isinglass.detect.private.records import CodedRecords, coded

Counts = NDArray[np.int64]

#: Records of the generated tables, and of the one that stands for large tables.
SMALL_TABLE, LARGE_TABLE = 30, 1000
_RANDOM_RECORDS = 20  # that are inserted beside the odd ones
_MOST_COPIES = 50  # of a record that are inserted at once; more move the cells alike
_ODD = (0.0, -0.0, 5e-324, -5e-324, 1e300, -1e300, np.nan, np.inf, -np.inf)


@dataclass(frozen=True, slots=True)
class CountedRound:
    """One round: how it counts, and the noise that is to cover one person."""

    name: str
    noise: RoundNoise
    count: Callable[[list[CodedRecords]], RawCounts] = field(repr=False)

    def noised(self, tables: list[CodedRecords], *, n_jobs: int | None) -> NoisedCounts:
        """The counts as they would leave."""
        return self.count(tables).noised(self.noise, n_jobs=n_jobs)

    def exact(self, tables: list[CodedRecords]) -> Counts:
        """The counts of a table that was made here."""
        return self.count(tables).exact_of_made_up_table()


def counted_rounds(
    layout: Layout, price: ModelPrice, rng: np.random.Generator, *, n_jobs: int | None
) -> list[CountedRound]:
    """The rounds of a fit, of which later ones depend on noised counts of a generated table."""
    noise = list(price.rounds)
    public = random_records(layout, LARGE_TABLE, rng)
    first = CountedRound("columns", noise[0], lambda t: count_columns(layout, t, n_jobs=n_jobs))
    rounds, densities = [first], None
    read = read_columns(layout, first.noised([public], n_jobs=n_jobs))
    if len(layout.moved) == 2:
        table = scaled_table(read.columns)
        second = CountedRound(
            "projections",
            noise[1],
            lambda t: count_projections(layout, table, t, n_jobs=n_jobs),
        )
        rounds.append(second)
        densities = read_projections(layout, second.noised([public], n_jobs=n_jobs), read)
    if len(noise) > len(layout.moved):
        leaf = model_of(layout, read, densities).score_leaves
        rounds.append(
            CountedRound("threshold", noise[-1], lambda t: count_leaves_of(leaf, t, n_jobs=n_jobs))
        )
    return rounds


def random_records(layout: Layout, n: int, rng: np.random.Generator) -> CodedRecords:
    """Records of all kinds of values: within the bounds, beyond them, odd ones, missing ones."""
    numbers = np.empty((n, len(layout.numbers)))
    for j, column in enumerate(layout.numbers):
        low, width = column.low, column.high - column.low
        numbers[:, j] = low + width * rng.uniform(-0.1, 1.1, size=n)
        odd = rng.random(n) < 0.2
        numbers[odd, j] = rng.choice(_odd_values(column), size=odd.sum())
    return coded(numbers, _codes(layout, n, rng), layout.columns)


def inserted_records(layout: Layout, rng: np.random.Generator) -> Iterator[CodedRecords]:
    """Records to insert, one by one: every odd value in all columns at once, and random ones."""
    odd = [_odd_values(column) for column in layout.numbers]
    for values in zip(*odd, strict=True):
        yield coded(np.array([values]), _codes(layout, 1, rng), layout.columns)
    for _ in range(_RANDOM_RECORDS):
        yield random_records(layout, 1, rng)


def copies_of(record: CodedRecords, n: int) -> CodedRecords:
    """The same record several times."""
    return CodedRecords(np.repeat(record.numbers, n, axis=0), np.repeat(record.codes, n, axis=0))


@dataclass(frozen=True, slots=True)
class Insertions:
    """What inserting one person's records moved in every round.

    `person` holds, for each round, how far the cells moved for the record that moved most, each
    by so many as one person has records. `faults` says in which rounds a record moved more cells
    than the price assumes, or by another number, or otherwise beside other records.
    """

    records: int
    person: list[Counts] = field(repr=False)
    most_cells: list[int]
    priced_cells: list[int]
    faults: list[str]


def insert_records(
    rounds: Sequence[CountedRound], layout: Layout, rng: np.random.Generator, records: int
) -> Insertions:
    """Insert records into an empty and a generated table, in every round."""
    copies = min(records, _MOST_COPIES)
    none = random_records(layout, 0, rng)
    some = random_records(layout, SMALL_TABLE, rng)
    given = list(inserted_records(layout, rng))
    priced = [counted.noise.cells for counted in rounds]
    person, most_cells, faults = [], [], []
    for counted in rounds:
        before = [counted.exact([table]) for table in (none, some)]
        largest, most, wrong = np.zeros(0, dtype=np.int64), 0, False
        for record in given:
            more = copies_of(record, copies)
            alone = counted.exact([none, more]) - before[0]
            among = counted.exact([more, some]) - before[1]
            moved = alone[alone != 0]
            most = max(most, len(moved))
            wrong |= not np.array_equal(alone, among) or bool((moved != copies).any())
            if (np.abs(moved).sum(), len(moved)) > (np.abs(largest).sum(), len(largest)):
                largest = moved
        if wrong or most > counted.noise.cells:
            faults.append(counted.name)
        # Whole also where a fault of the noise made floats of counts, which another check tells.
        person.append(np.rint(largest).astype(np.int64) // copies * records)
        most_cells.append(most)
    return Insertions(len(given), person, most_cells, priced, faults)


def _odd_values(column: NumberColumn) -> list[float]:
    """Values at which a cell could go wrong: the column's bounds, their neighbors, extremes."""
    bounds = [
        v for b in (column.low, column.high) for v in (b, *np.nextafter(b, [-np.inf, np.inf]))
    ]
    return [*_ODD, *map(float, bounds)]


def _codes(layout: Layout, n: int, rng: np.random.Generator) -> Counts:
    columns: tuple[CategoryColumn, ...] = layout.categories
    codes = np.empty((n, len(columns)), dtype=np.int64)
    for k, column in enumerate(columns):
        codes[:, k] = rng.integers(0, column.n_cells, size=n)
    return codes
