"""A private model: what scoring needs, and nothing else, and the scores."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.private.counts import unscaled_cells
from isinglass.detect.private.layout import BINS, RANGE, SHORT_LEVELS, Layout
from isinglass.detect.private.projections import FINE, ONE, scaled
from isinglass.detect.private.records import CodedRecords
from isinglass.kernels.grid import CELLS, LEAVES
from isinglass.kernels.private_scores import add_terms, share_terms
from isinglass.threads import spread

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNIT = ONE**2  # terms of scores are whole numbers of 1/UNIT, as projections are
LARGEST_SCORE = 32  # of the range in which training scores are counted
_PART = 1 << 14  # rows that a thread scores at a time


@dataclass(frozen=True, slots=True)
class Densities:
    """Probabilities of the bins of some quantities, one in each row, and how each is scaled.

    A quantity's range is cut into `CELLS` cells; `middle` and `half` are whole parts of a cell,
    `FINE` of them in one. They are None where the quantity is scaled already. A bin after the
    last one is for missing values.
    """

    p: Floats = field(repr=False)
    middle: Integers | None = None
    half: Integers | None = None

    def terms(self, n_leaves: int) -> Integers:
        """The term of every leaf of a quantity's range, and of a missing value after them.

        A leaf's mass is in the bin of its center, so that is where a record of the leaf is looked
        up. Far beyond the bins, the distance from them is added.
        """
        terms = terms_of(self.p)
        if self.middle is None or self.half is None:
            return terms
        found = np.empty((len(terms), n_leaves + terms.shape[1] - BINS), dtype=np.int64)
        for row, middle, half, out in zip(terms, self.middle, self.half, found, strict=True):
            u = scaled_leaves(n_leaves, int(middle), int(half))
            beyond = np.maximum(np.abs(u) - RANGE * ONE, 0) * (UNIT // ONE)
            out[:n_leaves] = row[bins_of(u)] + beyond
            out[n_leaves:] = row[BINS:]
        return found


def scaled_leaves(n_leaves: int, middle: int, half: int) -> Integers:
    """The scaled centers of the leaves of a range."""
    return scaled((2 * np.arange(n_leaves) + 1) * (CELLS // n_leaves), middle, half)


def bins_of(u: Integers) -> Integers:
    """The bins of scaled values; those beyond go to the outermost."""
    return np.asarray(np.clip((u + RANGE * ONE) // (2 * RANGE * ONE // BINS), 0, BINS - 1))


def terms_of(p: Floats) -> Integers:
    """Minus the logarithms of probabilities, as whole numbers of 1/UNIT."""
    return np.asarray(np.rint(-np.log(p) * UNIT), dtype=np.int64)


@dataclass(frozen=True)
class PrivateModel:
    """All that scoring needs: some thousand numbers, each public or read from noised counts.

    The score of a record is the mean over columns of -log p, plus the mean of the same over
    projections. Terms are whole numbers of 1/UNIT and their sums exact: the score of a record is
    the same alone and in a batch, on any number of threads and on every machine.
    """

    layout: Layout
    n_estimated: float
    columns: Densities
    categories: tuple[Floats, ...] = field(repr=False)
    projections: Densities

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # tables are made anew

    def scores(self, records: CodedRecords, *, n_jobs: int | None = 1) -> Floats:
        """The score of every record; the higher, the stranger."""
        return np.asarray(self._whole_scores(records, n_jobs) / self._divisor)

    def score_leaves(self, records: CodedRecords) -> Integers:
        """Where the scores of records lie among equal parts of the range of training scores."""
        parts = SHORT_LEVELS[-1] // LARGEST_SCORE
        leaf = self._whole_scores(records, 1) * parts // self._divisor
        return np.asarray(np.clip(leaf, 0, SHORT_LEVELS[-1] - 1))

    def contributions(self, records: CodedRecords, *, n_jobs: int | None = 1) -> Floats:
        """What each column adds to the scores of records; the entries of a row add up to it."""
        columns = self.layout.columns
        place = {column.name: j for j, column in enumerate(columns)}
        shares = np.zeros((len(records), len(columns)))
        if self.layout.numbers:
            found = np.empty((len(records), len(self.layout.numbers)))

            def work(start: int, stop: int) -> None:
                part, out = records.part(start, stop), found[start:stop]
                arguments = *self._kernel, self._unseen, len(columns), out
                share_terms(part.numbers, *arguments)

            spread(work, len(records), n_jobs=n_jobs, step=_PART)
            shares[:, [place[c.name] for c in self.layout.numbers]] = found
        for codes, column, terms in zip(
            records.codes.T, self.layout.categories, self._category_terms, strict=True
        ):
            shares[:, place[column.name]] = terms[codes] / len(columns)
        return shares / UNIT

    @property
    def _divisor(self) -> int:
        """Whole scores are those of records times this."""
        return len(self.layout.columns) * max(self.layout.n_projections, 1) * UNIT

    def _whole_scores(self, records: CodedRecords, n_jobs: int | None) -> Integers:
        by_column = np.zeros(len(records), dtype=np.int64)
        by_projection = np.zeros(len(records), dtype=np.int64)
        if self.layout.numbers:

            def work(start: int, stop: int) -> None:
                arguments = *self._kernel, by_column[start:stop], by_projection[start:stop]
                add_terms(records.part(start, stop).numbers, *arguments)

            spread(work, len(records), n_jobs=n_jobs, step=_PART)
        for codes, terms in zip(records.codes.T, self._category_terms, strict=True):
            by_column += terms[codes]
        by_column *= max(self.layout.n_projections, 1)
        by_projection *= len(self.layout.columns)
        return by_column + by_projection

    @functools.cached_property
    def _kernel(self) -> tuple[Any, ...]:
        """What both kernels take after the records."""
        layout, bins = self.layout, self.layout.bins
        # Bins of unscaled projections are leaves: what is beyond shows in their own terms.
        edge = float(RANGE * UNIT) if layout.rounds == 2 else np.inf
        own, terms = self.columns.terms(LEAVES), self.projections.terms(bins.n)
        return *layout.grid, self._table, layout.W, bins.shift, bins.per_bin, edge, own, terms

    @functools.cached_property
    def _table(self) -> NDArray[np.int32]:
        if self.layout.rounds == 1:
            return unscaled_cells(self.layout)
        return scaled_table(self.columns)

    @functools.cached_property
    def _unseen(self) -> Floats:
        """What a column in its middle brings to a projection: nothing, if it is scaled."""
        if self.layout.rounds == 2 or self.columns.middle is None:
            return np.zeros(len(self.layout.numbers))
        return np.asarray(2 * self.columns.middle / FINE - CELLS)

    @functools.cached_property
    def _category_terms(self) -> list[Integers]:
        return [terms_of(p) for p in self.categories]


def scaled_table(columns: Densities) -> NDArray[np.int32]:
    """The scaled center of every cell of every column."""
    table = np.empty((len(columns.p), CELLS), dtype=np.int32)
    assert columns.middle is not None
    assert columns.half is not None
    for row, middle, half in zip(table, columns.middle, columns.half, strict=True):
        row[:] = scaled_leaves(CELLS, int(middle), int(half))
    return table
