"""Extra predictor columns for learners: kept values, groups and the order of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.knowledge import KeptColumns, Knowledge, PopulationSample, RowOrder
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Categories of a kept column that get a column of their own: the most frequent among the pairs.
_MOST_CATEGORIES = 20
#: How much of the distance from the mean an interpolated value keeps.
_SHARES = (1.0, 0.75, 0.5, 0.25)
#: Released columns that are read as labels, those with the most values first; and values to a pair.
_MOST_LABELS, _VALUES_A_PAIR = 8, 3
#: Two values are a line.
_FEWEST_VALUES = 3
_TRIED = 256  # columns, and rows by which most are seen to have too many values


@dataclass(frozen=True)
class Beside:
    """What is known beside the release, as columns for all rows.

    `guesses` are whole guesses of the records (with, for the known pairs, the guess that did not
    use them), each of which a learner may take as it is or as further columns.
    """

    columns: tuple[Array, ...] = field(repr=False)
    guesses: tuple[Array, ...] = field(repr=False)

    @classmethod
    def of(cls, known: Knowledge, rows: Rows, targets: Array, n: int, scale: Any) -> Beside:
        """`targets` are the records of the pairs; `scale` brings a sample's to their units."""
        columns, guesses = [], []
        kept = known.find(KeptColumns)
        if kept is not None:
            numbers = kept.values[:, ~kept.is_category]
            columns += [_in_units(numbers[:, [j]]) for j in range(numbers.shape[1])]
            codes = kept.values[:, kept.is_category]
            columns += [_indicators(code, rows) for code in codes.T]
            theirs, records = _sampled(known, kept, targets.shape[1], scale)
            guesses += [
                group_means(code, rows, targets, their, records)
                for code, their in zip(codes.T, theirs.T, strict=True)
            ]
        order = known.find(RowOrder)
        if order is not None:
            if len(order.positions) != n:
                raise AttackError(f"the order of the rows must be {n} numbers, one for each row")
            columns.append(_in_units(order.positions[:, np.newaxis].astype(np.float64)))
            if len(rows) > 3:
                guesses.append(interpolated(order.positions.astype(np.float64), rows, targets))
        return cls(tuple(c for c in columns if c.shape[1]), tuple(guesses))


def _sampled(
    known: Knowledge, kept: KeptColumns, n_columns: int, scale: Any
) -> tuple[Array, Array]:
    """Categories and records of the sample; none where its kept values are not known."""
    sample, n_kept = known.find(PopulationSample), kept.values.shape[1]
    if sample is None or sample.kept is None or sample.kept.shape[1] != n_kept:
        return np.empty((0, int(kept.is_category.sum()))), np.empty((0, n_columns))
    return sample.kept[:, kept.is_category], np.asarray(scale(sample.records))


def group_means(
    codes: Array, rows: Rows, targets: Array, other_codes: Array, others: Array
) -> Array:
    """The mean record of each row's category, from the pairs and from other records.

    A pair does not count in its own mean. With the variance w within groups and b between their
    true means, the mean of n records is best kept to n / (n + w / b) of its distance from the
    mean of all (a random-effects model).
    """
    seen = np.concatenate([codes[rows], other_codes])
    records = np.vstack([targets, others])
    values, group = np.unique(seen, return_inverse=True)
    count = np.bincount(group).astype(np.float64)[:, np.newaxis]
    center = records.mean(axis=0)
    sums = np.zeros((len(values), records.shape[1]))
    np.add.at(sums, group, records - center)
    means = sums / count
    freedom = max(len(records) - len(values), 1)
    within = np.square(records - center - means[group]).sum(axis=0) / freedom
    # The means vary by b and by w / n; what is left of the first after the second is b.
    between = np.square(means).mean(axis=0) - within * (1.0 / count).mean()
    told = (between > 0) & (len(records) > len(values))
    ratio = np.where(told, within / np.where(told, between, 1.0), np.inf)
    place = np.minimum(np.searchsorted(values, codes), len(values) - 1)
    total, number = sums[place], count[place]
    unknown = values[place] != codes
    total[unknown], number[unknown] = 0.0, 0.0
    total[rows] -= targets - center
    number[rows] -= 1.0
    return np.asarray(center + total / np.maximum(number + ratio, 1e-300))


def interpolated(positions: Array, rows: Rows, targets: Array) -> Array:
    """Between known rows in the order of the file; known ones between their neighbors."""
    order = np.argsort(positions[rows], kind="stable")
    places, values = positions[rows][order], targets[order]
    left_out = np.empty_like(values)
    before, after = values[:-2], values[2:]
    gap = np.maximum(places[2:] - places[:-2], 1e-300)
    weight = ((places[1:-1] - places[:-2]) / gap)[:, np.newaxis]
    left_out[1:-1] = (1 - weight) * before + weight * after
    left_out[0], left_out[-1] = values[1], values[-2]
    center = values.mean(axis=0)
    errors = [np.square(center + s * (left_out - center) - values).mean(axis=0) for s in _SHARES]
    share = np.asarray(_SHARES)[np.argmin(errors, axis=0)]
    found = np.column_stack([np.interp(positions, places, column) for column in values.T])
    found[rows[order]] = left_out
    return np.asarray(center + share * (found - center))


def _in_units(columns: Array) -> Array:
    return np.asarray((columns - columns.mean(axis=0)) / divisors(deviations(columns)))


def _indicators(codes: Array, rows: Rows) -> Array:
    """A column for each category that several pairs have, of size one together."""
    values, count = np.unique(codes[rows], return_counts=True)
    often = values[count > 1][np.argsort(-count[count > 1], kind="stable")][:_MOST_CATEGORIES]
    found = (codes[:, np.newaxis] == often).astype(np.float64)
    spread = float(np.sqrt(found.var(axis=0).sum()))
    return np.asarray((found - found.mean(axis=0)) / (spread if spread > 0 else 1.0))


def means_by_label(own: Array, rows: Rows, targets: Array) -> tuple[Array, ...]:
    """For each column of few values, and for all together, the mean record of each row's value.

    The number of a cluster says nothing by its size, only by which records share it. Means of few
    records are drawn toward that of all; a known pair's is that of the others.
    """
    labels = _labels(own, len(rows))
    if len(labels) > 1:
        together = np.unique(np.column_stack(labels), axis=0, return_inverse=True)[1].ravel()
        if together.max() < _VALUES_A_PAIR * len(rows):
            labels.append(together)
    nobody = np.empty(0), np.empty((0, targets.shape[1]))
    return tuple(group_means(codes.astype(float), rows, targets, *nobody) for codes in labels)


def _labels(own: Array, n_pairs: int) -> list[Rows]:
    """Codes of the columns that could be labels."""
    n, found = len(own), []
    most = min(_VALUES_A_PAIR * n_pairs, n // 4)
    for column in own[:, :_TRIED].T:
        if len(np.unique(column[:_TRIED])) > most:
            continue
        values, codes = np.unique(column, return_inverse=True)
        if _FEWEST_VALUES <= len(values) <= most:
            found.append((len(values), codes.ravel()))
    found.sort(key=lambda one: -one[0])
    return [codes for _, codes in found[:_MOST_LABELS]]
