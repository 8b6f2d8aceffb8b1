"""Training pairs simulated by a key holder, who can release records of his own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import (
    ColumnStatistics,
    Knowledge,
    PopulationSample,
    PublicParameters,
)
from isinglass.errors import AttackError

Array = NDArray[Any]
Bounds = tuple[Array, Array]

#: Records kept apart to try ways back on: a third of a sample, and no more than this.
_MOST_UNSEEN = 400


@dataclass(frozen=True, slots=True)
class Simulation:
    """Records to learn from and others to try the result on, each with its release."""

    records: Array = field(repr=False)
    shown: Array = field(repr=False)
    unseen: Array = field(repr=False)
    unseen_shown: Array = field(repr=False)
    sample: Array = field(repr=False)  # records of the population, without those kept apart
    whole_sample: Array = field(repr=False)
    release: Callable[[Array], Array] = field(repr=False)


def simulate(known: Knowledge, perturbation: Any, n: int, rng: np.random.Generator) -> Simulation:
    """Draw `n` records like those of the table, and as many as can be spared beside them.

    From a sample where there is one, else by column statistics, else anywhere within bounds.
    """
    sample, bounds = known.find(PopulationSample), key_bounds(known, perturbation)
    if sample is not None and len(sample.records) >= 4:
        whole = _within(sample.records[rng.permutation(len(sample.records))], bounds)
        kept = min(max(1, len(whole) // 3), _MOST_UNSEEN)
        unseen, rest = whole[:kept], whole[kept:]
        records = _more_like(rest, n, rng)
    elif bounds is not None:
        kept = min(max(2, n // 4), _MOST_UNSEEN)
        whole = _within(_draw(known, bounds, n + kept, rng), bounds)
        unseen, rest = whole[:kept], whole[kept:]
        records = rest
    else:
        raise AttackError(
            "this perturbation has no inverse, and nothing is known of the table's range: the "
            "attack needs PopulationSample, ColumnStatistics or declared bounds"
        )

    def release(rows: Array) -> Array:
        if hasattr(perturbation, "transform_rows"):  # where noise is drawn, a row may be any
            return np.asarray(perturbation.transform_rows(rows, 0), dtype=np.float64)
        return np.asarray(perturbation.transform(rows), dtype=np.float64)

    records = _within(records, bounds)
    return Simulation(records, release(records), unseen, release(unseen), rest, whole, release)


def key_bounds(known: Knowledge, perturbation: Any) -> Bounds | None:
    """The columns' range; what the key itself says of it comes first."""
    if hasattr(perturbation, "key_bounds"):
        low, high = perturbation.key_bounds()
        return np.asarray(low), np.asarray(high)
    public, statistics = known.find(PublicParameters), known.find(ColumnStatistics)
    if public is not None and public.low is not None and public.high is not None:
        return np.asarray(public.low), np.asarray(public.high)
    return None if statistics is None else (statistics.low, statistics.high)


def _more_like(records: Array, n: int, rng: np.random.Generator) -> Array:
    """At most n of the records, or all of them and points between two: like them, and new."""
    records = records[:n]
    missing = n - len(records)
    if missing <= 0:
        return records
    share = rng.random((missing, 1))
    one, other = (records[rng.integers(len(records), size=missing)] for _ in range(2))
    return np.vstack([records, share * one + (1 - share) * other])


def _draw(known: Knowledge, bounds: Bounds, n: int, rng: np.random.Generator) -> Array:
    """Independent columns: beta laws with the known means and deviations, else even ones."""
    statistics = known.find(ColumnStatistics)
    if statistics is None:
        low, high = bounds
        return np.asarray(low + rng.random((n, len(low))) * (high - low))
    low, span = statistics.low, statistics.high - statistics.low
    unit = np.where(span > 0, span, 1.0)
    mean = np.clip((statistics.mean - low) / unit, 1e-6, 1 - 1e-6)
    most = mean * (1 - mean)
    size = most / np.clip((statistics.deviation / unit) ** 2, 1e-9, 0.99 * most) - 1
    return np.asarray(low + span * rng.beta(mean * size, (1 - mean) * size, (n, len(mean))))


def _within(records: Array, bounds: Bounds | None) -> Array:
    return records if bounds is None else np.asarray(np.clip(records, *bounds))
