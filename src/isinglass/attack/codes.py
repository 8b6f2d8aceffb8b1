"""Attack on codes: match them with values by frequency and by what occurs together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, Scenario, rows_of
from isinglass.attack.columns.marginals import clipped
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    Knowledge,
    KnownPairs,
    PopulationSample,
    PublicTable,
)
from isinglass.attack.linking.code_patterns import counts_of, has_patterns, row_colors, same_columns
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]


class CodesAttack(Attack):
    """Make a dictionary of each column's codes and read the release with it.

    A code for each value leaves which cells are equal and how often each value occurs. With a
    public table, rows and records get colors by that (see `patterns.row_colors`), and rows whose
    color is a single record's say what their codes mean. With a sample, codes and values are
    matched from the most frequent on, as far as their frequencies are apart. Known pairs are
    entries of the dictionary. A code without an entry is read as its column's mean.
    """

    name = "codes"
    story = "opens codes by how often they occur and in which company"
    needs = (ColumnStatistics,)
    # How often a code occurs in a part of the file tells less than in all of it.
    scenarios = (
        Scenario((ColumnStatistics, PopulationSample), whole=True),
        Scenario((ColumnStatistics, PopulationSample, KnownPairs), "few", whole=True),
        Scenario((ColumnStatistics, PublicTable), whole=True),
    )

    def __init__(self, *, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        Z, known = rows_of(released), Knowledge.of(knowledge)
        public, sample = known.find(PublicTable), known.find(PopulationSample)
        pairs, mean = known.find(KnownPairs), known.need(ColumnStatistics).mean
        d = len(mean)
        if public is None and sample is None and pairs is None:
            raise AttackError("codes can be read with a sample, pairs or a public table only")
        if not has_patterns(Z):
            return np.tile(np.asarray(mean, dtype=np.float64), (len(Z), 1))
        records = public.records if public is not None else None
        if records is None:
            records = sample.records if sample is not None else None
        columns = np.arange(d) if d == Z.shape[1] else np.full(d, -1, dtype=np.intp)
        if records is not None:
            columns = same_columns(Z, records)
        guess = np.tile(np.asarray(mean, dtype=np.float64), (len(Z), 1))
        linked = None
        if public is not None:
            found = columns >= 0
            rng = chance.generator(self.random_state)
            linked = _single(*row_colors(Z[:, columns[found]], public.records[:, found], rng))
        for j in np.flatnonzero(columns >= 0):
            codes = Z[:, columns[j]]
            where, counts = counts_of(codes)
            entries = np.full(len(counts), np.nan)
            if records is not None:
                entries = _by_frequency(counts, records[:, j], len(Z), exact=public is not None)
            if public is not None and linked is not None:
                rows, who = linked
                entries = _voted(where[rows], public.records[who, j], entries)
            if pairs is not None and len(pairs.rows):
                entries = _voted(where[pairs.rows], pairs.records[:, j], entries)
            read = entries[where]
            guess[:, j] = np.where(np.isnan(read), guess[:, j], read)
        return clipped(guess, known)


def _single(released: Array, records: Array) -> tuple[Rows, Rows]:
    """Rows whose color is that of a single record, and of no other row, in any round."""
    row_of: dict[int, int] = {}
    for ours, theirs in zip(released, records, strict=True):
        n = int(max(ours.max(), theirs.max())) + 1
        single = (np.bincount(ours, minlength=n) == 1) & (np.bincount(theirs, minlength=n) == 1)
        place = np.zeros(n, dtype=np.intp)
        place[theirs] = np.arange(len(theirs))
        for row in np.flatnonzero(single[ours]):
            row_of.setdefault(int(row), int(place[ours[row]]))
    return np.array(list(row_of), dtype=np.intp), np.array(list(row_of.values()), dtype=np.intp)


def _voted(codes: Array, values: Array, entries: Array) -> Array:
    """The dictionary with the value that most rows of known meaning give to each code."""
    out = entries.copy()
    if len(codes):
        pairs, votes = np.unique(np.column_stack([codes, values]), axis=0, return_counts=True)
        for i in np.argsort(votes, kind="stable"):  # the most votes last
            out[int(pairs[i, 0])] = pairs[i, 1]
    return out


def _by_frequency(counts: Array, values: Array, n_rows: int, *, exact: bool) -> Array:
    """The dictionary from frequencies: the k-th most frequent code is the k-th value.

    Of the whole table counts must be equal, and nobody else's; of a sample they must be apart by
    two standard errors from the next on both sides, from the most frequent value on.
    """
    entries = np.full(len(counts), np.nan)
    distinct, often = np.unique(values, return_counts=True)
    if exact and len(values) == n_rows:
        for count in np.intersect1d(counts, often):
            code, value = np.flatnonzero(counts == count), np.flatnonzero(often == count)
            if len(code) == len(value) == 1:
                entries[code[0]] = distinct[value[0]]
        return entries
    ours, theirs = np.argsort(-counts, kind="stable"), np.argsort(-often, kind="stable")
    sizes = np.append(often[theirs], 0)
    for k in range(min(len(ours), len(theirs))):
        if sizes[k] - sizes[k + 1] <= 2 * np.sqrt(sizes[k] + sizes[k + 1]):
            break
        entries[ours[k]] = distinct[theirs[k]]
    return entries
