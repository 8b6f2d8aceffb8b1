"""Release: the perturbed table with its public facts."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass import field_checks
from isinglass.documents import read_json
from isinglass.errors import ReleaseError
from isinglass.promise import Promise
from isinglass.threads import Errand

METADATA_KEY = b"isinglass"
_GROUP_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Facts:
    """What a release says about itself; all of it is public, and no key or seed is in it.

    `bounds` is set only where they were declared in public. `seeded` says that a seed was used,
    never which. `order` is "table" or "keyed".
    """

    method: str
    parameters: dict[str, Any]
    version: str
    rows: int
    columns: tuple[str, ...]
    kept: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    seeded: bool = False
    again: bool = False
    order: str = "table"
    bounds: dict[str, tuple[float, float]] | None = None
    promise: Promise = field(default_factory=lambda: Promise("heuristic"))

    def to_json(self) -> dict[str, Any]:
        """As it stands in the file's metadata."""
        facts = {name: getattr(self, name) for name in self.__slots__}
        return facts | {"promise": self.promise.to_json()}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Facts:
        """Read metadata back; facts a later version may add are passed over."""
        if missing := [name for name in _NEEDED if name not in facts]:
            raise ValueError(f"{', '.join(missing)} must be stated")
        order = field_checks.word(facts.get("order", "table"), "order")
        if order not in ("table", "keyed"):
            raise ValueError("order must be table or keyed")
        bounds = facts.get("bounds")
        columns = field_checks.names(facts["columns"], "columns")
        kept = field_checks.names(facts.get("kept", ()), "kept")
        if len({*columns, *kept}) < len(columns) + len(kept):
            raise ValueError("columns and kept must name each column once")
        return cls(
            method=field_checks.word(facts["method"], "method"),
            parameters=_parameters(facts["parameters"]),
            version=field_checks.word(facts["version"], "version"),
            rows=field_checks.whole(facts["rows"], "rows"),
            columns=columns,
            kept=kept,
            warnings=field_checks.names(facts.get("warnings", ()), "warnings"),
            seeded=field_checks.flag(facts.get("seeded", False), "seeded"),
            again=field_checks.flag(facts.get("again", False), "again"),
            order=order,
            bounds={
                name: field_checks.pair(ends, "each of the bounds")
                for name, ends in field_checks.section(bounds, "bounds").items()
            }
            if bounds
            else None,
            promise=Promise.from_json(field_checks.section(facts["promise"], "promise")),
        )


_NEEDED = ("method", "parameters", "version", "rows", "columns", "promise")


def _parameters(given: Any) -> dict[str, Any]:
    """Parameters as any method may have them; its own limits are checked where it is known."""
    found = field_checks.section(given, "parameters")
    for name, value in found.items():
        if isinstance(value, list):
            for item in value:
                field_checks.number(item, f"every item of the parameter {name}")
        elif isinstance(value, str):
            field_checks.word(value, f"the parameter {name}", longest=field_checks.LONGEST_NAME)
        elif isinstance(value, int | float):
            field_checks.number(
                int(value) if isinstance(value, bool) else value, f"parameter {name}"
            )
        elif value is not None and not isinstance(value, dict):
            raise ValueError(f"the parameter {name} must be a value")
    return found


@dataclass(frozen=True, slots=True)
class Release:
    """A release read back from its file.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> written = ig.write_release(X, "a.parquet", ig.Rotation(optimize=None), again=True)
    >>> release = ig.Release.read(written.release)
    >>> release.facts.method, release.to_numpy().shape
    ('rotation', (200, 3))
    """

    facts: Facts
    table: pa.Table = field(repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Release:
        """Read a release whole; `facts` alone come from `read_facts`, without the rows."""
        import pyarrow.parquet as pq

        facts = read_facts(path)
        try:
            with pq.ParquetFile(path) as file:
                table = file.read()
        except (OSError, pa.ArrowException):
            raise ReleaseError(f"{path} cannot be read: its rows are damaged") from None
        if not {*facts.columns, *facts.kept} <= {*table.column_names}:
            raise ReleaseError(f"{path} lacks columns that it says it has")
        return cls(facts, table)

    def write(self, path: str | Path) -> None:
        """Write the release with its facts, as it was read."""
        import pyarrow.parquet as pq

        said = {METADATA_KEY: json.dumps(self.facts.to_json()).encode()}
        pq.write_table(self.table.replace_schema_metadata(said), path, use_dictionary=False)

    def to_numpy(self) -> NDArray[Any]:
        """The perturbed columns as an array, one record a row."""
        columns = [self.table.column(name).to_numpy() for name in self.facts.columns]
        return np.column_stack(columns)


class NotOurReleaseError(ReleaseError):
    """A file that does not say it is a release of ours."""


def read_facts(path: str | Path) -> Facts:
    """The public facts of a release file."""
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path).metadata or {}
    except FileNotFoundError:
        raise NotOurReleaseError(f"{path} does not exist") from None
    except (OSError, pa.ArrowException):
        raise NotOurReleaseError(f"{path} cannot be read as a release: it is not Parquet") from None
    if METADATA_KEY not in metadata:
        raise NotOurReleaseError(f"{path} is a Parquet file, but not a release made by isinglass")
    try:
        said = read_json(metadata[METADATA_KEY])
        if not isinstance(said, dict):  # whoever wrote that, it was not isinglass
            raise NotOurReleaseError(f"{path} says things about itself that cannot be read here")
        return Facts.from_json(said)
    except ValueError as error:
        raise ReleaseError(
            f"{path} says things about itself that cannot be read here: {error}"
        ) from None


