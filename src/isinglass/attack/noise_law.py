"""How large a release's noise is: from what its owner said, or from what columns should be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics, Knowledge, PublicParameters
from isinglass.attack.marginals import UNIT_KEEPING
from isinglass.errors import AttackError

Array = NDArray[Any]


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
    if public is not None and public.parameters.get("scale") is not None:
        scale = np.asarray(public.parameters["scale"], dtype=np.float64)
        if scale.shape not in ((), (Z.shape[1],)):
            raise AttackError(
                f"the noise has {scale.size} scales, the release {Z.shape[1]} columns"
            )
        if public.parameters.get("relative", True):
            # Deviation C sd(x) makes var(z) = (1 + C^2) var(x).
            variance = spread * scale**2 / (1 + scale**2)
        else:
            variance = np.broadcast_to(scale**2, spread.shape)
        uniform = public.parameters.get("distribution") == "uniform"
        return AdditiveLaw(variance, np.sqrt(3 * variance) if uniform else None)
    if statistics is None:
        raise AttackError("this attack needs PublicParameters or ColumnStatistics, neither known")
    if len(statistics.deviation) != Z.shape[1]:
        raise AttackError(
            f"the release has {Z.shape[1]} columns, column statistics {len(statistics.deviation)}"
        )
    return AdditiveLaw(np.maximum(spread - np.square(statistics.deviation), 0.0))
