"""Views along the rows: what running sums, moving means and drifting noise hide from nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics

Array = NDArray[Any]
Turn = Callable[[Array, ColumnStatistics], Array]

#: How much of the row before is taken off: all for running sums, less for smoothing that forgets.
_SHARES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.3)
#: Rows in a moving mean.
_WIDTHS = (*range(2, 13), 15, 20, 24, 30)
#: Rows whose mean is taken for noise that changes slowly.
_AROUND = (3, 5, 9, 15, 31, 61)
#: A table of more columns is learned from with one neighbor on either side, not two.
_NARROW = 12


def _differences(share: float) -> Turn:
    def turn(Z: Array, known: ColumnStatistics) -> Array:
        found = Z - share * np.vstack([np.zeros_like(Z[:1]), Z[:-1]])
        center, spread = found[1:].mean(axis=0), found[1:].std(axis=0)
        # Sums may begin anywhere: a first row far from all others tells where, and no more.
        found[0] = np.where(np.abs(found[0] - center) > 5 * spread, center, found[0])
        return np.asarray(found)

    return turn


def _sums(Z: Array, known: ColumnStatistics) -> Array:
    return np.cumsum(Z, axis=0)


def _moving_mean_undone(width: int, shift: int) -> Turn:
    """Records from means of `width` rows, the last of which stands `shift` rows further on.

    k (z_t - z_(t-1)) = x_t - x_(t-k), which adds up to every k-th record but for one number for
    each of the k sequences; that their means are the column's tells it.
    """

    def turn(Z: Array, known: ColumnStatistics) -> Array:
        n, found = len(Z), np.empty_like(Z)
        steps = width * np.diff(Z, axis=0, prepend=Z[:1])
        mean = known.mean if Z.shape[1] == len(known.mean) else np.zeros(Z.shape[1])
        for first in range(min(width, n)):
            part = np.cumsum(steps[first::width], axis=0)
            found[first::width] = part - part.mean(axis=0) + mean
        return np.roll(found, shift, axis=0) if shift else found

    return turn


def _moving_mean_from_the_first(width: int) -> Turn:
    """The same where the first means are of the rows there are: nothing is left open then."""

    def turn(Z: Array, known: ColumnStatistics) -> Array:
        n, found = len(Z), np.empty_like(Z)
        size = np.minimum(np.arange(1, n + 1), width)[:, np.newaxis]
        steps = size * Z
        steps[1:] -= size[:-1] * Z[:-1]
        for first in range(min(width, n)):
            found[first::width] = np.cumsum(steps[first::width], axis=0)
        return found

    return turn


def _without_mean_around(width: int) -> Turn:
    def turn(Z: Array, known: ColumnStatistics) -> Array:
        from scipy.ndimage import uniform_filter1d

        return np.asarray(Z - uniform_filter1d(Z, width, axis=0))

    return turn


def _without_slow_noise(Z: Array, known: ColumnStatistics) -> Array:
    """Rows as if they had no order, the noise as if it changed slowly (Wiener's filter).

    Records vary as much at every speed; what the release varies more at some is noise.
    """
    from scipy.fft import dct, idct
    from scipy.ndimage import uniform_filter1d

    if Z.shape[1] != len(known.mean) or len(Z) < 4:
        return Z
    # Cosines continue a column by its mirror image, so that its ends meet.
    waves = dct(Z, axis=0, norm="ortho")
    power = uniform_filter1d(np.square(waves[1:]), min(max(3, len(Z) // 100), 101), axis=0)
    gain = np.square(known.deviation) / np.maximum(power, 1e-300)
    waves[1:] *= np.minimum(gain, 1.0)
    waves[0] = 0.0
    return np.asarray(known.mean + idct(waves, axis=0, norm="ortho"))


def _with_neighbors(Z: Array, known: ColumnStatistics) -> Array:
    """Each row beside those before and behind it: any short filter can be learned from these."""
    reach = 2 if Z.shape[1] <= _NARROW else 1
    return np.hstack([np.roll(Z, s, axis=0) for s in range(-reach, reach + 1)])


ROW_VIEWS: dict[str, Turn] = {
    **{
        "differences of neighboring rows"
        if share == 1
        else f"rows less {share:g} of the row before": _differences(share)
        for share in _SHARES
    },
    "running sums of rows": _sums,
    **{f"moving means of {k} rows undone": _moving_mean_undone(k, 0) for k in _WIDTHS},
    # Of an even number of rows there is one more before, or one more behind.
    **{
        f"means of {k} rows around, {shift} of them behind, undone": _moving_mean_undone(k, shift)
        for k in _WIDTHS
        for shift in {(k - 1) // 2, k // 2} - {0}
    },
    **{f"means of up to {k} rows undone": _moving_mean_from_the_first(k) for k in _WIDTHS},
    **{f"without the mean of {k} rows around": _without_mean_around(k) for k in _AROUND},
    "without noise that changes slowly": _without_slow_noise,
    "rows beside their neighbors": _with_neighbors,
}
