"""The privacy levels of Table 1: rotations searched for, and attacked by components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import chance
from isinglass.attack.ica import ICAAttack
from isinglass.attack.knowledge import ColumnStatistics
from isinglass.measure.separation import (
    correlations,
    naming_levels,
    separation_levels,
    unmix,
)
from isinglass.measure.vod import (
    PrivacyLevel,
    haar_vod_moments,
    placement_levels,
    privacy_level,
    rotation_vod,
    variance_of_difference,
)
from isinglass.perturb.rotation import Rotation
from isinglass_papers.rotation.sets import ScaledSet, scaled, turned

Array = NDArray[Any]
Spread = tuple[float, ...]
ITERATIONS = 50


@dataclass(frozen=True, slots=True)
class Search:
    """Levels of the best of 50 rotations, one entry for each repetition of the search.

    `minimum` and `average` are the product's, with rows in their exact best order; `kept` is the
    average of the rotation kept for its minimum. `drawn_` is without reordering, `swapped_` with
    as many random swaps as there are columns, each taken back where it does not help.
    """

    minimum: Spread
    average: Spread
    kept: Spread
    drawn_minimum: Spread
    drawn_average: Spread
    swapped_minimum: Spread
    swapped_average: Spread


def search(X: Array, rng: np.random.Generator, repeats: int) -> Search:
    """Algorithm 1 without its ICA test, in the product's form and in two weaker ones."""
    covariance = np.cov(X, rowvar=False)
    lines = []
    for _ in range(repeats):
        veil = _rotation(ITERATIONS, "minimum", rng).fit(X)
        best = privacy_level(variance_of_difference(X, veil.transform(X)))
        average = _rotation(ITERATIONS, "average", rng).fit(X).privacy_level_
        weak = np.array([_weaker(covariance, rng) for _ in range(ITERATIONS)])
        lines.append([best.minimum, average, best.average, *weak.max(axis=0)])
    return Search(*(tuple(float(v) for v in column) for column in np.array(lines).T))


