"""Matching of released rows with records: by identifier, order or fold, or not at all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from isinglass.auditing.files import align
from isinglass.auditing.files.align import Array, Loaded, Rows
from isinglass.auditing.files.key_match import KeyFacts
from isinglass.auditing.files.provenance import keeps_rows
from isinglass.auditing.notes import AuditNote, Kind, OwnersFile
from isinglass.release import Facts


@dataclass(frozen=True, slots=True)
class RowMatch:
    """Table and release row for row, and how sure that is.

    `rows` are the table's rows that are left, `correspond` says whether row i is record i (None:
    nobody said). `ordered` is False where each row is somebody's, and only a key that is not here
    knows whose; `order_shows` is False where the file's rows were shuffled. `others` are further
    numbers of the same rows.
    """

    table: Loaded
    release: Loaded
    rows: Rows = field(repr=False)
    correspond: bool | None
    ordered: bool = True
    order_shows: bool = True
    #: Nobody said in which order the rows are, and none was found in which they go with records.
    unsure: bool = False
    others: tuple[Array, ...] = field(default=(), repr=False)


def match_rows(
    table: Loaded,
    release: Loaded,
    facts: Facts | None,
    key: KeyFacts | None,
    id_column: str | None,
    notes: list[AuditNote],
) -> RowMatch:
    """Match a release's rows with records; what a file says about their order is only a claim."""
    everything = np.arange(len(table.X))
    if id_column is None and len(table.X) != len(release.X):
        from isinglass.auditing.files.fold import fold  # only where rows are more, or fewer

        folded = fold(table.X, release)
        if folded is not None:
            notes.append(folded.note)
            return RowMatch(table, folded.release, everything, None, others=folded.others)
    if facts is not None and not keeps_rows(facts):
        # It is only said that rows do not correspond; where they might, both are tried.
        same = len(table.X) == len(release.X)
        if key is not None and key.shuffle is not None:
            from isinglass.table.row_order import keyed_order  # only where they were shuffled

            # Rows are nobody's in any order; this is the one in which the key draws them.
            release = align.undo(release, keyed_order(key.shuffle, len(release.X)))
        return RowMatch(table, release, everything, None if same else False)
    if id_column is not None:
        return _by_identifier(table, release, facts, id_column, notes)
    if told := align.other_length(table, release):
        notes.append(told)
        return RowMatch(table, release, everything, False, ordered=False)
    if facts is not None and facts.order == "keyed":
        return _keyed(table, release, key, notes)
    if facts is None:
        return _looked_for(RowMatch(table, release, everything, None), notes)
    return RowMatch(table, release, everything, True)


def in_table_order(table: Array, release: Loaded) -> Loaded | None:
    """The release as it stands, or reversed, where its rows depend on the records; else None."""
    from isinglass.auditing.files.dependence import dependence  # only where an order is doubted

    numbers = _all_numbers(release)
    if dependence(table, numbers) >= 1.0:
        return release
    if dependence(table, numbers[::-1]) >= 1.0:
        return release.take(np.arange(len(numbers))[::-1])
    return None


def _all_numbers(release: Loaded) -> Array:
    """The numbers of a release, and codes of what stands beside them."""
    numbers = release.X
    for name in release.beside.column_names:
        read = align.flattened(release.beside.column(name))
        numbers = numbers if read is None else np.column_stack([numbers, read])
    return numbers


def _keyed(
    table: Loaded, release: Loaded, key: KeyFacts | None, notes: list[AuditNote]
) -> RowMatch:
    """A release that says its order is secret."""
    from isinglass.auditing.files.row_order import find_order
    from isinglass.table.row_order import keyed_order

    everything = np.arange(len(table.X))
    found = in_table_order(table.X, release)
    if found is not None:
        notes.append(AuditNote.of(Kind.SECRET_ORDER_IS_NONE))
        return RowMatch(table, found, everything, True)
    if key is None or key.shuffle is None:
        standing = find_order(table.X, release.X)
        if standing is not None and standing.places is not None:
            notes.append(AuditNote.of(Kind.SECRET_ORDER_FOUND, how=standing.how))
            release = release.take(standing.places)
            return RowMatch(table, release, everything, True, order_shows=False)
        notes.append(AuditNote.of(Kind.SECRET_ORDER_STAYS))
        return RowMatch(table, release, everything, True, ordered=False, order_shows=False)
    order = keyed_order(key.shuffle, len(release.X))
    return RowMatch(table, align.undo(release, order), everything, True, order_shows=False)


def _by_identifier(
    table: Loaded, release: Loaded, facts: Facts | None, id_column: str, notes: list[AuditNote]
) -> RowMatch:
    from isinglass.auditing.files.dependence import dependence

    rows, places = align.match(table, release, id_column)
    for file, n in (
        (OwnersFile(Path(table.name).name), len(table.X) - len(rows)),
        (Path(release.name).name, len(release.X) - len(places)),
    ):
        if n:
            notes.append(AuditNote.of(Kind.ROWS_WITHOUT_PARTNER, n=n, file=file))
    claimed = facts is not None and facts.order == "keyed"
    at = np.arange(len(places))[:, np.newaxis]
    shows = not claimed or dependence(at, places[:, np.newaxis]) >= 1.0
    found = RowMatch(table.take(rows), release.take(places), rows, True, order_shows=shows)
    return found if facts is not None else _looked_for(found, notes)


def _looked_for(match: RowMatch, notes: list[AuditNote]) -> RowMatch:
    """A foreign file's rows as they stand, or in an order in which they go with the records.

    Pairs of rows that do not belong together teach an attacker nothing, and would make any file
    look safe that is in another order.
    """
    from isinglass.auditing.files.dependence import dependence
    from isinglass.auditing.files.row_order import find_order

    table, release = match.table.X, match.release
    if dependence(table, _all_numbers(release)) >= 1.0:
        return match
    found = find_order(table, release.X)
    if found is None:
        notes.append(AuditNote.of(Kind.ORDER_CANNOT_BE_TOLD))
        return replace(match, unsure=True)
    notes.append(AuditNote.of(Kind.OTHER_ORDER_FOUND, how=found.how))
    shows = found.shows and match.order_shows
    if found.places is not None:
        release = release.take(found.places)
    release = replace(release, X=found.numbers)
    return replace(match, release=release, order_shows=shows)
