"""Columns whose owner must say what they are before they leave: identifiers, labels, text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.errors import TableError
from isinglass.messages import spell
from isinglass.table.columns import as_float64, is_numeric, listed, quoted, split_names
from isinglass.table.read import Table
from isinglass.table.roles import names

Array = NDArray[Any]

#: A shorter column may go up by one in every row by chance.
_FEWEST = 50


def refuse_unsaid(table: Table, *, said: Collection[str], numbers: Sequence[str] = ()) -> None:
    """Refuse a table with columns that look like identifiers or labels, until its owner says so.

    `said` are columns with a role; `numbers` are to be perturbed whatever they look like.
    """
    schema = table.schema
    plain = split_names(numbers, schema.names)
    if unknown := sorted(set(plain) - set(schema.names)):
        raise TableError(
            f"{table.name} has no column named {listed(unknown)}; it has {listed(schema.names)}"
        )
    if twice := sorted(set(plain) & set(said)):
        raise TableError(f"column {listed(twice)} is named in {spell('number')} and elsewhere")
    if set(said) - set(schema.names):
        return  # whoever gives the columns their roles says so
    rest = [n for n in schema.names if n not in said and n not in plain]
    text = [n for n in rest if not is_numeric(schema.field(n).type)]
    identifiers, labels = look_alikes(table, [n for n in rest if n not in text])
    kinds = (
        ("that are not numbers", text),
        ("that look like identifiers", identifiers),
        ("that look like labels", labels),
    )
    if not identifiers and not labels and not text:
        return
    found = ", and ".join(f"{what}: {listed(quoted(names))}" for what, names in kinds if names)
    some = quoted([*identifiers, *labels, *text])
    numbers_too = f"; {spell('number')} perturbs them all the same" if identifiers or labels else ""
    raise TableError(
        f"{table.name} has columns {found}; leave them out with "
        f"{spell('drop', ','.join(some) if len(some) <= 12 else None)}, encode those with few "
        f"values as 0/1 columns with {spell('one_hot')}, or disclose them: {spell('keep')} writes "
        f"their values into the release as they are{numbers_too}; "
        "`isinglass inspect` tells what each column is"
    )


def look_alikes(table: Table, candidates: Sequence[str]) -> tuple[list[str], list[str]]:
    """Columns of numbers that look like identifiers, and those that look like labels.

    Identifiers are whole numbers with the name of one, or that count the rows; labels are 0 or 1
    and have the name of one. A pass that ends once no column is left that could be.
    """
    named = [n for n in candidates if names.names_identifier(n)]
    labels = [n for n in candidates if names.names_label(n)]
    counting = [n for n in candidates if n not in labels]
    open_to = [_Looks(n, n in named, n in labels, n in counting) for n in candidates]
    open_to = [looks for looks in open_to if _may_be_whole(table, looks)]
    seen = 0
    if open_to:
        for batch in table.batches([looks.name for looks in open_to]):
            seen += batch.num_rows
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            for looks in open_to:
                looks.add(_values(columns[looks.name]))
            if not any(looks.undecided for looks in open_to):
                break
    found = [looks.name for looks in open_to if looks.is_identifier]
    return found, [looks.name for looks in open_to if looks.is_label]


class _Looks:
    """What one column may still be."""

    def __init__(self, name: str, named: bool, label: bool, counting: bool) -> None:
        self.name = name
        self._named, self._label, self._counting = named, label, counting
        self._index = names.is_index_name(name)
        self._known = 0
        self._last: float | None = None
        self._first = 0.0
        self._values: set[float] = set()

    def add(self, values: Array) -> None:
        known = values[np.isfinite(values)]
        if not len(known):
            return
        whole = bool((known == np.floor(known)).all())
        self._named = self._named and whole
        self._label = self._label and bool(((known == 0) | (known == 1)).all())
        if self._named or self._label:
            self._values |= (
                set(np.unique(known[:1000]).tolist()) if len(self._values) < 3 else set()
            )
        if self._counting:
            if self._last is None:
                self._first = self._last = float(known[0])
                self._last -= 1
            steps = np.diff(known, prepend=self._last)
            rows = self._known + len(known)
            up = whole and len(known) == len(values) and bool((steps > 0).all())
            self._counting = up and float(known[-1]) - self._first < 2 * rows
        self._known += len(known)
        self._last = float(known[-1])

    @property
    def undecided(self) -> bool:
        return self._named or self._label or self._counting

    @property
    def is_identifier(self) -> bool:
        counts = self._counting and (self._index or self._known >= _FEWEST) and self._known > 1
        return bool(counts or (self._named and self._known and len(self._values) > 2))

    @property
    def is_label(self) -> bool:
        return self._label and self._known > 0


def _may_be_whole(table: Table, looks: _Looks) -> bool:
    """Whether it is worth a look: measurements in floating point count no rows."""
    import pyarrow as pa

    kind = table.schema.field(looks.name).type
    if pa.types.is_floating(kind) and not looks._named and not looks._label:
        return looks._index
    return looks.undecided


def _values(column: Any) -> Array:
    return np.asarray(as_float64(column).to_numpy(zero_copy_only=False))
