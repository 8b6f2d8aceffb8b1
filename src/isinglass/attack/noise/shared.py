"""Noise that many rows share, estimated and subtracted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.noise.band_filter import filter_rows
from isinglass.attack.noise.size import difference_variance

Array = NDArray[Any]
Groups = NDArray[np.intp]

#: Rows on which a pattern is looked for, and the longest block tried.
_MOST_ROWS, _LONGEST = 20_000, 1_000
#: A pattern must stand out by so many deviations; some hundred thousand are tried.
_CLEAR = 6.0
#: How much larger a period's likeness must be than that of the lags beside it.
_ALONE = 1.5
#: Blocks whose variance inside exceeds the smallest by less than this are as good.
_NEARLY = 1.03
#: How far, on the mean, the logarithm of a variance may be from that of the table's column.
_SAME_VARIANCE = 0.25
#: Differences of neighbors below this share of the noise's variance show that it is shared.
_TOO_SMOOTH = 0.7


def without_shared_noise(Z: Array, statistics: ColumnStatistics) -> tuple[Array, Groups] | None:
    """Records left when what rows share is taken off, and who shares; None where none is shared.

    Rows must be in the order of the file. Noise may be drawn once for a block of rows, or the
    same noise again for every block, or drift. It is then not in the differences of rows that
    share it. What is left must vary as the table's columns do.
    """
    if len(Z) < 16:
        return None
    spread, deviation = deviations(Z), statistics.deviation
    excess = np.square(spread) - np.square(deviation)
    varies = (deviation > 0) & (excess > 0.01 * np.square(deviation))
    if not varies.any():
        return None
    unit = divisors(deviation)
    rows = ((Z - statistics.mean) / unit)[:, varies]
    size = excess[varies] / np.square(deviation[varies])
    skewness = statistics.skewness[varies]
    # Noise of its own for each row is all in the differences of neighbors.
    smooth = bool(np.median(difference_variance(rows) / size) < _TOO_SMOOTH)
    patterns = [_blocks(rows), _blocks_from_start(rows), _repeats(rows)]
    found = [(_group_means(rows, g, size), g) for g in patterns if g is not None]
    if smooth:
        found.append((filter_rows(rows), np.arange(len(rows))))
    # Records and noise of one variance are told apart by skewness, if by anything.
    told = smooth or bool(np.abs(np.log(size)).mean() > 2 * _SAME_VARIANCE)
    fitting = [
        (_unlike(rows - noise), noise, groups)
        for noise, groups in found
        if told or _skewness_error(rows - noise, skewness) < 0.5 * np.abs(skewness).mean()
    ]
    unlike, noise, groups = min(fitting, key=lambda f: f[0], default=(np.inf, rows, None))
    most = min(_SAME_VARIANCE, _unlike(rows) / 2)
    if groups is None or (unlike > most and not smooth):
        return None
    guess = np.array(Z)
    guess[:, varies] = statistics.mean[varies] + unit[varies] * (rows - noise)
    return guess, groups


def _unlike(records: Array) -> float:
    """How far the variances are from 1, the table's."""
    return float(np.abs(np.log(np.maximum(records.var(axis=0), 1e-12))).mean())


def _skewness_error(records: Array, skewness: Array) -> float:
    centered = records - records.mean(axis=0)
    third = (centered**3).mean(axis=0) / divisors(deviations(records)) ** 3
    return float(np.abs(third - skewness).mean())


def _group_means(rows: Array, groups: Groups, size: Array) -> Array:
    """The mean of each group, shrunk for the records' own part in it."""
    count = np.bincount(groups)
    sums = np.stack([np.bincount(groups, column) for column in rows.T], axis=1)
    means = sums / np.maximum(count, 1)[:, np.newaxis]
    kept = size / (size + 1.0 / np.maximum(count, 1)[:, np.newaxis])
    return np.asarray((means * kept)[groups])


def _blocks(rows: Array) -> Groups | None:
    """Blocks of equal length: jumps between rows are larger every L rows."""
    some = rows[:_MOST_ROWS]
    jumps = np.square(np.diff(some, axis=0)).sum(axis=1)
    # Ranks, so that a few outlying records do not look like a pattern.
    ranks = np.argsort(np.argsort(jumps)) / max(len(jumps) - 1, 1) - 0.5
    best, found = _CLEAR, None
    where = np.arange(1, len(some))
    for length in range(2, min(_LONGEST, len(some) // 3) + 1):
        phase = where % length
        count = np.bincount(phase, minlength=length)
        clear = np.bincount(phase, ranks, minlength=length) / np.sqrt(np.maximum(count, 1) / 12)
        top = int(clear.argmax())
        if clear[top] > best:
            best, found = float(clear[top]), (length, top)
    if found is None:
        return None
    length, top = found
    return np.asarray((np.arange(len(rows)) + length - top) // length, dtype=np.intp)


def _blocks_from_start(rows: Array) -> Groups | None:
    """Blocks of equal length from the first row on, the longest with little variance inside."""
    n = len(rows)
    sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    squares = float(np.square(rows).sum())
    lengths = np.arange(2, min(max(n // 3, 2), _LONGEST) + 1)
    inside = np.empty(len(lengths))
    for i, length in enumerate(lengths):
        edges = np.append(np.arange(0, n, length), n)
        count = np.diff(edges)[:, np.newaxis]
        means = np.square(np.diff(sums[edges], axis=0)) / count
        inside[i] = (squares - float(means.sum())) / max(n - len(count), 1)
    good = np.flatnonzero(inside < _NEARLY * inside.min())
    return np.asarray(np.arange(n) // lengths[good[-1]], dtype=np.intp) if len(good) else None


def _repeats(rows: Array) -> Groups | None:
    """The same noise again every L rows: rows L apart are alike."""
    from scipy.fft import irfft, rfft

    n = len(rows)
    padded = 2 * n
    spectrum = np.square(np.abs(rfft(rows, padded, axis=0))).sum(axis=1)
    products = irfft(spectrum, padded)[: n // 2 + 1]
    # The lag's sum has n - L terms, whose deviation is that of products of unrelated rows.
    lags = np.arange(1, len(products))
    scale = np.sqrt((n - lags) * float(np.square((np.square(rows)).mean(axis=0)).sum()))
    clear = products[1:] / np.maximum(scale, 1e-300)
    # Rows that change slowly are alike at neighboring lags, too.
    beside = np.maximum(np.roll(products, 1), np.roll(products, -1))[1:]
    clear[products[1:] < _ALONE * beside] = 0.0
    if not len(clear) or clear.max() < _CLEAR:
        return None
    # Multiples of the period repeat too; the first that is nearly as clear is it.
    first = int(np.flatnonzero(clear > 0.7 * clear.max())[0])
    return np.asarray(np.arange(n) % (first + 1), dtype=np.intp)
