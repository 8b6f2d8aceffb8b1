"""Membership in a release, by likelihood ratio under the stated law of the noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics, Knowledge, PublicParameters
from isinglass.attack.linking.bounded_fit import NoiseFit, UniformFit
from isinglass.attack.linking.record_fit import PairFit, blocks, gaussian
from isinglass.attack.noise.fit import fit_by_parameters, in_own_units
from isinglass.attack.noise.law import additive_law
from isinglass.method_names import UNIT_KEEPING

Array = NDArray[Any]

#: Released rows from which on the best row stands for the sum over all, which takes too long.
_MANY_ROWS = 20_000
#: Records among which a row is looked for, where rows are many.
_FEW_RIVALS = 250


def noise_fit(Z: Array, X: Array, known: Knowledge) -> tuple[NoiseFit, Array] | None:
    """How well records fit rows under the noise that was declared; None where none was.

    With it, for each row the log density of a stranger's row.
    """
    public, statistics = known.find(PublicParameters), known.find(ColumnStatistics)
    if public is None or public.method not in UNIT_KEEPING:
        return None
    center, spread = Z.mean(axis=0), Z.std(axis=0)
    if public.method == "adaptive_noise":
        # How large the noise of a record is that may not be in the table, nobody says.
        variance = additive_law(Z, known).variance
        used = variance > 0
        if not used.any():
            return None
        fit: NoiseFit | None = gaussian(Z[:, used], X[:, used], np.sqrt(variance[used]))
    else:
        public = in_own_units(public, statistics)
        fit = fit_by_parameters(Z, X, public)
    if fit is None:
        return None
    if isinstance(fit, UniformFit):
        return fit, _box_density(fit, statistics)
    if statistics is not None and not public.parameters.get("relative", True):
        # What is known need not be estimated from rows of which each is an odd one.
        noise = np.asarray(public.parameters.get("scale", 1.0), dtype=np.float64)
        center, spread = statistics.mean, np.hypot(statistics.deviation, noise)
    return fit, _normal_density(Z, center, spread)


def ratio_scores(fit: PairFit, stranger: Array | None = None) -> dict[str, Array]:
    """Scores from the log fits of all rows and records.

    `linked`: the best fit. `likelihood`: the likelihood of a row given the record over
    `stranger`, that of a row of anybody else, summed over rows. `among_others`: over its
    likelihood given any of the records in question, for somebody who holds them all.
    """
    n, by_sum = fit.n_public, adds_rows(fit.n_released)
    some = slice(None) if by_sum else slice(None, None, max(1, n // _FEW_RIVALS))
    names = ("linked", "among_others", *(() if stranger is None else ("likelihood",)))
    found = {name: np.full(n, -np.inf) for name in names}
    for rows, fits in blocks(fit):
        found["linked"] = np.maximum(found["linked"], fits.max(axis=0))
        usual = _log_sum(fits[:, some], axis=1)  # of a row that fits nobody it is no number
        rivals = fits - np.where(np.isfinite(usual), usual, np.inf)[:, np.newaxis]
        found["among_others"] = _added(found["among_others"], rivals, by_sum)
        if stranger is not None:
            ratios = fits - stranger[rows, np.newaxis]
            found["likelihood"] = _added(found["likelihood"], ratios, by_sum)
    return {name: np.where(np.isfinite(v), v, -1e300) for name, v in found.items()}


def adds_rows(n_rows: int) -> bool:
    """Whether ratios are summed over rows, or the best row stands for all."""
    return n_rows <= _MANY_ROWS


def _added(so_far: Array, ratios: Array, by_sum: bool) -> Array:
    """The sum over rows on a log scale, or its largest term."""
    if not by_sum:
        return np.asarray(np.maximum(so_far, ratios.max(axis=0)))
    return np.asarray(np.logaddexp(so_far, _log_sum(ratios, axis=0)))


def _log_sum(values: Array, axis: int) -> Array:
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(values - top).sum(axis=axis)) + top.squeeze(axis))


def _normal_density(Z: Array, center: Array, spread: Array) -> Array:
    """Log density of each row under a normal law, up to a constant.

    Directions count only where rows spread farther than chance makes them (the upper edge of
    Marchenko and Pastur); all others share one variance.
    """
    used = spread > 0
    z = (Z[:, used] - center[used]) / spread[used]
    n, d = z.shape
    if n < 2 or not d:
        return np.zeros(n)
    values, axes = np.linalg.eigh(z.T @ z / n)
    edge = (1 + np.sqrt(d / n)) ** 2
    rest = d
    while rest > 1 and values[rest - 1] > edge * values[:rest].mean():
        rest -= 1
    common = max(float(values[:rest].mean()), 1e-12)
    along = np.square(z @ axes[:, rest:])
    left = np.maximum(np.square(z).sum(axis=1) - along.sum(axis=1), 0.0)
    return np.asarray(-(left / common + (along / values[rest:]).sum(axis=1)) / 2)


def _box_density(fit: UniformFit, statistics: ColumnStatistics | None) -> Array:
    """Log density of each row where columns are normal and the noise reaches equally far."""
    from scipy.special import log_ndtr, ndtr

    reach = np.sqrt(3.0) * fit.scale
    center, deviation = fit.public.mean(axis=0), fit.public.std(axis=0)
    if statistics is not None and len(statistics.mean) == len(center):
        center, deviation = statistics.mean, statistics.deviation
    deviation = np.where(deviation > 0, deviation, 1.0)
    # The mass between two points of one side is that of the other: there no digits are lost.
    away = np.abs(fit.released - center)
    near, far = (away - reach) / deviation, (away + reach) / deviation
    mass = np.log(np.maximum(ndtr(-near) - ndtr(-far), 1e-300))
    return np.asarray(np.where(near < 8, mass, log_ndtr(-near)).sum(axis=1))
