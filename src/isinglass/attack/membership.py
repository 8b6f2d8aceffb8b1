"""Membership: how likely a record is to be among those that a release was made from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.base import rows_of
from isinglass.attack.knowledge import ColumnStatistics, Knowledge, PublicTable
from isinglass.attack.marginals import keeps_units
from isinglass.errors import AttackError
from isinglass.threads import one_thread, spread

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Neighbors by which the density around a record is judged.
_NEIGHBORS = 5
#: Numbers of released rows that may span the flat of a group.
_FLATS = (2, 3, 5, 8, 12, 20, 32, 64)
_MOST_FLATS = 4_000  # released rows around which flats are spanned
_BLOCK = 1 << 20  # distances held at once by each thread


def membership_scores(
    released: ArrayLike,
    records: ArrayLike,
    knowledge: Knowledge,
    *,
    near: bool = True,
    linked: bool = False,
) -> dict[str, Array]:
    """Scores that are higher for members, by several ways of telling; a name for each.

    `nearest`: a member has a released row close by. `relative`: closer than the rows around are
    to one another, which tells of outliers too. `flat`: rows drawn from a small group lie in the
    flat of its members. These three need `near`. With `linked` and known pairs, `linked`: some
    released row fits a member well by what the pairs teach.
    """
    Z, X = rows_of(released), np.asarray(records, dtype=np.float64)
    found: dict[str, Array] = {}
    if near and Z.shape[1] == X.shape[1]:
        z, x = in_units(Z, X, knowledge)
        distances, _ = nearest_rows(z, x, _NEIGHBORS)
        found["nearest"] = -distances[:, 0]
        found["relative"] = np.log(distances[:, -1] + 1e-12) - np.log(distances[:, 0] + 1e-12)
        found["flat"] = _flatness(z, x)
    if linked:
        found["linked"] = _linked(Z, X, knowledge)
    if not found:
        raise AttackError("membership needs a release of the table's columns, or known pairs")
    return found


def in_units(Z: Array, X: Array, known: Knowledge) -> tuple[Array, Array]:
    """Both in deviations of the released columns; those of other units are moved to the table's."""
    unit = Z.std(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    center = Z.mean(axis=0)
    statistics = known.find(ColumnStatistics)
    if keeps_units(known) or statistics is None or len(statistics.mean) != Z.shape[1]:
        return (Z - center) / unit, (X - center) / unit
    off = np.abs(center - statistics.mean) > 0.5 * np.maximum(unit, statistics.deviation)
    ratio = unit / np.where(statistics.deviation > 0, statistics.deviation, unit)
    if not off.any() and (ratio < 2).all() and (ratio > 0.5).all():
        return (Z - center) / unit, (X - center) / unit
    own = np.where(statistics.deviation > 0, statistics.deviation, 1.0)
    return (Z - center) / unit, (X - statistics.mean) / own


def nearest_rows(z: Array, x: Array, k: int) -> tuple[Array, Rows]:
    """For each record its k nearest released rows: distances and row numbers."""
    k = min(k, len(z))
    norms = np.einsum("ij,ij->i", z, z)
    distances, rows = np.empty((len(x), k)), np.empty((len(x), k), dtype=np.intp)

    def work(start: int, stop: int) -> None:
        part = x[start:stop]
        squared = part @ (-2.0 * z.T)
        squared += norms
        near = np.argpartition(squared, k - 1, axis=1)[:, :k]
        # The product loses digits where it matters most: near zero.
        exact = np.sqrt(np.square(part[:, np.newaxis] - z[near]).sum(axis=2))
        order = np.argsort(exact, axis=1)
        distances[start:stop] = np.take_along_axis(exact, order, axis=1)
        rows[start:stop] = np.take_along_axis(near, order, axis=1)

    with one_thread():
        spread(work, len(x), n_jobs=None, step=max(1, _BLOCK // len(z)))
    return distances, rows


def _flatness(z: Array, x: Array) -> Array:
    """How near a record lies to a flat of released rows, against how near rows lie by chance.

    For each number of rows that may span a flat, the record's distance from the flat of its
    nearest rows is compared with its distance from their mean.
    """
    d = z.shape[1]
    some = z[:: max(1, len(z) // _MOST_FLATS)]
    # As many rows as leave one direction free hold the whole group even where others lie between.
    most = min(d - 1, len(some) - 1, max(_FLATS))
    sizes = sorted({m for m in _FLATS if m < most} | ({most} if most > 1 else set()))
    if not sizes:
        return np.zeros(len(x))
    _, rows = nearest_rows(some, x, max(sizes))
    best = np.full(len(x), np.inf)
    for m in sizes:
        near = some[rows[:, :m]]
        mean = near.mean(axis=1)
        _, values, axes = np.linalg.svd(near - mean[:, np.newaxis], full_matrices=False)
        axes = axes * (values > 1e-9 * values[:, :1])[:, :, np.newaxis]
        off = x - mean
        along = np.einsum("nkd,nd->nk", axes, off)
        left = np.sqrt(np.maximum(np.square(off).sum(axis=1) - np.square(along).sum(axis=1), 0))
        size = np.sqrt(np.square(off).sum(axis=1)) + 1e-12
        # Of a random direction the flat takes (m - 1) / d of the square.
        expected = np.sqrt(max(1.0 - (m - 1) / d, 1e-6))
        best = np.minimum(best, np.log(left / size / expected + 1e-9))
    return -best


def _linked(Z: Array, X: Array, known: Knowledge) -> Array:
    """How well the best released row fits each record, by what known pairs teach."""
    from isinglass.attack.fit import blocks
    from isinglass.attack.linker import make_linker

    linker = make_linker(Z, known | PublicTable(X, complete=False), 0)
    best = np.full(len(X), -np.inf)
    for _, fits in blocks(linker.fit()):
        best = np.maximum(best, fits.max(axis=0))
    return np.where(np.isfinite(best), best, -1e300)