def _weaker(covariance: Array, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Minimum and average of one rotation as drawn, and after d random swaps of two rows."""
    P = placement_levels(chance.haar(rng, len(covariance)), covariance)
    places = np.arange(len(P))
    order = places.copy()
    drawn = now = P[places, order]
    for _ in places:
        pair = rng.choice(len(P), size=2, replace=False)
        order[pair] = order[pair[::-1]]
        swapped = P[places, order]
        if swapped.min() > now.min():
            now = swapped
        else:
            order[pair] = order[pair[::-1]]
    return float(drawn.min()), float(drawn.mean()), float(now.min()), float(now.mean())


@dataclass(frozen=True, slots=True)
class Iteration:
    """One rotation in its best row order, its own level, and what FastICA leaves of it.

    `raw_` compares components of variance one, as the paper did; `pair` is the average when only
    the best component is named and the others stay in the order in which they came, `raw_average`
    when all are named at best. `minimum` and `average` are of an attacker who knows variances;
    `learned` counts the columns that this one, naming all at best, comes nearer to than their own
    deviation, which is what guessing the mean leaves.
    """

    level: float
    raw_minimum: float
    pair: float
    raw_average: float
    minimum: float
    average: float
    learned: int
    converged: bool
    n_components: int


def iterations(X: Array, rng: np.random.Generator, n: int) -> tuple[Iteration, ...]:
    """Rotate and attack so many times, each from its own random start."""
    return tuple(_attacked(X, rng) for _ in range(n))


def _attacked(X: Array, rng: np.random.Generator) -> Iteration:
    from scipy.optimize import linear_sum_assignment

    veil = _rotation(1, "minimum", rng).fit(X)
    assert veil.privacy_level_ is not None
    released = veil.transform(X)
    found = unmix(released, rng)
    columns = X[:, X.min(axis=0) < X.max(axis=0)]
    parts = found.components(released)
    raw = naming_levels(columns, parts, "raw")
    matched = naming_levels(columns, parts, "variance")
    named = linear_sum_assignment(matched)
    deviation = columns.std(axis=0, ddof=1)
    return Iteration(
        veil.privacy_level_,
        float(raw.min()),
        _one_pair(columns, parts),
        float(raw[linear_sum_assignment(raw)].mean()),
        float(matched.min()),
        float(matched[named].mean()),
        int((matched[named] < deviation[named[0]]).sum()),
        found.converged,
        found.n_components,
    )


def _one_pair(columns: Array, parts: Array) -> float:
    """The average over columns in an order that holds the best pair, and is else as it came.

    Every order with that pair has the lowest minimum, by which the paper picks one; the signs are
    those that FastICA returned.
    """
    deviation = columns.std(axis=0, ddof=1)[:, np.newaxis]
    P = np.sqrt(1.0 + deviation**2 - 2.0 * deviation * correlations(columns, parts))
    i, k = np.unravel_index(P.argmin(), P.shape)
    rows = np.delete(np.arange(len(P)), i)
    others = np.delete(np.arange(P.shape[1]), k)
    n = min(len(rows), len(others))
    return float(np.append(P[rows[:n], others[:n]], P[i, k]).mean())


@dataclass(frozen=True, slots=True)
class SetLevels:
    """Everything that is measured about one set's levels.

    `flipped` belongs to R = -I. `guess` is what `ICAAttack` leaves, which must also tell whose
    column a component is, and `learned` counts the columns it comes nearer to than their own
    deviation; `deviations` are those, of columns that vary. `recoded` is Tic-tac-toe with o and
    blank exchanged. `moments` are the mean variance of VoD over columns: drawn, in closed form,
    and the order the paper guesses; `means` the largest share by which the mean VoD of a column
    misses its closed form; `errors` how far drawn means and variances miss theirs, in standard
    errors.
    `moved` is how far a random center moves a level. `starts` are the averages that FastICA's
    random starts leave of a single rotation, to set beside those of many.
    """

    search: Search
    recoded: Search | None
    iterations: tuple[Iteration, ...]
    flipped: PrivacyLevel
    guess: PrivacyLevel
    learned: int
    deviations: Spread
    moments: tuple[float, float, float]
    means: float
    errors: tuple[float, float]
    moved: float
    starts: Spread

    @property
    def deviation(self) -> float:
        """What guessing the mean leaves, on average over the columns that vary."""
        return float(np.mean(self.deviations))


def levels(
    table: ScaledSet, repeats: int, n_iterations: int, n_starts: int, draws: int
) -> SetLevels:
    """Search, attack and measure one set."""
    X, rng = table.X, table.chance(3)
    covariance = np.cov(X, rowvar=False)
    d = len(covariance)
    found = search(X, rng, repeats)
    recoded = None
    if table.name == "tic_tac_toe":
        # In the file o, blank and x are -1, 0 and 1; now blank, o and x are 0, 1/2 and 1.
        recoded = search(
            scaled(np.array([0.5, 0.0, 1.0])[np.rint(2 * X).astype(int)]), rng, repeats
        )
    attacked = iterations(X, table.chance(4), n_iterations)
    origin, center = turned(X, rng)
    guess = ICAAttack(n_starts, lattice=False, random_state=rng).guess(
        center, ColumnStatistics.of(X)
    )
    varies = X.min(axis=0) < X.max(axis=0)
    deviations = X[:, varies].std(axis=0, ddof=1)
    left = variance_of_difference(X[:, varies], guess[:, varies])
    vod = np.array([rotation_vod(chance.haar(rng, d), covariance) for _ in range(draws)])
    mean, variance = haar_vod_moments(covariance)
    squares = np.square(vod - mean).mean(axis=1)
    error = float(squares.std(ddof=1)) / np.sqrt(draws)
    about = [np.sqrt(variance_of_difference(X, Z)) for Z in (origin, center)]
    return SetLevels(
        found,
        recoded,
        attacked,
        privacy_level(rotation_vod(-np.eye(d), covariance)),
        privacy_level(left),
        int((np.sqrt(left) < deviations).sum()),
        tuple(float(v) for v in deviations),
        (
            float(vod.var(axis=0, ddof=1).mean()),
            float(variance.mean()),
            float(covariance.sum() / d**2),
        ),
        float(np.abs(vod.mean(axis=0) / mean - 1.0).max()),
        (
            float((np.abs(vod.mean(axis=0) - mean) / np.sqrt(variance / draws)).max()),
            float(abs(squares.mean() - variance.mean()) / error),
        ),
        float(np.abs(about[0] - about[1]).max()),
        tuple(separation_levels(X, center, rng).average for _ in range(n_starts)),
    )


def grouped(values: list[float], size: int) -> Spread:
    """The lowest of each `size` values in turn."""
    parts = [values[i : i + size] for i in range(0, len(values) - size + 1, size)]
    return tuple(min(part) for part in parts)


def _rotation(n_iter: int, optimize: str, rng: np.random.Generator) -> Rotation:
    return Rotation(n_iter, optimize=optimize, check_ica=False, bounds="scaled", random_state=rng)
