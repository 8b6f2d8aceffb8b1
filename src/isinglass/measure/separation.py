"""Independent component analysis, and scores of the columns it finds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from isinglass.measure.vod import column_weights

Array = NDArray[Any]

#: Rows beyond this many sharpen the components little and cost time.
MOST_ROWS = 20_000
#: Ways an attacker scales a component to guess a column.
COMPONENT_SCALINGS = ("variance", "linear", "raw")


@dataclass(frozen=True, slots=True)
class Unmixing:
    """A linear map from released records to components of mean zero and variance one."""

    mean: Array = field(repr=False)
    matrix: Array = field(repr=False)  # n_components x released columns
    #: False where the iteration was cut off. That is a poor attempt, not protection.
    converged: bool

    @property
    def n_components(self) -> int:
        return len(self.matrix)

    def components(self, released: ArrayLike) -> Array:
        """One column for each component."""
        return np.asarray((np.asarray(released, dtype=np.float64) - self.mean) @ self.matrix.T)


@dataclass(frozen=True, slots=True)
class Separation:
    """Levels left after the attack: of the best recovered column, and on average."""

    minimum: float
    average: float
    converged: bool
    n_components: int


def unmix(released: ArrayLike, rng: np.random.Generator, *, max_iter: int = 200) -> Unmixing:
    """Find independent components of a release by FastICA, from a random start.

    There are as many components as the release has rank; a constant release has none. Above
    `MOST_ROWS` records, a random sample of them is used.
    """
    table = np.asarray(released)
    if table.ndim != 2 or not len(table):
        raise ValueError(f"released must be a table with records, got shape {table.shape}")
    precision = np.finfo(table.dtype if table.dtype.kind == "f" else np.float64).eps
    rows = np.asarray(table[sample_rows(len(table), rng)], dtype=np.float64)
    mean = rows.mean(axis=0)
    centered = rows - mean
    left, sizes, directions = np.linalg.svd(centered, full_matrices=False)
    # A direction in which the release spans no more than its own rounding is not a component.
    rounding = 4.0 * precision * np.abs(rows).max() * np.sqrt(rows.size)
    rank = int((sizes > rounding).sum())
    if rank == 0:
        return Unmixing(mean, np.empty((0, table.shape[1])), converged=True)
    unit = np.sqrt(len(rows) - 1)  # singular values are deviations (ddof=1) times this
    whitening = directions[:rank] * (unit / sizes[:rank])[:, np.newaxis]
    turn, converged = _fast_ica(left[:, :rank] * unit, rng, max_iter)
    return Unmixing(mean, turn @ whitening, converged)


def separation_levels(
    original: ArrayLike,
    released: ArrayLike,
    rng: np.random.Generator,
    *,
    attacker: str = "variance",
    weights: ArrayLike | None = None,
    n_starts: int = 1,
) -> Separation:
    """Attack `released` by independent components and compare with `original`, row by row.

    `attacker` says how a component becomes a guess of a column: `"variance"` gives it the column's
    variance, `"linear"` the best factor, and `"raw"` leaves it at variance one, as Chen and Liu
    (2005) did, whose result can therefore never fall below one minus a column's deviation. Sign
    and naming are at their best for the attacker. Of several random starts the lowest levels
    count. Columns that never vary are left out; without any other, the levels are 0.
    """
    if attacker not in COMPONENT_SCALINGS:
        raise ValueError(
            f"attacker must be one of {', '.join(COMPONENT_SCALINGS)}, got {attacker!r}"
        )
    if n_starts < 1:
        raise ValueError(f"n_starts must be >= 1, got {n_starts}")
    table, seen = np.asarray(original), np.asarray(released)
    if table.ndim != 2 or seen.ndim != 2 or len(table) != len(seen):
        raise ValueError(
            "original and released must be tables with the same records, "
            f"got shapes {table.shape} and {seen.shape}"
        )
    w = column_weights(weights, table.shape[1])
    rows = sample_rows(len(table), rng)
    table, seen = np.asarray(table[rows], dtype=np.float64), seen[rows]
    varies = table.min(axis=0) < table.max(axis=0)
    found = [unmix(seen, rng) for _ in range(n_starts)]
    converged = all(u.converged for u in found)
    n_components = found[0].n_components
    if not varies.any() or n_components == 0:
        # Nothing to recover, or nothing to recover it from: the guess is each column's mean.
        left = table.std(axis=0, ddof=1)[varies] / w[varies] if varies.any() else np.zeros(1)
        return Separation(float(left.min()), float(left.mean()), converged, n_components)
    levels = [
        naming_levels(table[:, varies], u.components(seen), attacker) / w[varies][:, np.newaxis]
        for u in found
    ]
    return Separation(
        # Any component can be named as any column, so no order need be searched for the minimum.
        minimum=float(min(P.min() for P in levels)),
        average=float(min(_least_mean(P) for P in levels)),
        converged=converged,
        n_components=n_components,
    )


def naming_levels(original: Array, components: Array, attacker: str = "variance") -> Array:
    """P[i, k]: the deviation that is left when component k is taken for column i."""
    deviation = original.std(axis=0, ddof=1)[:, np.newaxis]
    match = np.abs(correlations(original, components))  # the sign that suits the attacker
    if attacker == "raw":
        vod = 1.0 + deviation**2 - 2.0 * match * deviation
    elif attacker == "variance":
        vod = 2.0 * deviation**2 * (1.0 - match)
    else:
        vod = deviation**2 * (1.0 - match**2)
    return np.asarray(np.sqrt(np.maximum(vod, 0.0)))


def correlations(original: Array, components: Array) -> Array:
    """K[i, k]: the correlation of column i with component k; neither may be constant."""
    columns, parts = (_standardized(m) for m in (original, components))
    return np.asarray(np.clip(columns.T @ parts, -1.0, 1.0))


def best_naming(guess: ArrayLike, truth: ArrayLike) -> Array:
    """The columns of a guess, named and turned at their best for the attacker.

    They are put in the order, and flipped about their means, so that they correlate most with the
    truth in sum, and get its means and deviations: the attacker who knows column variances. A
    column of the truth for which none is left gets its mean.
    """
    mine, table = (np.asarray(t, dtype=np.float64) for t in (guess, truth))
    if mine.ndim != 2 or table.ndim != 2 or len(mine) != len(table) or not len(table):
        raise ValueError(
            "guess and truth must be tables with the same records, "
            f"got shapes {mine.shape} and {table.shape}"
        )
    named = np.tile(table.mean(axis=0), (len(table), 1))
    ours, theirs = (np.flatnonzero(t.min(axis=0) < t.max(axis=0)) for t in (mine, table))
    if not len(ours) or not len(theirs):
        return named
    match = correlations(table[:, theirs], mine[:, ours])
    columns, parts = linear_sum_assignment(np.abs(match), maximize=True)
    unit = _standardized(mine[:, ours[parts]]) * np.linalg.norm(
        table[:, theirs[columns]] - named[:, theirs[columns]], axis=0
    )
    named[:, theirs[columns]] += unit * np.copysign(1.0, match[columns, parts])
    return named


def sample_rows(n_rows: int, rng: np.random.Generator, most: int = MOST_ROWS) -> Any:
    """An index of at most `most` rows without repeats: all of them where there are no more."""
    if n_rows <= most:
        return slice(None)
    return np.sort(rng.choice(n_rows, size=most, replace=False))


def _standardized(table: Array) -> Array:
    centered = table - table.mean(axis=0)
    return np.asarray(centered / np.linalg.norm(centered, axis=0))


def _least_mean(levels: Array) -> float:
    """The attacker's best naming on average, by linear assignment."""
    # With fewer components than columns, a component may be named more than once.
    times = -(-levels.shape[0] // levels.shape[1])
    levels = np.tile(levels, (1, times))
    return float(levels[linear_sum_assignment(levels)].mean())


def _fast_ica(white: Array, rng: np.random.Generator, max_iter: int) -> tuple[Array, bool]:
    """The rotation of whitened data that FastICA finds, and whether it settled."""
    from sklearn.decomposition import FastICA
    from sklearn.exceptions import ConvergenceWarning

    start = rng.normal(size=(white.shape[1], white.shape[1]))
    ica = FastICA(whiten=False, w_init=start, max_iter=max_iter)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ica.fit(white)
    converged = not any(issubclass(w.category, ConvergenceWarning) for w in said)
    return np.asarray(ica.components_), converged
