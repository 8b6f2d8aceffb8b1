"""Prediction of the released row of each public record, bootstrapped from known pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.kept.join import Groups, joined
from isinglass.attack.learning.forward_map import Pairs, exact_map, learn_map
from isinglass.attack.learning.inverse_map import covariance_of, whitening
from isinglass.attack.learning.regression import Fit
from isinglass.attack.linking.ranking import compared, log_error, mean_log_rank, settled
from isinglass.attack.linking.record_fit import GaussianFit, gaussian

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Rounds of linking and learning, rows linked in each, and links learned from.
_ROUNDS = 6
_LINKED_ROWS = 800
_MOST_LINKS = 500
#: A link is taken for a pair where it is surer than this.
_SURE = 0.9


@dataclass(frozen=True)
class Forward:
    """What each public record would look like in the release, and how far off that is."""

    expected: Array = field(repr=False)  # one row for each public record
    seen: Array = field(repr=False)  # all released rows
    covariance: Array = field(repr=False)
    pair_rows: Rows = field(repr=False)
    #: Errors of the known pairs where they were left out.
    left_out: Array = field(repr=False)

    @property
    def _white(self) -> Array:
        return whitening(self.covariance, self.seen.std(axis=0))

    def fit(self, rows: Any = slice(None)) -> GaussianFit:
        """Log-likelihood of the noise between released rows and every public record."""
        white = self._white
        return gaussian(self.seen[rows] @ white.T, self.expected @ white.T, np.ones(len(white)))

    def pairs_left_out(self, some: Rows) -> tuple[GaussianFit, Array]:
        """Fits of some pairs with all public records, and that of the true one, left out."""
        away = self.left_out[some] @ self._white.T
        constant = -len(self._white) / 2 * np.log(2 * np.pi)
        return self.fit(self.pair_rows[some]), constant - np.square(away).sum(axis=1) / 2


def described(fit: Fit, pairs: Pairs, seen: Array, pair_rows: Rows) -> Forward:
    """A learned map as directions of linkage use it, its noise from the pairs left out."""
    left_out = fit.left_out[: len(pair_rows)]
    return Forward(fit.predict(pairs.public), seen, covariance_of(left_out), pair_rows, left_out)


def described_exact(fit: Fit, spread: float, pairs: Pairs, seen: Array, pair_rows: Rows) -> Forward:
    """A map that no pair is left to test, as far off as the rows it explains show."""
    covariance = np.diag(np.square(spread * divisors(deviations(seen))))
    return Forward(fit.predict(pairs.public), seen, covariance, pair_rows, fit.left_out)


def learn_forward(
    pairs: Pairs,
    seen: Array,
    pair_rows: Rows,
    groups: Groups | None,
    rng: np.random.Generator,
    *,
    quick: bool = False,
) -> Forward:
    """The best map from records to the release, bootstrapped.

    Links that are nearly certain are taken as further pairs, and the map is learned again.
    """
    others = np.setdiff1d(np.arange(len(seen)), pair_rows)
    first = described(learn_map(pairs, rng, quick=quick), pairs, seen, pair_rows)
    some = compared(len(pair_rows), rng)

    def quality(forward: Forward) -> tuple[float, float]:
        """Smaller is better: ranks of the pairs left out, then how far off they are."""
        rank = mean_log_rank(*forward.pairs_left_out(some), pair_rows[some], groups)
        return rank, log_error(forward.left_out, seen)

    best, reached = first, quality(first)
    if settled(min(reached), len(some)) or not len(others):
        return best
    start = first
    exact = exact_map(pairs, seen[others], rng)
    if exact is not None:
        start = described_exact(*exact, pairs, seen, pair_rows)
    for _ in range(_ROUNDS):
        rows = rng.permutation(others)[:_LINKED_ROWS]
        named, share = joined(start.fit(rows), groups, rows).best()
        sure = np.flatnonzero(share > _SURE)[:_MOST_LINKS]
        if len(sure) < 3:
            break
        sure = _consistent(start, named, rows, sure)
        more = pairs.more(named[sure], seen[rows[sure]])
        start = described(learn_map(more, rng, quick=True), more, seen, pair_rows)
        found = quality(start)
        if found >= reached:
            break
        best, reached = start, found
    return best


def _consistent(start: Forward, named: Rows, rows: Rows, sure: Rows) -> Rows:
    """Links without those much farther off than most: a wrong one would bend the map."""
    unit = start.seen.std(axis=0)
    away = start.expected[named[sure]] - start.seen[rows[sure]]
    size = np.square(away / np.where(unit > 0, unit, 1.0)).sum(axis=1)
    return np.asarray(sure[size <= 16.0 * np.median(size)])
