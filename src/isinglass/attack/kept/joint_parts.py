"""Functions of one or two kept columns, used as groups or as periodic signals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Codes = NDArray[np.intp]
#: Keys of rows, or waves with a column each, from the places of the columns' values.
Read = Callable[..., Array]


@dataclass(frozen=True, slots=True)
class CandidateFunction:
    """A function of kept columns that may tell something of the records."""

    columns: tuple[int, ...]
    name: str  # with {0} and {1} for the names of the columns
    read: Read = field(repr=False)
    codes: Codes = field(repr=False)  # groups of the rows that are compared
    waves: Array | None = field(default=None, repr=False)  # of the same rows

    @property
    def block(self) -> list[Array]:
        """What adds up: one grouping, or several waves."""
        return [self.codes] if self.waves is None else list(self.waves.T)


@dataclass(frozen=True, slots=True)
class JointPart:
    """A chosen function: the group, and perhaps the waves, of each combination of values.

    `effect` and `share` are those of a part of one column.
    """

    columns: tuple[int, ...]
    name: str
    values: tuple[Array, ...] = field(repr=False)  # of each column, each once, in order
    keys: Array = field(repr=False)  # combinations of their places, in order
    groups: Codes = field(repr=False)
    waves: Array | None = field(default=None, repr=False)
    effect: tuple[float, float] = (0.0, 0.0)
    share: tuple[float, float] = (0.0, 0.0)

    def of(self, kept: Array) -> Codes:
        """The groups of rows with these kept values; one group more for values never seen."""
        place, seen = self._places(kept)
        return np.where(seen, self.groups[place], int(self.groups.max()) + 1)

    def marks(self, kept: Array) -> Array | None:
        """The waves of rows with these kept values; None where there are but groups."""
        if self.waves is None:
            return None
        place, seen = self._places(kept)
        return np.where(seen[:, np.newaxis], self.waves[place], 0.0)

    def words(self, names: Sequence[str]) -> str:
        """What is read, in words."""
        return self.name.format(*(names[j] for j in self.columns))

    def _places(self, kept: Array) -> tuple[Array, Array]:
        key, seen = np.zeros(len(kept), dtype=np.int64), np.ones(len(kept), dtype=bool)
        for j, values in zip(self.columns, self.values, strict=True):
            place = np.minimum(np.searchsorted(values, kept[:, j]), len(values) - 1)
            seen &= values[place] == kept[:, j]
            key = key * len(values) + place
        at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return at, seen & (self.keys[at] == key)


def joint_part(
    candidate: CandidateFunction,
    tables: Sequence[Array],
    everything: Mapping[int, Array],
    effect: tuple[float, float],
    share: tuple[float, float],
) -> JointPart:
    """The candidate on all combinations of kept values in some tables."""
    values = tuple(everything[j] for j in candidate.columns)
    key = np.zeros(sum(map(len, tables)), dtype=np.int64)
    for j, own in zip(candidate.columns, values, strict=True):
        wanted = np.concatenate([table[:, j] for table in tables])
        key = key * len(own) + np.searchsorted(own, wanted)
    keys = np.unique(key)
    places, left = list[Array](), keys
    for own in reversed(values):
        left, place = np.divmod(left, len(own))
        places.insert(0, place)
    read = candidate.read(*places)
    waves = None if candidate.waves is None else read
    groups = phase_bins(read) if candidate.waves is not None else numbered(read)
    return JointPart(candidate.columns, candidate.name, values, keys, groups, waves, effect, share)


def numbered(keys: Array) -> Codes:
    """Groups of equal keys."""
    return np.unique(keys, return_inverse=True)[1].ravel().astype(np.intp)


def phase_bins(waves: Array) -> Codes:
    """Eighths of the circle, by the first two of several waves."""
    turn = np.arctan2(waves[:, 1], waves[:, 0]) / (2 * np.pi) % 1.0
    return np.minimum((8 * turn).astype(np.intp), 7)
