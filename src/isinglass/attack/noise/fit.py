"""Scores of records against rows without known pairs: by stated noise, or by distance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics, OtherReleases, PublicParameters
from isinglass.attack.linking.bounded_fit import FactorFit, NoiseFit, UniformFit
from isinglass.attack.linking.record_fit import GaussianFit, gaussian, per_record
from isinglass.attack.noise.size import in_table_units

Array = NDArray[Any]

#: Noise below this share of a column's deviation is taken for none: values then match or do not.
_NO_NOISE = 1e-6


def in_own_units(public: PublicParameters, statistics: ColumnStatistics | None) -> PublicParameters:
    """Additive noise in the table's own deviations: those of other records differ."""
    said = public.parameters
    relative = public.method == "additive_noise" and said.get("relative", True)
    if not relative or statistics is None:
        return public
    try:
        scale = np.asarray(said.get("scale", 1.0), dtype=np.float64) * statistics.deviation
    except (TypeError, ValueError):
        return public
    return replace(public, parameters={**said, "scale": scale, "relative": False})


def averaged(
    Z: Array, P: Array, public: PublicParameters, others: OtherReleases | None
) -> tuple[Array, Array, PublicParameters]:
    """The mean of releases with independent additive noise, and its smaller noise.

    Those with less noise weigh more: what two of them differ by is the noise of both, and what one
    varies more than the public table is its own. The mean of gaussian releases tells all that they
    tell; that of uniform ones is nearly gaussian, too.
    """
    if public.method != "additive_noise" or others is None:
        return Z, P, public
    statistics, alike = ColumnStatistics.of(P), others_alike(Z, P, others)
    said = public.parameters
    claimed = _claimed(said.get("scale", 1.0), P.shape[1])
    if not alike or claimed is None:
        return Z, P, public
    unit = statistics.deviation if said.get("relative", True) else np.ones(P.shape[1])
    unit = np.where(unit > 0, unit, 1.0)
    own, table = np.square(claimed), np.square(statistics.deviation / unit)
    each = [own]
    for seen in alike:
        # Either difference of variances is known to a few percent of the larger of the two.
        differ = np.square((Z - seen) / unit).mean(axis=0) - own
        excess = np.square(seen.std(axis=0) / unit) - table
        each.append(np.where(own < table, differ, excess))
    least = np.maximum(0.01 * np.minimum(own, table), 1e-12)
    noise = np.maximum(np.array(each), least)
    weights = (1.0 / noise) / (1.0 / noise).sum(axis=0)
    mean = np.einsum("tj,tij->ij", weights, np.stack([Z, *alike]))
    scale = np.sqrt((np.square(weights) * noise).sum(axis=0))
    said = {**said, "scale": scale, "distribution": "gaussian"}
    return mean, P, replace(public, parameters=said)


def others_alike(Z: Array, P: Array, others: OtherReleases) -> list[Array]:
    """Other releases whose columns look like those of the public table, as this one's should."""
    statistics = ColumnStatistics.of(P)
    return [t for t in others.tables if t.shape == Z.shape and in_table_units(t, statistics)]


def first_columns(public: PublicParameters, n: int | None) -> PublicParameters:
    """Parameters of the first n columns, where some are given column by column."""
    listed = {
        name: list(value)[:n]
        for name, value in public.parameters.items()
        if name in ("scale", "units") and np.ndim(value) == 1
    }
    return replace(public, parameters={**public.parameters, **listed}) if listed else public


def fit_by_parameters(Z: Array, P: Array, public: PublicParameters) -> NoiseFit | None:
    """The exact fit, for methods whose public parameters say how the noise was drawn.

    The one law of each noise, by which every attack reads it: linkage, averaging, recognition,
    membership, and the posterior over a public table.
    """
    said, deviation = public.parameters, P.std(axis=0, ddof=1 if len(P) > 1 else 0)
    if public.method == "additive_noise":
        # `relative` counts in deviations of the table, which the public table has too.
        unit = deviation if said.get("relative", True) else np.ones_like(deviation)
        claimed = _claimed(said.get("scale", 1.0), P.shape[1])
        if claimed is None:
            return None
        scale = claimed * unit
        # Without noise a column that varies must match; one that does not tells nothing.
        scale = np.maximum(scale, _NO_NOISE * deviation)
        used = scale > 0
        if not used.any():
            return gaussian(Z, P, np.ones_like(scale))
        Z, P, scale = Z[:, used], P[:, used], scale[used]
        if said.get("distribution", "gaussian") == "uniform":
            return UniformFit(Z, P, scale)
        return gaussian(Z, P, scale)
    if public.method == "adaptive_noise" and np.ndim(said.get("sigmas", 0.0)) == 1:
        sigmas = _claimed(said["sigmas"], len(P))
        units = _claimed(said.get("units", 1.0), P.shape[1])
        if sigmas is None or units is None or not (units > 0).any():
            return None
        used = units > 0
        smallest = _NO_NOISE * np.sqrt(np.mean(np.square(deviation[used] / units[used])))
        sigmas = np.maximum(sigmas, max(smallest, np.finfo(np.float64).tiny))
        return per_record(Z[:, used], P[:, used], units[used], sigmas)
    if public.method == "multiplicative_noise":
        claimed = _claimed(said.get("scale", 0.1), 1)
        if claimed is None or not P.any():
            return None
        return FactorFit(Z, P, max(float(claimed[0]), _NO_NOISE))
    return None


def _claimed(value: Any, n: int) -> Array | None:
    """A number, or n of them, that a file claims; None where they cannot be sizes of noise."""
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    usable = numbers.shape in ((), (1,), (n,)) and np.isfinite(numbers).all()
    return np.broadcast_to(numbers, (n,)) if usable and (numbers >= 0).all() else None


def fit_by_distance(Z: Array, P: Array) -> GaussianFit:
    """The nearest record, by columns in deviations; how near the nearest are sets the scale."""
    deviation = P.std(axis=0)
    used = deviation > 0
    if not used.any():
        return gaussian(Z, P, np.ones(P.shape[1]))
    Z, P, deviation = Z[:, used], P[:, used], deviation[used]
    some = Z[:: max(1, len(Z) // 500)]
    nearest = P[gaussian(some, P, deviation).best()[0]]
    spread = np.sqrt(np.mean(np.square((some - nearest) / deviation)))
    return gaussian(Z, P, deviation * max(float(spread), _NO_NOISE))
