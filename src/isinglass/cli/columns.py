"""Columns as a person names them on the command line."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def split_names(given: Sequence[str], names: Collection[str]) -> list[str]:
    """`a,b` means two columns, unless the table has one of that very name."""
    parts = []
    for item in given:
        parts += [item] if item in names else [p for p in item.split(",") if p]
    return parts
