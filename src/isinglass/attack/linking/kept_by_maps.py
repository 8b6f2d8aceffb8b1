"""Invariants of linear maps and rotations: each row's distance from the mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.linking.families import FeatureFamily

Array = NDArray[Any]
Describe = Callable[[Array], Array]

#: Tables of more rows are not compared row by row with themselves.
_MOST_ROWS = 2_000
#: Columns up to which third moments are taken in tables of more rows.
_FEW_COLUMNS = 12
#: Directions in which a table varies by less than this share of the widest are rounding.
_ROUNDING = 1e-8


def kept_by_maps(Z: Array, P: Array) -> Iterator[FeatureFamily]:
    """Features of rows among all rows; release and table must hold the same records.

    An affine map of full rank keeps how far a row lies from the mean, by the table's own
    covariance, and how it lies to all others. A rotation keeps all distances, also where there
    are more columns than rows. Neither rows nor columns need correspond.
    """
    if min(len(Z), len(P)) < 4:
        return
    ours, theirs = _whitening(Z, Z.mean(axis=0)), _whitening(P, P.mean(axis=0))
    n_free = ours[1].shape[1]
    # Where all directions are taken, each row is as far from the mean as any other.
    if theirs[1].shape[1] == n_free and 0 < n_free < min(len(Z), len(P)) - 2:
        sides = _among_white(Z, *ours), _among_white(P, *theirs)
        yield FeatureFamily("places under any mixture", _both(*sides))
        # A sign for each row leaves second moments about zero; tools mix what has the mean zero.
        signed = _whitening(Z, np.zeros(Z.shape[1]))
        sides = _among_white(Z, *signed, even=True), _among_white(P, *theirs, even=True)
        yield FeatureFamily("places under any mixture and signs", _both(*sides))
    if max(len(Z), len(P)) <= _MOST_ROWS:
        unit = divisors(deviations(P))
        distances = _distances(Z, 1.0)
        yield FeatureFamily("distances to all rows", _both(distances, _distances(P, 1.0)))
        yield FeatureFamily(
            "distances to all rows, of deviations", _both(distances, _distances(P, unit))
        )


def _both(ours: Describe, theirs: Describe) -> Any:
    return lambda rows, records: (ours(rows), theirs(records))


def _whitening(table: Array, mean: Array) -> tuple[Array, Array]:
    """The mean, and weights that turn a table into columns without correlation about it."""
    unit = divisors(deviations(table))
    centered = (table - mean) / unit
    if len(table) > _MOST_ROWS:
        square, v = np.linalg.eigh(centered.T @ centered)
        size, v = np.sqrt(np.maximum(square, 0.0)), v.T
    else:
        _, size, v = np.linalg.svd(centered, full_matrices=False)
    real = size > _ROUNDING * max(float(size.max()), 1e-300)
    weights = (v[real] / size[real][:, np.newaxis]).T * np.sqrt(len(table))
    return mean, weights / unit[:, np.newaxis]


def _among_white(table: Array, mean: Array, weights: Array, *, even: bool = False) -> Describe:
    """Distance from the mean, and means of powers of products with all rows, or of even ones."""
    small, third = len(table) <= _MOST_ROWS, []
    cubed = not small and not even and weights.shape[1] <= _FEW_COLUMNS
    white = (table - mean) @ weights if small or cubed else table[:0]
    if cubed:
        third = [(white * column[:, np.newaxis]).T @ white / len(white) for column in white.T]

    def describe(rows: Array) -> Array:
        ours = (rows - mean) @ weights
        found = [np.sqrt(np.square(ours).sum(axis=1))]
        if small:
            products = ours @ white.T
            squares = np.square(products)
            found.append(np.sqrt(np.sqrt(np.square(squares).mean(axis=1))))
            if not even:
                found.append(np.cbrt(np.einsum("ij,ij->i", squares, products) / len(white)))
        elif cubed:
            cubes = sum(
                c * ((ours @ t) * ours).sum(axis=1) for c, t in zip(ours.T, third, strict=True)
            )
            found.append(np.cbrt(cubes))
        return np.column_stack(found)

    return _once(describe, table)


def _distances(table: Array, unit: Array | float) -> Describe:
    """Means of powers of the distances to all rows, in units of the mean distance."""
    center = table.mean(axis=0)
    others = (table - center) / unit
    squares = np.square(others).sum(axis=1)
    usual = float(np.sqrt(2 * squares.mean())) or 1.0

    def describe(rows: Array) -> Array:
        ours = (rows - center) / unit
        away = np.square(ours).sum(axis=1)[:, np.newaxis] + squares - 2 * ours @ others.T
        squared = np.maximum(away, 0.0) / usual**2
        away = np.sqrt(squared)
        means = [away.mean(axis=1), squared.mean(axis=1)]
        means += [np.einsum("ij,ij->i", squared, m) / len(others) for m in (away, squared)]
        return np.column_stack(means)

    return _once(describe, table)


def _once(describe: Describe, table: Array) -> Describe:
    """The same, which takes the whole table, asked for again and again, from the first time."""
    found: list[Array] = []

    def remembered(rows: Array) -> Array:
        if rows is not table:
            return describe(rows)
        if not found:
            found.append(describe(table))
        return found[0]

    return remembered
