"""Space in which records are compared: columns, scaling, projection, distance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import field_checks
from isinglass.curate import records as reading
from isinglass.curate.planning_digests import PlannedOn
from isinglass.curate.records import Records, other_columns, refuse_holes
from isinglass.detect.metric import Metric, declare
from isinglass.documents import read_json
from isinglass.errors import CuratorError, PrivacyWarning, TableError
from isinglass.messages import warn
from isinglass.table.scale import bounds_for, declared_scaling
from isinglass.threads import one_thread

Array = NDArray[np.float64]
# Spans and entries of a projection stay where quotients and products neither vanish nor overflow.
_LEAST, _MOST = 1e-150, 1e150


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Where a record lies: a function of that record and of what was declared in advance.

    A record's place is `(record - low) / (high - low)`, column by column, times `projection`, of
    as many rows as columns and as many columns as `metric` is wide. Each of the two may be None.

    Guarantee: none of its own, but every guarantee of the curator rests on it. Adding a record
    to the table must leave the places of all others alone, bit for bit, so nothing here may be
    fitted on the private table, and the place of a row does not depend on the rows beside it:
    products are summed column by column, never by a matrix product, which rounds by shape.

    `low` and `high` set the units; they do not limit. A value outside them is not clipped: its
    place lies outside [0, 1], as far as the value is outside the bounds. Bounds read too narrow
    cost accuracy, never privacy.

    `source` says where the numbers came from: "declared" by hand, or fitted on "public" data.
    `planned_on` holds salted digests of the records that it was fitted or planned on, by which a
    curator knows the private table and refuses it. None: declared by hand, or written before
    spaces said so.

    Examples
    --------
    >>> space = ig.Space.declare(["height", "weight"], bounds=([0, 0], [250, 300]))
    >>> space.columns
    ('height', 'weight')
    """

    columns: tuple[str, ...]
    metric: Metric
    low: Array | None = field(default=None, repr=False)
    high: Array | None = field(default=None, repr=False)
    projection: Array | None = field(default=None, repr=False)
    source: Literal["declared", "public"] = "declared"
    planned_on: PlannedOn | None = field(default=None, repr=False)

    @classmethod
    def declare(
        cls,
        columns: int | Sequence[str],
        *,
        bounds: Any = None,
        projection: ArrayLike | None = None,
        metric: str = "euclidean",
        p: float | None = None,
        weights: ArrayLike | None = None,
        source: Literal["declared", "public"] = "declared",
    ) -> Space:
        """Declare a space by hand, from what is publicly known about the columns.

        `columns` are names, or a number of columns named x0, x1, …; `bounds` is None (no
        scaling), a pair (low, high), each a number or one for every column, or a pair for every
        column by name; `weights` are as many as the projection, where there is one, has columns.
        """
        names = _names(columns)
        low = high = None
        if bounds is not None:
            low, high = _bounds(bounds, names)
        width = len(names)
        matrix = None
        if projection is not None:
            matrix = _projection(projection, width)
            width = matrix.shape[1]
        chosen = declare(metric, p, weights, width)
        for array in (low, high, matrix, chosen.weights):
            if array is not None:
                array.flags.writeable = False
        return cls(names, chosen, low, high, matrix, source)

    @classmethod
    def fitted(
        cls,
        table: Any,
        *,
        public: bool = False,
        columns: Sequence[str] | None = None,
        scale: Literal["percentiles", "range", "deviation"] | None = "percentiles",
        n_components: int | None = None,
        metric: str = "euclidean",
        p: float | None = None,
        weights: ArrayLike | None = None,
    ) -> Space:
        """Fit a space on public or past data, which the caller says by `public=True`.

        `scale` takes as bounds the 0.1 and 99.9 percentiles of a column, its range, or its mean
        and its mean plus a deviation; a column that does not vary gets a unit of its own size.
        `n_components` adds the principal components of the scaled columns as a projection.
        """
        if not public:
            raise CuratorError(
                "public must be True: a scaling fitted on the private table makes every distance "
                "depend on other rows and voids the guarantee; fit on public or past data, or "
                "declare bounds"
            )
        found = reading.read(table, columns, what="table")
        names = columns if found.names is None else found.names
        refuse_holes(found.rows, names, "table", TableError)
        if len(found.rows) == 0:
            raise TableError("a space cannot be fitted on a table without rows")
        plain = cls.declare(found.rows.shape[1] if names is None else names)
        bounds = None if scale is None else fitted_bounds(found.rows, scale)
        projection = None
        if n_components is not None:
            scaled = cls.declare(plain.columns, bounds=bounds).places(found.rows)
            projection = components(scaled, n_components)
        made = cls.declare(
            plain.columns, bounds=bounds, projection=projection, metric=metric, p=p,
            weights=weights, source="public",
        )  # fmt: skip
        return made.noting(found.rows)

    def noting(self, table: Any) -> Space:
        """The same space with digests of the records that it, or beta and r, was planned on."""
        return replace(self, planned_on=PlannedOn.of(self.read(table).rows))

    def refuse_planned_on(self, rows: Array) -> None:
        """Refuse the rows of a private table where this space was planned on them, or on some.

        For whoever sets up a curator, before anything is asked: the refusal is a fact of the
        table, and no end user may be shown it.
        """
        if self.planned_on is not None and self.planned_on.shares_rows_with(rows):
            raise CuratorError(
                "the space was planned on this very table, or on records of it: what is fitted to "
                "private records changes with each of them, and no guarantee holds for them; plan "
                "on public or past records that are not in the table, or declare bounds"
            )

    def __eq__(self, other: object) -> bool:
        """Equal where every declared number is, whatever it was planned on."""
        return isinstance(other, Space) and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash((self.columns, self.metric.name))

    @property
    def width(self) -> int:
        """How many numbers a place has."""
        return len(self.metric.weights)

    def read(self, records: Any) -> Records:
        """Rows of the declared columns; names, where there are any, must be those, in order."""
        one = type(records) is np.ndarray and records.shape == (len(self.columns),)
        if one and records.dtype == np.float64:  # as most asks bring it
            return Records(records.reshape(1, -1).copy(), None, single=True)
        found = reading.read(records, None if reading.has_names(records) else self.columns)
        wrong = None if found.names is None else other_columns(found.names, self.columns)
        if wrong is not None:
            raise ValueError(wrong)
        return found

    def places(self, records: Any) -> Array:
        """The place of each record, a row each; ValueError where one is not finite."""
        rows = records.rows if isinstance(records, Records) else self.read(records).rows
        refuse_holes(rows, self.columns, "records", ValueError)
        if self.low is None and self.projection is None:
            return np.ascontiguousarray(rows + 0.0)  # minus zero is the same place as zero
        with np.errstate(over="ignore", invalid="ignore"):
            if self.low is not None and self.high is not None:
                rows = (rows - self.low) / (self.high - self.low)
            if self.projection is not None:
                total = np.zeros((len(rows), self.width))
                for c, weights in enumerate(self.projection):
                    total += rows[:, c, np.newaxis] * weights
                rows = total
        if (row := reading.first_hole(rows)) is not None:
            raise ValueError(f"records must have a finite place, but row {row} is too far out")
        # Minus zero is the same place as zero, also where places are compared by their bytes.
        return np.ascontiguousarray(rows + 0.0)

    def metric_json(self) -> dict[str, Any]:
        """The distance, as a contract holds it."""
        chosen = self.metric
        return {
            "name": chosen.name,
            "p": chosen.power if chosen.name == "minkowski" else None,
            "weights": chosen.weights.tolist() if chosen.weighted else None,
        }

    def scaling_json(self) -> dict[str, Any] | None:
        """The way from a record to its place, as a contract holds it; None where they are equal."""
        if self.low is None and self.projection is None:
            return None
        arrays = {"low": self.low, "high": self.high, "projection": self.projection}
        return {name: None if a is None else a.tolist() for name, a in arrays.items()}

    def to_json(self) -> dict[str, Any]:
        """Everything, in numbers that JSON brings back bit for bit."""
        noted = None if self.planned_on is None else self.planned_on.to_json()
        return self._numbers() | {"planned_on": noted}

    def _numbers(self) -> dict[str, Any]:
        return {
            "format": "isinglass space 1",
            "columns": list(self.columns),
            "metric": self.metric_json(),
            "scaling": self.scaling_json(),
            "source": self.source,
        }

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Space:
        """The space that was written."""
        scaling = facts["scaling"] or {"low": None, "high": None, "projection": None}
        bounds = None if scaling["low"] is None else (scaling["low"], scaling["high"])
        metric = facts["metric"]
        if facts["format"] != "isinglass space 1" or facts["source"] not in ("declared", "public"):
            raise ValueError("format must be known")
        made = cls.declare(
            field_checks.names(facts["columns"], "columns"), bounds=bounds,
            projection=scaling["projection"],
            metric=metric["name"], p=metric["p"], weights=metric["weights"],
            source=facts["source"],
        )  # fmt: skip
        noted = facts.get("planned_on")
        return made if noted is None else replace(made, planned_on=PlannedOn.from_json(noted))

    def save(self, path: str | Path) -> None:
        """Write the space to a file, which is as public as the records it was planned on."""
        from isinglass.files import whole_file

        with whole_file(Path(path)) as aside:
            text = json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
            Path(aside).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Space:
        """Read a space from a file that `save` wrote; warn where an old one cannot be checked."""
        try:
            facts = read_json(Path(path).read_bytes())
            made = cls.from_json(facts)
            if "planned_on" not in facts:
                warn(
                    PrivacyWarning(
                        f"the space {path} does not say what it was planned on, as files of "
                        "earlier versions do not: that it was not the private table cannot be "
                        "checked; plan again to have it checked"
                    )
                )
            return made
        except OSError as error:
            raise CuratorError(f"the space {path} cannot be read: {error.strerror}") from None
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, TableError):
            raise CuratorError(f"the space {path} is damaged, or no space at all") from None


