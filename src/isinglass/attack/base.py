"""Base class of attacks: a guess from a release and knowledge, without sight of the table."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.knowledge import ColumnStatistics, Fact, KeptColumns, Knowledge, OtherReleases
from isinglass.errors import AttackError

Array = NDArray[Any]


#: Why an attack that needs rows cannot begin where there is no row for each record.
NO_ROWS = "it needs rows that correspond to records, and here they do not"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One attacker to send in an audit: what it is given beside the release.

    Everybody gets what the owner said in public and the columns that left unchanged.
    """

    #: Facts, in the order in which a report names them: `ColumnStatistics`, `PopulationSample`,
    #: `PublicTable`, `RowOrder` and `KnownPairs`.
    given: tuple[type[Fact], ...] = (ColumnStatistics,)
    #: How many known pairs: a few, the most that are assumed, or one attacker for each number
    #: that is tried. Without such pairs, and without rows to pair, nobody is sent.
    pairs: Literal["few", "most", "each"] = "few"
    #: It gets the other releases of the rows too; `needs_others` where it is sent only then.
    others: bool = False
    needs_others: bool = False
    #: It sees no rows but those known and those scored: enough for what learns from pairs.
    few_rows: bool = False
    #: It looks along the rows of the file: it sees all of them, in order.
    whole: bool = False
    #: Arguments of the attack's constructor; the seed is added.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Tells attackers with the same knowledge apart in a report.
    how: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """What is plain to see about a release before it is attacked."""

    n_columns: int  # of the table
    n_released: int
    #: Row i is the release of record i; None where nobody said.
    rows_correspond: bool | None = None
    #: Rows correspond, but nobody knows which to which.
    secret_order: bool = False
    #: Rows stand in the table's order, and whoever has the file sees it.
    order_shows: bool = True
    has_kept_columns: bool = False
    has_public_matrix: bool = False
    has_key: bool = False
    #: Participants share a key that can undo a release.
    has_shared_key: bool = False
    most_pairs: int = 0

    @property
    def has_no_rows(self) -> bool:
        """Whether no row belongs to one record."""
        return self.rows_correspond is False and not self.secret_order

    @property
    def same_width(self) -> bool:
        return self.n_columns == self.n_released


class Attack:
    """Turns a release, and all else the attacker holds, into a guess of the table.

    `guess` gets what the attacker has and never the truth; `auditing.scoring` compares the two. The
    guess has a row for each released row and a column for each column of the table, in the
    table's own units, and is always finite. An attack that cannot begin raises `AttackError`.

    Examples
    --------
    >>> class Zeros(ig.Attack):
    ...     name = 'zeros'
    ...     def guess(self, released, knowledge):
    ...         return np.zeros_like(released)
    ...
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> ig.audit(X, X, attacks=[Zeros()]).findings.attacks[0].name
    'zeros'
    """

    #: The class's name in snake case, without "Attack".
    name: ClassVar[str]
    #: What it does, as the end of a sentence that begins with the attacker.
    story: ClassVar[str]
    #: The facts without which it cannot begin.
    needs: ClassVar[tuple[type[Fact], ...]] = ()
    #: It relies on row numbers: released row i shows record i.
    needs_rows: ClassVar[bool] = False
    #: The attackers that an audit sends; empty where the audit has to look at the release first.
    scenarios: ClassVar[tuple[Scenario, ...]] = ()
    #: The views of a release it is sent against as well: those that show more to who reads
    #: columns as they stand, who finds out which is which, or who learns from known pairs.
    views: ClassVar[Literal["read", "matched", "learned"] | None] = None
    #: Of several releases it only gets those that mix columns: noise on the table's own columns
    #: would be in its way.
    wants_mixtures: ClassVar[bool] = False
    #: The columns of the guess may stand in the wrong order or sign where statistics cannot tell
    #: them apart; the audit then names them at their best for the attacker.
    unordered: ClassVar[bool] = False
    #: It fits a number to each row, so an audit asks what that gives by chance.
    fits_rows: ClassVar[bool] = False

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        """Why it cannot apply to such a release, in a sentence; None where it can.

        What a file says of itself is a claim and excludes no attack.
        """
        return NO_ROWS if cls.needs_rows and release.has_no_rows else None

    def __repr__(self) -> str:
        """The class, and the settings that differ from the usual ones."""
        shown = [
            f"{name}={value!r}"
            for name, parameter in inspect.signature(type(self)).parameters.items()
            if isinstance(value := getattr(self, name, None), str | int | float)
            and value != parameter.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The table as this attacker believes it to be."""
        raise NotImplementedError


def rows_of(released: ArrayLike) -> Array:
    """A release as float64; an `AttackError` where there is nothing in it to attack."""
    Z = np.asarray(released, dtype=np.float64)
    if Z.ndim != 2 or not Z.size:
        raise AttackError(f"released must be a table with records, got shape {Z.shape}")
    if not np.isfinite(Z).all():
        raise AttackError("released holds numbers that are not finite")
    return Z


def all_seen(released: ArrayLike, knowledge: Knowledge) -> Array:
    """Every number that left about a record, side by side: releases and kept columns."""
    Z = rows_of(released)
    parts = [Z]
    others, kept = knowledge.find(OtherReleases), knowledge.find(KeptColumns)
    if others is not None:
        parts += others.tables
    if kept is not None:
        parts.append(kept.values)
    for part in parts[1:]:
        if len(part) != len(Z):
            raise AttackError(
                f"other releases and kept columns must have the release's {len(Z)} rows, "
                f"got {len(part)}"
            )
    return np.column_stack(parts) if len(parts) > 1 else Z
