"""Audit of a model file with its training table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isinglass.auditing.files import align
from isinglass.auditing.files.provenance import table_columns
from isinglass.auditing.models.audit_model import audit_model
from isinglass.auditing.models.report import ModelReport
from isinglass.auditing.policy import Policy
from isinglass.detect.onnx_file import read_autoencoder
from isinglass.errors import AuditError
from isinglass.messages import spell
from isinglass.progress import Progress, quiet
from isinglass.table.columns import Columns, listed, refuse_text
from isinglass.table.number_format import NumberFormat
from isinglass.table.prepare import Source
from isinglass.table.read import Table, open_table


def audit_model_file(
    table: Any,
    model: str | Path,
    *,
    others: Any = None,
    drop: Sequence[str] = (),
    one_hot: Sequence[str] = (),
    missing: str = "error",
    policy: Policy | None = None,
    settings: Mapping[str, Any] | None = None,
    encoding: str = "utf8",
    delimiter: str | None = None,
    decimal: str | NumberFormat | None = None,
    random_state: int | None = None,
    progress: Progress = quiet,
) -> ModelReport:
    """Attack an exported autoencoder; see `audit_model`.

    The file names no columns: those of the table that are left after `drop` must be the ones the
    model was trained on, in their order. `others` has columns of the same names.
    """
    network = read_autoencoder(model)
    opened = open_table(table, encoding=encoding, delimiter=delimiter, decimal=decimal)
    columns, notes = table_columns(opened, None, None, drop, one_hot, ())
    source = Source(opened, columns, missing=missing)
    if source.n_columns != network.n_columns:
        raise AuditError(
            f"{model} takes {network.n_columns:,} columns, and {opened.name} has "
            f"{source.n_columns:,} that could be them; name the others with {spell('drop')} (and "
            f"encoded ones with {spell('one_hot')}), as the model was trained"
        )
    mine = align.load(source, progress, "reading the table").X
    theirs = None
    if others is not None:
        other = open_table(others, encoding=encoding, delimiter=delimiter, decimal=decimal)
        theirs = _load_others(other, columns, source, missing, progress)
    return audit_model(
        network,
        mine,
        theirs,
        policy=policy,
        settings={"model": Path(model).name, "table": Path(opened.name).name, **(settings or {})},
        notes=notes,
        random_state=random_state,
        progress=progress,
    )


def _load_others(
    other: Table, columns: Columns, source: Source, missing: str, progress: Progress
) -> Any:
    wanted = [*columns.numeric, *columns.one_hot]
    if absent := [name for name in wanted if name not in other.schema.names]:
        raise AuditError(f"{other.name} lacks columns of the table: {listed(absent)}")
    advice = "they are numbers in the table; bring both into one form"
    refuse_text(other, columns.numeric, advice, error=AuditError)
    records = Source(other, columns, missing=missing, categories=source.categories)
    return align.load(records, progress, "reading the others").X
