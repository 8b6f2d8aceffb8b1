"""Estimates from noised counts: numbers of records, leaves of trees, densities, and the model.

All of it is post-processing: it reads what may leave, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.private.counts import NoisedCounts, tree_shapes
from isinglass.detect.private.layout import BINS, LEVELS, RANGE, SHORT_LEVELS, Layout, split
from isinglass.detect.private.model import (
    LARGEST_SCORE,
    Densities,
    PrivateModel,
    bins_of,
    scaled_leaves,
)
from isinglass.detect.private.projections import FINE
from isinglass.kernels.grid import CELLS, FAN

Floats = NDArray[np.float64]

_QUANTILE = 0.1  # the middle of a column lies between this quantile and its mirror image
_PRIOR = 0.5  # deviations of the noise that the prior weighs in a bin, on average
_PRIOR_SHARE = 0.25  # of the records, which all of the prior weighs at most
LEAST_RECORDS = 10.0  # what noise may push below is read as this
_EMPTY = 2.5  # parts of the range of scores below so many deviations of the noise hold nothing
_CLEAR = 0.5  # a node above so many deviations of the noise is split as its children's counts say
_DOUBT = 1.0  # variances of the noise that counts in a column's tree spread by without saying much


@dataclass(frozen=True, slots=True)
class FirstReading:
    """What the counts of columns show; with a single round, what those of projections do, too."""

    n_estimated: float
    columns: Densities
    categories: tuple[Floats, ...]
    projections: Densities | None


def read_columns(layout: Layout, noised: NoisedCounts) -> FirstReading:
    """Read the first round."""
    s = noised.deviation
    counts = split(noised.values, tree_shapes(layout))
    root, *lower = counts[: len(LEVELS)]
    histograms = counts[len(LEVELS) : len(LEVELS) + len(layout.categories)]
    beside = counts[len(LEVELS) + len(layout.categories) :]
    n = n_records(
        [(root.sum(axis=1), FAN + 1)]
        + [(h.sum(), len(h)) for h in histograms]
        + [(level.sum(axis=1), FAN) for level in beside[:1]]
    )
    children = projected(root, n)
    masses = leaves(children[:, :FAN], lower, s, doubt=_DOUBT)
    least = [column.least_half for column in layout.numbers]
    middle, half = _scales(masses, least)
    columns = _densities(masses, middle, half, s, missing=children[:, FAN:])
    weights = (_smoothed(projected(h, n), np.ones(len(h)), s) for h in histograms)
    return FirstReading(n, columns, tuple(weights), _unscaled(layout, beside, n, s))


def read_projections(layout: Layout, noised: NoisedCounts, first: FirstReading) -> Densities:
    """Read the second round."""
    (counts,) = split(noised.values, [(layout.n_projections, BINS)])
    masses = projected(counts, first.n_estimated)
    return Densities(_smoothed(masses, _prior(), noised.deviation))


def model_of(layout: Layout, first: FirstReading, second: Densities | None) -> PrivateModel:
    """The model that the rounds make."""
    projections = first.projections or second or Densities(np.ones((0, BINS)))
    return PrivateModel(layout, first.n_estimated, first.columns, first.categories, projections)


def read_threshold(noised: NoisedCounts, n_estimated: float, share: float) -> float:
    """The score that a share of the training records lies above, from counts of their scores."""
    root, fine = split(noised.values, [(1, size) for size in SHORT_LEVELS])
    # Most of the range is empty. What noise leaves there above zero would lie above the threshold.
    root = np.where(root > _EMPTY * noised.deviation, root, 0)
    masses = leaves(np.full((1, 1), n_estimated), [root, fine], noised.deviation)
    return quantile(masses[0], 1 - share) * LARGEST_SCORE / SHORT_LEVELS[-1]


def _unscaled(
    layout: Layout, levels: list[NDArray[np.int64]], n: float, s: float
) -> Densities | None:
    """Densities of projections that were counted in the first round."""
    if not levels or not layout.n_projections:
        return None
    masses = leaves(np.full((layout.n_projections, 1), n), levels, s)
    least = [CELLS / SHORT_LEVELS[-1] / 2] * layout.n_projections
    return _densities(masses, *_scales(masses, least), s)


def _scales(masses: Floats, least: list[float]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The middle and the half width of each row of leaves, in parts of a cell."""
    found = np.empty((len(masses), 2))
    for row, smallest, out in zip(masses, least, found, strict=True):
        low, high = (quantile(row, q) * CELLS / len(row) for q in (_QUANTILE, 1 - _QUANTILE))
        out[:] = (low + high) / 2, max((high - low) / 2, smallest)
    middle, half = np.rint(found * FINE).astype(np.int64).T
    return middle, half


