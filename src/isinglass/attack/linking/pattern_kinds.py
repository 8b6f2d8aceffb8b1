"""Row features for releases whose columns correspond to the table's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.scalings import Scalings
from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.linking.families import FeatureFamily, Of, Seen
from isinglass.attack.linking.invariants import both, direction, invariants
from isinglass.attack.linking.quiet import quiet_directions
from isinglass.attack.linking.residues import residues
from isinglass.attack.linking.row_invariants import totals_and_sizes
from isinglass.measure.separation import sample_rows

Array = NDArray[Any]

#: Rows and records that show what features are like among strangers.
SOME = 1000


def features_of(
    Z: Array,
    P: Array,
    statistics: ColumnStatistics | None,
    rng: np.random.Generator,
    *,
    known: bool = False,
    brief: bool = False,
) -> list[FeatureFamily]:
    """Features in which a row and its record may agree; some need known pairs. Plain values first.

    `statistics` of the whole table, where the records are but a few of them. `brief` leaves out
    those that take longest.
    """
    scalings = scalings_of(Z, P, statistics, rng)
    quick = [*invariants(scalings), *within_rows(scalings), *totals_and_sizes(scalings)]
    if brief:
        return quick
    return [
        *quick,
        *quiet_directions(Z, P),
        column_ranks(np.sort(Z, axis=0), np.sort(P, axis=0)),
        *residues(P, known=known),
    ]


def scalings_of(
    Z: Array, P: Array, statistics: ColumnStatistics | None, rng: np.random.Generator
) -> Scalings:
    some = tuple(m[sample_rows(len(m), rng, SOME)] for m in (Z, P))
    return Scalings(Z, P, (some[0], some[1]), statistics)


def within_rows(scalings: Scalings) -> Iterator[FeatureFamily]:
    """Features of rows of several columns, which correspond.

    A permutation of its own for each row leaves the sorted values. One number added to all values
    of a row leaves their deviations from the row's mean; one that multiplies them, too, leaves
    the direction of those. Whatever bends all values of a row alike leaves their order.
    """
    s = scalings
    if len(s.mean) < 2:
        return
    shifted: dict[str, Of] = {
        "in the table's units": s.centered,
        "in deviations": s.centered_in_units,
        "of deviations": s.centered_standard_records,
        "of ranges": s.centered_range_records,
    }
    for name, of in shifted.items():
        yield FeatureFamily(f"gaps in the row, {name}", both(_gaps, of))
    placed: dict[str, Of] = {
        "in the table's units": s.raw,
        "in deviations": s.in_units,
        "of deviations": s.standard_records,
        "of ranges": s.range_records,
        "standardized": s.standard,
    }
    for name, of in placed.items():
        yield FeatureFamily(f"sorted row, {name}", both(_sorted, of))
        yield FeatureFamily(f"order in the row, {name}", both(_order, of))
        yield FeatureFamily(f"direction of gaps in the row, {name}", both(_direction_of_gaps, of))
    # A tool that divides by deviations need not take the mean off.
    divided = both(_direction_of_gaps, s.divided_records)
    yield FeatureFamily("direction of gaps in the row, divided by deviations", divided)


def column_ranks(ours: Array, theirs: Array) -> FeatureFamily:
    """Places in the column: whatever bends a column, rising or falling, keeps them.

    Of the columns of the release and of the table, each sorted.
    """

    def of(z: Array, x: Array) -> tuple[Array, Array]:
        return _places(z, ours), _places(x, theirs)

    def fit(seen: Seen) -> Of:
        z, x = of(seen.rows, seen.records)
        together = ((z - 0.5) * (x - 0.5)).sum(axis=0)
        sign = np.where(together < 0, -1.0, 1.0)

        def turned(z: Array, x: Array) -> tuple[Array, Array]:
            z, x = of(z, x)
            return 0.5 + (z - 0.5) * sign, x

        return turned

    return FeatureFamily("places in the columns", of, fit)


def _places(rows: Array, columns: Array) -> Array:
    """The share of a column that lies below each value; of equal values the middle."""
    found = [
        np.searchsorted(c, v, side="left") + np.searchsorted(c, v, side="right")
        for v, c in zip(rows.T, columns.T, strict=True)
    ]
    return np.column_stack(found) / (2 * len(columns))


def _gaps(rows: Array) -> Array:
    return np.asarray(rows - rows.mean(axis=1, keepdims=True))


def _direction_of_gaps(rows: Array) -> Array:
    return direction(_gaps(rows))


def _sorted(rows: Array) -> Array:
    return np.sort(rows, axis=1)


def _order(rows: Array) -> Array:
    return np.argsort(np.argsort(rows, axis=1, kind="stable"), axis=1).astype(np.float64)
