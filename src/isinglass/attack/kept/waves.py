"""Periodic signals of any period in kept numbers and times."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import divisors

Array = NDArray[Any]

#: Rounds within the span of a column, columns of records, and periods that are tried.
_MOST_ROUNDS, _MOST_COLUMNS, _MOST_PERIODS = 16_384, 8, 4
#: Cells of the grid on which a spectrum is computed: eight for the shortest period.
_CELLS = 8 * _MOST_ROUNDS
#: A period must come round so often; longer ones are what smooth curves are for.
_LEAST_ROUNDS = 4


def periods(places: Array, values: Array) -> list[float]:
    """The lengths at which values come round most clearly along a column, best first.

    Sums of waves over unevenly spaced places (Lomb 1976, Scargle 1982), on a fine grid by the
    fast Fourier transform, then between its frequencies by those beside the best.
    """
    from scipy.fft import rfft

    low, span = float(places.min()), float(np.ptp(places))
    if span <= 0 or len(places) < 50:
        return []
    steps = np.diff(np.unique(places))
    # Waves shorter than two steps look like longer ones.
    most = int(min(_MOST_ROUNDS, span / (2 * steps.min()) if len(steps) else 0))
    if most <= _LEAST_ROUNDS:
        return []
    signal = _main_columns(values)
    cell = np.minimum(((places - low) / span * _CELLS).astype(np.intp), _CELLS - 1)
    power = np.zeros(2 * most + 1)
    for column in signal.T:
        on_grid = np.bincount(cell, column, minlength=_CELLS)
        # As many zeros again: half rounds, too, have a frequency of their own.
        power += np.square(np.abs(rfft(on_grid, 2 * _CELLS)[: 2 * most + 1]))
    power[: 2 * _LEAST_ROUNDS] = 0.0
    found: list[float] = []
    for _ in range(_MOST_PERIODS):
        best = int(power.argmax())
        if power[best] <= 0:
            break
        near = (best + np.linspace(-1, 1, 41)) / 2 / span
        angles = 2 * np.pi * np.outer(near, places - low)
        fits = np.square(np.cos(angles) @ signal) + np.square(np.sin(angles) @ signal)
        found.append(1.0 / float(near[fits.sum(axis=1).argmax()]))
        power[max(best - 4, 0) : best + 5] = 0.0
    return found


def waves(places: Array, period: float, harmonics: int) -> Array:
    """Cosines and sines of the phase, and of its multiples."""
    angle = 2 * np.pi * (places / period % 1.0)
    return np.column_stack(
        [wave(k * angle) for k in range(1, harmonics + 1) for wave in (np.cos, np.sin)]
    )


def _main_columns(values: Array) -> Array:
    """The few directions in which records vary most."""
    centered = values - values.mean(axis=0)
    if values.shape[1] > _MOST_COLUMNS:
        axes = np.linalg.eigh(centered.T @ centered)[1][:, -_MOST_COLUMNS:]
        centered = centered @ axes
    return np.asarray(centered / divisors(np.sqrt(np.square(centered).mean(axis=0))))
