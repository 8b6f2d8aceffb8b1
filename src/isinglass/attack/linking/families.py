"""Families of row features, weighted by what known pairs show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.linking.record_fit import GaussianFit, gaussian

Array = NDArray[Any]
#: Features of some released rows, and of some records.
Of = Callable[[Array, Array], tuple[Array, Array]]

#: What is left in a feature that agrees in all known pairs, in deviations, as if of one more.
_LEAST = 0.01


@dataclass(frozen=True, slots=True)
class Seen:
    """Known pairs, and some released rows and records that have nothing to do with each other."""

    rows: Array = field(repr=False)  # released rows that are known ...
    records: Array = field(repr=False)  # ... and the records behind them; none: nobody knows any
    some_rows: Array = field(repr=False)
    some_records: Array = field(repr=False)

    def only(self, which: Any) -> Seen:
        """The same with some of the known pairs."""
        return replace(self, rows=self.rows[which], records=self.records[which])


@dataclass(frozen=True, slots=True)
class SettledFeatures:
    """Features that are settled: how far apart a row and a record are in them is their fit."""

    name: str
    of: Of
    weight: Array = field(repr=False)

    def values(self, rows: Array, records: Array) -> tuple[Array, Array]:
        """Those of released rows and of records, in units in which they count alike."""
        z, x = self.of(rows, records)
        return z * self.weight, x * self.weight

    def fit(self, rows: Array, records: Array) -> GaussianFit:
        z, x = self.values(rows, records)
        return gaussian(z, x, np.ones(x.shape[1]))

    def beside(self, other: SettledFeatures) -> SettledFeatures:
        """Both kinds of features at once."""

        def of(rows: Array, records: Array) -> tuple[Array, Array]:
            first, second = self.of(rows, records), other.of(rows, records)
            return np.hstack([first[0], second[0]]), np.hstack([first[1], second[1]])

        weight = np.concatenate([self.weight, other.weight])
        return SettledFeatures(f"{self.name}; {other.name}", of, weight)


@dataclass(frozen=True, slots=True)
class FeatureFamily:
    """A kind of features; `fit` makes them from known pairs where the kind leaves a choice."""

    name: str
    of: Of
    fit: Callable[[Seen], Of] | None = None
    needs_many_pairs: bool = False

    def learned(self, seen: Seen) -> SettledFeatures:
        """The features with their weights.

        With known pairs, what is left between a row and its record is compared with what is left
        between any two: a feature in which strangers agree as well tells nothing. The logarithm
        of the ratio of two normal densities is a difference of precisions.
        """
        of = self.of
        if self.fit is not None and len(seen.rows):
            of = self.fit(seen)
        z, x = of(seen.some_rows, seen.some_records)
        unit = np.square(x - x.mean(axis=0)).mean(axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        if not len(seen.rows):
            return SettledFeatures(self.name, of, 1 / np.sqrt(unit))
        known, behind = of(seen.rows, seen.records)
        # A few pairs that agree are no proof that all do.
        left = (np.square(known - behind).sum(axis=0) + _LEAST**2 * unit) / (len(known) + 1)
        any_two = z.var(axis=0) + x.var(axis=0) + np.square(z.mean(axis=0) - x.mean(axis=0))
        precision = 1 / left - 1 / np.maximum(any_two, left)
        if not (precision > 0).any():
            precision = 1 / left
        return SettledFeatures(self.name, of, np.sqrt(precision))
