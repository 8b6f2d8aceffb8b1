"""List of row features for releases whose columns correspond to the table's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.scalings import Scalings
from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.linking.families import FeatureFamily
from isinglass.attack.linking.invariants import invariants
from isinglass.attack.linking.residues import residues
from isinglass.attack.linking.row_invariants import totals_and_sizes
from isinglass.attack.linking.within_rows import column_ranks, within_rows
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
        column_ranks(np.sort(Z, axis=0), np.sort(P, axis=0)),
        *residues(P, known=known),
    ]


def scalings_of(
    Z: Array, P: Array, statistics: ColumnStatistics | None, rng: np.random.Generator
) -> Scalings:
    some = tuple(m[sample_rows(len(m), rng, SOME)] for m in (Z, P))
    return Scalings(Z, P, (some[0], some[1]), statistics)
