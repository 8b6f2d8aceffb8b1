"""Regression of one noisy release on another release of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import clipped, deviations, divisors
from isinglass.attack.kept.predict import Ridge
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KeptColumns,
    Knowledge,
    KnownPairs,
    OtherReleases,
    RowOrder,
)
from isinglass.attack.learning.learners import HINGES, hinges, n_products, products
from isinglass.attack.noise.row_filter import filtered
from isinglass.attack.noise.size import noise_variance, others_sorted, releases_averaged
from isinglass.attack.order.row_pairs import distinct_pairs
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: What a regression may be made of: one kind of features, or of the curved ones the best.
WAYS = ("line", "curve", "products", "hinges", "waves")
#: Columns, made of those given, that a map may have; and rows that curved ones are learned from.
_MOST_FEATURES, _MOST_CURVED = 330, 5_000
#: Columns of other releases that are learned from, and categories of each column beside them.
_MOST_INPUTS, _MOST_MARKS = 150, 20
#: Random waves, and how fast they swing, per deviation of a column's ranks.
_WAVES, _SPEEDS = 60, (0.7, 2.0)
#: Standard errors by which what a regression leaves must exceed the noise to be read.
_SURE = 2.0


def explained(Z: Array, known: Knowledge, rng: np.random.Generator, way: str) -> Array:
    """The records behind a release of the table's own columns with noise, by other releases.

    Releases that are like this one are averaged with it; those of another kind, and columns that
    left as they were, are what it is explained by. Known pairs are targets without noise. What
    is not explained is read from the row itself, as far as it is more than noise.
    """
    inputs = _inputs(Z, known)
    seen = releases_averaged(Z, known)
    statistics, pairs = known.need(ColumnStatistics), known.find(KnownPairs)
    noise = noise_variance(seen, known, len(statistics.mean))
    if noise is None:
        raise AttackError("this attack needs a release of the table's own columns")
    values = seen - statistics.mean
    weights = np.full(len(Z), _weight(values, noise))
    rows, records = np.zeros(0, dtype=np.intp), values[:0]
    if pairs is not None and len(pairs.rows):
        rows, records = distinct_pairs(pairs, len(Z))
        values[rows], weights[rows] = records - statistics.mean, 1.0
    found, left_out = regress(inputs, values, weights, rng, way)
    order = known.find(RowOrder)
    along = np.arange(len(Z)) if order is None else np.argsort(order.positions, kind="stable")
    rest = filtered((values - found)[along], noise, known, ordered=order is not None)
    found[along] += rest
    left = values - left_out
    left[along] -= rest
    noisy = np.ones(len(Z), dtype=bool)
    noisy[rows] = False
    found += read_rest(values - found, left[noisy], noise)
    guess = statistics.mean + found
    guess[rows] = records
    return clipped(guess, known)


def _inputs(Z: Array, known: Knowledge) -> Array:
    """Columns of releases of another kind, and of what was kept."""
    known.need(OtherReleases)
    tables = [table for table, same in others_sorted(Z, known) if not same]
    if not tables or any(len(table) != len(Z) for table in tables):
        raise AttackError(f"this attack needs another kind of release of the same {len(Z)} rows")
    found, kept = np.column_stack(tables)[:, :_MOST_INPUTS], known.find(KeptColumns)
    if kept is None:
        return found
    marks = [_one_hot(column) for column in kept.values[:, kept.is_category].T]
    return np.column_stack([found, kept.values[:, ~kept.is_category], *marks])


def _one_hot(codes: Array) -> Array:
    """An indicator column for each of the most frequent categories."""
    values, counts = np.unique(codes, return_counts=True)
    often = values[np.argsort(-counts, kind="stable")][:_MOST_MARKS]
    return np.asarray(codes[:, np.newaxis] == often, dtype=np.float64)


def _weight(values: Array, noise: Array) -> float:
    """Of a noisy row against a known record, where half of a column's variance is explained."""
    spread = np.square(values).mean(axis=0)
    own = np.maximum(spread - noise, 1e-12 * spread) / 2
    varies = spread > 0
    shares = (own / np.maximum(own + noise, 1e-300))[varies]
    return max(float(shares.mean()), 1e-9) if varies.any() else 1.0


