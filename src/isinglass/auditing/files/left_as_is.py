"""Noise that was added to each column, and what it left as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations
from isinglass.attack.knowledge import KeptColumns
from isinglass.perturb.base import Perturbation

Array = NDArray[Any]

#: A column with less noise than this share of the noisiest column's reads nearly as if kept.
_LITTLE = 0.25
#: Rows of the table of which columns are compared at once.
_BLOCK = 1 << 14


def added_noise(perturbation: Perturbation | None, n_columns: int) -> Array | None:
    """The least deviation of the noise that is added to each column.

    None where nothing is added to the columns as they stand: factors leave zeros, signs and hard
    ends; noise on a map leaves the map; rows that are drawn anew keep what their group shares.
    """
    key = getattr(perturbation, "_key", None)
    match getattr(perturbation, "method", None):
        case "additive_noise":
            scale: Any = getattr(perturbation, "scale", 0.0) if key is None else key.scales
        case "adaptive_noise":
            scale = 1.0 if key is None else key.scales.min() * key.units
        case _:
            return None
    return np.broadcast_to(np.asarray(scale, dtype=np.float64), (n_columns,))


def silent_columns(perturbation: Perturbation | None, table: Array) -> int | None:
    """How many columns that vary get no noise at all; None where noise is not added."""
    added = added_noise(perturbation, table.shape[1])
    return None if added is None else int(((added == 0) & varying(table)).sum())


def varying(table: Array) -> Array:
    """Which columns hold more than one value."""
    return np.asarray(np.ptp(table, axis=0) > 0)


def unchanged_columns(table: Array, released: Array) -> Array:
    """Which columns vary and left as they are, rows in the same order."""
    if table.shape != released.shape:
        return np.zeros(released.shape[1], dtype=bool)
    same = varying(table)
    for start in range(0, len(table), _BLOCK):
        rows = slice(start, start + _BLOCK)
        same &= (table[rows] == released[rows]).all(axis=0)
    return same


def values_left(
    table: Array, released: Array, perturbation: Perturbation | None, *, aligned: bool
) -> Array:
    """What noise left as it was, column by column: as good as kept, though nobody said so.

    Columns without noise, columns under far less noise than others, and the signs, zero among
    them, of columns whose signs all came through. None where rows do not correspond one to one.
    """
    if not aligned or table.shape != released.shape:
        return np.empty((len(released), 0))
    bare, added = unchanged_columns(table, released), added_noise(perturbation, table.shape[1])
    if added is not None:
        before = deviations(table)
        relative = np.divide(added, before, out=np.full(len(added), np.inf), where=before > 0)
        most = relative[np.isfinite(relative)].max(initial=0.0)
        bare |= varying(table) & (relative < _LITTLE * most)
    signs = np.sign(table[:, ~bare])
    whole = varying(signs) & (signs == np.sign(released[:, ~bare])).all(axis=0)
    return np.column_stack([table[:, bare], signs[:, whole]])


def combinations(kept: KeptColumns | None, left: Array) -> int:
    """How many combinations of values there are in kept columns and in what noise left."""
    if kept is None:
        return len(np.unique(left, axis=0))
    if not left.shape[1]:
        return kept.n_combinations()
    values = np.where(np.isfinite(kept.values), kept.values, -1.0)
    return len(np.unique(np.column_stack([values, left]), axis=0))


def largest_noise(table: Array, released: Array) -> float:
    """The variance of the noise on the noisiest column, in units of the column's own."""
    from isinglass.attack.kept.parts import noise_of_columns  # slow to load

    return float(noise_of_columns(table, released).max(initial=0.0))
