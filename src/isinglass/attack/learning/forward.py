"""Prediction of the released row of each public record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.learning.forward_map import Pairs
from isinglass.attack.learning.inverse_map import covariance_of, whitening
from isinglass.attack.learning.regression import Fit
from isinglass.attack.linking.record_fit import GaussianFit, gaussian

Array = NDArray[Any]
Rows = NDArray[np.intp]


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
