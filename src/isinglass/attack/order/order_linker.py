"""Scores of public records against released rows, by the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.kept.join import JoinedFit
from isinglass.attack.linking.linker import Linker
from isinglass.attack.linking.record_fit import PairFit, best_of

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Fits that are weighed within ties of a longer file; beyond that ties share their mean.
_MOST_WEIGHED = 30_000_000


@dataclass(frozen=True, slots=True)
class LogProbabilities:
    """The log probabilities of all records for each row."""

    values: Array = field(repr=False)

    @property
    def n_released(self) -> int:
        return len(self.values)

    @property
    def n_public(self) -> int:
        return int(self.values.shape[1])

    def block(self, rows: slice) -> Array:
        return np.asarray(self.values[rows])

    def best(self) -> tuple[Rows, Array]:
        return best_of(self)


@dataclass(frozen=True, slots=True)
class OrderLinker:
    """How well public records fit the rows of a whole file by their place in it."""

    public: Array = field(repr=False)
    inner: Array | Linker = field(repr=False)  # log probabilities, or fits within ties

    def fit(self, rows: Any = slice(None), n_columns: int | None = None) -> PairFit:
        """The fits of some rows; a public table of fewer columns has no order of its own."""
        if isinstance(self.inner, Linker):
            return self.inner.fit(rows)
        return LogProbabilities(self.inner[rows])

    def guess(self) -> Array:
        """The mean of the records that may be behind each row, weighted by their probabilities."""
        if not isinstance(self.inner, Linker):
            return np.asarray(np.exp(self.inner) @ self.public)
        fit, groups = self.inner.fit(), self.inner.groups
        assert isinstance(fit, JoinedFit)
        assert groups is not None
        sizes = np.bincount(groups.public, minlength=int(groups.released.max()) + 1)
        sums = [np.bincount(groups.public, c, minlength=len(sizes)) for c in self.public.T]
        means = np.stack(sums, axis=1) / np.maximum(sizes, 1)[:, np.newaxis]
        means[sizes == 0] = self.public.mean(axis=0)
        found = means[groups.released]
        tied = np.flatnonzero(sizes[groups.released] > 1)
        if self.inner.inner is None or sizes[groups.released[tied]].sum() > _MOST_WEIGHED:
            return np.asarray(found)
        for rows, candidates, fits in fit.parts(tied):
            top = fits.max(axis=1, keepdims=True)
            weights = np.exp(fits - np.where(np.isfinite(top), top, 0.0))
            total = weights.sum(axis=1, keepdims=True)
            possible = total.ravel() > 0
            mean = weights[possible] @ self.public[candidates] / total[possible]
            found[rows[possible]] = mean
        return np.asarray(found)
