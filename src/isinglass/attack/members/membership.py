"""Membership scores: how likely a record is to be among those behind a release."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.base import rows_of
from isinglass.attack.columns.marginals import keeps_units, scaling_bounds, spans
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KeptColumns,
    Knowledge,
    PopulationSample,
    PublicTable,
)
from isinglass.attack.linking.bounded_fit import NoiseFit
from isinglass.attack.linking.record_fit import PairFit
from isinglass.attack.members.release_ratio import adds_rows, noise_fit, ratio_scores
from isinglass.errors import AttackError
from isinglass.threads import one_thread, spread

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Neighbors by which the density around a record is judged.
_NEIGHBORS = 5
#: Numbers of released rows whose affine span is tried as that of a group.
_SPANS = (2, 3, 5, 8, 12, 20, 32, 64)
_MOST_SPANNED = 4_000  # released rows used for affine spans
_ENOUGH_RECORDS = 500  # to show what records are like
_BLOCK = 1 << 20  # distances held at once by each thread


def membership_scores(
    released: ArrayLike,
    records: ArrayLike,
    knowledge: Knowledge,
    *,
    near: bool = True,
    linked: bool = False,
    own_kept: ArrayLike | None = None,
) -> dict[str, Array]:
    """Scores that are higher for members, by several membership tests, each under its name.

    `nearest`: a member has a released row close by. `relative`: closer than the rows around are to
    one another, which shows outliers too. `flat`: rows drawn from a small group lie in the affine
    span of its members. `along_rows`, `along_widest`: much of the record lies in the directions in
    which the rows happen to spread. With a sample, `nearer_than_sample`: closer than the sample is.
    Where noise was declared, `likelihood`: some row is likelier with the record than without.
    `as_far`: some row is exactly as far from the mean as the record, a distance that rotations
    keep. These need `near`. With `own_kept`, the records' values in columns that were kept, they
    also tell `kept_values`: more rows have just these values than would by chance; and
    `kept_and_near`: such a row fits the record, by the law of declared noise or by distance. With
    `linked` and known pairs, `linked`: some released row fits a member well by what the pairs
    teach. `among_others`: better than it fits the other records in question.
    """
    Z, X = rows_of(released), np.asarray(records, dtype=np.float64)
    found: dict[str, Array] = {}
    alike = Z.shape[1] == X.shape[1]
    if near and alike:
        found |= _near(Z, X, knowledge)
    if near and Z.shape[1] >= X.shape[1] and not keeps_units(knowledge):
        found |= _as_far(Z, X, knowledge)
    told = noise_fit(Z, X, knowledge) if near and alike else None
    if told is not None:
        by_law = ratio_scores(*told)
        found |= {name: by_law[name] for name in ("likelihood", "among_others")}
    if near and own_kept is not None:
        found |= _by_kept(Z, X, np.asarray(own_kept, dtype=np.float64), knowledge, told)
    if linked:
        scores = ratio_scores(_linker(Z, X, knowledge))
        found |= {name: values[: len(X)] for name, values in scores.items()}
    if not found:
        raise AttackError("membership needs a release of the table's columns, or known pairs")
    return found


def _near(Z: Array, X: Array, known: Knowledge) -> dict[str, Array]:
    """Membership tests by distances to released rows."""
    z, x = in_common_units(Z, X, known)
    distances, _ = nearest_rows(z, x, _NEIGHBORS)
    closest = np.log(distances[:, 0] + 1e-12)
    found = {
        "nearest": -distances[:, 0],
        "relative": np.log(distances[:, -1] + 1e-12) - closest,
        "flat": _span_scores(z, x),
        **_along_rows(z, x),
    }
    sample = known.find(PopulationSample)
    if sample is not None and len(sample.records):
        similar = in_common_units(Z, np.asarray(sample.records, dtype=np.float64), known)[1]
        found["nearer_than_sample"] = np.log(nearest_rows(similar, x, 1)[0][:, 0] + 1e-12) - closest
    return found


def _along_rows(z: Array, x: Array) -> dict[str, Array]:
    """How much of a record lies along the directions in which released rows spread most.

    Rows that are drawn from the covariance of many records still remember it: where columns are not
    few beside the rows, its chance part points along the records behind it and nobody else's.
    """
    values, axes = np.linalg.eigh(z.T @ z / len(z))
    squares = np.square((x - z.mean(axis=0)) @ axes)
    whole = squares.sum(axis=1) + 1e-12
    widest = squares[:, -max(1, len(values) // 3) :].sum(axis=1)
    return {"along_rows": squares @ values / whole, "along_widest": widest / whole}


def _by_kept(
    Z: Array,
    X: Array,
    own: Array,
    known: Knowledge,
    told: tuple[NoiseFit, Array] | None,
) -> dict[str, Array]:
    """Membership tests by rows with a record's own kept values; none where no column was kept.

    A sample tells nothing more of how common such values are: its records left, too.
    """
    kept = known.find(KeptColumns)
    if kept is None or not kept.values.shape[1]:
        return {}
    from isinglass.attack.members.kept_values import ABSENT, KeptMatches

    same = KeptMatches.of(kept.values, own)
    found = {"kept_values": same.scores()}
    if told is not None:
        found["kept_and_near"] = same.likelihood(*told, by_sum=adds_rows(len(Z)))
    elif Z.shape[1] == X.shape[1]:
        z, x = in_common_units(Z, X, known)
        nearness = np.full(len(x), ABSENT)
        for rows, asked in same.groups():
            nearness[asked] = -nearest_rows(z[rows], x[asked], 1)[0][:, 0]
        found["kept_and_near"] = nearness
    return found


def _as_far(Z: Array, X: Array, known: Knowledge) -> dict[str, Array]:
    """How nearly some row is as far from the mean as the record, in the units that were turned.

    Rotations and other maps that keep distances keep this one, and who knows each column's mean
    and bounds can compute it. The right units give rows and records the same mean square.
    """
    statistics = known.find(ColumnStatistics)
    if statistics is None or len(Z) < 2:
        return {}
    bounds, own = scaling_bounds(known, X.shape[1]), statistics.deviation
    units = [own] if bounds is None else [spans(*bounds), own]
    units = [np.where(unit > 0, unit, 1.0) for unit in (*units, np.ones_like(own))]
    rows = np.linalg.norm(Z - Z.mean(axis=0), axis=1)
    square = float(np.square(rows).sum()) / (len(Z) - 1)
    sums = np.array([np.square(own / unit).sum() for unit in units])
    if square <= 0 or not (sums > 0).all():
        return {}
    chosen = int(np.argmin(np.abs(np.log(sums / square))))
    rows *= np.sqrt(sums[chosen] / square)
    away = np.linalg.norm((X - statistics.mean) / units[chosen], axis=1)
    rows.sort()
    after = np.clip(np.searchsorted(rows, away), 1, len(rows) - 1)
    return {"as_far": -np.minimum(np.abs(away - rows[after - 1]), np.abs(rows[after] - away))}


def in_common_units(Z: Array, X: Array, known: Knowledge) -> tuple[Array, Array]:
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


def _span_scores(z: Array, x: Array) -> Array:
    """How near a record lies to an affine span of released rows, compared with chance.

    For each number of rows in a span, the record's distance from the affine span of its nearest
    rows is compared with its distance from their mean.
    """
    d = z.shape[1]
    some = z[:: max(1, len(z) // _MOST_SPANNED)]
    # As many rows as leave one direction free hold the whole group even where others lie between.
    most = min(d - 1, len(some) - 1, max(_SPANS))
    sizes = sorted({m for m in _SPANS if m < most} | ({most} if most > 1 else set()))
    if not sizes:
        return np.zeros(len(x))
    _, rows = nearest_rows(some, x, max(sizes))
    best = np.full(len(x), np.inf)
    for m in sizes:
        # An affine span of m rows takes (m - 1) / d of the square of a random direction.
        expected = np.sqrt(max(1.0 - (m - 1) / d, 1e-6))
        step = max(1, _BLOCK // (m * d))
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            left = _off_span(some[rows[part, :m]], x[part])
            best[part] = np.minimum(best[part], np.log(left / expected + 1e-9))
    return -best


def _off_span(near: Array, x: Array) -> Array:
    """Distance of each record from the affine span of some rows, over that from their mean."""
    along, off = near[:, 1:] - near[:, :1], x - near[:, 0]
    products = along @ along.transpose(0, 2, 1)
    # Rows that are equal span nothing; the ridge keeps their products solvable.
    m = products.shape[1]
    ridge = 1e-12 * np.trace(products, axis1=1, axis2=2) + 1e-300
    products[:, np.arange(m), np.arange(m)] += ridge[:, np.newaxis]
    share = np.linalg.solve(products, along @ off[:, :, np.newaxis])
    left = off - (share.transpose(0, 2, 1) @ along)[:, 0]
    away = np.square(x - near.mean(axis=1)).sum(axis=1)
    return np.asarray(np.sqrt(np.square(left).sum(axis=1)) / (np.sqrt(away) + 1e-12))


def _linker(Z: Array, X: Array, known: Knowledge) -> PairFit:
    """How well records fit released rows, by what known pairs teach.

    Where records in question are few, those of a sample show beside them what records are like.
    """
    from isinglass.attack.linking.linker import make_linker

    sample, more = known.find(PopulationSample), max(0, _ENOUGH_RECORDS - len(X))
    public = X if sample is None else np.vstack([X, sample.records[:more]])
    return make_linker(Z, known | PublicTable(public, complete=False), 0).fit()
