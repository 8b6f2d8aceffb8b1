"""Parsing of records into rows of float64."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.table.columns import listed, refuse_text, refuse_unknown

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Records:
    """Rows of numbers; `names` where they came with any; `single` where one record was given."""

    rows: Array = field(repr=False)
    names: tuple[str, ...] | None = None
    single: bool = False


def read(source: Any, columns: Sequence[str] | None = None, *, what: str = "records") -> Records:
    """Read a path, a frame, an array, a list of records, or one record.

    Of a path or a frame, `columns` chooses, in that order; what has no names of its own must be
    as wide. Missing values come out as NaN: whoever uses the rows says what that means.
    """
    plain = isinstance(source, np.ndarray)  # what most asks bring, and has no names
    if not plain and (isinstance(source, Mapping) or _is_series(source)):
        names = tuple(str(name) for name in source.keys())  # noqa: SIM118 (a series' keys)
        values = list(source.values()) if isinstance(source, Mapping) else source
        return Records(_numbers(values, what).reshape(1, -1), names, single=True)
    if not plain and has_names(source):
        return _from_table(source, columns)
    rows = _numbers(source, what)
    if rows.ndim not in (1, 2):
        raise ValueError(f"{what} must have one or two dimensions, got {rows.ndim}")
    if columns is not None and rows.shape[-1] != len(columns):
        raise ValueError(
            f"{what} must have {len(columns)} columns ({listed(columns)}), got {rows.shape[-1]}"
        )
    return Records(np.atleast_2d(rows), None, single=rows.ndim == 1)


def _is_series(source: Any) -> bool:
    """One record with names: a row of a pandas frame."""
    named = hasattr(source, "keys") and getattr(source, "ndim", None) == 1
    return named and all(isinstance(key, str) for key in source.keys())  # noqa: SIM118


def _numbers(values: Any, what: str) -> Array:
    try:
        read = np.asarray(values)
        if np.ma.isMaskedArray(values):
            read = np.ma.filled(values.astype(np.float64), np.nan)
        if read.dtype.kind not in "buifO":
            raise TypeError
        return np.array(read, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):  # whose words would quote a value
        raise ValueError(f"{what} must hold numbers only, each record as many") from None


def _from_table(source: Any, columns: Sequence[str] | None) -> Records:
    from isinglass.table.prepare import plain_numbers
    from isinglass.table.read import open_table

    table = open_table(source)
    names = tuple(table.schema.names)
    chosen = names if columns is None else tuple(columns)
    refuse_unknown(table, chosen)
    refuse_text(table, chosen, "name the others")
    parts = [np.empty((0, len(chosen)))]
    for batch in table.batches(chosen):
        part = np.empty((batch.num_rows, len(chosen)))
        for j in range(len(chosen)):
            part[:, j] = plain_numbers(batch.column(j))
        parts.append(part)
    return Records(np.concatenate(parts), chosen)


def has_names(source: Any) -> bool:
    """Whether columns come by name: a path or a frame."""
    return isinstance(source, str | Path) or hasattr(source, "columns") or hasattr(source, "schema")


def other_columns(
    found: Sequence[str],
    wanted: Sequence[str],
    *,
    what: str = "records",
    whose: str = "the declared columns",
    advice: str = "",
) -> str | None:
    """What is wrong with the columns found, in one sentence; None if they are those wanted.

    `advice` is for columns that are too many.
    """
    if tuple(found) == tuple(wanted):
        return None
    if sorted(found) == sorted(wanted):
        return f"{what} must have {whose} in this order: {listed(wanted)}"
    parts = [f"{what} must have {whose}"]
    if lacking := [name for name in wanted if name not in found]:
        parts.append(f"lacking: {listed(lacking)}")
    if extra := [name for name in found if name not in wanted]:
        parts.append(f"besides: {listed(extra)}{advice}")
    return "; ".join(parts)


def first_hole(rows: Array) -> int | None:
    """The first row with an entry that is no finite number."""
    if len(rows) == 1:  # as most asks bring it
        return None if all(map(math.isfinite, rows[0].tolist())) else 0
    finite = np.isfinite(rows)
    return None if finite.all() else int(np.argmin(finite.all(axis=1)))


def refuse_holes(
    rows: Array, names: Sequence[str] | None, what: str, kind: type[Exception] = ValueError
) -> None:
    """Refuse a value that is missing or not finite, by its row number and column."""
    if (row := first_hole(rows)) is not None:
        column = int(np.argmin(np.isfinite(rows[row])))
        name = f"x{column}" if names is None else names[column]
        raise kind(
            f"{what} must hold finite numbers only, but row {row} (from 0), column {name} does not"
        )
