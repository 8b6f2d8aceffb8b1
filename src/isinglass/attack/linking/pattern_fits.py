"""Scores of public records against released rows, by the chosen feature."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.linking.cells import Cells
from isinglass.attack.linking.near import nearest_records
from isinglass.attack.linking.record_fit import PairFit, best_of, gaussian

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Cells compared when rows are named by cells that agree; rows beyond that stay unnamed.
_MOST_CELLS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class ColorFit:
    """In how many rounds a released row and a record have the same color."""

    released: Array = field(repr=False)  # rounds x rows
    records: Array = field(repr=False)

    @property
    def n_released(self) -> int:
        return int(self.released.shape[1])

    @property
    def n_public(self) -> int:
        return int(self.records.shape[1])

    def block(self, rows: slice) -> Array:
        same = np.zeros((len(range(self.n_released)[rows]), self.n_public))
        for ours, theirs in zip(self.released[:, rows], self.records, strict=True):
            same += ours[:, np.newaxis] == theirs
        return same

    def best(self) -> tuple[Rows, Array]:
        return best_of(self)


@dataclass(frozen=True, slots=True)
class GroupFit:
    """The members of a row's group fit, and nobody else does; other rows fit as they did."""

    base: PairFit = field(repr=False)
    members: dict[int, Rows] = field(repr=False)

    @property
    def n_released(self) -> int:
        return self.base.n_released

    @property
    def n_public(self) -> int:
        return self.base.n_public

    def block(self, rows: slice) -> Array:
        fits = self.base.block(rows)
        for place, row in enumerate(range(self.n_released)[rows]):
            if row in self.members:
                fits[place] = -np.inf
                fits[place, self.members[row]] = 0.0
        return fits

    def best(self) -> tuple[Rows, Array]:
        return best_of(self)


@dataclass(frozen=True, slots=True)
class PatternLinker:
    """How well public records fit released rows, under the features that were chosen."""

    public: Array = field(repr=False)
    how: str
    features: tuple[Array, Array] | None = field(default=None, repr=False)
    colors: tuple[Array, Array] | None = field(default=None, repr=False)
    groups: dict[int, Rows] = field(default_factory=dict, repr=False)
    cells: tuple[Cells, Array] | None = field(default=None, repr=False)  # with the released rows

    @property
    def cost(self) -> int:
        """How many times as long as one product of features a comparison takes, about."""
        return 1 if self.cells is None else 4 * self.public.shape[1]

    def fit(self, rows: Any = slice(None), n_columns: int | None = None) -> PairFit:
        """The fits of some released rows; features of all columns count, however many are asked."""
        if self.colors is not None:
            return ColorFit(self.colors[0][:, rows], self.colors[1])
        if self.cells is not None:
            cells, released = self.cells
            return cells.fit(released[rows], self.public)
        assert self.features is not None
        Z, P = self.features
        base = gaussian(Z[rows], P, np.ones(P.shape[1]))
        if not self.groups:
            return base
        numbers = np.arange(len(Z))[rows]
        here = {i: self.groups[n] for i, n in enumerate(numbers.tolist()) if n in self.groups}
        return GroupFit(base, here)

    def among(self, records: Rows) -> PatternLinker:
        """The same for some of the public records only, where no groups were found."""
        features, colors = self.features, self.colors
        if features is not None:
            features = features[0], features[1][records]
        if colors is not None:
            colors = colors[0], colors[1][:, records]
        return replace(self, public=self.public[records], features=features, colors=colors)

    def guess(self) -> Array:
        """The record that fits each released row best, or as well as any other."""
        if self.cells is not None:
            return self._by_cells()
        if self.colors is not None:
            return np.asarray(self.public[same_colors(*self.colors)])
        assert self.features is not None
        found = nearest_records(*self.features)
        for row, members in self.groups.items():
            found[row] = members[0]
        return np.asarray(self.public[found])

    def _by_cells(self) -> Array:
        """Of a large release every so many rows only; the others are guessed blindly."""
        assert self.cells is not None
        n = len(self.cells[1])
        every = 1 + n * self.public.size // _MOST_CELLS
        rows = np.arange(0, n, every)
        guess = np.tile(self.public.mean(axis=0), (n, 1))
        guess[rows] = self.public[self.fit(rows).best()[0]]
        return guess


def same_colors(released: Array, records: Array) -> Rows:
    """For each row the record that has its color in the latest round in which any record has."""
    found = np.zeros(released.shape[1], dtype=np.intp)
    for ours, theirs in zip(released, records, strict=True):
        who = np.full(int(max(ours.max(), theirs.max())) + 1, -1, dtype=np.intp)
        who[theirs] = np.arange(len(theirs))
        found = np.where(who[ours] >= 0, who[ours], found)
    return found
