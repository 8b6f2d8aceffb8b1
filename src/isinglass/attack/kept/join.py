"""Exact join of released rows and public records on the columns that were kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import KeptColumns, Knowledge, PublicTable
from isinglass.attack.linking.bounded_fit import NoiseFit
from isinglass.attack.linking.record_fit import PairFit
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]


def codes_of(column: Array) -> Rows:
    """A number for each value of a column, the same for equal values."""
    # Whoever wrote the files may have rounded to single precision on the way.
    with np.errstate(over="ignore"):
        return np.unique(column.astype(np.float32), return_inverse=True)[1].ravel()


def codes_of_rows(values: Array) -> Rows:
    """A number for each row, the same for rows that are equal in all columns."""
    groups = np.zeros(len(values), dtype=np.intp)
    for column in values.T:
        codes = codes_of(column)
        groups = np.unique(groups * (int(codes.max()) + 1) + codes, return_inverse=True)[1].ravel()
    return groups


@dataclass(frozen=True)
class Groups:
    """For each released row, and each public record, the number of its group of kept values."""

    released: Rows = field(repr=False)
    public: Rows = field(repr=False)

    @classmethod
    def of(cls, known: Knowledge, n_released: int) -> Groups | None:
        """Rows and records by their kept values; None where those are not known of both."""
        kept, public = known.find(KeptColumns), known.need(PublicTable)
        if kept is None or public.kept is None or not kept.values.shape[1]:
            return None
        if public.kept.shape[1] != kept.values.shape[1]:
            raise AttackError(
                f"the public table must have the {kept.values.shape[1]} kept columns of the "
                f"release, got {public.kept.shape[1]}"
            )
        if len(kept.values) != n_released:
            raise AttackError(f"kept columns must have the release's {n_released} rows")
        groups = codes_of_rows(np.vstack([kept.values, public.kept]))
        return cls(groups[:n_released], groups[n_released:])

    def unique(self) -> bool:
        """Whether every released row has one public record at most with its kept values."""
        sizes = np.bincount(self.public, minlength=int(self.released.max(initial=0)) + 1)
        return bool((sizes[self.released] == 1).all())

    def members(self) -> list[Rows]:
        """The public records of each group."""
        order = np.argsort(self.public, kind="stable")
        count = 1 + int(max(self.public.max(initial=-1), self.released.max(initial=-1)))
        ends = np.searchsorted(self.public[order], np.arange(count), side="right")
        return np.split(order, ends)[:count]


@dataclass(frozen=True)
class JoinedFit:
    """Fits of rows with the public records of their group only; all others are impossible.

    Without an inner fit all records of a group fit alike. A row whose kept values no public
    record has is compared with all records: its values were changed on the way.
    """

    inner: NoiseFit | None = field(repr=False)
    groups: Rows = field(repr=False)  # of the released rows fitted here
    members: list[Rows] = field(repr=False)
    n_public: int

    @property
    def n_released(self) -> int:
        return len(self.groups)

    def block(self, rows: slice) -> Array:
        """Log fits of some rows with all public records, minus infinity outside the group."""
        places = np.arange(self.n_released)[rows]
        found = np.full((len(places), self.n_public), -np.inf)
        start = int(places[0]) if len(places) else 0
        for inside, candidates, fits in self.parts(places):
            found[(inside - start)[:, np.newaxis], candidates] = fits
        return found

    def parts(self, places: Rows | None = None) -> Iterator[tuple[Rows, Rows, Array]]:
        """Group by group: rows, the public records that are possible, and their log fits."""
        places = np.arange(self.n_released) if places is None else places
        order = places[np.argsort(self.groups[places], kind="stable")]
        for inside in np.split(order, np.flatnonzero(np.diff(self.groups[order])) + 1):
            if not len(inside):
                continue
            candidates = self.members[self.groups[inside[0]]]
            if not len(candidates):
                candidates = np.arange(self.n_public)
            # A large group is fitted a few rows at a time.
            step = max(1, (1 << 22) // len(candidates))
            for start in range(0, len(inside), step):
                some = inside[start : start + step]
                yield some, candidates, self._fits(some, candidates)

    def _fits(self, rows: Rows, candidates: Rows) -> Array:
        if self.inner is None or len(candidates) == 1:
            return np.zeros((len(rows), len(candidates)))
        return self.inner.part(rows, candidates).block(slice(0, len(rows)))

    def best(self) -> tuple[Rows, Array]:
        """The best record of each row's group, and its posterior; 0 if none fits."""
        where, share = np.zeros(self.n_released, dtype=np.intp), np.zeros(self.n_released)
        for rows, candidates, fits in self.parts():
            here = fits.argmax(axis=1)
            top = fits[np.arange(len(rows)), here]
            where[rows] = candidates[here]
            possible = np.isfinite(top)
            weights = np.exp(fits[possible] - top[possible, np.newaxis])
            share[rows[possible]] = 1.0 / weights.sum(axis=1)
        return where, share


def joined(fit: NoiseFit | None, groups: Groups | None, rows: Any = slice(None)) -> PairFit:
    """The fit of released rows within their groups, where kept columns tell groups."""
    if groups is None:
        assert fit is not None
        return fit
    return JoinedFit(fit, groups.released[rows], groups.members(), len(groups.public))
