"""Decoding attack: try all combinations of a few values under a map learned from pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.base import Attack, all_seen
from isinglass.attack.columns.marginals import clipped, deviations, divisors, statistics_for
from isinglass.attack.knowledge import Fact, KeptColumns, Knowledge, KnownPairs, PopulationSample
from isinglass.attack.learning.learners import (
    MOST_PRODUCTS,
    Expand,
    fit_expanded,
    n_products,
    products,
)
from isinglass.attack.learning.regression import Fit
from isinglass.attack.order.row_pairs import distinct_pairs
from isinglass.errors import AttackError

if TYPE_CHECKING:
    from isinglass.attack.lattice.combinations import Images, Levels
    from isinglass.attack.learning.forward_map import Pairs

Array = NDArray[Any]

#: A map explains a released column if three pairs of four, left out, are off by no more than this
#: share of its variance. Errors below the next share are rounding.
_NEAR, _NO_ERROR, _PAIRS = 0.02, 1e-20, 0.75
#: Beside such a column, others that are explained so far tell something, too.
_SOME = 0.25
#: Rounding of the release, as a share of a column's deviation.
_ROUNDING = 1e-12
#: Pairs beyond those that any map of its kind would pass through.
_SPARE = 3
#: Released columns that are looked at, those explained best.
_MOST_COLUMNS = 8
#: Values nearer than this, in deviations, are the same but for rounding.
_SAME = 1e-9


@dataclass(frozen=True)
class Decoder:
    """A map from records to some released columns, and the values that records consist of."""

    levels: Levels
    seen: Array = field(repr=False)  # released columns that the map explains, of all rows
    error: Array = field(repr=False)  # of each
    fit: Fit = field(repr=False)
    columns: NDArray[np.intp]
    center: Array = field(repr=False)  # records go into the map in these units
    unit: Array = field(repr=False)
    additive: bool

    def image(self, records: Array) -> Array:
        """Released rows that records would have, in units of the map's error."""
        shown = self.fit.predict((records - self.center) / self.unit)
        return np.asarray(shown[:, self.columns] / self.error)

    def images(self) -> Images:
        """Of all combinations of levels."""
        from isinglass.attack.lattice.combinations import Images

        if not self.additive:
            return Images.listed(self.levels, self.image)
        first = np.array([values[0] for values in self.levels.values])
        origin = self.image(first[np.newaxis])
        contributions = []
        for j, values in enumerate(self.levels.values):
            records = np.tile(first, (len(values), 1))
            records[:, j] = values
            contributions.append(self.image(records) - origin * (j > 0))
        return Images.added(contributions)

    def guess(self, otherwise: Array) -> Array:
        """The mean of all combinations that fit a row, by how well they do and how common."""
        n = len(self.seen)
        guess = np.tile(np.asarray(otherwise, dtype=np.float64), (n, 1))
        for rows, numbers, off in self.images().near(self.seen / self.error):
            if not len(rows):
                continue
            logs = self.levels.common(numbers) - off / 2.0
            best = np.full(n, -np.inf)
            np.maximum.at(best, rows, logs)
            weights = np.exp(logs - best[rows])
            total = np.bincount(rows, weights, n)
            found = total > 0
            for j, column in enumerate(self.levels.records(numbers).T):
                guess[found, j] = (np.bincount(rows, weights * column, n) / total)[found]
        return guess


