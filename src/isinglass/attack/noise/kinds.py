"""Mixture model of records of a few kinds, fitted to a noisy release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Numbers of kinds that are tried, on so many rows, each from several starts.
_COUNTS, _MOST_ROWS, _STARTS = (2, 4, 6, 8, 12, 20), 1_500, 4
#: Noise looks larger at first, so that kinds do not settle on single rows.
_COOLING, _STEPS = np.linspace(3.0, 1.0, 10), 20
_MOST_DIRECTIONS = 24


@dataclass(frozen=True, slots=True)
class _Mixture:
    centers: Array = field(repr=False)
    shares: Array = field(repr=False)
    likelihood: float

    def chances(self, rows: Array, width: float = 1.0) -> tuple[Array, float]:
        """How likely each row is of each kind, and the log-likelihood of all rows."""
        fits = rows @ self.centers.T - np.square(self.centers).sum(axis=1) / 2
        fits = fits / width + np.log(self.shares)
        most = fits.max(axis=1, keepdims=True)
        found = np.exp(fits - most)
        total = found.sum(axis=1, keepdims=True)
        return found / total, float((np.log(total) + most).sum())


def means_of_kinds(white: Array, rng: np.random.Generator) -> Array | None:
    """The mean of each row's kind, for rows under noise of variance one; None if there are none.

    How many kinds there are is chosen by Schwarz's criterion. That there are any is supposed: who
    has the release may know what sort of records it holds.
    """
    n, d = white.shape
    values, vectors = np.linalg.eigh(np.cov(white, rowvar=False).reshape(d, d))
    # A direction a little above noise may still tell kinds apart, beside others.
    wide = np.flatnonzero(values > (1 + np.sqrt(d / n)) ** 2)[-_MOST_DIRECTIONS:]
    if not len(wide) or n < 50:
        return None
    places = white @ vectors[:, wide]
    some = places[:: max(1, n // _MOST_ROWS)][:_MOST_ROWS]
    best, least = None, np.inf
    for count in _COUNTS:
        if count * 10 > len(some):
            break
        mixture = max(
            (_fitted(some, count, rng) for _ in range(_STARTS)), key=lambda m: m.likelihood
        )
        numbers = count * some.shape[1] + count - 1
        price = -2 * mixture.likelihood + numbers * np.log(len(some))
        if price < least:
            best, least = mixture, price
    if best is None:
        return None
    chances, _ = best.chances(places)
    size = chances.sum(axis=0)
    means = (chances.T @ white) / np.maximum(size, 1e-9)[:, np.newaxis]
    # A mean of few rows has noise of its own; kinds differ by what all of them vary.
    spread = max(float((size @ np.square(means)).sum() / n / d) - len(size) / n, 1e-9)
    means *= (spread / (spread + 1 / np.maximum(size, 1e-9)))[:, np.newaxis]
    return np.asarray(chances @ means)


def _fitted(rows: Array, count: int, rng: np.random.Generator) -> _Mixture:
    """Kinds by expectation and maximization, from rows that lie far apart."""
    centers = rows[rng.integers(len(rows), size=1)]
    for _ in range(count - 1):
        away = np.square(rows[:, np.newaxis] - centers).sum(axis=2).min(axis=1)
        away = np.maximum(away - rows.shape[1], 1e-9)  # noise is that far by itself
        centers = np.vstack([centers, rows[rng.choice(len(rows), p=away / away.sum())]])
    mixture = _Mixture(centers, np.full(count, 1 / count), -np.inf)
    for width in (*_COOLING, *np.ones(_STEPS)):
        chances, likelihood = mixture.chances(rows, width)
        size = chances.sum(axis=0) + 1e-6
        mixture = _Mixture(
            (chances.T @ rows) / size[:, np.newaxis], size / size.sum(), likelihood
        )  # fmt: skip
    return mixture
