"""Noise filter in the release's own units."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import Knowledge, PopulationSample
from isinglass.attack.noise.band_filter import filter_rows

Array = NDArray[Any]

#: Directions that hold this share of a sample's variance, in units of the noise, are its basis.
_BASIS_SHARE = 0.98


def filtered(centered: Array, noise: Array, known: Knowledge, *, ordered: bool = True) -> Array:
    """Rows of mean 0 without their noise, of which the variance in each column is known."""
    spread = np.square(centered).mean(axis=0)
    noisy, varies = noise > 1e-9 * spread, spread > 0
    found = np.array(centered)
    if not noisy.any():
        return found
    # A column without noise still tells of the others; its share keeps the algebra finite.
    unit = np.sqrt(np.maximum(noise, 1e-6 * spread)[varies])
    sample = known.find(PopulationSample)
    basis = None
    if sample is not None and len(sample.records) > 2:
        basis = _basis(sample.records[:, varies] / unit)
    clean = filter_rows(centered[:, varies] / unit, basis=basis, ordered=ordered) * unit
    found[:, varies] = np.where(noisy[varies], clean, found[:, varies])
    return found


def _basis(sample: Array) -> Array | None:
    if not np.isfinite(sample).all():
        return None
    centered = sample - sample.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered)
    share = np.cumsum(np.maximum(values[::-1], 0.0))
    if share[-1] <= 0:
        return None
    count = int((share < _BASIS_SHARE * share[-1]).sum()) + 1
    return np.asarray(vectors[:, ::-1][:, :count])
