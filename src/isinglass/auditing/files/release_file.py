"""Release on disk: columns to attack, and columns known besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from isinglass.attack.knowledge import KeptColumns
from isinglass.auditing.files import align
from isinglass.auditing.files.align import Array, KeptColumn, Loaded
from isinglass.auditing.files.hidden import refuse_hidden, refuse_long_names
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.errors import AuditError
from isinglass.progress import Progress
from isinglass.release import Facts
from isinglass.table.columns import Columns, is_numeric, listed
from isinglass.table.number_format import NumberFormat
from isinglass.table.prepare import Source
from isinglass.table.read import Table, open_table


def open_release(
    path: str | Path,
    encoding: str,
    delimiter: str | None,
    table_names: Sequence[str],
    decimal: str | NumberFormat | None = None,
) -> Table:
    """A release all of whose parts can be looked at."""
    opened = open_table(path, encoding=encoding, delimiter=delimiter, decimal=decimal)
    refuse_long_names(path, opened.schema, table_names)
    refuse_hidden(path)
    return opened


def kept_names(facts: Facts | None, release: Table) -> tuple[str, ...]:
    """Columns that may have left as they were: those that a release names, or any text."""
    if facts is not None:
        return facts.kept
    schema = release.schema
    return tuple(n for n in schema.names if not is_numeric(schema.field(n).type))


def load_release(
    release: Table,
    facts: Facts | None,
    id_column: str | None,
    label: str | None,
    table_names: Sequence[str],
    table_beside: Sequence[str],
    notes: list[AuditNote],
    tell: Progress,
) -> tuple[Loaded, tuple[str, ...]]:
    """A release's numbers without holes, and the names of the columns read beside them.

    Of a file that says nothing of itself all numbers are attacked. Where it has all of the table's
    columns, others stand beside them; where it has another number of columns than the table, the
    numbers in text, times and lists join those attacked, unless the table has such a column, too
    (`table_beside`).
    """
    schema = release.schema
    if id_column is not None and id_column not in schema.names:
        raise AuditError(
            f"{release.name} has no column named {id_column} to match rows by; "
            f"it has {listed(schema.names)}"
        )
    if facts is not None:
        numeric = list(facts.columns)
        if lost := [n for n in (*facts.columns, *facts.kept) if n not in schema.names]:
            raise AuditError(f"{release.name} lacks columns that it says it has: {listed(lost)}")
    else:
        ours = [n for n in schema.names if n not in (id_column, label)]
        numeric = [n for n in ours if is_numeric(schema.field(n).type)]
        if set(table_names) <= set(numeric):
            numeric = [n for n in numeric if n in table_names]
    # A column that the file does not speak of has left all the same, and text may say it all.
    kept = [n for n in schema.names if n not in numeric and n != id_column]
    beside = kept if id_column is None else [*kept, id_column]
    source = Source(release, Columns(tuple(numeric), (), tuple(beside)))
    loaded = align.load(source, tell, "reading the release", with_holes=True)
    loaded, marks, n_missing = fill_holes(loaded, numeric)
    if n_missing:
        file = Path(release.name).name
        notes.append(AuditNote.of(Kind.CELLS_MISSING, n=n_missing, file=file))
    if facts is None and len(numeric) != len(table_names):
        loaded, gone = _joined(loaded, [n for n in kept if n not in table_beside], notes)
        kept = [n for n in kept if n not in gone]
    if facts is None and not loaded.X.shape[1]:
        loaded, kept = _texts_alone(loaded, kept)
    if not loaded.X.shape[1]:
        raise AuditError(f"{release.name} has no numeric column to attack")
    return loaded, (*kept, *marks)


def _texts_alone(release: Loaded, names: Sequence[str]) -> tuple[Loaded, list[str]]:
    """A release without any number: codes of its texts, and the columns that are none."""
    read = {name: align.flattened(release.beside.column(name)) for name in names}
    codes = [values for values in read.values() if values is not None]
    if codes:
        release = replace(release, X=np.column_stack(codes))
    return release, [name for name, values in read.items() if values is None]


def _joined(
    release: Loaded, names: Sequence[str], notes: list[AuditNote]
) -> tuple[Loaded, list[str]]:
    """The release with numbers of other columns among its own, and columns that say no more."""
    from isinglass.auditing.files.read_numbers import is_all_numbers, read_numbers

    found, gone = [release.X], []
    for name in names:
        column = release.beside.column(name)
        numbers = read_numbers(column)
        if numbers is not None:
            found.append(numbers)
            if is_all_numbers(column):
                gone.append(name)
        elif (marks := align.indicators(column)) is not None:
            found.append(marks)
            gone.append(name)
    if len(found) > 1:
        notes.append(AuditNote.of(Kind.OTHER_NUMBERS))
    return replace(release, X=np.column_stack(found)), gone


@dataclass(slots=True)
class ColumnsBeside:
    """What left beside the columns attacked.

    `kept` are columns that the table has, too, by which rows are joined. `numbers` are found in
    others, and `codes` tell texts apart.
    """

    kept: dict[str, KeptColumn] = field(default_factory=dict, repr=False)
    numbers: list[Array] = field(default_factory=list, repr=False)
    codes: list[Array] = field(default_factory=list, repr=False)

    def add(self, release: Loaded, table: Loaded, names: Sequence[str]) -> None:
        """Read columns of a release; one that nobody can read is refused.

        The table's own column of the same name is what others know of it. What stands in a column
        of another name, or is not the table's after all, is learned like any released number.
        """
        if not names:
            return
        from isinglass.auditing.files.read_numbers import is_all_numbers, may_encode, read_numbers

        for name in names:
            column, own = release.beside.column(name), None
            if name in table.beside.column_names and name not in self.kept:
                own = align.as_kept(column, table.beside.column(name))
            if own is not None:
                self.kept[name] = own
                other = align.other_spellings(column, table.beside.column(name), own)
                if other is not None:
                    self.kept[f"{name} as written"] = other
                if not own.is_category or np.isin(own.released, own.own).mean() > 0.5:
                    continue
            numbers = read_numbers(column)
            codes = None if numbers is not None and is_all_numbers(column) else (
                align.flattened(column)
            )  # fmt: skip
            encoded = own is None and may_encode(column, table.X.shape[1])
            if encoded or (numbers is None and codes is None):
                raise AuditError(
                    f"{release.name}, column {name} holds values that an audit cannot look at, "
                    "and what was not looked at may say it all; turn them into numbers or text, "
                    "or leave them out of the release"
                )
            self.numbers += [] if numbers is None else [numbers]
            self.codes += [] if codes is None or own is not None else [codes]

    def known(self, table: Array, released: Array) -> KeptColumns | None:
        """The kept columns of the released rows, with those parts of their values that matter."""
        if not self.kept:
            return None
        from isinglass.attack.kept.parts import noise_on, with_parts  # only where some were kept

        columns = self.kept.values()
        kept = KeptColumns(
            np.column_stack([c.released for c in columns]),
            np.array([c.is_category for c in columns]),
            tuple(c.meaning for c in columns),
        )
        return with_parts(kept, self.own(), table, noise_on(table, released))

    def own(self) -> Array:
        """The kept columns of the table's rows."""
        return np.column_stack([column.own for column in self.kept.values()])

    def note(self, kept: KeptColumns) -> AuditNote | None:
        """Which parts of kept values were read; None where whole values say it all."""
        from isinglass.attack.kept.derived_columns import WHOLE  # only where some were kept

        names = list(self.kept)
        read = [p for p in kept.parts or () if max(p.effect) > 0 and p.name != WHOLE]
        said = list(dict.fromkeys(part.words(names) for part in read))
        return AuditNote.of(Kind.KEPT_PARTS, parts=tuple(said)) if said else None

    def tables(self) -> list[Array]:
        """Numbers and codes, each side by side."""
        return [np.column_stack(some) for some in (self.numbers, self.codes) if some]


#: Where fewer cells of a column are missing, or fewer are left, it tells nothing about records.
_FEWEST = 0.01


def fill_holes(release: Loaded, columns: Sequence[str]) -> tuple[Loaded, tuple[str, ...], int]:
    """The release with the mean of its column in each missing cell, and how many were missing.

    A column without a single number becomes constant. Where cells are missing may depend on what
    stood there, so the marks of missing cells are columns beside the others; their names are the
    second result.
    """
    known = np.isfinite(release.X)
    n_missing = int(known.size - known.sum())
    if not n_missing:
        return release, (), 0
    X = np.where(known, release.X, 0.0)
    mean = X.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    share, beside = known.mean(axis=0), release.beside
    telling = np.flatnonzero((share >= _FEWEST) & (share <= 1 - _FEWEST))
    _, first = np.unique(known[:, telling], axis=1, return_index=True)
    marks = {f"{columns[j]} is missing": pa.array(~known[:, j]) for j in telling[np.sort(first)]}
    for name, mark in marks.items():
        if not beside.num_columns:
            beside = pa.table({name: mark})
        elif name not in beside.column_names:
            beside = beside.append_column(name, mark)
    return replace(release, X=np.where(known, X, mean), beside=beside), tuple(marks), n_missing
