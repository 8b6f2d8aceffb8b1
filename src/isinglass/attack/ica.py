"""Independent components: separate the release blindly, then tell whose column each is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, all_seen
from isinglass.attack.knowledge import ColumnStatistics, Fact, Knowledge, PopulationSample
from isinglass.attack.marginals import clipped, marginal_distances, standardized
from isinglass.errors import AttackError
from isinglass.measure.separation import sample_rows, unmix

Array = NDArray[Any]

#: Rows on which components are looked for and compared with what is known.
MOST_ROWS = 6_000


class ICAAttack(Attack):
    """Undo a linear mixture of independent columns that are far from normal.

    Whitening takes any rotation out, and FastICA turns what is left until its components are as
    far from normal as they can be. Each component gets the name and sign of the column whose
    lowest and highest value and skewness, in deviations from the mean, it fits best, and where a
    sample is known too, the whole marginal; then that column's mean and deviation. Columns for
    which there is no component are guessed at their mean. Normal columns stay hidden from it, and
    columns that look alike may be taken for one another.

    Parameters
    ----------
    n_starts : int, default=1
        Random starts; the one whose components fit best counts.
    random_state : int, Generator or None
        Chooses starts and, in a long release, the rows used.
    """

    name = "ica"
    needs = (ColumnStatistics,)
    unordered = True

    def __init__(self, n_starts: int = 1, *, random_state: chance.RandomState = None) -> None:
        if n_starts < 1:
            raise ValueError(f"n_starts must be >= 1, got {n_starts}")
        self.n_starts = n_starts
        self.random_state = random_state

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        from scipy.optimize import linear_sum_assignment

        known = Knowledge.of(knowledge)
        statistics = known.need(ColumnStatistics)
        Z = all_seen(released, known)
        rng = chance.generator(self.random_state)
        rows = Z[sample_rows(len(Z), rng, MOST_ROWS)]
        varies = np.flatnonzero(statistics.deviation > 0)
        guess = np.tile(statistics.mean, (len(Z), 1))
        least = np.inf
        for _ in range(self.n_starts):
            found = unmix(rows, rng)
            if not found.n_components or not len(varies):
                break
            plain, turned = _costs(found.components(rows), statistics, known, varies)
            cost = np.minimum(plain, turned)
            columns, parts = linear_sum_assignment(cost)
            if (total := float(cost[columns, parts].sum())) >= least:
                continue
            least = total
            sign = np.where(plain <= turned, 1.0, -1.0)[columns, parts]
            named = varies[columns]
            components = found.components(Z)[:, parts] * sign
            guess[:, named] = statistics.mean[named] + components * statistics.deviation[named]
        return clipped(guess, known)


def _costs(
    components: Array, statistics: ColumnStatistics, known: Knowledge, varies: NDArray[np.intp]
) -> tuple[Array, Array]:
    """C[i, k]: how badly component k fits column i, as it is and turned round."""
    parts = standardized(components)
    column = _features(statistics, varies)
    plain = _unlike(column, _seen_features(parts))
    turned = _unlike(column, _seen_features(-parts))
    sample = known.find(PopulationSample)
    if sample is not None and len(sample.records) > 1:
        if sample.records.shape[1] != len(statistics.mean):
            raise AttackError(
                f"the sample must have {len(statistics.mean)} columns as the statistics do, "
                f"got {sample.records.shape[1]}"
            )
        # Quantiles settle what three numbers leave open, so they count for more.
        straight, flipped = marginal_distances(standardized(sample.records[:, varies]), parts)
        plain, turned = 0.1 * plain + straight, 0.1 * turned + flipped
    return plain, turned


def _features(statistics: ColumnStatistics, varies: NDArray[np.intp]) -> Array:
    mean, deviation = statistics.mean[varies], statistics.deviation[varies]
    low, high = statistics.low[varies], statistics.high[varies]
    return np.stack(
        [(low - mean) / deviation, (high - mean) / deviation, statistics.skewness[varies]]
    )


def _seen_features(parts: Array) -> Array:
    return np.stack([parts.min(axis=0), parts.max(axis=0), (parts**3).mean(axis=0)])


def _unlike(columns: Array, parts: Array) -> Array:
    """The sum of differences, each as a share: extremes of long tails differ by a lot or little."""
    a, b = columns[:, :, np.newaxis], parts[:, np.newaxis]
    return np.asarray((np.abs(a - b) / (1.0 + np.abs(a) + np.abs(b))).sum(axis=0))
