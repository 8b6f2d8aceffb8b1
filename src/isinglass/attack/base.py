"""What every attack promises: a guess from a release and knowledge, and nothing else."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.knowledge import Fact, KeptColumns, Knowledge, OtherReleases
from isinglass.errors import AttackError

Array = NDArray[Any]


class Attack:
    """Turns a release, and all else the attacker holds, into a guess of the table.

    `guess` gets what the attacker has and never the truth; `auditing.score` compares the two. The
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
    #: The facts without which it cannot begin.
    needs: ClassVar[tuple[type[Fact], ...]] = ()
    #: The columns of the guess may stand in the wrong order or sign where statistics cannot tell
    #: them apart; the audit then names them at their best for the attacker.
    unordered: ClassVar[bool] = False

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
