"""Posterior mean of a single value, given its released cell and the law of the noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.noise.law import AdditiveLaw

Array = NDArray[Any]

#: Values that a column is imagined to take, evenly between its bounds.
_VALUES = 256
#: Released values at which normal noise is looked at; between them the curve is smooth.
_PLACES = 400
#: A column this skewed, or with values so many deviations off, is far from normal: there the
#: mean of what is possible is no straight line, even under normal noise.
_SKEWED, _FAR = 2.0, 10.0
#: No cell tells less, or more, than this share of its column's variance.
_LEAST, _MOST = 1e-4, 0.999
#: The logarithm of the odds, before a release is seen, for the law that has the skewness, too.
_BEFORE = 1.0


@dataclass(frozen=True, slots=True)
class CellGuesses:
    """Guesses cell by cell, and the share of each column's variance that they explain."""

    guess: Array = field(repr=False)
    share: Array = field(repr=False)

    def as_linear(self, statistics: ColumnStatistics) -> tuple[Array, Array]:
        """A release with plain noise that tells as much: deviations from the mean, and variance.

        With a share r explained, guess / r is the value and noise of (1 - r) / r its variance. A
        filter made for variances then profits from all that the law tells.
        """
        centered = (self.guess - self.guess.mean(axis=0)) / self.share
        return centered, np.square(statistics.deviation) * (1 - self.share) / self.share


def heavy(statistics: ColumnStatistics) -> NDArray[np.bool_]:
    """Columns in which single values carry much of the variance."""
    unit = np.where(statistics.deviation > 0, statistics.deviation, 1.0)
    away = np.maximum(statistics.high - statistics.mean, statistics.mean - statistics.low) / unit
    return np.asarray((np.abs(statistics.skewness) > _SKEWED) | (away > _FAR))


def law_matters(law: AdditiveLaw, statistics: ColumnStatistics) -> bool:
    """Whether cells tell more than the noise's variance does."""
    noisy = law.variance > 0
    return bool((noisy & ((law.reach is not None) | heavy(statistics))).any())


def told_by_cells(Z: Array, law: AdditiveLaw, statistics: ColumnStatistics) -> CellGuesses:
    """The mean of each value given its released cell, under a prior by the column's statistics."""
    guess, share = np.empty_like(Z), np.empty(Z.shape[1])
    far = heavy(statistics)
    for j, z in enumerate(Z.T):
        noise, spread = float(law.variance[j]), float(statistics.deviation[j]) ** 2
        straight = spread / (spread + noise) if spread > 0 else 0.0
        cell = (statistics.high[j] - statistics.low[j]) / _VALUES
        by_law = law.reach is not None or far[j]
        if not by_law or straight == 0 or noise <= (2 * cell) ** 2:
            guess[:, j], share[j] = (
                statistics.mean[j] + straight * (z - statistics.mean[j]),
                straight,
            )
            continue
        grid, priors = _priors(statistics, j, len(z))
        reach = None if law.reach is None else float(law.reach[j])
        guess[:, j] = _cell_means(z, grid, priors, noise, reach)
        share[j] = guess[:, j].var() / spread
    return CellGuesses(guess, np.clip(share, _LEAST, _MOST))


def _priors(statistics: ColumnStatistics, j: int, n: int) -> tuple[Array, list[Array]]:
    """Values between the bounds, and one or two laws on them that have the column's statistics.

    The beta law has its mean and deviation; both bounds occur, so that one record in n at least
    has each. A skewed column's second law is the nearest to it that has the skewness, too: one
    value far off leaves no room for others half as far.
    """
    from scipy.special import betainc

    low, high, mean = (float(v[j]) for v in (statistics.low, statistics.high, statistics.mean))
    deviation, span = float(statistics.deviation[j]), float(statistics.high[j] - statistics.low[j])
    grid = np.linspace(low, high, _VALUES)
    at = min(max((mean - low) / span, 1e-9), 1 - 1e-9)
    size = max(at * (1 - at) / (deviation / span) ** 2 - 1, 1e-3)
    edges = np.concatenate([[0.0], (np.arange(1, _VALUES) - 0.5) / (_VALUES - 1), [1.0]])
    beta = np.diff(betainc(at * size, (1 - at) * size, edges)) + 1e-7 / _VALUES
    beta[[0, -1]] += 1 / n
    beta /= beta.sum()
    if abs(statistics.skewness[j]) <= _SKEWED:
        return grid, [beta]
    return grid, [beta, _tilted(beta, (grid - mean) / deviation, float(statistics.skewness[j]))]


