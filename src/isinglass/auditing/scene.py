"""Release under audit with all that could be known about it, and one scenario."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.base import Attack, ReleaseFacts
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KeptColumns,
    Knowledge,
    OtherReleases,
    PopulationSample,
    PublicParameters,
    PublicTable,
    RowOrder,
)
from isinglass.auditing.attackers import KEY_HOLDER, attacker_of
from isinglass.auditing.split import SEEN_UNALIGNED, RowSplit

Array = NDArray[Any]


@dataclass(frozen=True)
class Scene:
    """One release and all that could be known about it; the audit deals it out to attackers."""

    table: Array = field(repr=False)  # the records that were released
    released: Array = field(repr=False)
    split: RowSplit
    parameters: PublicParameters | None = None
    kept: KeptColumns | None = field(default=None, repr=False)  # of the released rows
    #: The same columns of the table's rows; None where the table does not have them.
    table_kept: Array | None = field(default=None, repr=False)
    others: tuple[Array, ...] = field(default=(), repr=False)
    key: Any = field(default=None, repr=False)  # the fitted perturbation, where it is at hand
    rows_correspond: bool | None = None  # None: nobody said
    #: What is public about the other releases; None where nothing is.
    other_parameters: tuple[PublicParameters | None, ...] = ()
    secret_order: bool = False  # rows correspond, and which to which is not known here
    #: The file's rows stand in the table's order, and whoever has the file sees it.
    order_shows: bool = True

    @cached_property
    def statistics(self) -> ColumnStatistics:
        """Of the whole table, for the many attackers who know them."""
        return ColumnStatistics.of(self.table)

    @property
    def has_matrix(self) -> bool:
        """Whether the study's public matrix is known."""
        return self.parameters is not None and self.parameters.matrix is not None

    def facts(self) -> ReleaseFacts:
        """What is plain to see about the release."""
        # Noise is a pad that nobody else holds.
        shared = hasattr(self.key, "inverse_transform") and not self.key.draws_noise
        return ReleaseFacts(
            n_columns=self.table.shape[1],
            n_released=self.released.shape[1],
            rows_correspond=self.rows_correspond,
            secret_order=self.secret_order,
            order_shows=self.order_shows,
            has_kept_columns=self.kept is not None,
            has_public_matrix=self.has_matrix,
            has_key=self.key is not None,
            has_shared_key=shared,
            most_pairs=self.split.most_pairs,
        )

    def seen(self) -> Array:
        """The released rows under attack."""
        return np.asarray(self.released[self.released_rows()], dtype=np.float64)

    def released_rows(self, n: int | None = None) -> Array:
        """Their numbers, or those of the first n; all where there is not one for each record."""
        if len(self.released) != len(self.table):
            return np.arange(len(self.released))[:SEEN_UNALIGNED]
        return self.split.attacked[:n]

    def truth(self) -> Array:
        return np.asarray(self.table[self.split.attacked], dtype=np.float64)

    def common(
        self,
        *,
        others: bool = True,
        few: bool = False,
        whole: bool = False,
        order: bool = False,
    ) -> Knowledge:
        """What every attacker gets: public parameters, kept columns, and other releases.

        Without `others` for attacks that read one release only: what is listed is used. `few`
        for those that learn from pairs: they need no row but those known and those scored.
        `whole` for those that look along the rows of the file: they see all of them, in order.
        `order` for those that use the place of a row in the file.
        """
        rows, known = self.released_rows(self.split.n_few if few else None), Knowledge()
        if whole:
            rows = np.arange(len(self.released))
        if self.parameters is not None:
            known |= self.parameters
        if self.kept is not None:
            known |= self.kept.take(rows)
        if self.others and others:
            known |= OtherReleases(tuple(t[rows] for t in self.others))
        if order and self.order_shows:
            known |= RowOrder(rows)
        return known

    def sample(self) -> PopulationSample:
        """Records like those of the table."""
        rows = self.split.sample
        return PopulationSample(self.table[rows], self._kept_of(rows))

    def public_table(self) -> PublicTable:
        """The table itself, in public hands."""
        return PublicTable(self.table, self._kept_of(slice(None)))

    def kept_by_record(self) -> KeptColumns | None:
        """Kept columns of the table's rows, in its order; None where these are not known."""
        if self.kept is None:
            return None
        if self.rows_correspond is not False and len(self.kept.values) == len(self.table):
            return self.kept
        return None if self.table_kept is None else replace(self.kept, values=self.table_kept)

    def _kept_of(self, rows: Any) -> Array | None:
        if self.kept is None or self.table_kept is None:
            return None
        return np.asarray(self.table_kept[rows])

    def study(self) -> Knowledge:
        """What is common, with the public matrices of all releases one below the other."""
        first, rest = self.parameters, [p for p in self.other_parameters if p is not None]
        matrices = [p.matrix for p in (first, *rest) if p is not None and p.matrix is not None]
        if first is None or len(matrices) < 1 + len(self.others) or len(matrices) < 2:
            return self.common(others=False)
        alphas = [
            np.full(len(m), p.parameters.get("alpha", 0.0))
            for m, p in zip(matrices, (first, *rest), strict=True)
        ]
        said = {**first.parameters, "alpha": np.concatenate(alphas)}
        return self.common() | replace(first, parameters=said, matrix=np.vstack(matrices))


@dataclass(frozen=True, slots=True)
class Step:
    """One attacker: an attack and what it knows."""

    attack: Attack
    knowledge: Knowledge
    n_columns: int  # of the table
    n_known: int = 0  # rows, from the first, whose records it knows: not to be scored
    n_pairs: int | None = None
    with_key: bool = False
    uses_rows: bool = False  # it relies on row numbers meaning something
    few: bool = False  # it sees no row but those known and those scored
    #: It guesses no more rows than these, the first, where each takes long.
    most_rows: int | None = None
    whole: bool = False  # it sees all rows in the file's order, and knowledge is numbered so
    how: str = ""  # tells attackers with the same knowledge apart
    #: What it looks at, where that is a view of the release and not the release itself.
    view: Array | None = field(default=None, repr=False)

    @property
    def attacker(self) -> str:
        """Who holds this much, by the names of `auditing.attackers`."""
        if self.with_key:
            return KEY_HOLDER
        return attacker_of(self.knowledge, self.n_columns)

    def describe(self) -> str:
        """What it knows and how it goes about it, in a few words; never a value."""
        known = self.knowledge.describe()
        return f"{known}; {self.how}" if self.how else known

    def describe_beyond(self) -> str | None:
        """The same beyond the public parameters of the method; None for who does not have them."""
        if PublicParameters not in self.knowledge:
            return None
        known = self.knowledge.without(PublicParameters).describe_each()
        said = ", ".join(known) or "nothing more"
        return f"{said}; {self.how}" if self.how else said