def regress(
    inputs: Array,
    values: Array,
    weights: Array,
    rng: np.random.Generator,
    way: str,
) -> tuple[Array, Array]:
    """Values of every row by all that was learned, and by all but its own.

    Each row's noisy `values`, of mean 0, are known, with weights as errors are smaller. Noise that
    has nothing to do with the inputs averages out over the rows. With the `way` "curve" it is of
    the curved maps the one that does best on rows left out, all columns together: strong noise
    would make the choice for a single one a matter of luck.
    """
    everyone = trained = np.arange(len(values))
    if way != "line" and len(trained) > _MOST_CURVED:
        # Rows of known records weigh most.
        trained = np.argsort(-weights + 1e-9 * rng.random(len(weights)))[:_MOST_CURVED]
        values, weights = values[trained], weights[trained]
    scale = divisors(np.sqrt(np.square(values).mean(axis=0)))
    best, least = None, np.inf
    for features in _features(inputs, len(trained), rng, way):
        ridge = Ridge.of(_with_one(features), trained, values, weights, rng)
        left = (ridge.predict(trained) - values) / scale
        loss = float((weights[:, np.newaxis] * np.square(left)).sum())
        if best is None or loss < least:
            best, least = ridge, loss
    if best is None:
        nothing = np.zeros((len(inputs), values.shape[1]))
        return nothing, nothing.copy()
    return best.fitted(everyone), best.predict(everyone)


def read_rest(left: Array, left_out: Array, noise: Array) -> Array:
    """The part of what a regression leaves of each row that is no noise, in the mean.

    `left_out` is what is left of rows that were not learned from: in the others some of the noise
    was learned. One share for all columns, since for each of them it would be a matter of luck.
    """
    spread = np.square(left_out).mean(axis=0)
    used = spread > 0
    if not used.any():
        return np.zeros_like(left)
    shares = 1.0 - noise[used] / spread[used]
    share = float(shares.mean())
    if share < _SURE * np.sqrt(2.0 / left_out[:, used].size):
        return np.zeros_like(left)
    return min(share, 1.0) * left


def _features(inputs: Array, n_rows: int, rng: np.random.Generator, way: str) -> Iterator[Array]:
    """A line's features, or those of curved maps where rows are plenty."""
    line = _in_units(inputs)
    if way == "line":
        yield line
        return
    made: dict[str, tuple[int, Callable[[], Array]]] = {
        "products": (n_products(line.shape[1]), lambda: products(line)(line)),
        "hinges": ((1 + HINGES) * line.shape[1], lambda: hinges(line)(line)),
        "waves": (2 * line.shape[1] + len(_SPEEDS) * _WAVES, lambda: _waves(line, rng)),
    }
    for name, (count, make) in made.items():
        if way in ("curve", name) and count <= min(_MOST_FEATURES, n_rows // 2):
            yield _in_units(make())


def _waves(line: Array, rng: np.random.Generator) -> Array:
    """Ranks and random waves of them: smooth functions of several columns at once."""
    ranks = np.argsort(np.argsort(line, axis=0), axis=0) / max(len(line) - 1, 1)
    even = (ranks - 0.5) * np.sqrt(12)
    waves = [
        np.cos(
            even @ rng.normal(scale=speed, size=(even.shape[1], _WAVES))
            + rng.uniform(0, 2 * np.pi, _WAVES)
        )
        for speed in _SPEEDS
    ]
    return np.column_stack([line, even, *waves])


def _in_units(columns: Array) -> Array:
    return np.asarray((columns - columns.mean(axis=0)) / divisors(deviations(columns)))


def _with_one(features: Array) -> Array:
    return np.column_stack([np.ones(len(features)), features])
