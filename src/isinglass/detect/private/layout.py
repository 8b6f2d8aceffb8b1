"""Layout of a model: which counts are taken in which round, from public settings alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.private.columns import CategoryColumn, NumberColumn, PublicColumn
from isinglass.detect.private.projections import LIMIT, ONE, directions
from isinglass.kernels.grid import CELLS, FAN

Vector = NDArray[np.float64]

#: Levels of the tree of a column, and cells of each; a missing value is one more child of the root.
LEVELS = (FAN, FAN**2, FAN**3)
#: The same of a projection counted in the first round, and of training scores.
SHORT_LEVELS = LEVELS[:2]
BINS = 32  # of a density, evenly over scaled values between -RANGE and RANGE
RANGE = 5
PROJECTIONS = 64
PURE_PROJECTIONS = 48
ONE_ROUND_PROJECTIONS = 32
SEED = "isinglass"  # public: it says which projections are taken
_EXACT = 2**53  # up to which float64 holds every whole number
_CLIPPED = 4  # one round: coordinates beyond so many times what random signs give go to the edge


def usual_projections(rounds: int, *, pure: bool) -> int:
    """How many projections to take: fewer where each makes the noise of all counts larger.

    Pure epsilon pays for their number, not for its root; in a single round, columns pay with them.
    """
    if rounds == 1:
        return ONE_ROUND_PROJECTIONS
    return PURE_PROJECTIONS if pure else PROJECTIONS


@dataclass(frozen=True)
class Layout:
    """The counts of a model's rounds, by public settings; nothing here depends on a table.

    With two rounds, the second one counts projections of columns scaled by what the first one
    showed. With one, projections of unscaled columns are counted beside the columns.
    """

    columns: tuple[PublicColumn, ...]
    rounds: int = 2
    most_projections: int = PROJECTIONS
    seed: str = SEED

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("a model needs at least one column")
        if self.rounds not in (1, 2):
            raise ValueError(f"rounds must be 1 or 2, got {self.rounds}")
        largest = LIMIT * ONE if self.rounds == 2 else CELLS
        if self.n_projections and largest * np.abs(self.W).sum(axis=0).max() >= _EXACT:
            raise ValueError("there are too many columns for exact projections")

    @functools.cached_property
    def numbers(self) -> tuple[NumberColumn, ...]:
        """The columns of numbers, which have a tree each."""
        return tuple(c for c in self.columns if isinstance(c, NumberColumn))

    @functools.cached_property
    def categories(self) -> tuple[CategoryColumn, ...]:
        """The columns of categories, which have a histogram each."""
        return tuple(c for c in self.columns if isinstance(c, CategoryColumn))

    @property
    def n_projections(self) -> int:
        return self.most_projections if self.numbers else 0

    @functools.cached_property
    def grid(self) -> tuple[Vector, Vector]:
        """Where the cells of each column of numbers begin, and the width of all of them."""
        low_and_width = np.array([c.grid for c in self.numbers]).reshape(-1, 2)
        low, width = np.ascontiguousarray(low_and_width.T)
        return low, width

    @functools.cached_property
    def W(self) -> Vector:  # noqa: N802 (the name of the matrix in the mathematics)
        """The public directions, one in each column."""
        return directions(self.seed, len(self.numbers), self.n_projections)

    @functools.cached_property
    def bins(self) -> ProjectionBins:
        """The bins of the projections, of which the sums over columns are whole numbers."""
        T = self.n_projections
        if self.rounds == 2:
            edge = RANGE * ONE**2
            return ProjectionBins(BINS, np.full(T, float(edge)), np.full(T, 2.0 * edge / BINS))
        # Coordinates 2 g + 1 - CELLS are at most CELLS in size.
        largest = np.minimum(np.abs(self.W).sum(axis=0), _CLIPPED * ONE) * CELLS
        return ProjectionBins(SHORT_LEVELS[-1], largest, np.ceil(2 * largest / SHORT_LEVELS[-1]))

    @property
    def moved(self) -> tuple[int, ...]:
        """For each round, the most cells that one record moves by one: what noise is priced by."""
        trees = len(LEVELS) * len(self.numbers) + len(self.categories)
        if self.rounds == 1:
            return (trees + len(SHORT_LEVELS) * self.n_projections,)
        return (trees, self.n_projections) if self.n_projections else (trees,)

    def sizes(self) -> tuple[int, ...]:
        """How many counts a round has."""
        trees = len(self.numbers) * (sum(LEVELS) + 1) + sum(c.n_cells for c in self.categories)
        if self.rounds == 1:
            return (trees + self.n_projections * sum(SHORT_LEVELS),)
        return (trees, self.n_projections * BINS) if self.n_projections else (trees,)


@dataclass(frozen=True, slots=True)
class ProjectionBins:
    """Equal bins of each projection, from `-shift` on, `width` wide: whole numbers all."""

    n: int
    shift: Vector
    width: Vector

    @property
    def per_bin(self) -> Vector:
        return np.asarray(1 / self.width)


def split(counts: NDArray[np.int64], shapes: Sequence[tuple[int, ...]]) -> list[NDArray[np.int64]]:
    """Cut a vector of counts into arrays of these shapes, one after the other."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    if ends[-1] != len(counts):
        raise ValueError(f"counts must be {ends[-1]} numbers, got {len(counts)}")
    parts = np.split(counts, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
