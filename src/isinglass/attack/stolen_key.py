"""What someone with the owner's key gets back: by an inverse, or else by regression."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, rows_of
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    Knowledge,
    KnownPairs,
    PopulationSample,
    PublicParameters,
    StolenKey,
)
from isinglass.attack.known_input import KnownInputAttack
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]


class StolenKeyAttack(Attack):
    """Undo a release with its key.

    Every perturbation that has an inverse is undone by it: a rotation, a shift and noise that is
    drawn by row number come out to the last digits, and so does tanh as long as it has as many
    hidden and released columns as the table. A projection to fewer columns gives the likeliest
    records; with a sample of the population, the best linear estimate. Where there is no inverse
    (square, sign, relu, a function of one's own, condensation) the key makes as many known pairs
    as wanted: records are drawn, perturbed with the key, and the way back is learned from them.

    Parameters
    ----------
    n_simulated : int, default=2000
        Records drawn where there is no inverse.
    random_state : int, Generator or None
        Draws them.
    """

    name = "stolen_key"
    needs = (StolenKey,)

    def __init__(self, n_simulated: int = 2000, random_state: chance.RandomState = None) -> None:
        if n_simulated < 2:
            raise ValueError(f"n_simulated must be >= 2, got {n_simulated}")
        self.n_simulated = n_simulated
        self.random_state = random_state

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The table by the key's own way back, or by pairs that the key makes."""
        Z, known = rows_of(released), Knowledge.of(knowledge)
        stolen = known.need(StolenKey)
        sample = known.find(PopulationSample)
        found = _undone(Z, stolen, None if sample is None else sample.records)
        if found is None:
            found = self._learned(Z, known, stolen.perturbation)
        return _finite(found)

    def _learned(self, Z: Array, known: Knowledge, perturbation: Any) -> Array:
        rng = chance.generator(self.random_state)
        records = _simulated(known, perturbation, self.n_simulated, rng)
        if hasattr(perturbation, "transform_rows"):  # where noise is drawn, a row may be any
            shown = perturbation.transform_rows(records, 0)
        else:
            shown = perturbation.transform(records)
        shown = np.asarray(shown, dtype=np.float64)
        if shown.shape[1] != Z.shape[1]:
            raise AttackError(
                f"the key is for releases of {shown.shape[1]} columns, this one has {Z.shape[1]}"
            )
        pairs = KnownPairs(np.arange(len(records)), records)
        facts: Knowledge = Knowledge(pairs)
        statistics = known.find(ColumnStatistics)
        if statistics is not None:
            facts |= statistics
        attack = KnownInputAttack(random_state=rng)
        return attack.guess(np.vstack([shown, Z]), facts)[len(records) :]


def _undone(Z: Array, stolen: StolenKey, sample: Array | None) -> Array | None:
    """The perturbation's own inverse; None where it has none."""
    undo = getattr(stolen.perturbation, "undo", None)
    if undo is None:
        return None
    takes = inspect.signature(undo).parameters
    options = {"sample": sample} if "sample" in takes and sample is not None else {}
    try:
        if "first_row" not in takes:
            return np.asarray(undo(Z, **options), dtype=np.float64)
        if stolen.rows is None:
            return np.asarray(undo(Z, first_row=stolen.first_row, **options), dtype=np.float64)
        return _by_runs(Z, np.asarray(stolen.rows, dtype=np.intp), undo, options)
    except ValueError:  # values are lost for good, so that there is no way back
        return None


def _by_runs(Z: Array, rows: Rows, undo: Any, options: dict[str, Any]) -> Array:
    """Undo rows of any numbers, run by run of consecutive ones."""
    if rows.shape != (len(Z),):
        raise AttackError(f"the key's rows must be {len(Z)} numbers, one for each released row")
    order = np.argsort(rows, kind="stable")
    starts = np.flatnonzero(np.diff(rows[order], prepend=rows[order[0]] - 2) != 1)
    out: Array | None = None
    for run in np.split(order, starts[1:]):
        part = np.asarray(undo(Z[run], first_row=int(rows[run[0]]), **options), dtype=np.float64)
        if out is None:
            out = np.empty((len(Z), part.shape[1]))
        out[run] = part
    assert out is not None
    return out


def _simulated(known: Knowledge, perturbation: Any, n: int, rng: np.random.Generator) -> Array:
    """Records such as the table may hold: a sample's, else any within the bounds."""
    sample, bounds = known.find(PopulationSample), _bounds(known, perturbation)
    if sample is not None and len(sample.records):
        records = sample.records[rng.permutation(len(sample.records))[:n]]
        missing = n - len(records)
        if missing > 0:
            # Between two records of the sample: like them, and unlike every one.
            share = rng.random((missing, 1))
            one, other = (records[rng.integers(len(records), size=missing)] for _ in range(2))
            records = np.vstack([records, share * one + (1 - share) * other])
    elif bounds is not None:
        records = bounds[0] + rng.random((n, len(bounds[0]))) * (bounds[1] - bounds[0])
    else:
        raise AttackError(
            "this perturbation has no inverse, and nothing is known of the table's range: the "
            "attack needs PopulationSample, ColumnStatistics or declared bounds"
        )
    return records if bounds is None else np.asarray(np.clip(records, *bounds))


def _bounds(known: Knowledge, perturbation: Any) -> tuple[Array, Array] | None:
    """What the key itself says of the columns' range comes first."""
    if hasattr(perturbation, "key_bounds"):
        low, high = perturbation.key_bounds()
        return np.asarray(low), np.asarray(high)
    public, statistics = known.find(PublicParameters), known.find(ColumnStatistics)
    if public is not None and public.low is not None and public.high is not None:
        return np.asarray(public.low), np.asarray(public.high)
    return None if statistics is None else (statistics.low, statistics.high)


def _finite(guess: Array) -> Array:
    """A guess is finite, whatever a saturated unit came back as."""
    bad = ~np.isfinite(guess)
    if not bad.any():
        return guess
    good = np.where(bad, 0.0, guess)
    mean = good.sum(axis=0) / np.maximum((~bad).sum(axis=0), 1)
    return np.where(bad, mean, guess)
