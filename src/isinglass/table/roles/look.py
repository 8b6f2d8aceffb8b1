"""Look at a whole table: what each column is, in one pass and bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from isinglass.errors import TableError
from isinglass.progress import Progress, quiet
from isinglass.table.batches import prefetch
from isinglass.table.csv_file import CsvTable
from isinglass.table.read import Table
from isinglass.table.roles import names
from isinglass.table.roles.facts import ColumnFacts
from isinglass.table.roles.proposals import Proposal, could_be_comma, propose
from isinglass.table.roles.value_counts import ValueCounts, hash_rows

_MOST_ROWS_COUNTED = 1 << 20  # different rows; more are estimated


@dataclass(frozen=True, slots=True)
class TableLook:
    """What a table looks like."""

    name: str
    rows: int
    columns: tuple[Proposal, ...]
    repeated_rows: int  # rows that say what an earlier one says, identifiers apart
    exact: bool  # whether they were all counted

    @property
    def incomplete(self) -> int:
        """How many columns miss values."""
        return sum(c.missing > 0 for c in self.columns)

    def named(self, *roles: str) -> list[str]:
        return [c.name for c in self.columns if c.proposed in roles]


def look_at_table(
    table: Table, *, decimal: str | None = None, progress: Progress = quiet
) -> TableLook:
    """Read a table once, and say what each of its columns is.

    `decimal` is the mark of numbers that could be read with either.
    """
    is_csv = isinstance(table, CsvTable)
    facts = [
        ColumnFacts(field.name, _kind(field.type, is_csv), is_csv=is_csv) for field in table.schema
    ]
    whole = ValueCounts(_MOST_ROWS_COUNTED)
    rows = 0
    for batch in prefetch(_batches(table)):
        hashes = [f.add(batch.column(j)) for j, f in enumerate(facts)]
        # Every row has an identifier of its own, which two records that are the same do not share.
        shared = [h for h, f in zip(hashes, facts, strict=True) if not _tells_apart(f)]
        whole.add(hash_rows(shared or hashes))
        rows += batch.num_rows
        progress("looking", rows, table.n_rows)
    if not rows:
        raise TableError(f"{table.name} has no rows")
    votes = [could_be_comma(f) for f in facts]
    comma = sum(votes) > 0 if decimal is None else decimal == ","
    found = _one_person([propose(f, comma=comma) for f in facts])
    return TableLook(table.name, rows, tuple(found), whole.repeated, whole.exact)


def _batches(table: Table) -> Any:
    if isinstance(table, CsvTable):
        return table.batches([], [], as_text=table.schema.names)
    return table.batches([], table.schema.names)


def _kind(kind: Any, is_csv: bool) -> Any:
    import pyarrow as pa

    if is_csv:  # whose kinds follow from its first rows only
        return pa.string()
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _tells_apart(facts: ColumnFacts) -> bool:
    """Whether a column's name says that every row has a value of its own."""
    return names.is_index_name(facts.name) or names.plain_name(facts.name) in ("id", "index")


def _one_person(found: Sequence[Proposal]) -> list[Proposal]:
    """One column says whose record a row is; others like it identify, too."""
    whose = [c for c in found if c.proposed == "person"]
    if len(whose) < 2:
        return list(found)
    # A customer has several accounts and cards rather than the other way around.
    chosen = min(whose, key=lambda c: (not names.names_person(c.name), c.distinct))
    return [
        replace(c, proposed="identifier") if c in whose and c is not chosen else c for c in found
    ]
