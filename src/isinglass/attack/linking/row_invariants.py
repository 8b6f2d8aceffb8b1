"""Linking features from row sums, row norms, and invariants learned from pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.columns.scalings import Scalings
from isinglass.attack.linking.families import FeatureFamily, Of, Seen
from isinglass.attack.linking.invariants import both, direction

Array = NDArray[Any]
Expand = Callable[[Array], Array]

#: Most columns of table and release for which products of pairs of columns are tried.
_FEW_COLUMNS = 12
#: Pairs beyond a function's degrees of freedom, so that it does not fit them by construction.
_SPARE = 4
#: Share of the variance left between two functions that are equal up to rounding ...
_EXACT = 1e-9
#: ... and between two that are nearly equal.
_NEARLY = 0.1
#: Most numbers in a mixture that is found up to a factor for each row.
_MOST_UNKNOWN = 420


def totals_and_sizes(scalings: Scalings) -> Iterator[FeatureFamily]:
    """Row sums, kept by noise that sums to zero in a row, and row norms, kept by rotations."""
    s = scalings
    units: dict[str, Of] = {
        "in the table's units": s.raw,
        "in deviations": s.in_units,
        "of deviations": s.standard_records,
        "of deviations by n": s.standard_records_by_n,
        "divided by deviations": s.divided_records,
        "divided by deviations by n": s.divided_records_by_n,
        "of ranges": s.range_records,
        "from the mean": s.centered_in_units,
        "standardized": s.standard,
    }
    for name, of in units.items():
        yield FeatureFamily(f"total of the row, {name}", both(_total, of))
        yield FeatureFamily(f"size of the row, {name}", both(_size, of))
    yield FeatureFamily(
        "size of the row, from the mean, in the table's units", both(_size, s.centered)
    )


def learned_functions(Z: Array, mean: Array, unit: Array) -> Iterator[FeatureFamily]:
    """Functions of released row and record that known pairs show to be the same.

    `mean` and `unit` are those of the table's columns, which need not correspond.
    """
    ours = _scaler(Z.mean(axis=0), divisors(deviations(Z)))
    theirs = _scaler(mean, unit)
    p, d = Z.shape[1], len(mean)
    shapes: dict[str, tuple[Expand, Expand]] = {
        "sums of columns": (ours, theirs),
        "sums of columns and squares": (_squared(ours), _squared(theirs)),
        "sums of logarithms": (_logs, _logs),
    }
    if max(p, d) <= _FEW_COLUMNS:
        shapes["sums of products"] = _products(ours), _products(theirs)
    for name, sides in shapes.items():
        yield _from_pairs(f"the same {name}", _in_common(*sides))
    if d <= _FEW_COLUMNS:
        known = _products(theirs)
        yield _from_pairs("squares of mixtures", _forward(np.square, known))
        if p <= _FEW_COLUMNS:
            name = "mixtures times a sign for each row"
            yield _from_pairs(name, _forward(_pairwise_products, known))
    if p > 1 and p * (d + 1) <= _MOST_UNKNOWN:
        name = "direction of a mixture"
        yield _from_pairs(name, _mixed(_identity, theirs))
        if (np.abs(Z) <= 1).all():
            yield _from_pairs(f"{name}, bent", _mixed(_arctanh, theirs))


def _from_pairs(name: str, fit: Callable[[Seen], Of]) -> FeatureFamily:
    return FeatureFamily(name, _constant_feature, fit, needs_many_pairs=True)


def _constant_feature(rows: Array, records: Array) -> tuple[Array, Array]:
    """A feature equal for all rows and records, for when there are too few pairs to learn one."""
    return np.zeros((len(rows), 1)), np.zeros((len(records), 1))


def _in_common(ours: Expand, theirs: Expand) -> Callable[[Seen], Of]:
    """Linear functions of row and record that are equal: canonical correlations of 1."""

    def fit(seen: Seen) -> Of:
        a, b = ours(seen.rows), theirs(seen.records)
        if len(a) < 8 or not (np.isfinite(a).all() and np.isfinite(b).all()):
            return _constant_feature
        (left, to_left), (right, to_right) = _directions(a), _directions(b)
        spare = len(a) - 1 - left.shape[1] - right.shape[1]
        if spare < _SPARE:
            return _constant_feature
        u, same, v = np.linalg.svd(left.T @ right)
        remains = 1 - np.square(np.minimum(same, 1.0))
        found = remains < _EXACT
        if not found.any():
            # Of many functions some agree by chance, in as many pairs as were left to show it.
            found = remains * len(a) / spare < _NEARLY
        if not found.any():
            found[:1] = True
        n = int(found.sum())
        weights = to_left @ u[:, :n], to_right @ v[:n].T
        means = a.mean(axis=0), b.mean(axis=0)

        def of(rows: Array, records: Array) -> tuple[Array, Array]:
            return (ours(rows) - means[0]) @ weights[0], (theirs(records) - means[1]) @ weights[1]

        return of

    return fit


def _directions(features: Array) -> tuple[Array, Array]:
    """An orthonormal basis of the features' columns, and the weights that make it."""
    centered = features - features.mean(axis=0)
    u, size, v = np.linalg.svd(centered, full_matrices=False)
    real = size > 1e-8 * max(float(size[0]), 1e-300)
    return u[:, real], v[real].T / size[real]