def _names(columns: int | Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, int):
        columns = [f"x{i}" for i in range(columns)]
    names = tuple(str(name) for name in columns)
    if not names or len(set(names)) < len(names) or isinstance(columns, str):
        raise ValueError(f"columns must be different names, at least one, got {columns!r}")
    return names


def _bounds(bounds: Any, names: tuple[str, ...]) -> tuple[Array, Array]:
    if isinstance(bounds, Mapping):
        bounds = bounds_for(names, bounds)
    found = declared_scaling(bounds, len(names))
    with np.errstate(over="ignore"):
        span = found.high - found.low
    for name, wide in zip(names, span.tolist(), strict=True):
        if not _LEAST <= wide <= _MOST:
            raise ValueError(
                f"bounds must have low < high, at most {_MOST:g} apart, got others for column "
                f"{name}; leave a column out of the table to ignore it"
            )
    return found.low, found.high


def _projection(given: ArrayLike, n_columns: int) -> Array:
    matrix = np.array(given, dtype=np.float64)
    if matrix.ndim != 2 or len(matrix) != n_columns or matrix.shape[1] < 1:
        raise ValueError(
            f"projection must have a row for each of the {n_columns} columns, got an array of "
            f"shape {matrix.shape}"
        )
    if not (np.abs(matrix) <= _MOST).all():
        raise ValueError(f"projection must hold numbers of size {_MOST:g} at most, got larger")
    return matrix


