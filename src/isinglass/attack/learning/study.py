"""Public maps of a study: from a record x to y = f(x), and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.activations import BEST_CURVATURE, double_logistic, double_logistic_inverse
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Knowledge,
    KnownPairs,
    PopulationSample,
    PublicParameters,
)
from isinglass.errors import AttackError
from isinglass.table.scale import Scaling

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Study:
    """The public side of a random multiparty perturbation: z = (T + D) y, y = f(scaled x)."""

    matrix: Array = field(repr=False)  # T, w x n; of several releases, one below the other
    alpha: Array = field(repr=False)  # half-width of D's entries, one for each row of T
    curvature: float
    scaling: Scaling = field(repr=False)

    @classmethod
    def of(cls, known: Knowledge) -> Study:
        """Read it off what is known; bounds that nobody declared come from other facts."""
        public = known.need(PublicParameters)
        if public.method != "multiparty":
            raise AttackError(
                f"this attack is for releases of method multiparty, not {public.method}"
            )
        if public.matrix is None:
            raise AttackError("this attack needs the study's public matrix, which is not known")
        T = np.asarray(public.matrix, dtype=np.float64)
        alpha = public.parameters.get("alpha")
        half = np.broadcast_to(0.0 if alpha is None else np.asarray(alpha, float), (len(T),))
        curvature = public.parameters.get("curvature")
        low, high = _bounds(public, known)
        n = T.shape[1]
        if low.shape != (n,) or high.shape != (n,):
            raise AttackError(f"the public matrix is for {n} columns, the bounds for {low.size}")
        return cls(
            T,
            half,
            BEST_CURVATURE if curvature is None else float(curvature),
            Scaling(low, high, declared=public.low is not None),
        )

    @property
    def ceiling(self) -> float:
        """f(1), the largest y there is."""
        return float(double_logistic(np.array(1.0), self.curvature))

    def to_y(self, records: Array) -> Array:
        """f of scaled records; values beyond the bounds are moved to them, as a release does."""
        if records.shape[1] != self.matrix.shape[1]:
            raise AttackError(
                f"the public matrix is for {self.matrix.shape[1]} columns, "
                f"known records have {records.shape[1]}"
            )
        low, factor = self.scaling.factors(np.float64)
        return double_logistic(np.clip((records - low) * factor, 0.0, 1.0), self.curvature)

    def to_table(self, y: Array) -> Array:
        """The records behind y. f is strictly monotone: to know y is to know x."""
        x = double_logistic_inverse(np.clip(y, 0.0, self.ceiling), self.curvature)
        low, high = self.scaling.low, self.scaling.high
        return np.asarray(np.clip(low + x * (high - low), low, high))


def _bounds(public: PublicParameters, known: Knowledge) -> tuple[Array, Array]:
    n = np.asarray(public.matrix).shape[1]
    if public.low is not None and public.high is not None:
        low, high = (np.asarray(b, dtype=np.float64) for b in (public.low, public.high))
        return np.broadcast_to(low, (n,)), np.broadcast_to(high, (n,))
    if isinstance(public.parameters.get("bounds"), str):  # "scaled"
        return np.zeros(n), np.ones(n)
    statistics = known.find(ColumnStatistics)
    if statistics is not None:
        return np.asarray(statistics.low), np.asarray(statistics.high)
    seen = [f.records for f in (known.find(PopulationSample), known.find(KnownPairs)) if f]
    if not seen or not any(len(records) for records in seen):
        raise AttackError(
            "this attack needs bounds: declared ones, ColumnStatistics or a PopulationSample"
        )
    every = np.vstack(seen)
    return np.asarray(every.min(axis=0)), np.asarray(every.max(axis=0))
