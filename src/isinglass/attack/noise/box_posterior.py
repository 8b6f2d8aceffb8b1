"""Posterior means under uniform noise, where every cell bounds its value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Comparisons of cells that one guess may cost, and how many candidates that buys at most.
_COMPARISONS = 150_000_000
MOST_CANDIDATES, _FEWEST_CANDIDATES = 2_000, 100
#: Rows from which it is learned how common each candidate is, and how often that is repeated.
_LEARNED_FROM, _ROUNDS = 2_000, 8
_BLOCK = 1 << 16  # comparisons held at once: they stay in the processor's cache
#: -SLOPE * max(0, EDGE - t)² is log Phi(t) to within 0.1 down to t = -2, at a tenth of its price.
_SLOPE, _EDGE = 0.281, 1.55
#: A smoothed sample: how far candidates lie from a record, in deviations.
_WIDTH = 0.35
#: Directions that hold this share of a sample's variance, and how many there may be.
_SHARE, _MOST_FACTORS = 0.9, 8
_LEAST_REST = 0.05
#: Rows and candidates that tell one factor from several, and by how much likelier one must make
#: all these rows, as a logarithm.
_COMPARED, _LIKELIER = (1_000, 1_000), 6.0
#: What a column has of its own where all measure one quantity, in deviations.
_ALMOST_ONE = 0.3
_TINY = np.finfo(np.float32).tiny
#: For rounding: no cut of a factor is sharper than this, in deviations.
_EXACT_CUT = 1e-3


class CellLaw(Protocol):
    """How likely candidates make released cells, in columns of deviation 1."""

    def log_fits(self, U: Array, candidates: Array, rest: Array) -> Array:
        """The logarithm of how likely each candidate, up to deviations `rest`, makes each row."""

    def refined(self, U: Array, means: Array, rest: Array) -> Array:
        """Means of normal values around `means`, given what each cell says for certain."""

    def of(self, columns: NDArray[np.bool_]) -> CellLaw:
        """The law of some of the columns."""


@dataclass(frozen=True, slots=True)
class Box:
    """Uniform noise: a value lies within `reach` of its cell, anywhere alike."""

    reach: Array = field(repr=False)

    def log_fits(self, U: Array, candidates: Array, rest: Array) -> Array:
        return _log_fits(U, candidates, self.reach, rest)

    def refined(self, U: Array, means: Array, rest: Array) -> Array:
        return within_box(U, means, self.reach, rest)

    def of(self, columns: NDArray[np.bool_]) -> Box:
        return Box(self.reach[columns])


@dataclass(frozen=True, slots=True)
class CutFactors:
    """Normal factors around one, cut to 1 ± `half_width`; `center` is the mean of each column.

    A cell z says of its value x that z / x lies between the cuts, and the law of factors says
    which of these are likelier.
    """

    center: Array = field(repr=False)
    scale: float
    half_width: float

    def log_fits(self, U: Array, candidates: Array, rest: Array) -> Array:
        out = np.zeros((len(U), len(candidates)), dtype=np.float32)
        low, high = 1 - self.half_width, 1 + self.half_width
        step = max(1, _BLOCK // len(candidates))
        for j, (mean, width) in enumerate(zip(self.center, rest, strict=True)):
            cells, values = (U[:, j] + mean).astype(np.float32), candidates[:, j] + mean
            # No factor changes a sign, and the law of a value near nothing says nothing.
            sign = np.float32(1.0 if mean >= 0 else -1.0)
            values = np.maximum(sign * values, 0.05).astype(np.float32)
            inverse = (1 / (self.scale * values)).astype(np.float32)
            offset = np.float32(1 / self.scale)
            logs = np.log(values)
            for start in range(0, len(U), step):
                z = sign * cells[start : start + step, np.newaxis]
                away = z * inverse - offset
                away *= away
                away *= np.float32(-0.5)
                away -= logs
                for cut, side in ((high, 1.0), (low, -1.0)):
                    if cut <= 0:
                        continue  # nothing is cut there but the sign
                    past = side * (z - cut * values) / max(cut * width, _EXACT_CUT) + _EDGE
                    np.maximum(past, 0.0, out=past)
                    past *= past
                    past *= np.float32(_SLOPE)
                    away -= past
                out[start : start + step] += away
        return out

    def refined(self, U: Array, means: Array, rest: Array) -> Array:
        return means

    def of(self, columns: NDArray[np.bool_]) -> CutFactors:
        return CutFactors(self.center[columns], self.scale, self.half_width)


def candidate_count(n_rows: int, n_columns: int) -> int:
    """How many candidates each row can be compared with."""
    most = _COMPARISONS // max(1, n_rows * n_columns)
    return int(np.clip(most, _FEWEST_CANDIDATES, MOST_CANDIDATES))


def smoothed_sample(S: Array, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Candidates as a sample has them, and the deviations of what they leave out by column.

    Records are drawn again and moved a little along the sample's main directions.
    """
    mean = S.mean(axis=0)
    centered = S - mean
    n, d = S.shape
    _, sizes, axes = np.linalg.svd(centered, full_matrices=False)
    held = np.cumsum(sizes**2)
    k = int((held < _SHARE * held[-1]).sum()) + 1
    k = max(1, min(k, _MOST_FACTORS, n // 5, d))
    places, axes = centered @ axes[:k].T, axes[:k]
    rest = np.square(centered - places @ axes).sum(axis=0) / max(n - k - 1, 1)
    moved = rng.normal(size=(count, k)) * places.std(axis=0)
    drawn = np.sqrt(1 - _WIDTH**2) * places[rng.integers(n, size=count)] + _WIDTH * moved
    return mean + drawn @ axes, np.maximum(np.sqrt(rest), _LEAST_REST)


def factors(centered: Array, variance: Array, *, most: int = _MOST_FACTORS) -> tuple[Array, Array]:
    """Loadings of the factors behind columns of deviation 1, and deviations of what they leave.

    `centered` are the columns under noise of this variance. Directions in which noise alone would
    not be as wide are factors. Loadings are shrunk toward their mean, by as much as their
    differences are chance: often a factor is one quantity that many columns measure.
    """
    n, d = centered.shape
    unit, ratio = np.sqrt(variance), d / n
    values, vectors = np.linalg.eigh(np.cov(centered / unit, rowvar=False).reshape(d, d))
    root = np.sqrt(ratio)
    # As in the spectral filter: what noise reaches, and by how much more once in a hundred.
    edge = (1 + root) ** 2 + 2.02 * n ** (-2 / 3) * (1 + root) * (1 + 1 / root) ** (1 / 3)
    wide = np.flatnonzero(values > edge)[-most:]
    seen = values[wide] + 1 - ratio
    size = (seen + np.sqrt(np.maximum(seen**2 - 4 * values[wide], 0.0))) / 2 - 1
    size = np.maximum(size, 1e-9)
    loadings = unit[:, np.newaxis] * vectors[:, wide] * np.sqrt(size)
    error = ((1 + variance) / n)[:, np.newaxis] * (1 + 1 / size)
    weight = (1 / variance)[:, np.newaxis] / (1 / variance).sum()
    middle = (weight * loadings).sum(axis=0)
    differ = (weight * (np.square(loadings - middle) - error)).sum(axis=0)
    differ = np.maximum(differ, 0.0)
    loadings = middle + differ / (differ + error) * (loadings - middle)
    held = np.square(loadings).sum(axis=1)
    loadings *= np.sqrt(np.minimum(1.0, 0.98 / np.maximum(held, 1e-9)))[:, np.newaxis]
    rest = np.sqrt(np.maximum(1 - np.square(loadings).sum(axis=1), _LEAST_REST**2))
    return loadings, rest


def _one_quantity(n_columns: int) -> tuple[Array, Array]:
    """Loadings and rests of columns that all measure the same."""
    loading = np.sqrt(1 - _ALMOST_ONE**2)
    return np.full((n_columns, 1), loading), np.full(n_columns, _ALMOST_ONE)


def by_factors(
    U: Array, centered: Array, variance: Array, law: CellLaw, rng: np.random.Generator
) -> Array | None:
    """The estimate for columns of deviation 1 that have factors in common; None without any.

    One factor bends what cells tell, and may look like several, or drown: where rows are likelier
    with one, it is one.
    """
    tried = [factors(centered, variance)]
    count = tried[0][0].shape[1]
    tried += [factors(centered, variance, most=1)] if count > 1 else []
    # Noise may bend or drown factors: one quantity that all columns measure is always tried.
    tried.append(_one_quantity(U.shape[1]))
    drawn = rng.normal(size=(candidate_count(*U.shape), max(count, 1)))
    made = [drawn[:, : loadings.shape[1]] @ loadings.T for loadings, _ in tried]
    some = U[:: max(1, len(U) // _COMPARED[0])][: _COMPARED[0]]
    likely = [
        _evidence(law.log_fits(some, candidates[: _COMPARED[1]], rest))
        for candidates, (_, rest) in zip(made, tried, strict=True)
    ]
    likely[0] += _LIKELIER
    chosen = int(np.argmax(likely))
    if not tried[chosen][0].shape[1]:
        return None
    rest = tried[chosen][1]
    return law.refined(U, candidate_means(U, made[chosen], law, rest), rest)


def candidate_means(
    U: Array, candidates: Array, law: CellLaw, rest: Array, *, learn: bool = True
) -> Array:
    """The mean of the candidates that may be behind each row, likelier ones more.

    A candidate is a record up to normal deviations `rest` in each column. With `learn` it comes
    out, from all rows together, which candidates are common.
    """
    count = len(candidates)
    chances, kept = np.full(count, 1 / count), None
    if learn:
        some = U[:: max(1, -(-len(U) // _LEARNED_FROM))]
        fits = _fits(law.log_fits(some, candidates, rest))
        for _ in range(_ROUNDS):
            total = np.maximum(fits @ chances.astype(np.float32), _TINY)
            chances *= (fits.T @ (1 / total)) / len(some)
        kept = fits if len(some) == len(U) else None
    guess, values = np.empty_like(U), candidates.astype(np.float32)
    step = max(1, (1 << 22) // count)
    for start in range(0, len(U), step):
        rows = slice(start, start + step)
        fits = _fits(law.log_fits(U[rows], candidates, rest)) if kept is None else kept[rows]
        weights = fits * chances.astype(np.float32)
        guess[rows] = weights @ values / np.maximum(weights.sum(axis=1, keepdims=True), _TINY)
    return guess


def _fits(out: Array) -> Array:
    """How likely each candidate makes each row, the likeliest 1, from logarithms."""
    out -= out.max(axis=1, keepdims=True)
    return np.asarray(np.exp(out, out=out))


def _evidence(fits: Array) -> float:
    """How likely all candidates together make these rows, as a logarithm."""
    most = fits.max(axis=1)
    return float((most + np.log(np.exp(fits - most[:, np.newaxis]).mean(axis=1))).sum())


def _log_fits(U: Array, candidates: Array, reach: Array, rest: Array) -> Array:
    """The logarithm of how likely each candidate makes each row."""
    rows = np.ascontiguousarray((U / rest).T, dtype=np.float32)
    others = np.ascontiguousarray((candidates / rest).T, dtype=np.float32)
    within = (reach / rest - _EDGE).astype(np.float32)
    out = np.zeros((len(U), len(candidates)), dtype=np.float32)
    step = max(1, _BLOCK // len(candidates))
    held = np.empty((step, len(candidates)), dtype=np.float32)
    for start in range(0, len(U), step):
        total = out[start : start + step]
        away = held[: len(total)]
        for row, other, edge in zip(rows[:, start : start + step], others, within, strict=True):
            np.subtract(row[:, np.newaxis], other, out=away)
            np.abs(away, out=away)
            away -= edge
            np.maximum(away, 0.0, out=away)
            np.multiply(away, away, out=away)
            total += away
    out *= np.float32(-_SLOPE)
    return out


def within_box(U: Array, means: Array, reach: Array, rest: Array) -> Array:
    """Means of normal values around `means`, given that they lie within `reach` of their cells."""
    from scipy.special import ndtr

    low, high = (U - reach - means) / rest, (U + reach - means) / rest
    chance = ndtr(high) - ndtr(low)
    possible = chance > 1e-8
    pull = (np.exp(-0.5 * low**2) - np.exp(-0.5 * high**2)) / np.sqrt(2 * np.pi)
    moved = means + rest * pull / np.where(possible, chance, 1.0)
    return np.where(possible, moved, np.clip(means, U - reach, U + reach))
