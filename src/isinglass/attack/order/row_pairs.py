"""Learning and interpolation from known records in ordered rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors, statistics_for
from isinglass.attack.knowledge import Knowledge, KnownPairs, RowOrder
from isinglass.attack.learning.regression import fit_kernel, fit_ridge
from isinglass.attack.noise.row_filter import filtered
from isinglass.attack.noise.size import difference_variance
from isinglass.attack.order.interpolation import Interpolator
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Known pairs used, pairs a kernel is fitted on, parts left out in turn.
_MOST_PAIRS, _MOST_KERNEL, _FOLDS = 1_000, 200, 5
#: Fewer pairs cannot show which way of learning from them, or between them, is any good.
_LEAST_PAIRS, _LEAST_BETWEEN = 12, 30
#: Weights of guesses are drawn toward 0 as by so many records.
_HELD_BACK = 10.0
#: Records so many times as far off as most count less.
_FAR = 3.0


def distinct_pairs(pairs: KnownPairs, n_rows: int, *, required: bool = False) -> tuple[Rows, Array]:
    """Rows of known pairs, each once, and their records.

    Raise AttackError if a row is not in the release, a number is not finite, or there are no
    pairs though they are `required`.
    """
    if required and not len(pairs.rows):
        raise AttackError("known pairs are none at all; this attack needs at least 1")
    if len(pairs.rows) and (pairs.rows.min() < 0 or pairs.rows.max() >= n_rows):
        raise AttackError(f"known pairs must name rows of the release, 0 to {n_rows - 1}")
    if not np.isfinite(pairs.records).all():
        raise AttackError("known pairs hold numbers that are not finite")
    rows, first = np.unique(pairs.rows, return_index=True)
    return rows, pairs.records[first]


@dataclass(frozen=True, slots=True)
class RowPairGuesser:
    """A way to guess: known rows by what was learned without them, and all rows when asked."""

    left_out: Array = field(repr=False)
    everywhere: Callable[[], Array] = field(repr=False)


def stacked(candidates: list[RowPairGuesser], records: Array) -> Array:
    """The sum of guesses, with weights >= 0, that comes nearest to known records left out.

    All columns share the weights, so that few records suffice. Guesses that do alike share the
    weight. The first candidate is the one to leave only for a reason.
    """
    from scipy.optimize import nnls

    rest = records - candidates[0].left_out
    unit = divisors(np.sqrt(np.square(rest).mean(axis=0)))
    # A single outlying record must not decide for all.
    far = np.sqrt(np.square(rest / unit).mean(axis=1))
    scale = np.minimum(1.0, _FAR * np.median(far) / np.maximum(far, 1e-300))[:, np.newaxis] / unit
    columns = [((c.left_out - candidates[0].left_out) * scale).ravel() for c in candidates[1:]]
    target = (rest * scale).ravel()
    weights = np.zeros(len(columns))
    if columns and len(records) > 2:
        # As if each weight had been 0 on a few more records.
        held = np.sqrt(_HELD_BACK * records.shape[1]) * np.eye(len(columns))
        A = np.vstack([np.column_stack(columns), held])
        weights, _ = nnls(A, np.concatenate([target, np.zeros(len(columns))]))
    first = candidates[0].everywhere()
    guess = np.array(first)
    for weight, candidate in zip(weights, candidates[1:], strict=True):
        if weight > 0:
            guess += weight * (candidate.everywhere() - first)
    return guess


def learn_and_interpolate(
    rows: Array,
    first: RowPairGuesser | None,
    places: Rows,
    records: Array,
    known: Knowledge,
    rng: np.random.Generator,
) -> Array:
    """Several ways from known records to all of them, and what they leave interpolated.

    `first` is what is known without learning from pairs. Rows must be in order, and are
    interpolated only where that order is known.
    """
    if len(places) > _MOST_PAIRS:
        some = np.sort(rng.choice(len(places), _MOST_PAIRS, replace=False))
        places, records = places[some], records[some]
        if first is not None:
            first = RowPairGuesser(first.left_out[some], first.everywhere)
    ordered = known.find(RowOrder) is not None
    candidates = _candidates(rows, first, places, records, known, rng, ordered=ordered)
    if ordered and len(places) >= _LEAST_BETWEEN:
        along = Interpolator(places)
        candidates += [_interpolated(c, along, records, len(rows)) for c in candidates]
    return stacked(candidates, records)


def _interpolated(
    one: RowPairGuesser, along: Interpolator, records: Array, n_rows: int
) -> RowPairGuesser:
    """A guess, and what it leaves of known records interpolated between them."""
    rest = along.fit(records - one.left_out)
    return RowPairGuesser(
        one.left_out + rest.left_out,
        lambda: one.everywhere() + rest.at(np.arange(n_rows, dtype=np.float64)),
    )


def _candidates(
    rows: Array,
    first: RowPairGuesser | None,
    places: Rows,
    records: Array,
    known: Knowledge,
    rng: np.random.Generator,
    *,
    ordered: bool,
) -> list[RowPairGuesser]:
    """What is known without pairs first, then the mean, then what is learned from pairs."""
    m, d = records.shape
    statistics = statistics_for(known, d)
    center = records.mean(axis=0)
    if statistics is None:
        alone = (m * center - records) / max(m - 1, 1)  # the mean of the others
    else:
        center, alone = statistics.mean, np.tile(statistics.mean, (m, 1))
    candidates = [RowPairGuesser(alone, lambda: np.tile(center, (len(rows), 1)))]
    if first is not None:
        candidates.insert(0, first)
    if rows.shape[1] == d:
        candidates.append(RowPairGuesser(rows[places], lambda: rows))
    if m < _LEAST_PAIRS:
        return candidates
    plain = (rows - rows.mean(axis=0)) / divisors(deviations(rows))
    views = [plain]
    if first is not None:
        found = np.array(first.everywhere())
        found[places] = first.left_out
        found = (found - found.mean(axis=0)) / divisors(deviations(found))
        views += [np.column_stack([found, plain]), found]
    elif ordered:
        views.append(filtered(plain, difference_variance(plain), Knowledge()))
    parts = np.array_split(rng.permutation(m), min(m, _FOLDS))
    candidates += [_learned(seen, places, records, parts, None) for seen in views]
    candidates.append(_learned(views[-1], places, records, parts, rng))
    return candidates


def _learned(
    seen: Array,
    places: Rows,
    records: Array,
    parts: list[NDArray[np.intp]],
    rng: np.random.Generator | None,
) -> RowPairGuesser:
    """Ridge regression on what is seen; with a generator kernel ridge regression."""
    shown = seen[places]

    def fit(chosen: NDArray[np.intp]) -> Callable[[Array], Array]:
        if rng is None:
            return fit_ridge(shown[chosen], records[chosen]).predict
        chosen = chosen if len(chosen) <= _MOST_KERNEL else rng.permutation(chosen)[:_MOST_KERNEL]
        return fit_kernel(shown[chosen], records[chosen], rng).predict

    left_out = np.empty_like(records)
    everyone = np.arange(len(records))
    for part in parts:
        left_out[part] = fit(np.setdiff1d(everyone, part))(shown[part])
    return RowPairGuesser(left_out, lambda: fit(everyone)(seen))
