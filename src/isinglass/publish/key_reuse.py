"""Reuse of a key on another table, and when it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from isinglass.errors import KeyFileError
from isinglass.messages import spell
from isinglass.perturb.base import Perturbation
from isinglass.perturb.key import KeyFile, read_key
from isinglass.perturb.registry import restore
from isinglass.perturb.scaled import ScaledPerturbation
from isinglass.table.columns import Columns
from isinglass.table.read import Table
from isinglass.table.scale import bounds_for

Bounds = Mapping[str, tuple[float, float]]


def reuse_key(
    path: Path, passphrase: str | None, table: Table, columns: Columns, bounds: Bounds | None
) -> tuple[Perturbation, KeyFile]:
    """The fitted perturbation of a key file, if its key may be used on this table."""
    stored = read_key(path, passphrase=passphrase)
    perturbation = restore(stored, str(path))
    if perturbation.draws_noise or not perturbation.keeps_rows:
        raise KeyFileError(
            f"a key of {perturbation.method} is used once: the same noise on other records "
            "would cancel out; let a new key be drawn"
        )
    names = stored.facts.get("columns")
    if names is not None and names != list(columns.numeric):
        raise KeyFileError(
            f"the key was made for other columns than {table.name} has: it wants "
            f"{', '.join(names[:12])}{' …' if len(names) > 12 else ''} in this order"
        )
    if stored.facts.get("one_hot", []) != list(columns.one_hot):
        raise KeyFileError(f"the key was made with other columns in {spell('one_hot')}")
    if isinstance(perturbation, ScaledPerturbation):
        _same_bounds(perturbation, columns, bounds)
    return perturbation, stored


def _same_bounds(perturbation: ScaledPerturbation, columns: Columns, bounds: Bounds | None) -> None:
    declared = perturbation.declared_bounds()
    if declared is None:
        raise KeyFileError(
            "the key's bounds were learned from another table and would not fit this one; declare "
            f"{spell('bounds')} for the first release to use its key again"
        )
    if bounds is not None:
        low, high = bounds_for(columns.numeric, bounds)
        width = len(columns.numeric)
        if low.tolist() != declared[0][:width] or high.tolist() != declared[1][:width]:
            raise KeyFileError("the bounds given differ from those the key was made with")
