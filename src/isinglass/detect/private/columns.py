"""Public description of columns: bounds, steps, categories, declared and never learned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isinglass.detect.private.categories import category_key
from isinglass.kernels.grid import CELLS, FAN
from isinglass.table.scale import declared_scaling


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """Numbers between two bounds, in cells of one width; values beyond go to the edge cells.

    `step` is the distance of neighboring values where only some are possible, as of whole numbers.
    With `log`, cells are equal in the logarithm: for columns that range over orders of magnitude.
    """

    name: str
    low: float
    high: float
    step: float | None = None
    log: bool = False

    def __post_init__(self) -> None:
        finite = math.isfinite(self.low) and math.isfinite(self.high)
        if not (finite and self.low < self.high and math.isfinite(self.high - self.low)):
            raise ValueError(
                f"bounds must be finite, with low < high, got {self.low}, {self.high} for column "
                f"{self.name}"
            )
        if self.log and not self.low > 0:
            raise ValueError(f"a log column needs low > 0, got {self.low} for column {self.name}")
        if self.step is not None and (self.log or not 0 < self.step <= self.high - self.low):
            raise ValueError(
                "steps must be > 0, at most high - low, and not of a log column, got "
                f"{self.step} for column {self.name}"
            )

    @property
    def grid(self) -> tuple[float, float]:
        """Where the cells begin, and the width of all of them; possible values lie mid-step."""
        if self.log:
            return 0.0, float(CELLS)  # of the cell numbers that `log_cells` puts in their place
        margin = (self.step or 0.0) / 2
        low = self.low - margin
        return low, self.high + margin - low

    @property
    def least_half(self) -> float:
        """The smallest half width, in cells, that the middle of the column may be given."""
        half_step = (self.step or 0.0) / 2
        return min(max(FAN / 2, half_step / self.grid[1] * CELLS), CELLS / 2)


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """Values of a declared list; any other value, and a missing one, is "other"."""

    name: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        keys = set(map(category_key, self.values))  # 1, "1.0" and true are one category
        if None in keys:
            raise ValueError(
                "categories must be texts, numbers, true or false, for column " + self.name
            )
        if not self.values or len(keys) < len(self.values):
            raise ValueError(
                "categories must be different values (equal numbers are one, written as texts or "
                f"not; true is 1 and false 0), at least one, for column {self.name}"
            )

    @property
    def n_cells(self) -> int:
        """How many cells it has, that of other values included."""
        return len(self.values) + 1


PublicColumn = NumberColumn | CategoryColumn


def declared_columns(
    names: Sequence[str],
    bounds: Any,
    *,
    categories: Mapping[Any, Sequence[Any]] | None = None,
    steps: Mapping[Any, float] | None = None,
    log: Iterable[Any] = (),
) -> tuple[PublicColumn, ...]:
    """The columns of a table by name or position, from what was declared about each."""
    listed = _by_place(names, categories or {}, "categories")
    step_of = _by_place(names, steps or {}, "steps")
    logarithmic = _by_place(names, dict.fromkeys(log), "log")
    numbers = [j for j in range(len(names)) if j not in listed]
    if set(step_of) & set(listed) or set(logarithmic) & set(listed):
        raise ValueError("steps and log must not name a column of categories")
    pairs = _bounds(names, numbers, bounds)
    return tuple(
        CategoryColumn(names[j], tuple(listed[j]))
        if j in listed
        else NumberColumn(
            names[j], *pairs[j], None if j not in step_of else float(step_of[j]), j in logarithmic
        )
        for j in range(len(names))
    )


def _bounds(
    names: Sequence[str], numbers: list[int], bounds: Any
) -> dict[int, tuple[float, float]]:
    """The bounds of every column of numbers."""
    if bounds is None:
        if not numbers:
            return {}
        raise ValueError(
            "bounds must be declared for a guaranteed model, because learned ones tell about "
            "single records: give (low, high), 'scaled', or a low and a high for each column by "
            "name, from what the columns can hold and not from what this table holds"
        )
    if not isinstance(bounds, Mapping):
        scaling = declared_scaling(bounds, len(numbers))
        pairs = zip(scaling.low.tolist(), scaling.high.tolist(), strict=True)
        return dict(zip(numbers, pairs, strict=True))
    found = _by_place(names, bounds, "bounds")
    missing = [names[j] for j in numbers if j not in found]
    if missing or set(found) - set(numbers):
        raise ValueError(
            f"bounds must name every column of numbers and no other; missing: "
            f"{', '.join(missing[:8]) or 'none'}"
        )
    try:
        return {j: (float(low), float(high)) for j, (low, high) in found.items()}
    except (TypeError, ValueError):
        raise ValueError("bounds must give two numbers, low and high, for each column") from None


def _by_place(names: Sequence[str], given: Mapping[Any, Any], what: str) -> dict[int, Any]:
    """What is given by names or positions of columns, by position."""
    place = {name: j for j, name in enumerate(names)}
    found: dict[int, Any] = {}
    for key, value in given.items():
        at: Any = place.get(key) if isinstance(key, str) else key
        whole = isinstance(at, int | np.integer) and not isinstance(at, bool)
        if not whole or not 0 <= int(at) < len(names) or int(at) in found:
            raise ValueError(f"{what} must name columns of the table, each once, got {key!r}")
        found[int(at)] = value
    return found
