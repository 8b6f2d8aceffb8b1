"""Columns to leave out: names, lists of names and shell-style patterns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase


def split_names(given: Sequence[str], names: Collection[str]) -> list[str]:
    """`a,b` means two columns, unless the table has one of that very name."""
    parts = []
    for item in given:
        parts += [item] if item in names else [p for p in item.split(",") if p]
    return parts


def names_to_drop(given: Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns that names and shell-style patterns mean, in the order given.

    A name that the table lacks stays, for whoever knows what to say of it; so does a pattern that
    fits nothing. Upper and lower case are told apart.
    """
    found: list[str] = []
    for item in split_names(given, names):
        fit = [] if item in names else [n for n in names if fnmatchcase(n, item)]
        found += [n for n in fit if n not in found] if fit else [item]
    return found


def needs_names(given: Sequence[str]) -> bool:
    """Whether what was given can be understood only with the table's columns at hand."""
    return any(sign in item for item in given for sign in ",*?[")
