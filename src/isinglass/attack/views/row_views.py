"""Views along the rows: differences, ratios and filters of consecutive rows."""

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


def _twice(turn: Turn) -> Turn:
    return lambda Z, known: np.asarray(turn(turn(Z, known), known))


def _sums(Z: Array, known: ColumnStatistics) -> Array:
    return np.asarray(np.cumsum(Z, axis=0))


def _ratios(Z: Array, known: ColumnStatistics) -> Array:
    """Of each row to the one before, which undoes running products."""
    before = np.vstack([np.ones_like(Z[:1]), Z[:-1]])
    return np.asarray(Z / np.where(before != 0, before, 1.0))


def _ratios_in_turn(Z: Array, known: ColumnStatistics) -> Array:
    """Records from products of neighbors: x_t = z_t / x_(t-1), each second one up to a factor."""
    sign = np.where(np.arange(len(Z)) % 2 == 0, 1.0, -1.0)[:, np.newaxis]
    logs = sign * np.cumsum(sign * np.log(np.maximum(np.abs(Z), 1e-300)), axis=0)
    for first in (0, 1):
        logs[first::2] -= logs[first::2].mean(axis=0)
    return np.asarray(np.exp(np.clip(logs, -300.0, 300.0)))


def _differences_in_range(Z: Array, known: ColumnStatistics) -> Array:
    """Running sums that begin anew whenever they leave the range."""
    if Z.shape[1] != len(known.mean):
        return Z
    span = np.maximum(np.ptp(Z, axis=0), known.high - known.low)
    steps = np.diff(Z, axis=0, prepend=0.0 * Z[:1])
    return np.asarray(known.low + np.mod(steps, np.where(span > 0, span, 1.0)))


def _sums_and_differences(apart: bool, sign: float) -> Turn:
    """Records from sums and differences of two rows, neighbors or half a file apart.

    Either may come first, and either row may have been taken off the other.
    """

    def turn(Z: Array, known: ColumnStatistics) -> Array:
        n, found = len(Z) // 2, np.array(Z)
        first = slice(0, n) if apart else slice(0, 2 * n, 2)
        second = slice(n, 2 * n) if apart else slice(1, 2 * n, 2)
        found[first] = (Z[first] + Z[second]) / 2
        found[second] = sign * (Z[first] - Z[second]) / 2
        return found

    return turn


def _lag_undone(lag: int) -> Turn:
    """Records from their differences to the row `lag` rows before, up to a number for each of the
    `lag` sequences; that their means are the column's tells it."""
    return lambda Z, known: _added_up(Z, lag, known)


def _added_up(steps: Array, lag: int, known: ColumnStatistics) -> Array:
    found = np.empty_like(steps)
    mean = known.mean if steps.shape[1] == len(known.mean) else np.zeros(steps.shape[1])
    for first in range(min(lag, len(steps))):
        part = np.cumsum(steps[first::lag], axis=0)
        found[first::lag] = part - part.mean(axis=0) + mean
    return found


def _moving_mean_undone(width: int, shift: int) -> Turn:
    """Records from means of `width` rows, the last of which stands `shift` rows further on.

    k (z_t - z_(t-1)) = x_t - x_(t-k), which adds up to every k-th record but for one number for
    each of the k sequences; that their means are the column's tells it.
    """

    def turn(Z: Array, known: ColumnStatistics) -> Array:
        found = _added_up(width * np.diff(Z, axis=0, prepend=Z[:1]), width, known)
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
    "differences of differences of rows": _twice(_differences(1.0)),
    "differences within the known range": _differences_in_range,
    "running sums of rows": _sums,
    "running sums of running sums": _twice(_sums),
    "ratios of neighboring rows": _ratios,
    "ratios of rows in turn": _ratios_in_turn,
    "sums and differences of neighbors": _sums_and_differences(False, 1.0),
    "sums and differences of neighbors, turned": _sums_and_differences(False, -1.0),
    "sums and differences of the file's halves": _sums_and_differences(True, 1.0),
    "sums and differences of the file's halves, turned": _sums_and_differences(True, -1.0),
    **{f"differences of rows {k} apart added up": _lag_undone(k) for k in _WIDTHS},
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
