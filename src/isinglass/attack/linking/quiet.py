"""Directions in which noise of low rank is quiet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.linking.families import FeatureFamily
from isinglass.attack.linking.near import nearest_records

Array = NDArray[Any]

#: In column variances: what a loud direction must have too much, and what is nothing.
_LOUD, _NOTHING = 1.0, 0.02
#: The quietest loud direction is so many times as loud as the loudest quiet one.
_GAP = 3.0
#: More columns, or more records, take too long; released rows by which directions are corrected.
_MOST_COLUMNS, _MOST_RECORDS, _ROWS = 600, 20_000, 1_000
_ROUNDS = 3


def quiet_directions(Z: Array, P: Array) -> Iterator[FeatureFamily]:
    """Rows and records seen along the directions in which the release varies no more than they do.

    Strong noise in a few secret directions leaves all others exact, and covariances show which.
    None where the noise is in no direction, or in all.
    """
    d = Z.shape[1]
    if not 1 < d <= _MOST_COLUMNS or min(len(Z), len(P)) < 2:
        return
    unit = divisors(deviations(P))
    z, x = Z / unit, P / unit
    quiet = _quiet(np.cov(z.T) - np.cov(x.T))
    if quiet is None:
        return
    if len(x) <= _MOST_RECORDS:
        quiet = _corrected(z[:_ROWS], x, quiet)
    turned = quiet / unit[:, np.newaxis]

    def of(z: Array, x: Array) -> tuple[Array, Array]:
        return z @ turned, x @ turned

    yield FeatureFamily("directions in which the noise is quiet", of)


def _quiet(excess: Array) -> Array | None:
    """The directions without noise, where they are clearly apart from those with noise."""
    values, axes = np.linalg.eigh(excess)
    steps = np.maximum(values[1:], _NOTHING) / np.maximum(values[:-1], _NOTHING)
    n_quiet = 1 + int(steps.argmax())
    if values[n_quiet] < _LOUD or steps.max() < _GAP:
        return None
    return np.asarray(axes[:, :n_quiet])


def _corrected(z: Array, x: Array, quiet: Array) -> Array:
    """Directions by what is left of rows when the records that they fit are taken off.

    Covariances of noise and records are not quite nothing, and tilt the first estimate. The noise
    of rows that are matched rightly lies in the loud directions to the last digit; it is so much
    that a few rows matched wrongly hardly count.
    """
    n_loud = len(quiet) - quiet.shape[1]
    for _ in range(_ROUNDS):
        noise = z - x[nearest_records(z @ quiet, x @ quiet)]
        # Rows far from the loud directions were matched wrongly.
        off = np.linalg.norm(noise @ quiet, axis=1)
        inner = noise[off <= np.median(off)]
        if len(inner) <= n_loud:
            return quiet
        _, axes = np.linalg.eigh(inner.T @ inner)
        quiet = axes[:, : quiet.shape[1]]
    return quiet
