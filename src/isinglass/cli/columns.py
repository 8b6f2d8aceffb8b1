"""What a command is told of a table's columns: by a columns file, and by options beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isinglass.table.reading import RememberedReading, TableReading
    from isinglass.table.roles.columns_file import ColumnEntry, ColumnsFile


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns that a command drops, keeps and encodes, and what it knows of others."""

    reading: TableReading
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    one_hot: tuple[str, ...] = ()
    label: str | None = None
    person: str | None = None
    file: ColumnsFile | None = None
    #: Columns of a columns file that are numbers, and their bounds where all were declared.
    bounds: dict[str, tuple[float, float]] | None = field(default=None, repr=False)

    def no_numbers(self) -> list[str]:
        """Columns of the columns file that are no numbers to compare, in whichever file."""
        if self.file is None:
            return []
        return [c.name for c in self.file.columns if not c.is_number]

    def identifiers(self) -> list[str]:
        """Columns of the columns file that tell records apart."""
        return [] if self.file is None else self.file.named("identifier")


def read_file(columns: Path | None) -> ColumnsFile | None:
    """The columns file that was named, if any."""
    if columns is None:
        return None
    from isinglass.table.roles.columns_file import read_columns

    return read_columns(columns)


def reading_of(
    file: ColumnsFile | None,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    missing: str | None = None,
) -> TableReading:
    """How to read a table: as typed, else as its columns file says."""
    from isinglass.table.reading import TableReading

    if file is None:
        return TableReading(encoding or "utf8", delimiter, decimal, missing or "error")
    return TableReading(
        encoding or file.encoding,
        delimiter or file.delimiter,
        decimal or file.number_format,
        missing or file.missing,
    )


def rows_rule(choice: ColumnChoice) -> str:
    """What a curator does about missing values: a median would be a fact that nobody pays for."""
    from isinglass.errors import TableError

    if choice.reading.missing == "median":
        raise TableError(
            'missing = "median" does not go with a curator, for whom a median is a fact of the '
            "table; say --missing drop"
        )
    return choice.reading.missing


def choose(
    columns: Path | None,
    table: Path,
    *,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    one_hot: Sequence[str] = (),
    numbers: Sequence[str] = (),
    label: str | None = None,
    person: str | None = None,
    whole: bool = True,
    **typed: str | None,
) -> ColumnChoice:
    """Roles as typed, else as the columns file says; of each column one.

    `whole` demands that the table has every column that the file declares for use.
    """
    from isinglass.table.columns import names_to_drop, needs_names, split_names
    from isinglass.table.read import open_table

    file = read_file(columns)
    reading = reading_of(file, **typed)
    given = [*drop, *keep, *one_hot, *numbers]
    if file is None and not needs_names(given):
        return ColumnChoice(reading, tuple(drop), tuple(keep), tuple(one_hot), label, person)
    names = open_table(table, encoding=reading.encoding, delimiter=reading.delimiter).schema.names
    dropped, kept = names_to_drop(drop, names), split_names(keep, names)
    encoded, plain = split_names(one_hot, names), split_names(numbers, names)
    choice = ColumnChoice(reading, tuple(dropped), tuple(kept), tuple(encoded), label, person, file)
    if file is None:
        return choice
    said = {*dropped, *kept, *encoded, *plain, *(n for n in (label, person) if n is not None)}
    _refuse_other(file, [n for n in names if n not in said], names, said, whole=whole)
    return _joined(choice, file, [n for n in names if n not in said], said)


def _joined(
    choice: ColumnChoice, file: ColumnsFile, rest: Sequence[str], said: set[str]
) -> ColumnChoice:
    """The choice with the roles of columns of which nothing was typed."""
    drop, keep, one_hot = list(choice.drop), list(choice.keep), list(choice.one_hot)
    label, person = choice.label, choice.person
    for name in rest:
        entry = file.by_name[name]
        if entry.use == "keep":
            keep.append(name)
        elif entry.is_category and entry.one_hot:
            one_hot.append(name)
        elif entry.is_number:
            continue
        elif entry.use is None and entry.role == "label" and label is None:
            label = name
        elif entry.use is None and entry.role == "person" and person is None:
            person = name
        else:
            drop.append(name)
    numbers = [c for c in file.columns if c.is_number and c.name not in said]
    return ColumnChoice(
        choice.reading, tuple(drop), tuple(keep), tuple(one_hot), label, person, file,
        _bounds(file, numbers),
    )  # fmt: skip


def _bounds(
    file: ColumnsFile, numbers: Sequence[ColumnEntry]
) -> dict[str, tuple[float, float]] | None:
    """The declared bounds of all columns of numbers; None where none is declared."""
    from isinglass.errors import TableError
    from isinglass.table.columns import listed

    declared = {c.name: c.bounds for c in numbers if c.bounds is not None}
    if not declared:
        return None
    if missing := [c.name for c in numbers if c.bounds is None]:
        raise TableError(
            f"{file.name} declares bounds of some columns of numbers and not of {listed(missing)}; "
            "declare those, too, or none"
        )
    return declared


def _refuse_other(
    file: ColumnsFile, rest: Sequence[str], names: Sequence[str], said: set[str], *, whole: bool
) -> None:
    """Refuse a table with columns that its columns file does not know, or without some it needs."""
    from isinglass.errors import TableError
    from isinglass.table.columns import listed

    if strange := [n if n else "''" for n in rest if n not in file.by_name]:
        raise TableError(
            f"{file.name} does not name columns that the table has: {listed(strange)}; give each a "
            "role there, or write the file again with `isinglass inspect`"
        )
    used = [c.name for c in file.columns if c.is_number or c.is_category]
    if whole and (lacking := [n for n in used if n not in names and n not in said]):
        raise TableError(
            f"{file.name} names columns that the table lacks: {listed(lacking)}; it is another "
            "table, or they must go from the file"
        )


def known_to_key(
    choice: ColumnChoice, known: RememberedReading, table: Path, typed: Mapping[str, str | None]
) -> ColumnChoice:
    """The choice with what a key remembers, where nothing was typed and no columns file says."""
    if choice.file is not None:
        return choice
    from isinglass.table.read import open_table

    mine = choice.reading
    reading = replace(
        known.reading, **{n: getattr(mine, n) for n, value in typed.items() if value is not None}
    )
    found = {"label": choice.label, "person": choice.person}
    asked = [n for n in (known.label, known.person) if n is not None]
    if asked:
        opened = open_table(table, encoding=reading.encoding, delimiter=reading.delimiter)
        for role in found:
            name = getattr(known, role)
            out = name in choice.drop and role == "label"
            if found[role] is None and name in opened.schema.names and not out:
                found[role] = name
    return replace(choice, reading=reading, label=found["label"], person=found["person"])