def _forward(shape: Expand, theirs: Expand) -> Callable[[Seen], Of]:
    """A shape of the row as a sum of the record's features, by least squares."""

    def fit(seen: Seen) -> Of:
        shown, known = shape(seen.rows), _with_intercept(theirs(seen.records))
        if len(known) < known.shape[1] + _SPARE:
            return _constant_feature
        weights = np.linalg.lstsq(known, shown, rcond=1e-10)[0]

        def of(rows: Array, records: Array) -> tuple[Array, Array]:
            return shape(rows), _with_intercept(theirs(records)) @ weights

        return of

    return fit


def _mixed(shape: Expand, theirs: Expand) -> Callable[[Seen], Of]:
    """The mixture of a record whose direction is the row's, whatever the row was multiplied by.

    What of x B is perpendicular to z must vanish, which is linear in B: its smallest eigenvector.
    """

    def fit(seen: Seen) -> Of:
        z, x = _unit(shape(seen.rows)), _with_intercept(theirs(seen.records))
        p, d = z.shape[1], x.shape[1]
        if len(z) * (p - 1) < p * d + _SPARE * p or not np.isfinite(z).all():
            return _constant_feature
        across = np.eye(p) - z[:, :, np.newaxis] * z[:, np.newaxis]
        square = np.einsum("ni,nj,nkl->ikjl", x, x, across, optimize=True)
        _, vectors = np.linalg.eigh(square.reshape(d * p, d * p))
        mixture = vectors[:, 0].reshape(d, p)

        def of(rows: Array, records: Array) -> tuple[Array, Array]:
            return direction(shape(rows)), direction(_with_intercept(theirs(records)) @ mixture)

        return of

    return fit


def _scaler(center: Array, unit: Array) -> Expand:
    return lambda rows: (rows - center) / unit


def _squared(inner: Expand) -> Expand:
    def expand(rows: Array) -> Array:
        scaled = inner(rows)
        return np.hstack([scaled, np.square(scaled)])

    return expand


def _products(inner: Expand) -> Expand:
    def expand(rows: Array) -> Array:
        scaled = inner(rows)
        return np.hstack([scaled, _pairwise_products(scaled)])

    return expand


def _pairwise_products(rows: Array) -> Array:
    left, right = np.triu_indices(rows.shape[1])
    return np.asarray(rows[:, left] * rows[:, right])


def _logs(rows: Array) -> Array:
    return np.asarray(np.log(np.maximum(np.abs(rows), 1e-30)))


def _with_intercept(rows: Array) -> Array:
    return np.hstack([np.ones((len(rows), 1)), rows])


def _unit(rows: Array) -> Array:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1.0))


def _identity(rows: Array) -> Array:
    return rows


def _arctanh(rows: Array) -> Array:
    """Values between -1 and 1 as those of a hyperbolic tangent."""
    return np.asarray(np.arctanh(np.clip(rows, -1 + 1e-12, 1 - 1e-12)))


def _total(rows: Array) -> Array:
    return np.asarray(rows.sum(axis=1, keepdims=True))


def _size(rows: Array) -> Array:
    return np.asarray(np.linalg.norm(rows, axis=1, keepdims=True))
