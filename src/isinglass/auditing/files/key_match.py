"""Key files opened for an audit, and whether a key turns the table into the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass.auditing.files.align import Loaded
from isinglass.errors import AuditError
from isinglass.perturb.base import Perturbation
from isinglass.perturb.registry import open_key
from isinglass.table.reading import RememberedReading

Array = NDArray[Any]

#: Rows that a key is tried on at once.
_BLOCK = 20_000


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """What the owner's key knows beyond the perturbation: columns, categories, row order."""

    columns: tuple[str, ...] | None = None
    one_hot: tuple[str, ...] = ()
    categories: Mapping[str, list[Any]] | None = field(default=None, repr=False)
    shuffle: NDArray[np.uint64] | None = field(default=None, repr=False)
    read_as: RememberedReading = field(default=RememberedReading(), repr=False)

    @classmethod
    def of(cls, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> KeyFacts:
        """What the facts of a key file say; older ones do not say how the table was read."""
        columns = facts.get("columns")
        return cls(
            columns=None if columns is None else tuple(columns),
            one_hot=tuple(facts.get("one_hot", ())),
            categories=facts.get("categories"),
            shuffle=arrays.get("shuffle"),
            read_as=RememberedReading.from_json(facts.get("reading", {})),
        )


def open_key_file(
    path: str | Path, *, passphrase: str | None = None
) -> tuple[Perturbation, KeyFacts]:
    """Open a key file: the fitted perturbation, and what else the key knows."""
    perturbation, stored = open_key(path, passphrase=passphrase)
    return perturbation, KeyFacts.of(stored.facts, stored.arrays)


#: How well a key reproduces a release: to the last bit, up to rounding, or not at all.
EXACTLY, NEARLY, NOT = "exactly", "nearly", "not"


def match_key(
    perturbation: Perturbation, mine: Loaded, theirs: Loaded, complete: bool, *, sure: bool
) -> str:
    """How well this key reproduces the release: EXACTLY, NEARLY or NOT.

    Raise AuditError if it does not and `sure` is True: a key of another release, or another
    table, would make an audit of something else. A release that is reproduced up to rounding only
    may hold anything in the last digits of its numbers.
    """
    if perturbation.draws_noise and perturbation.keeps_rows and not complete:
        return NOT  # the noise goes by row number, and some rows are gone
    try:
        same = _turns_into(perturbation, mine.X, theirs.X)
    except ValueError:  # values outside the key's bounds
        same = NOT
    if sure and same == NOT:
        raise AuditError(
            f"the key does not turn {mine.name} into {theirs.name}: it is the key of another "
            "release, or the table has changed, or other rows were left out"
        )
    return same


def match_beside(mine: Loaded, theirs: Loaded) -> bool:
    """Whether all that left beside the perturbed columns are columns of the table, unchanged.

    A key makes the perturbed columns only. A further column, or a kept one whose values are not
    the table's, could hold anything in a code that no attack can read.
    """
    own, released = mine.beside, theirs.beside
    return all(
        name in own.column_names and _same_values(own.column(name), released.column(name))
        for name in released.column_names
    )


def _same_values(own: pa.ChunkedArray, released: pa.ChunkedArray) -> bool:
    """Whether two columns hold the same values in the same rows, NaN too."""
    if pa.types.is_dictionary(own.type):
        own = own.cast(own.type.value_type)
    try:
        left = released.cast(own.type).combine_chunks()
    except pa.ArrowException:
        return False
    right = own.combine_chunks()
    if not pa.types.is_floating(right.type):
        return bool(left.equals(right))
    present = bool(left.is_valid().equals(right.is_valid()))
    return present and _bits(left) == _bits(right)


def _bits(column: pa.Array) -> bytes:
    """Numbers to the last bit: digits of NaN and the sign of zero could be a code."""
    return bytes(column.drop_null().to_numpy(zero_copy_only=False).tobytes())


def _turns_into(perturbation: Perturbation, table: Array, released: Array) -> str:
    """How well a key turns the table into the release, row for row."""
    again = perturbation.emit_again(released.dtype)
    if again is not None:
        # Rows are drawn from groups: those of this table, or of a stranger's.
        return _alike(again, released) if perturbation.drawn_from(table) else NOT
    if len(table) != len(released):
        return NOT
    worst = EXACTLY
    for start in range(0, len(table), _BLOCK):
        again = perturbation.transform_rows(table[start : start + _BLOCK], start)
        alike = _alike(again, released[start : start + _BLOCK])
        if alike == NOT:
            return NOT
        worst = alike if alike == NEARLY else worst
    return worst


def _alike(again: Array, released: Array) -> str:
    """How alike two releases are: to the last bit, or up to the digits that a file may keep."""
    if again.shape != released.shape:
        return NOT
    if np.array_equal(again.astype(released.dtype), released):
        return EXACTLY
    room = 1e-4 * max(float(np.abs(again).max(initial=0.0)), 1e-30)
    return NEARLY if np.allclose(again, released, rtol=1e-4, atol=room) else NOT
