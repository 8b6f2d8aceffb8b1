"""Columns and public parameters that a release states about its table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import PublicParameters
from isinglass.auditing.files.key_match import KeyFacts
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.errors import AuditError, ReleaseError, TableError
from isinglass.messages import spell
from isinglass.perturb.base import Perturbation
from isinglass.perturb.limits import refuse_misstated
from isinglass.perturb.registry import class_of
from isinglass.perturb.scaled import ScaledPerturbation
from isinglass.release import Facts, NotOurReleaseError, read_facts
from isinglass.table.columns import Columns, is_numeric, listed, refuse_text, refuse_unknown
from isinglass.table.prepare import Source
from isinglass.table.read import Table

Array = NDArray[Any]


def read_own_facts(release: str | Path) -> Facts | None:
    """Read the facts a release states about itself; None where it is not one of ours.

    Raise ReleaseError if it states what cannot be.
    """
    try:
        facts = read_facts(release)
    except NotOurReleaseError:  # somebody else made it
        return None
    kind = class_of(facts.method)
    try:
        if kind is not None:
            refuse_misstated(kind, facts.parameters)
        _refuse_other_components(facts)
    except ValueError as error:
        raise ReleaseError(f"{release} says things about itself that cannot be: {error}") from None
    return facts


def _refuse_other_components(facts: Facts) -> None:
    """Raise ValueError if a release has another number of columns than it states."""
    stated = facts.parameters.get("n_components")
    matrix = facts.parameters.get("public_matrix")
    if isinstance(matrix, dict):
        from isinglass.perturb.public_matrix import PublicMatrix  # only where one is stated

        stated = PublicMatrix.from_json(matrix).n_components
    if stated is not None and stated != len(facts.columns):
        raise ValueError(f"n_components must be its {len(facts.columns)} columns, got {stated}")


def table_columns(
    table: Table,
    facts: Facts | None,
    key: KeyFacts | None,
    out: Sequence[str],
    one_hot: Sequence[str],
    beside: Sequence[str],
) -> tuple[Columns, list[AuditNote]]:
    """The table's columns that the release was made from, by the key or the release; else all.

    Raise AuditError if the table lacks them, TableError if a column named does not exist.
    """
    names = table.schema.names
    kept = () if facts is None else facts.kept
    refuse_unknown(table, [*out, *one_hot])
    named = None if facts is None else _named(facts)
    numeric: list[str]
    if key is not None and key.columns is not None:
        numeric, encoded = list(key.columns), list(key.one_hot)
    elif named is not None:
        if facts is not None and not _keeps_columns(facts):
            _refuse_fewer(table, named, {*out, *kept, *one_hot})
        numeric = [n for n in named if n in names and n not in one_hot]
        encoded = list(dict.fromkeys(n.rpartition("#")[0] or n for n in named if n not in names))
    else:
        apart = {*out, *kept, *one_hot}
        rest = [n for n in names if n not in apart]
        numeric = [n for n in rest if is_numeric(table.schema.field(n).type)]
        encoded = list(one_hot)
        text = [n for n in rest if n not in numeric]
        if not numeric and not encoded:
            raise TableError(f"{table.name} has no numeric column left that could be released")
        _refuse_perturbed(beside, [*numeric, *encoded])
        columns = Columns(tuple(numeric), tuple(encoded), tuple(beside))
        left_out = AuditNote.of(Kind.TEXT_LEFT_OUT, columns=tuple(text))
        return columns, [left_out] if text else []
    if absent := [n for n in [*numeric, *encoded] if n not in names]:
        raise AuditError(
            f"{table.name} lacks columns the release was made from: {listed(absent)}; it is "
            "another table"
        )
    where = " among those the release was made from"
    refuse_text(table, numeric, "it is another table", where=where, error=AuditError)
    _refuse_perturbed(beside, [*numeric, *encoded])
    return Columns(tuple(numeric), tuple(encoded), tuple(beside)), []


def _keeps_columns(facts: Facts) -> bool:
    kind = class_of(facts.method)
    return kind is not None and kind.keeps_columns


def _refuse_fewer(table: Table, named: Sequence[str], apart: set[str]) -> None:
    """Raise AuditError if the table has numeric columns that the release does not account for.

    What a file states about itself must not narrow what is looked for in it.
    """
    encoded = {n.rpartition("#")[0] or n for n in named}
    schema = table.schema
    left = [
        n for n in schema.names
        if n not in apart and n not in encoded and n not in named
        and is_numeric(schema.field(n).type)
    ]  # fmt: skip
    if left:
        raise AuditError(
            f"{table.name} has columns that the release does not say it was made from: "
            f"{listed(left)}; name those that were not released with {spell('drop')}"
        )


def _refuse_perturbed(beside: Sequence[str], perturbed: Sequence[str]) -> None:
    """Raise AuditError if a perturbed column is to match rows, or to be a label."""
    if both := [n for n in beside if n in perturbed]:
        raise AuditError(
            f"column {listed(both)} was perturbed in the release, so it can neither tell rows "
            f"apart ({spell('id_column')}) nor be a label ({spell('label')})"
        )


def _named(facts: Facts) -> list[str] | None:
    """Names of the table's columns, where the release states them."""
    kind = class_of(facts.method)
    if kind is not None and kind.keeps_columns:
        return list(facts.columns)
    return None if facts.bounds is None else list(facts.bounds)