def _bare(field_: pa.Field) -> pa.Field:
    """The field without metadata, at any depth."""
    kind = field_.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_bare(kind.field(i)) for i in range(kind.num_fields)])
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        made = pa.list_ if pa.types.is_list(kind) else pa.large_list
        kind = made(_bare(kind.value_field))
    return pa.field(field_.name, kind, field_.nullable)


class ReleaseWriter:
    """Writes a release row group by row group; encoding runs beside the perturbing.

    Row groups are cut at fixed row numbers, so the file's bytes depend on the rows alone and not
    on the blocks they came in. Two groups are in memory at once, no more.
    """

    def __init__(
        self, path: Path, columns: Sequence[str], kept: pa.Schema, dtype: type[np.floating]
    ) -> None:
        import pyarrow.parquet as pq

        self._columns = list(columns)
        kind = pa.from_numpy_dtype(np.dtype(dtype))
        # Whatever else the table's schema says about the columns kept stays with the table.
        passed_on = (_bare(column) for column in kept)
        self._schema = pa.schema([*(pa.field(c, kind) for c in columns), *passed_on])
        self._kept_schema = kept
        size = np.dtype(dtype).itemsize * max(len(self._columns), 1)
        self._group = int(min(1 << 20, max(1 << 10, _GROUP_BYTES // size)))
        self._spare = [np.empty((len(columns), self._group), dtype) for _ in range(2)]
        self._filling = self._spare.pop()
        self._filled = 0
        self._kept: list[pa.RecordBatch] = []
        self._writer = pq.ParquetWriter(path, self._schema, use_dictionary=False)
        self._pending: Errand | None = None
        self.rows = 0

    def add(self, Z: NDArray[Any], kept: pa.RecordBatch) -> None:
        """Append rows of the release."""
        start = 0
        while start < len(Z):
            take = min(len(Z) - start, self._group - self._filled)
            self._filling[:, self._filled : self._filled + take] = Z[start : start + take].T
            if self._kept_schema.names:
                self._kept.append(kept.slice(start, take))
            self._filled += take
            start += take
            if self._filled == self._group:
                self._flush()
        self.rows += len(Z)

    def _flush(self) -> None:
        if not self._filled:
            return
        full, rows, kept = self._filling, self._filled, self._kept
        if self._pending is not None:
            self._spare.append(self._pending.outcome())
        self._pending = Errand(lambda: self._encode(full, rows, kept))
        self._pending.begin()
        self._filling, self._filled, self._kept = self._spare.pop(), 0, []

    def _encode(self, full: NDArray[Any], rows: int, kept: list[pa.RecordBatch]) -> NDArray[Any]:
        arrays = [pa.array(column[:rows]) for column in full]
        if kept:
            together = pa.Table.from_batches(kept).combine_chunks()
            arrays += [together.column(n).combine_chunks() for n in self._kept_schema.names]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        self._writer.write_table(table, row_group_size=rows)
        return full

    def close(self, facts: Facts) -> None:
        """Write what is left and the facts; the file is complete after this."""
        self._flush()
        if self._pending is not None:
            self._pending.outcome()
            self._pending = None
        self._writer.add_key_value_metadata({METADATA_KEY.decode(): json.dumps(facts.to_json())})
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pending is not None and not self._pending.cancel():
            self._pending.wait()
        if kind is not None and self._writer.is_open:
            with contextlib.suppress(Exception):  # the file is thrown away anyhow
                self._writer.close()
