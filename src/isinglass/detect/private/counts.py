"""Counts of a round: raw ones that cannot be read, and noised ones that may leave."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from isinglass.bare_errors import without_frames
from isinglass.detect.private.layout import LEVELS, SHORT_LEVELS, Layout, split
from isinglass.detect.private.noise import RoundNoise, add_noise
from isinglass.detect.private.records import CodedRecords
from isinglass.kernels.grid import FAN, LEAVES
from isinglass.kernels.private_counts import count_bins, count_leaves
from isinglass.threads import spread

Counts = NDArray[np.int64]
Table = NDArray[np.int32]

_PART = 1 << 16  # rows that a thread counts at a time


class RawCounts:
    """Counts without noise. They have no public name; nothing prints, copies or stores them.

    The only way out is `noised`, once: a second noised copy would be a second price. They are
    overwritten as soon as they have got their noise, and where a `with` block or the last reference
    ends without that. Counts of tables that are made to test this are nobody's, and have a way of
    their own.
    """

    __slots__ = ("__counts", "__lock")

    def __init__(self, size: int) -> None:
        self.__counts: Counts | None = np.zeros(size, dtype=np.int64)
        self.__lock = threading.Lock()

    def __repr__(self) -> str:
        return "RawCounts(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("raw counts cannot be copied, pickled or sent")

    def fill(self, work: Callable[[Counts], object]) -> None:
        """Let `work` add its own records' counts to zeros, and add those to what is here."""
        with RawCounts(len(self._held())) as part:
            work(part._held())
            with self.__lock:
                self._held().__iadd__(part._held())

    @without_frames
    def noised(self, noise: RoundNoise, *, n_jobs: int | None = 1) -> NoisedCounts:
        """The counts with noise of the given price; the raw ones are gone after that."""
        with self.__lock:  # of two threads that ask, one is late
            try:
                values = add_noise(self._held(), noise, n_jobs=n_jobs)
                return NoisedCounts(values, noise.deviation)
            finally:
                self.wipe()

    @without_frames
    def exact_of_made_up_table(self) -> Counts:
        """The counts as they are; for `isinglass.detect.private.verification`, and no other caller.

        It makes the tables that it counts.
        """
        with self.__lock:
            try:
                return self._held().copy()
            finally:
                self.wipe()

    def wipe(self) -> None:
        """Overwrite the counts; they are gone after this."""
        counts, self.__counts = self.__counts, None
        if counts is not None:
            counts.fill(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.wipe()

    def __del__(self) -> None:
        self.wipe()

    def _held(self) -> Counts:
        if self.__counts is None:
            raise ValueError("raw counts get noise once; a second time is a second price")
        return self.__counts


@dataclass(frozen=True, slots=True)
class NoisedCounts:
    """Counts that may leave: every cell with noise, so that the price covers whoever reads them.

    Those of several owners add up. Each owner adds full noise, so that nobody need trust another.
    """

    values: Counts = field(repr=False)
    noise_of_one: float
    owners: int = 1

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on a cell."""
        return float(self.noise_of_one * np.sqrt(self.owners))

    def __add__(self, other: NoisedCounts) -> NoisedCounts:
        if self.noise_of_one != other.noise_of_one or len(self.values) != len(other.values):
            raise ValueError("only counts of one layout and one price add up")
        total = self.values + other.values
        return NoisedCounts(total, self.noise_of_one, self.owners + other.owners)


def count_columns(
    layout: Layout, parts: Iterable[CodedRecords], *, n_jobs: int | None = 1
) -> RawCounts:
    """First round: the tree of every column of numbers, the histogram of every other.

    In a single round, trees of the projections of unscaled columns come after these.
    """
    raw = RawCounts(layout.sizes()[0])
    unscaled = unscaled_cells(layout) if layout.rounds == 1 else None

    def count(records: CodedRecords, counts: Counts) -> None:
        n = len(layout.numbers)
        low, width = layout.grid
        leaves = np.zeros(n * (LEAVES + 1), dtype=np.int64)
        try:
            count_leaves(records.numbers, low, width, leaves)
            _fill_trees(leaves.reshape(n, LEAVES + 1), counts[: n * (sum(LEVELS) + 1)])
        finally:
            leaves.fill(0)
        at = n * (sum(LEVELS) + 1)
        for codes, column in zip(records.codes.T, layout.categories, strict=True):
            counts[at : at + column.n_cells] = np.bincount(codes, minlength=column.n_cells)
            at += column.n_cells
        if unscaled is not None:
            fine = _count_bins(layout, unscaled, records).reshape(layout.n_projections, FAN, FAN)
            coarse, last = counts[at : at + fine.size // FAN], counts[at + fine.size // FAN :]
            fine.sum(axis=2, out=coarse.reshape(fine.shape[:2]))
            last[:] = fine.ravel()
            fine.fill(0)

    _count_parts(parts, raw, count, n_jobs)
    return raw


def count_projections(
    layout: Layout, table: Table, parts: Iterable[CodedRecords], *, n_jobs: int | None = 1
) -> RawCounts:
    """Second round: a histogram of every projection of the columns scaled by `table`."""
    raw = RawCounts(layout.sizes()[1])

    def count(records: CodedRecords, counts: Counts) -> None:
        fine = _count_bins(layout, table, records)
        counts[:] = fine
        fine.fill(0)

    _count_parts(parts, raw, count, n_jobs)
    return raw


def count_leaves_of(
    leaf: Callable[[CodedRecords], Counts], parts: Iterable[CodedRecords], *, n_jobs: int | None = 1
) -> RawCounts:
    """A tree of two levels over one number a record, of which `leaf` gives the leaf."""
    raw = RawCounts(sum(SHORT_LEVELS))

    def count(records: CodedRecords, counts: Counts) -> None:
        fine = np.bincount(leaf(records), minlength=SHORT_LEVELS[-1])
        counts[:FAN], counts[FAN:] = fine.reshape(FAN, -1).sum(axis=1), fine
        fine.fill(0)

    _count_parts(parts, raw, count, n_jobs)
    return raw


def unscaled_cells(layout: Layout) -> Table:
    """The coordinate of every cell of every column before anything is known: 2 g + 1 - CELLS."""
    one = np.arange(1 - FAN * LEAVES, FAN * LEAVES, 2, dtype=np.int32)
    return np.tile(one, (len(layout.numbers), 1))


def tree_shapes(layout: Layout) -> list[tuple[int, ...]]:
    """The shapes of what `count_columns` counts: levels, histograms, levels of projections."""
    n, T = len(layout.numbers), layout.n_projections
    shapes: list[tuple[int, ...]] = [(n, FAN + 1), *((n, size) for size in LEVELS[1:])]
    shapes += [(c.n_cells,) for c in layout.categories]
    return shapes + ([(T, size) for size in SHORT_LEVELS] if layout.rounds == 1 else [])


def _fill_trees(leaves: Counts, counts: Counts) -> None:
    """Sum leaves to all levels; a missing value counts as a child of the root and nowhere else."""
    n = len(leaves)
    root, middle, lowest = split(counts, [(n, FAN + 1), (n, LEVELS[1]), (n, LEVELS[2])])
    lowest[:] = leaves[:, :LEAVES]
    middle[:] = lowest.reshape(n, LEVELS[1], FAN).sum(axis=2)
    root[:, :FAN] = middle.reshape(n, FAN, FAN).sum(axis=2)
    root[:, FAN] = leaves[:, LEAVES]


def _count_bins(layout: Layout, table: Table, records: CodedRecords) -> Counts:
    low, width = layout.grid
    bins = layout.bins
    counts = np.zeros(layout.n_projections * bins.n, dtype=np.int64)
    count_bins(
        records.numbers, low, width, table, layout.W, bins.shift, bins.per_bin, bins.n, counts
    )
    return counts


@without_frames
def _count_parts(
    parts: Iterable[CodedRecords],
    raw: RawCounts,
    count: Callable[[CodedRecords, Counts], Any],
    n_jobs: int | None,
) -> None:
    """Count records part by part, in threads: sums of whole numbers, equal however it is cut."""
    try:
        for records in parts:

            def work(start: int, stop: int, records: CodedRecords = records) -> None:
                piece = records.part(start, stop)
                raw.fill(lambda counts: count(piece, counts))

            spread(work, len(records), n_jobs=n_jobs, step=_PART)
    except BaseException:
        raw.wipe()
        raise