def refuse_other_width(
    source: Source, release: Table, facts: Facts | None, perturbation: Perturbation | None
) -> None:
    """Raise AuditError if the release was made from another number of columns."""
    width = getattr(perturbation, "n_features_in_", None)
    if facts is not None and width is None:
        width = _width(facts)
    if width is not None and width != source.n_columns:
        raise AuditError(
            f"{release.name} was made from {width:,} columns, and {source.table.name} has "
            f"{source.n_columns:,} that could be them; name the others with {spell('drop')} (and "
            f"encoded ones with {spell('one_hot')}), as the release was made"
        )


def _width(facts: Facts) -> Any:
    """Number of columns a release was made from; None where it does not say."""
    matrix = facts.parameters.get("public_matrix")
    if isinstance(matrix, dict):
        return matrix.get("n_features")
    if facts.method != "projection" and facts.parameters.get("n_components") is None:
        return len(facts.columns)
    return None


def has_source_columns(facts: Facts, names: Sequence[str]) -> bool:
    """Whether nothing a release states contradicts that it was made from these columns."""
    named, width = _named(facts), _width(facts)
    return (named is None or named == list(names)) and width in (None, len(names))


def keeps_rows(facts: Facts) -> bool:
    """Whether a row of the release belongs to one of the table."""
    kind = class_of(facts.method)
    return kind is None or kind.keeps_rows


def stated_parameters(facts: Facts | None, names: Sequence[str]) -> PublicParameters | None:
    """The public parameters that a release states.

    Raise AuditError if its public matrix cannot be used.
    """
    if facts is None:
        return None
    low = high = matrix = None
    if facts.bounds is not None and all(name in facts.bounds for name in names):
        low, high = np.array([facts.bounds[name] for name in names], dtype=np.float64).T
    stated = facts.parameters.get("public_matrix")
    if isinstance(stated, dict):
        from isinglass.perturb.public_matrix import PublicMatrix  # only where one is stated

        try:
            matrix = PublicMatrix.from_json(stated).matrix
        except ValueError as error:
            raise AuditError(f"the release's public matrix cannot be used: {error}") from None
    return PublicParameters(facts.method, dict(facts.parameters), low, high, matrix)


def rebuild_perturbation(facts: Facts, names: Sequence[str]) -> Perturbation | None:
    """Rebuild the perturbation, without its key, from public facts; None if they do not suffice."""
    kind = class_of(facts.method)
    if kind is None:
        return None
    try:
        made = kind.from_parameters(dict(facts.parameters))
    except (TypeError, ValueError, LookupError):
        return None
    if isinstance(made, ScaledPerturbation) and facts.bounds is not None:
        low, high = zip(*(facts.bounds[name] for name in names), strict=True)
        made.bounds = (list(low), list(high))
    return made
