"""Whether a release's columns are the table's own, and how much noise is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import (
    ColumnStatistics,
    Knowledge,
    OtherReleases,
    PublicParameters,
)
from isinglass.attack.marginals import deviations, keeps_units

Array = NDArray[Any]

#: So many standard errors a column's mean may be off, in nearly all columns.
_MOST_ERRORS, _MOST_COLUMNS = 5.0, 0.9
_BATCHES = 20
#: How far a mean may be off in deviations, and where the release says that columns are kept.
_FAR, _FAR_SAID = 0.3, 1.0


def noise_variance(Z: Array, known: Knowledge, n_columns: int) -> Array | None:
    """The variance of the noise in each released column; None where columns are other ones.

    What a release says of itself is checked against the column statistics, where these are known.
    With them the noise is what the release varies too much; else what was said, else what
    neighboring rows differ by.
    """
    if Z.shape[1] != n_columns or len(Z) < 2:
        return None
    spread = np.square(deviations(Z))
    statistics = known.find(ColumnStatistics)
    if statistics is not None and len(statistics.mean) == n_columns:
        if not _looks_like(Z, statistics, said=keeps_units(known)):
            return None
        return np.asarray(np.maximum(spread - np.square(statistics.deviation), 0.0))
    if not keeps_units(known):
        return None
    said = _said(known, spread)
    return difference_variance(Z) if said is None else said


def difference_variance(Z: Array) -> Array:
    """Half the variance of the differences of neighbors: all of the noise, and what is as rough."""
    return np.asarray(np.square(np.diff(Z, axis=0)).mean(axis=0) / 2)


def releases_averaged(Z: Array, known: Knowledge) -> Array:
    """The mean of the release and all others of its shape, in which noise is smaller.

    Releases whose columns differ more than noise makes them are of another kind.
    """
    others, spread = known.find(OtherReleases), deviations(Z)
    alike = [Z]
    for table in () if others is None else others.tables:
        if table.shape == Z.shape:
            off = np.abs(table.mean(axis=0) - Z.mean(axis=0))
            wide = np.maximum(spread, deviations(table))
            if (off <= _MOST_ERRORS * np.sqrt(2 / len(Z)) * wide + 1e-12).all():
                alike.append(table)
    return np.asarray(np.mean(alike, axis=0)) if len(alike) > 1 else Z


def _looks_like(Z: Array, statistics: ColumnStatistics, *, said: bool) -> bool:
    """About as centered as the table, and no narrower, in nearly all columns.

    Noise that many rows share moves a mean by more than noise of each row's own, by as much as
    means of batches of rows vary or a little more; columns of another kind are further off.
    """
    deviation = deviations(Z)
    near = _FAR_SAID if said else _FAR
    error = np.maximum(near, _MOST_ERRORS / np.sqrt(len(Z))) * deviation
    n = len(Z) // _BATCHES * _BATCHES
    if n >= 2 * _BATCHES:
        means = Z[:n].reshape(_BATCHES, -1, Z.shape[1]).mean(axis=1)
        error = np.maximum(error, _MOST_ERRORS * means.std(axis=0) / np.sqrt(_BATCHES))
    off = np.abs(Z.mean(axis=0) - statistics.mean)
    alike = (off <= error + 1e-6 * np.abs(statistics.mean)) & (
        deviation >= 0.95 * statistics.deviation
    )
    asked = (deviation > 0) | (statistics.deviation > 0)
    return bool(alike[asked].mean() >= _MOST_COLUMNS) if asked.any() else True


def _said(known: Knowledge, spread: Array) -> Array | None:
    """The variance that the release's parameters tell, where they are numbers that make sense."""
    public = known.find(PublicParameters)
    if public is None or public.method != "additive_noise":
        return None
    try:
        scale = np.asarray(public.parameters.get("scale"), dtype=np.float64)
    except (TypeError, ValueError):
        return None
    sensible = scale.shape in ((), spread.shape) and np.isfinite(scale).all()
    if not sensible or (scale < 0).any() or (scale > 1e6).any():
        return None
    if public.parameters.get("relative", True):
        # Deviation C sd(x) makes var(z) = (1 + C^2) var(x).
        return np.asarray(spread * scale**2 / (1 + scale**2))
    return np.minimum(np.broadcast_to(scale**2, spread.shape), spread)
