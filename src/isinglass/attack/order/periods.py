"""Periods in the row order: the same person, hour or place every so many rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import standardized

Array = NDArray[Any]

#: Rows on which a period is looked for; its likeness must stand out from that of other lags by so
#: many deviations, and be worth something.
_MOST_ROWS, _CLEAR, _LEAST = 50_000, 6.0, 0.05
#: The first lag that is nearly as clear as the best is the period; the best may be a multiple.
_NEARLY = 0.8


def period_of(records: Array) -> int | None:
    """After how many rows records are like those before; None where no lag stands out.

    Neighbors that are alike at small lags, too, are what smoothing is for.
    """
    from scipy.fft import irfft, next_fast_len, rfft

    rows = standardized(np.asarray(records[:_MOST_ROWS], dtype=np.float64))
    n = len(rows)
    if n < 12:
        return None
    spectrum = np.square(np.abs(rfft(rows, next_fast_len(2 * n), axis=0))).sum(axis=1)
    lags = np.arange(n // 2 + 1)
    likeness = irfft(spectrum)[: len(lags)] / (n - lags) / max(rows.shape[1], 1)
    inner = likeness[2:]
    # Deviations of the middle half of all lags, which no peak can stretch.
    low, middle, high = np.quantile(inner, (0.25, 0.5, 0.75))
    limit = max(middle + _CLEAR * (high - low) / 1.35, middle + _LEAST)
    beside = np.maximum(likeness[1:-2], likeness[3:])
    peaks = np.flatnonzero((inner[:-1] > limit) & (inner[:-1] > beside)) + 2
    if not len(peaks):
        return None
    best = likeness[peaks].max()
    return int(peaks[likeness[peaks] - middle > _NEARLY * (best - middle)][0])


def by_phase(n_rows: int, period: int) -> NDArray[np.intp]:
    """Positions that put rows a period apart beside one another."""
    rows = np.arange(n_rows)
    order = np.lexsort((rows, rows % period))
    positions = np.empty(n_rows, dtype=np.intp)
    positions[order] = rows
    return positions
