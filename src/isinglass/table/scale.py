"""Scaling of columns to [0, 1] by declared or learned bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.documents import DocumentError, read_json
from isinglass.errors import TableError
from isinglass.messages import spell

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scaling:
    """Columns go from [low, high] to [0, 1]; a column with low = high goes to 0.

    Learned bounds are facts about the table and belong to the key; only declared ones may be
    shown, and neither prints.
    """

    low: Vector = field(repr=False)
    high: Vector = field(repr=False)
    declared: bool

    def factors(self, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """The shift and the factor of every column, as the table's own kind of number."""
        span = self.high - self.low
        # A span too small for its inverse to be held counts as none.
        smallest = 1 / float(np.finfo(dtype).max)
        factor = np.divide(1.0, span, out=np.zeros_like(span), where=span > smallest)
        return self.low.astype(dtype), factor.astype(dtype)

    def outside(self, X: NDArray[Any]) -> NDArray[np.intp]:
        """How many entries of each column lie outside the bounds."""
        low, high = self.low.astype(X.dtype), self.high.astype(X.dtype)
        return np.asarray(((X < low) | (X > high)).sum(axis=0))


def declared_scaling(bounds: Any, n_columns: int) -> Scaling:
    """Read `"scaled"` or `(low, high)`, each a number or one number per column."""
    if isinstance(bounds, str):
        if bounds != "scaled":
            raise ValueError(f"bounds must be None, 'scaled' or (low, high), got {bounds!r}")
        bounds = (0.0, 1.0)
    try:
        low, high = (np.asarray(b, dtype=np.float64) for b in bounds)
        low, high = (np.broadcast_to(b, (n_columns,)).copy() for b in (low, high))
    except (TypeError, ValueError):
        raise ValueError(
            "bounds must be None, 'scaled' or (low, high), each a number or one number for each "
            f"of the {n_columns} columns"
        ) from None
    if not (np.isfinite(low).all() and np.isfinite(high).all()) or (low > high).any():
        raise ValueError("bounds must be finite, with low <= high in every column")
    return Scaling(low, high, declared=True)


def outside_message(counts: ArrayLike, names: Sequence[str], advice: str) -> str:
    """Say how many values lie outside the bounds, column by column, without showing one."""
    return "values outside the bounds: " + per_column(counts, names) + f"; {advice}"


def per_column(counts: ArrayLike, names: Sequence[str], most: int = 8) -> str:
    """`name (count), name (count)` for the columns whose count is not zero."""
    found = [(n, int(c)) for n, c in zip(names, np.asarray(counts), strict=True) if c]
    shown = ", ".join(f"{name} ({count:,})" for name, count in found[:most])
    return shown + (f" and {len(found) - most} more columns" if len(found) > most else "")


def read_bounds(path: str | Path) -> dict[str, tuple[float, float]]:
    """Read a public bounds file: `{"column": [low, high], …}` as JSON, or `column,low,high` lines.

    A bounds file is public: it states what values the column *could* take, from a manual or a
    regulation, never what this table happens to hold.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise TableError(f"bounds file {path} cannot be read: {reason}") from None
    if text.lstrip().startswith("{"):
        try:
            pairs = read_json(text, as_pairs=True)
        except DocumentError as error:
            raise TableError(f"bounds file {path} cannot be used: {error}") from None
        found = [(name, _pair(value, path, name)) for name, value in pairs]
    else:
        found = list(_pairs_by_line(text, path))
    if not found:
        raise TableError(f"bounds file {path} names no column; write lines of column,low,high")
    bounds = dict(found)
    if len(bounds) < len(found):
        raise TableError(f"bounds file {path} names a column more than once")
    return bounds


def _pairs_by_line(text: str, path: Path) -> Iterator[tuple[str, tuple[float, float]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, *value = line.rsplit(",", 2)
        if number == 1 and [v.strip().lower() for v in value] == ["low", "high"]:
            continue
        yield name.strip().strip('"'), _pair(value, path, f"line {number}")


def _pair(value: Any, path: Path, where: str) -> tuple[float, float]:
    try:
        if not isinstance(value, list):  # two letters are not two numbers
            raise TypeError
        low, high = (float(v) for v in value)
    except (TypeError, ValueError, OverflowError):
        raise TableError(
            f"bounds file {path}, {where}: expected two numbers, low and high"
        ) from None
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise TableError(f"bounds file {path}, {where}: low must be <= high and both finite")
    return low, high


def bounds_for(
    columns: Sequence[str], bounds: Mapping[str, tuple[float, float]]
) -> tuple[Vector, Vector]:
    """The two vectors for `columns`, in their order; every column must be declared."""
    missing = [name for name in columns if name not in bounds]
    if missing:
        raise TableError(
            f"the bounds do not name {', '.join(missing[:8])}"
            + (f" and {len(missing) - 8} more columns" if len(missing) > 8 else "")
            + f"; declare them, name those columns in {spell('drop')} or {spell('keep')}, or leave "
            f"{spell('bounds')} out to learn all"
        )
    pairs = np.array([bounds[name] for name in columns], dtype=np.float64)
    return pairs[:, 0], pairs[:, 1]


Array = NDArray[Any]

TAIL = 0.001  # the percentiles 0.1 and 99.9


def learned_scaling(X: Array) -> Scaling:
    """Percentiles 0.1 and 99.9 of every column, each midway between the two records around it.

    Interpolation by weight would give one record's value whenever a percentile falls on it.
    """
    last = len(X) - 1
    below = int(last * TAIL)
    places = [below, below + 1, last - below - 1, last - below]
    ordered = np.partition(X, places, axis=0)[places].astype(np.float64) / 2
    return Scaling(ordered[0] + ordered[1], ordered[2] + ordered[3], declared=False)


def shift_and_factor(scaling: Scaling, dtype: Any) -> tuple[Array, Array]:
    """What is taken off every column, and what it is then multiplied with."""
    low, factor = scaling.factors(dtype)
    # A change in a column that never changed must show, if only in that column's own units.
    return low, np.where(factor == 0, factor.dtype.type(1), factor)


def scaled(X: Array, scaling: Scaling) -> Array:
    """Columns brought to [0, 1]; what lies outside the bounds stays outside."""
    low, factor = shift_and_factor(scaling, X.dtype)
    with np.errstate(over="ignore"):  # infinitely far out is far enough
        return np.asarray((X - low) * factor)
