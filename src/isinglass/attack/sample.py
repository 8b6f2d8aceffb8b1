"""Sample attack: rotate a release until it is distributed as a sample of the population."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, Scenario, rows_of
from isinglass.attack.columns.marginals import (
    clipped,
    deviations,
    divisors,
    keeps_units,
    marginal_distances,
    scaling_bounds,
    spans,
    statistics_for,
)
from isinglass.attack.knowledge import ColumnStatistics, Fact, Knowledge, PopulationSample
from isinglass.errors import AttackError
from isinglass.measure.separation import sample_rows

Array = NDArray[Any]

#: Most records of the sample, and most released rows, used to refine the fit.
MOST_RECORDS, MOST_ROWS = 500, 12_000
#: Axes whose deviations differ by less than this factor may be matched in either order.
NEAR = 1.25


class SampleAttack(Attack):
    """Align the release's principal axes with a sample's; no pair is needed.

    Axes are taken in the order of their variance. The sign of each, and the order of axes of
    nearly the same variance, are chosen by the marginal distributions along them. Then the
    release is rotated and shifted further, by iterative closest points, as long as records of the
    sample come nearer to their nearest released rows: where the sample holds records of the
    table, they often coincide. A few hundred records of the sample, chosen by `random_state`, are
    used for that.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> Z = X @ [[0, 1, 0], [0, 0, 1], [1, 0, 0]]  # a release by a rotation
    >>> known = ig.attacks.PopulationSample(np.random.default_rng(1).random((500, 3)))
    >>> ig.attacks.SampleAttack(random_state=0).guess(Z, known).shape
    (200, 3)
    """

    name = "sample"
    story = "turns the release until it looks like a sample of similar records"
    needs = (PopulationSample,)
    scenarios = (Scenario((PopulationSample, ColumnStatistics)),)

    def __init__(self, *, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        known = Knowledge.of(knowledge)
        Z = rows_of(released)
        sample = known.need(PopulationSample).records
        if not len(sample) or not np.isfinite(sample).all():
            raise AttackError("the sample must hold records, all of them finite")
        d = sample.shape[1]
        statistics = statistics_for(known, d)
        bounds = scaling_bounds(known, d)
        assert bounds is not None  # the sample's own range at least
        low, unit = bounds[0], spans(*bounds)
        if keeps_units(known) and Z.shape[1] == d:
            Z = (Z - low) / unit
        S = (sample - low) / unit
        mean = S.mean(axis=0) if statistics is None else (statistics.mean - low) / unit
        axes, scores = _principal(Z)
        theirs, sample_scores = _principal(S)
        k = min(axes.shape[1], theirs.shape[1])
        if k == 0 or len(S) < 2:
            return clipped(np.tile(low + unit * mean, (len(Z), 1)), known)
        rng = chance.generator(self.random_state)
        scores, sample_scores = scores[:, :k], sample_scores[:, :k]
        if not (Z.shape[1] == d and _same_size(scores, sample_scores)):
            # No rotation: axes were scaled too, so each gets the deviation of the sample's axis.
            order, _, _ = _match(scores, sample_scores)
            scores = scores * (deviations(sample_scores)[order] / divisors(deviations(scores)))
        order, signs, doubtful = _match(scores, sample_scores)
        turn = np.zeros((k, k))
        turn[np.arange(k), order] = signs
        turn, shift = _refined(scores, sample_scores, turn, doubtful, rng)
        guess = mean + (scores @ turn + shift) @ theirs[:, :k].T
        return clipped(low + unit * guess, known)


def _principal(table: Array) -> tuple[Array, Array]:
    """Principal axes as columns, by falling variance, without those of rounding; and scores."""
    centered = table - table.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > 1e-10 * max(values[0], 1e-300)
    kept &= values > (1e-12 * np.abs(table).max()) ** 2 * len(table)
    return vectors[:, kept], centered @ vectors[:, kept]


def _match(scores: Array, theirs: Array) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
    """For each released axis the sample's that matches, and its sign; axes of doubtful sign."""
    from scipy.optimize import linear_sum_assignment

    width, their_width = deviations(scores), deviations(theirs)
    plain, turned = marginal_distances(scores / divisors(width), theirs / divisors(their_width))
    cost = np.minimum(plain, turned)
    ratio = np.abs(np.log(divisors(width)[:, np.newaxis] / divisors(their_width)))
    far = ratio > np.log(NEAR)
    np.fill_diagonal(far, val=False)
    _, order = linear_sum_assignment(np.where(far, 1e3, cost))
    mine = np.arange(len(order))
    as_is, round_ = plain[mine, order], turned[mine, order]
    signs = np.where(as_is <= round_, 1.0, -1.0)
    doubtful = np.minimum(as_is, round_) > 0.5 * np.maximum(as_is, round_)
    return np.asarray(order, dtype=np.intp), signs, np.flatnonzero(doubtful)


def _same_size(scores: Array, theirs: Array) -> bool:
    """Whether the variances agree in sum, as a rotation leaves them."""
    ours, sample = (float((deviations(t) ** 2).sum()) for t in (scores, theirs))
    return bool(0.5 * sample < ours < 2.0 * sample)


def _refined(
    scores: Array,
    theirs: Array,
    turn: Array,
    doubtful: NDArray[np.intp],
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Flip axes, then rotate and shift, while the sample comes nearer to the release."""
    rows = scores[sample_rows(len(scores), rng, MOST_ROWS)]
    sample = theirs[sample_rows(len(theirs), rng, MOST_RECORDS)]
    few = rows[sample_rows(len(rows), rng, 2_000)]
    best = _nearest(sample, few @ turn)[1]
    improved = True
    while improved:
        improved = False
        for axis in doubtful:
            other = turn.copy()
            other[axis] *= -1.0
            distance = _nearest(sample, few @ other)[1]
            if distance < 0.98 * best:
                turn, best, improved = other, distance, True
    shift = np.zeros(len(turn))
    nearest, best = _nearest(sample, rows @ turn)
    for _ in range(20):  # iterative closest points (Besl and McKay 1992)
        met = rows[nearest]
        ours, center = met.mean(axis=0), sample.mean(axis=0)
        left, _, right = np.linalg.svd((met - ours).T @ (sample - center))
        next_turn = left @ right
        next_shift = center - ours @ next_turn
        nearest, distance = _nearest(sample, rows @ next_turn + next_shift)
        if distance >= (1.0 - 1e-4) * best:
            break
        turn, shift, best = next_turn, next_shift, distance
    return turn, shift


def _nearest(sample: Array, rows: Array) -> tuple[NDArray[np.intp], float]:
    """For each record of the sample its nearest row, and the mean squared distance."""
    records = sample.astype(np.float32)
    # The record's own length is the same for every row, so it need not be added to find one.
    relative = (rows**2).sum(axis=1).astype(np.float32) - 2.0 * (
        records @ rows.astype(np.float32).T
    )
    nearest = relative.argmin(axis=1)
    return nearest, float(((sample - rows[nearest]) ** 2).sum(axis=1).mean())