def _tilted(law: Array, x: Array, skewness: float) -> Array:
    """The law nearest to `law` with mean 0, deviation 1 and this skewness, as nearly as can be.

    It is law * exp(a x + b x² + c x³), whose constants minimize a convex function (Newton).
    """
    powers = np.stack([x, x**2, x**3], axis=1)
    unit = np.abs(powers).max(axis=0)
    powers /= unit
    wanted = np.array([0.0, 1.0, skewness]) / unit
    constants = np.zeros(3)

    def tried(constants: Array) -> tuple[float, Array]:
        log = np.log(law) + powers @ constants
        most = log.max()
        weights = np.exp(log - most)
        total = weights.sum()
        return float(np.log(total) + most - constants @ wanted), weights / total

    value, found = tried(constants)
    for _ in range(40):
        mean = found @ powers
        slope = mean - wanted
        if (np.abs(slope * unit) < 1e-3 * np.array([1.0, 1.0, abs(skewness)])).all():
            break
        bend = (powers * found[:, np.newaxis]).T @ powers - np.outer(mean, mean)
        step = np.linalg.solve(bend + 1e-10 * np.eye(3), slope)
        length = 1.0
        while length > 1e-4:
            next_value, next_found = tried(constants - length * step)
            if next_value <= value - 1e-4 * length * (slope @ step):
                break
            length /= 2
        else:
            break
        constants, value, found = constants - length * step, next_value, next_found
    found = found + 1e-12
    return np.asarray(found / found.sum())


def _cell_means(
    z: Array, grid: Array, priors: list[Array], noise: float, reach: float | None
) -> Array:
    """E[x | z] under the priors, each as likely as it makes the released column."""
    if reach is None:
        places = np.linspace(z.min(), z.max(), _PLACES)
        seen = np.exp(-0.5 * np.square(places[:, np.newaxis] - grid) / noise)
        chances = [np.interp(z, places, seen @ p) for p in priors]
    else:
        first = np.searchsorted(grid, z - reach)
        last = np.searchsorted(grid, z + reach, side="right")
        sums = [np.concatenate([[0.0], np.cumsum(p)]) for p in priors]
        chances = [s[last] - s[first] for s in sums]
    prior = priors[0]
    if len(priors) == 2:
        # Either the one law or the other is the column's; all its cells together tell which.
        first_fit, second_fit = (float(np.log(np.maximum(c, 1e-300)).sum()) for c in chances)
        part = 1 / (1 + np.exp(np.clip(second_fit - first_fit + _BEFORE, -50, 50)))
        prior = part * priors[0] + (1 - part) * priors[1]
    if reach is None:
        total, sums_of_values = seen @ prior, seen @ (prior * grid)
        possible = total > 1e-290
        means = np.where(
            possible,
            sums_of_values / np.where(possible, total, 1.0),
            np.clip(places, grid[0], grid[-1]),
        )
        return np.interp(z, places, means)
    weight, value = (np.concatenate([[0.0], np.cumsum(p)]) for p in (prior, prior * grid))
    total = weight[last] - weight[first]
    possible = total > 1e-12
    # A value that no noise explains is as near as can be.
    nearest = np.clip(z, grid[0], grid[-1])
    means = (value[last] - value[first]) / np.where(possible, total, 1.0)
    return np.where(possible, means, nearest)
