"""Search space: every method with its strength."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from isinglass.method_names import METHODS
from isinglass.perturb.base import Perturbation
from isinglass.perturb.registry import Variant, class_named, variant_named


def searchable() -> list[str]:
    """Methods that can be searched, by name.

    Where rows do not correspond to records, nobody can say which of the outliers a release keeps.
    """
    return [name for name in METHODS if class_named(name).keeps_rows]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One setting: a method and how strong it is."""

    method: str
    value: float | int | None = None

    @property
    def variant(self) -> Variant:
        return variant_named(self.method)

    @property
    def setting(self) -> str:
        """The strength as it is typed; empty where a method has none."""
        strength = self.variant.strength
        return "" if strength is None else f"{strength.parameter}={self.value:g}"

    def perturbation(self) -> Perturbation:
        """The unfitted perturbation."""
        strength = self.variant.strength
        set_to = {} if strength is None else {strength.parameter: self.value}
        return class_named(self.method)(**self.variant.fixed, **set_to)

    def code(self) -> str:
        """The line that makes it."""
        arguments = [repr(v) for v in self.variant.fixed.values()]
        arguments += [self.setting] if self.setting else []
        return f"ig.{class_named(self.method).__name__}({', '.join(arguments)})"

    def command(self, table: str = "TABLE", options: Sequence[str] = ()) -> str:
        """The command that makes the release; `options` are words about the table's columns."""
        setting = ["--set", self.setting] if self.setting else []
        words = [table, *options, "-o", "RELEASE", "--method", self.method, *setting]
        return shlex.join(["isinglass", "release", *words])


def candidates(methods: str | Iterable[str], n_columns: int) -> list[Candidate]:
    """The settings a search starts with, for the methods named or for "all"."""
    names = searchable() if methods == "all" else _listed(methods)
    return [
        Candidate(name, value)
        for name in names
        for value in _values(variant_named(name), n_columns)
        if n_columns >= class_named(name).least_columns
    ]


def _listed(methods: str | Iterable[str]) -> list[str]:
    names, known = [methods] if isinstance(methods, str) else list(methods), searchable()
    for name in names:
        if name not in known:
            raise ValueError(f"methods must be 'all' or among {', '.join(known)}, got {name!r}")
    return names


def _values(of: Variant, n_columns: int) -> list[Any]:
    if of.strength is None:
        return [None]
    if of.strength.of_columns:
        return sorted({max(1, round(share * n_columns)) for share in of.strength.values})
    return list(of.strength.values)


def refine(candidate: Candidate, others: Iterable[Candidate]) -> list[Candidate]:
    """Settings half way (in ratio) to the next weaker and stronger ones of the same method."""
    if candidate.value is None:
        return []
    strength = candidate.variant.strength
    whole = strength is not None and strength.whole
    values = sorted({c.value for c in others if c.method == candidate.method and c.value})
    found = []
    for value in values:
        middle: float = (value * candidate.value) ** 0.5
        rounded = round(middle) if whole else float(f"{middle:.2g}")
        near = [v for v in values if min(value, candidate.value) < v < max(value, candidate.value)]
        if not near and rounded not in (value, candidate.value):
            found.append(Candidate(candidate.method, rounded))
    return found
