"""Training pairs simulated from a sample through the map that known pairs teach."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations
from isinglass.attack.knowledge import Knowledge
from isinglass.attack.learning.forward_map import Pairs, learn_map
from isinglass.attack.learning.learners import best_columns, fit_neighbors
from isinglass.attack.learning.regression import Fit, fit_kernel, fit_linear, fit_mean, fit_ridge

Array = NDArray[Any]

_SIMULATED = 2_000
_KERNEL = 400
_FOLDS = 3
#: Moments of a map's images and of the release that differ by less are alike.
_ALIKE = 0.15
#: An exact map is believed where fewer pairs did no worse than this much of a blind guess's error.
_NO_WORSE = 1.2
#: Errors so many times those of others are no better by bad luck.
_WORSE = 1.1


def fit_simulated(
    shown: Array,
    records: Array,
    sample: Array,
    released: Array,
    known: Knowledge,
    rng: np.random.Generator,
    rival: Array,
) -> tuple[Fit, bool] | None:
    """The way back from as many pairs as the sample has records.

    Where a release has fewer columns than the table, few pairs tell how it was made, and the
    sample tells what is likely where it leaves records open. Second comes whether an affine map
    through all pairs explains the release as a whole. None where the first pairs left out show
    that `rival`, what others miss them by, is nearer in every column.
    """
    sample = sample[rng.permutation(len(sample))[:_SIMULATED]]
    left_out = np.empty_like(records)
    part = rng.permutation(len(records)) % _FOLDS
    for fold in range(_FOLDS):
        apart = part == fold
        if apart.all() or not apart.any():
            continue
        back, exact = _way_back(shown[~apart], records[~apart], sample, released, known, rng)
        left_out[apart] = back.predict(shown[apart]) - records[apart]
        if fold == 0 and not exact and _hopeless(left_out[apart], rival[apart]):
            return None
    back, exact = _way_back(shown, records, sample, released, known, rng)
    error, blind = (np.square(e).mean(axis=0) for e in (left_out, sample.mean(axis=0) - records))
    exact = exact and bool(error.sum() < _NO_WORSE * blind.sum())
    if exact:
        # Fewer pairs than all of them cannot show the exact map; the sample's images can.
        left_out = back.left_out[rng.integers(len(sample), size=len(records))]
    return Fit(back.predict, left_out), exact


def _hopeless(errors: Array, rival: Array) -> bool:
    """Whether errors are larger than a rival's in every column, in the mean and in the middle."""
    means, middles = (
        [measure(np.square(e), axis=0) for e in (errors, rival)] for measure in (np.mean, np.median)
    )
    return bool(((means[0] > _WORSE * means[1]) & (middles[0] > middles[1])).all())


def _way_back(
    shown: Array,
    records: Array,
    sample: Array,
    released: Array,
    known: Knowledge,
    rng: np.random.Generator,
) -> tuple[Fit, bool]:
    """The way back, and whether the map ahead passes through all pairs and explains the release."""
    pairs = Pairs.of(records, shown, sample, known)
    ahead = learn_map(pairs, rng, quick=True)
    exact = fit_linear(pairs.records, shown)
    images = exact.predict(pairs.public)
    fits_release = _same_moments(images, released)
    if fits_release:
        simulated = images
    else:
        noise = ahead.left_out[rng.integers(len(shown), size=len(sample))]
        simulated = ahead.predict(pairs.public) + noise
    fits = [fit_mean(sample), fit_ridge(simulated, sample)]
    if len(sample) >= 50:
        fits.append(fit_neighbors(simulated, sample))
    ours = best_columns(fits)
    few = slice(0, _KERNEL)
    kernel = fit_kernel(simulated[few], sample[few], rng)
    better = kernel.errors < np.square(ours.left_out[few]).mean(axis=0)

    def predict(rows: Array) -> Array:
        found = ours.predict(rows)
        if better.any():
            found[:, better] = kernel.predict(rows)[:, better]
        return found

    return Fit(predict, ours.left_out), fits_release


def _same_moments(images: Array, released: Array) -> bool:
    """Whether images of the sample lie as the release does: those of a wrong map run wild."""
    unit = deviations(released)
    if not (unit > 0).all() or len(released) < 3:
        return False
    center = (images.mean(axis=0) - released.mean(axis=0)) / unit
    wanted = np.atleast_2d(np.corrcoef(released, rowvar=False))
    found = np.atleast_2d(np.cov(images / unit, rowvar=False))
    off = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    return bool(off < _ALIKE and np.abs(center).max() < _ALIKE)