SCALES = ("percentiles", "range", "deviation")


def fitted_bounds(rows: Array, scale: Any) -> tuple[Array, Array]:
    """Low and high of every column: what becomes 0, and what becomes 1."""
    if scale not in SCALES:
        raise ValueError(f"scale must be None or one of {', '.join(SCALES)}, got {scale!r}")
    low, high = rows.min(axis=0), rows.max(axis=0)
    if scale == "percentiles":
        inner = np.percentile(rows, [0.1, 99.9], axis=0)
        varies = inner[1] > inner[0]  # a column of nearly one value has its range instead
        low, high = np.where(varies, inner[0], low), np.where(varies, inner[1], high)
    elif scale == "deviation":
        low, high = rows.mean(axis=0), rows.mean(axis=0) + rows.std(axis=0)
    # A column that does not vary, or by rounding only, has no unit of its own: its size is one.
    size = np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    constant = ~(high - low > 1e-12 * size)
    return low, np.where(constant, low + size, high)


def components(rows: Array, n_components: Any) -> Array:
    """The directions in which the rows vary most, one a column, signs fixed."""
    width = rows.shape[1]
    whole = isinstance(n_components, int | np.integer) and not isinstance(n_components, bool)
    if not (whole and 1 <= n_components <= width):
        raise ValueError(
            f"n_components must be a whole number from 1 to {width}, got {n_components}"
        )
    with one_thread():
        centered = rows - rows.mean(axis=0)
        _, vectors = np.linalg.eigh(centered.T @ centered / len(rows))
    chosen = vectors[:, ::-1][:, :n_components]
    largest = chosen[np.abs(chosen).argmax(axis=0), np.arange(n_components)]
    return np.ascontiguousarray(chosen * np.copysign(1.0, largest))
