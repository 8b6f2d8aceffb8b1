"""Row-factor attack: undo a factor or shift that each row has of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.base import Attack, ReleaseFacts, rows_of
from isinglass.attack.columns.marginals import clipped, divisors, statistics_for
from isinglass.attack.knowledge import ColumnStatistics, Fact, Knowledge
from isinglass.attack.linking.invariants import direction
from isinglass.attack.linking.near import nearest_records
from isinglass.attack.matched_columns import reference
from isinglass.attack.views.row_shift import without_shift
from isinglass.errors import AttackError

Array = NDArray[Any]


class RowFactorAttack(Attack):
    """Undo a sign or a factor that was drawn for each row: z = c x, with c unknown; or z = x + c.

    Records of a sample or a public table that lie in the direction of a row, either way, say how
    long it was; c brings the row nearest to the one whose direction is most alike. Without
    records, c brings the row nearest to the mean of the table, columns in deviations.
    """

    name = "row_factor"
    story = "takes off one number that changed all values of a row"
    needs = (ColumnStatistics,)
    fits_rows = True

    def __init__(self, *, added: bool = False) -> None:
        #: The number may have been added, z = x + c, if the columns' spread speaks for it.
        self.added = added

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        if release.same_width:
            return None
        return "a number for each row leaves the table's columns, and here their number differs"

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        Z, known = rows_of(released), Knowledge.of(knowledge)
        statistics = known.need(ColumnStatistics)
        d = len(statistics.mean)
        statistics_for(known, d)
        if Z.shape[1] != d:
            raise AttackError(f"a factor for each row leaves the table's {d} columns, got others")
        unit = divisors(statistics.deviation)
        rows, records = Z / unit, reference(known)
        moved = without_shift(Z, statistics, records) if self.added else None
        if moved is not None:
            return clipped(moved, known)
        if records is None:
            target = np.broadcast_to(statistics.mean / unit, rows.shape)
        else:
            target = (records / unit)[_alike(rows, records / unit)]
        squares = np.einsum("ij,ij->i", rows, rows)
        factor = np.einsum("ij,ij->i", rows, target) / np.where(squares > 0, squares, np.inf)
        return clipped(Z * factor[:, np.newaxis], known)


def _alike(rows: Array, records: Array) -> NDArray[np.intp]:
    """For each row the record whose direction, or its opposite, is nearest."""
    return nearest_records(direction(rows), direction(records))
