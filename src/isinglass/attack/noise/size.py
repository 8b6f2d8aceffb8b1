"""Variance of the noise in a release, and whether its columns are the table's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, keeps_units
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Knowledge,
    OtherReleases,
    PublicParameters,
)

Array = NDArray[Any]

#: So many standard errors a column's mean may be off, in nearly all columns.
_MOST_ERRORS, _MOST_COLUMNS = 5.0, 0.9
_BATCHES = 20
#: How far a mean may be off in deviations, and where the release says that columns are kept.
_FAR, _FAR_SAID = 0.3, 1.0
#: Releases of one kind are no more than so many times as wide as each other.
_MOST_WIDER = 3.0
#: Less noise than this share of a column's variance is none.
_LEAST_NOISE = 1e-6


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
    """The mean of the release and all others that are like it, in which noise is smaller.

    Where these are the table's own columns, those with less noise weigh more.
    """
    alike = [Z, *(table for table, same in others_sorted(Z, known) if same)]
    if len(alike) < 2:
        return Z
    statistics = known.find(ColumnStatistics)
    if statistics is None or noise_variance(Z, known, len(statistics.mean)) is None:
        return np.asarray(np.mean(alike, axis=0))
    weights = noise_weights(alike, statistics)
    return np.asarray(np.einsum("tj,tij->ij", weights, np.stack(alike)))


def others_sorted(Z: Array, known: Knowledge) -> list[tuple[Array, bool]]:
    """Every other release, and whether it is the same columns as this one with other noise.

    A release of the table's own columns is like others of these, and like no others. Of two that
    are not, no more can be told than that they are about as wide, and that their means differ no
    more than noise makes them.
    """
    others, spread = known.find(OtherReleases), deviations(Z)
    statistics = known.find(ColumnStatistics)
    d = Z.shape[1] if statistics is None else len(statistics.mean)
    told = statistics is not None and noise_variance(Z, known, d) is not None
    found = []
    for table in () if others is None else others.tables:
        same = table.shape == Z.shape
        if same and statistics is not None and table.shape[1] == d:
            same = in_table_units(table, statistics) is told
        if same and not told:
            off, width = np.abs(table.mean(axis=0) - Z.mean(axis=0)), deviations(table)
            wide = np.maximum(spread, width)
            alike = off <= _MOST_ERRORS * np.sqrt(2 / len(Z)) * wide + 1e-12
            same = bool((alike & (wide <= _MOST_WIDER * np.minimum(spread, width))).all())
        found.append((table, same))
    return found


def in_table_units(table: Array, statistics: ColumnStatistics) -> bool:
    """Whether released columns look like the table's own, perhaps with noise."""
    same = table.shape[1] == len(statistics.mean)
    return same and _looks_like(table, statistics, said=False)


def noise_weights(tables: Sequence[Array], statistics: ColumnStatistics) -> Array:
    """For each column how much every release counts: as its noise is smaller; one in all."""
    own = np.square(statistics.deviation)
    excess = np.array([np.square(deviations(table)) - own for table in tables])
    counted = 1.0 / np.maximum(excess, np.maximum(_LEAST_NOISE * own, 1e-300))
    return np.asarray(counted / counted.sum(axis=0))


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