class DecodingAttack(Attack):
    """Learn the map from records to the release, then try all records there could be.

    Where every column has few values, as answers to a questionnaire have, a released number may
    be that of one combination of values only: a single released column gives away all others.
    Known pairs teach the map: affine, with each column bent by the function of a multiparty
    release, any sum of functions of single columns, or quadratic. The values are those of the
    pairs and of a `PopulationSample`. Up to two million combinations are listed; of a map that
    adds up what columns contribute, ten billion are found by adding two lists. Where several fit
    a row the guess is their mean, weighted by how common their values are; where none does it is
    the mean of the column. An `AttackError` says that columns have too many values, or that no
    map explains pairs left out.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(1, 6, size=(200, 3)).astype(float)  # answers
    >>> Z = X @ [[1.0], [6.0], [36.0]]  # a single column
    >>> known = ig.attacks.KnownPairs(np.arange(40), X[:40]) | ig.attacks.PublicTable(X)
    >>> guess = ig.attacks.DecodingAttack().guess(Z, known)
    >>> bool(np.allclose(guess, X))
    True
    """

    name: ClassVar[str] = "decoding"
    story = "tries all combinations of values under a map that known pairs teach"
    needs: ClassVar[tuple[type[Fact], ...]] = (KnownPairs,)
    needs_rows = True

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The table as the combinations of values that explain its rows."""
        known = Knowledge.of(knowledge)
        decoder = self.learn(released, known)
        rows, records = distinct_pairs(known.need(KnownPairs), len(decoder.seen), required=True)
        statistics = statistics_for(known, records.shape[1])
        pool = _records(known, records)
        mean = pool.mean(axis=0) if statistics is None else statistics.mean
        guess = clipped(decoder.guess(mean), known)
        guess[rows] = records
        return guess

    def learn(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Decoder:
        """The map that the pairs teach; an `AttackError` where there is nothing to decode."""
        # Only where columns have few values.
        from isinglass.attack.lattice.combinations import Levels, check_work
        from isinglass.attack.learning.forward_map import Pairs

        known = Knowledge.of(knowledge)
        Z = all_seen(released, known.without(KeptColumns))
        rows, records = distinct_pairs(known.need(KnownPairs), len(Z), required=True)
        statistics, pool = statistics_for(known, records.shape[1]), _records(known, records)
        bounds = (None, None) if statistics is None else (statistics.low, statistics.high)
        levels = Levels.of(pool, *bounds)
        pairs = Pairs.of(records, Z[rows], pool, known)
        variance = deviations(pairs.shown) ** 2
        best: tuple[_Map, Fit, Array] | None = None
        most = 0.0
        for one in _maps(pairs, levels, records):
            fit = _fitted(one, pairs)
            if fit is None:
                continue
            wrong = np.quantile(np.square(fit.left_out), _PAIRS, axis=0)
            share = np.where(variance > 0, wrong / divisors(variance), 1.0)
            told = np.where(share <= _SOME, -np.log(np.maximum(share, _NO_ERROR)), 0.0)
            if share.min() <= _NEAR and told.sum() > most:
                best, most = (one, fit, told), float(told.sum())
        if best is None:
            raise AttackError("decoding needs a map that explains known pairs left out, found none")
        one, fit, told = best
        check_work(one.levels, len(Z), additive=one.additive)
        columns = np.argsort(-told, kind="stable")[: min(_MOST_COLUMNS, int((told > 0).sum()))]
        error = _error(one, fit, pairs)[columns]
        center, unit = pool.mean(axis=0), divisors(deviations(pool))
        return Decoder(one.levels, Z[:, columns], error, fit, columns, center, unit, one.additive)


@dataclass(frozen=True, slots=True)
class _Map:
    """A kind of map: linear in columns made from those given."""

    expand: Expand = field(repr=False)
    levels: Levels = field(repr=False)
    additive: bool = True  # a sum of functions of single columns

    def freedom(self, inputs: Array) -> int:
        """How many pairs any map of this kind passes through."""
        made = self.expand(inputs)
        return 1 + int(np.linalg.matrix_rank(made - made.mean(axis=0)))


def _maps(pairs: Pairs, levels: Levels, records: Array) -> Iterator[_Map]:
    """Kinds of maps that releases are made by, the simplest first."""
    yield _Map(lambda rows: rows, levels)
    for expand in pairs.maps:
        yield _Map(expand, levels)
    # What a value contributes that no pair has is not known.
    yield _Map(_indicators(pairs.records), levels.among(records))
    if n_products(records.shape[1]) <= MOST_PRODUCTS and levels.can_be_listed:
        yield _Map(products(pairs.records), levels, additive=False)


def _indicators(records: Array) -> Expand:
    """A column for each value of each column: sums of any functions of single columns."""
    values = [np.unique(column) for column in records.T]

    def expand(rows: Array) -> Array:
        return np.hstack(
            [
                np.abs(column[:, np.newaxis] - v) < _SAME
                for column, v in zip(rows.T, values, strict=True)
            ]
        ).astype(np.float64)

    return expand


def _fitted(one: _Map, pairs: Pairs) -> Fit | None:
    """The map that the pairs teach; None where there are too few of them."""
    if len(pairs.records) < one.freedom(pairs.records) + _SPARE:
        return None
    return fit_expanded(one.expand, pairs.records, pairs.shown, held_back=False)


def _error(one: _Map, fit: Fit, pairs: Pairs) -> Array:
    """The map's error in each released column: deviations of the pairs from it, or rounding."""
    m = len(pairs.records)
    squares = np.square(fit.predict(pairs.records) - pairs.shown).sum(axis=0)
    error = np.sqrt(squares / (m - one.freedom(pairs.records)))
    return np.asarray(np.maximum(error, _ROUNDING * divisors(deviations(pairs.shown))))


def _records(known: Knowledge, records: Array) -> Array:
    """Records of the pairs and of the sample."""
    sample = known.find(PopulationSample)
    if sample is None or sample.records.shape[1] != records.shape[1]:
        return records
    return np.vstack([records, sample.records])
