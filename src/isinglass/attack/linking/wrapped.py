"""Linking of values that were multiplied by a number and wrapped around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.scalings import Scalings
from isinglass.attack.linking.families import FeatureFamily, Of, Seen
from isinglass.attack.linking.residues import on_circle, round_numbers

Array = NDArray[Any]

#: Lengths of a circle that are no round numbers.
_CIRCLES = (2 * np.pi, np.pi, 360.0, 256.0, 24.0, 60.0)
#: Turns over a column's range that are tried for every length of the circle ...
_SLOW = np.arange(-64, 65) / 8
#: ... and, for a column that fills the circle evenly, up to so many.
_FASTEST = 1 << 14
_CELLS = 1 << 18
_MOST_PAIRS = 60
_FINEST = 1e-4
_EVEN = 0.2


def wrapped(scalings: Scalings) -> FeatureFamily:
    """z = (a x + b) modulo m, alone or in the last digits of other numbers.

    Only known pairs can tell a: it is the frequency at which they turn together. Numbers of turns
    up to 16,384 over a column's range are tried; whoever uses more is not found.
    """
    low, span = scalings.low, scalings.span

    def of(rows: Array, records: Array) -> tuple[Array, Array]:
        return on_circle(rows), on_circle((records - low) / span)

    def fit(seen: Seen) -> Of:
        turns = np.array([
            _best(z, u, some)
            for z, u, some in zip(
                seen.rows[:_MOST_PAIRS].T,
                ((seen.records[:_MOST_PAIRS] - low) / span).T,
                seen.some_rows.T,
                strict=True,
            )
        ])  # fmt: skip
        length, speed, start = turns.T

        def turned(rows: Array, records: Array) -> tuple[Array, Array]:
            x = speed * (records - low) / span + start
            return on_circle(rows / length), on_circle(x)

        return turned

    return FeatureFamily("values that turn with the record's", of, fit)


def _best(z: Array, u: Array, some: Array) -> tuple[float, float, float]:
    """The circle's length, turns over the column's range, and where they start."""
    reach = float(np.ptp(some))
    lengths = [*round_numbers(_FINEST * max(reach, 1e-300), 2 * max(reach, 1e-300)), *_CIRCLES]
    circle = np.exp(2j * np.pi * z / np.array(lengths)[:, np.newaxis])
    turns = np.exp(-2j * np.pi * _SLOW[:, np.newaxis] * u)
    chance = np.abs(circle.mean(axis=1))[:, np.newaxis] * np.abs(turns.mean(axis=1))
    more = np.abs(circle @ turns.T) / len(z) - chance
    which, slow = np.unravel_index(int(more.argmax()), more.shape)
    found = [(float(more.max()), lengths[which], float(_SLOW[slow]))]
    for length, around in zip(lengths, circle, strict=True):
        whole = 0.8 * length <= reach <= length
        if whole and np.abs(np.exp(2j * np.pi * some / length).mean()) < _EVEN:
            found.append((*_fast(around, u, length),))
    _, length, speed = max(found)
    around = np.exp(2j * np.pi * z / length)
    for width in (1 / 8, 1 / 256, 1 / 8192):
        near = speed + width * np.arange(-32, 33) / 32
        speed = float(near[np.abs(np.exp(-2j * np.pi * np.outer(near, u)) @ around).argmax()])
    start = np.angle((around * np.exp(-2j * np.pi * speed * u)).mean()) / (2 * np.pi)
    return length, speed, float(start)


def _fast(around: Array, u: Array, length: float) -> tuple[float, float, float]:
    """The best of all frequencies in steps of half a turn, by one Fourier transform."""
    line = np.zeros(_CELLS, dtype=complex)
    np.add.at(line, np.rint(np.clip(u, 0, 1) * (_CELLS // 2 - 1)).astype(int), around)
    heights = np.abs(np.fft.fft(line)) / len(u)
    steps = np.fft.fftfreq(_CELLS, 1 / _CELLS)
    heights[np.abs(steps) > 2 * _FASTEST] = 0
    best = int(heights.argmax())
    return float(heights[best]), length, float(steps[best] / 2) * _CELLS / (_CELLS - 2)
