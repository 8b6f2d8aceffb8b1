"""Law of additive noise, as stated by the owner or estimated from column variances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics, Knowledge, PublicParameters
from isinglass.errors import AttackError
from isinglass.method_names import UNIT_KEEPING

Array = NDArray[Any]

#: What a reach may be wrong by where it was estimated.
UNSURE = 0.02
#: A claimed size of noise must agree with nearly all columns, to this share or to chance.
_AGREE, _MOST_COLUMNS = 0.25, 0.9
#: Noise shows where it ends if it has this times the table's variance at least, in so many rows.
_MUCH_NOISE, _ENOUGH_ROWS = 4.0, 100
#: Where bounds lie further out, in deviations, noise may have no end and keep within them.
_FAR = 10.0


@dataclass(frozen=True, slots=True)
class Factors:
    """The law of multiplicative noise: normal around one, cut to 1 ± `half_width`."""

    variance: float
    half_width: float
    log_mean: float
    log_variance: float

    @classmethod
    def of(cls, scale: float) -> Factors:
        from scipy.special import ndtr, ndtri

        if scale <= 0:
            return cls(0.0, 0.0, 0.0, 0.0)
        half = min(1.0, 3 * scale)
        tail = float(ndtr(-half / scale))
        middle = (np.arange(20_000) + 0.5) / 20_000
        factors = 1 + scale * ndtri(tail + middle * (1 - 2 * tail))
        logs = np.log(np.maximum(factors, 1e-12))
        return cls(float(factors.var()), half, float(logs.mean()), float(logs.var()))


@dataclass(frozen=True, slots=True)
class AdditiveLaw:
    """The variance of additive noise, column by column, and how far it can reach at most."""

    variance: Array = field(repr=False)
    reach: Array | None = field(default=None, repr=False)


def method_of(known: Knowledge) -> str:
    """The kind of noise; additive where nobody explained the release."""
    public = known.find(PublicParameters)
    if public is None:
        return "additive_noise"
    if public.method not in UNIT_KEEPING:
        raise AttackError(f"this attack is for releases with noise, not {public.method}")
    return public.method


def additive_law(Z: Array, known: Knowledge) -> AdditiveLaw:
    """The noise in one release whose columns are the table's."""
    spread = Z.var(axis=0, ddof=1)
    public = known.find(PublicParameters)
    statistics = known.find(ColumnStatistics)
    if statistics is not None and len(statistics.deviation) != Z.shape[1]:
        raise AttackError(
            f"the release has {Z.shape[1]} columns, column statistics {len(statistics.deviation)}"
        )
    if public is not None and public.parameters.get("scale") is not None:
        scale = np.asarray(public.parameters["scale"], dtype=np.float64)
        if scale.shape not in ((), (Z.shape[1],)):
            raise AttackError(
                f"the noise has {scale.size} scales, the release {Z.shape[1]} columns"
            )
        wider = 1.0
        if public.parameters.get("relative", True):
            exact = None if statistics is None else scale**2 * np.square(statistics.deviation)
            if exact is not None and _agree(exact, spread, statistics, len(Z)):
                variance = exact
            else:
                # Deviation C sd(x) makes var(z) = (1 + C^2) var(x).
                variance, wider = spread * scale**2 / (1 + scale**2), 1 + UNSURE
        else:
            variance = np.broadcast_to(scale**2, spread.shape)
        uniform = public.parameters.get("distribution") == "uniform"
        return AdditiveLaw(variance, wider * np.sqrt(3 * variance) if uniform else None)
    if statistics is None:
        raise AttackError("this attack needs PublicParameters or ColumnStatistics, neither known")
    variance = np.maximum(spread - np.square(statistics.deviation), 0.0)
    return _bounded(Z, variance, statistics) or AdditiveLaw(variance)


def _agree(
    variance: Array, spread: Array, statistics: ColumnStatistics | None, n_rows: int
) -> bool:
    """Whether columns of these deviations and this noise vary as the release does."""
    assert statistics is not None
    expected = variance + np.square(statistics.deviation)
    near = max(_AGREE, 5 * np.sqrt(2 / n_rows))
    return bool((np.abs(spread - expected) <= near * expected).mean() >= _MOST_COLUMNS)


def _bounded(Z: Array, variance: Array, statistics: ColumnStatistics) -> AdditiveLaw | None:
    """Uniform noise that nobody explained; None where noise looks to have no end.

    Uniform noise of this variance leaves every cell within reach of the column's bounds. Normal
    noise of more than the column's own size does not. Noise in proportion to the columns'
    deviations is as large in each of them, which tells better how large.
    """
    own = np.square(statistics.deviation)
    varies = own > 0
    share = variance[varies] / own[varies]
    if not varies.any() or len(Z) < _ENOUGH_ROWS or share.min() < _MUCH_NOISE:
        return None
    if share.std() <= 2 * np.sqrt(0.8 / len(Z)) * share.mean():  # no more than by chance
        variance = share.mean() * own
    reach = (1 + UNSURE) * np.sqrt(3 * variance)
    inside = (Z >= statistics.low - reach) & (Z <= statistics.high + reach)
    shows = varies & (statistics.high - statistics.low <= _FAR * statistics.deviation)
    return AdditiveLaw(variance, reach) if shows.any() and inside[:, shows].all() else None