def _densities(
    masses: Floats,
    middle: NDArray[np.int64],
    half: NDArray[np.int64],
    s: float,
    *,
    missing: Floats | None = None,
) -> Densities:
    """The whole mass of each leaf in the bin of its center."""
    counts = np.zeros((len(masses), BINS))
    for row, m, h, out in zip(masses, middle, half, counts, strict=True):
        bins = bins_of(scaled_leaves(len(row), int(m), int(h)))
        out[:] = np.bincount(bins, weights=row, minlength=BINS)
    prior = _prior()
    if missing is not None:  # as likely beforehand as the outermost bin
        counts, prior = np.hstack([counts, missing]), np.append(prior, prior[-1])
    return Densities(_smoothed(counts, prior, s), middle, half)


def _prior() -> Floats:
    """What the bins hold where nothing is known, 1 on average: much in the middle, some far out."""
    x = (np.arange(BINS) + 0.5) * (2 * RANGE / BINS) - RANGE
    weights = 1 / (1 + x**2)
    return np.asarray(weights * (BINS / weights.sum()))


def _smoothed(counts: Floats, prior: Floats, s: float) -> Floats:
    """Probabilities from estimated counts: where they hold nothing, the prior is left.

    It weighs as the noise does, but no more than a share of the records, so that the counts of a
    small table still have a say beside it.
    """
    most = _PRIOR_SHARE * counts.sum(axis=-1, keepdims=True) / prior.sum()
    weighed = counts + np.maximum(1.0, np.minimum(_PRIOR * s, most)) * prior
    return np.asarray(weighed / weighed.sum(axis=-1, keepdims=True))


def n_records(estimates: Sequence[tuple[NDArray[Any], int]]) -> float:
    """The number of records from sums over all of them, each a sum of so many noisy cells.

    Every sum says the same number with its own noise; those of fewer cells count for more.
    """
    sums = np.concatenate([np.ravel(values) for values, _ in estimates])
    weights = np.concatenate([np.full(np.size(values), 1 / n) for values, n in estimates])
    return max(float(np.average(sums, weights=weights)), LEAST_RECORDS)


def projected(counts: NDArray[Any], total: NDArray[Any] | float) -> Floats:
    """The nearest rows that are nowhere negative and add up to `total`."""
    counts = np.asarray(counts, dtype=np.float64)
    goal = np.broadcast_to(np.asarray(total, dtype=np.float64), counts.shape[:-1])[..., np.newaxis]
    falling = -np.sort(-counts, axis=-1)
    places = np.arange(1, counts.shape[-1] + 1)
    excess = (np.cumsum(falling, axis=-1) - goal) / places
    kept = np.maximum((falling > excess).sum(axis=-1, keepdims=True), 1)
    return np.maximum(counts - np.take_along_axis(excess, kept - 1, axis=-1), 0.0)


def leaves(
    nodes: NDArray[Any],
    levels: Sequence[NDArray[Any]],
    deviation: float,
    *,
    doubt: float = 0.0,
) -> Floats:
    """The leaves of trees, one in each row, read downwards from estimates of their upper nodes.

    A node whose estimate the noise would drown is split evenly among its children. Any other is
    split as their counts say as far as these spread more than `doubt` times what noise alone
    would make them, and evenly for the rest (James and Stein's estimate).
    """
    nodes = np.asarray(nodes, dtype=np.float64)
    for level in levels:
        fan = level.shape[1] // nodes.shape[1]
        children = level.reshape(*nodes.shape, fan)
        evenly = np.broadcast_to(nodes[..., np.newaxis] / fan, children.shape)
        clear = (nodes > _CLEAR * deviation)[..., np.newaxis]
        told = _believed(children, nodes, doubt * deviation**2)
        nodes = np.where(clear, projected(told, nodes), evenly).reshape(level.shape)
    return nodes


def _believed(children: NDArray[Any], nodes: Floats, variance: float) -> Floats:
    """Children's counts drawn toward an even split: the more, the less they spread beside noise.

    Without noise, and where they spread far more than it makes them, they stay as they are but
    for their sum.
    """
    fan = children.shape[-1]
    apart = children - children.mean(axis=-1, keepdims=True)
    spread = np.square(apart).sum(axis=-1, keepdims=True) / (fan - 1)
    kept = np.maximum(spread - variance, 0) / np.maximum(spread, np.finfo(float).tiny)
    return np.asarray(nodes[..., np.newaxis] / fan + kept * apart)


def quantile(masses: Floats, share: float) -> float:
    """Where the cumulated masses pass a share of their sum: in cells, evenly within each."""
    sums = np.cumsum(masses)
    if not sums[-1] > 0:
        return share * len(masses)
    goal = share * sums[-1]
    cell = min(int(np.searchsorted(sums, goal)), len(masses) - 1)
    before = sums[cell] - masses[cell]
    within = (goal - before) / masses[cell] if masses[cell] > 0 else 0.0
    return float(cell + min(max(within, 0.0), 1.0))
