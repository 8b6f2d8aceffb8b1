"""Perturbation classes by name; a file is loaded when its method is first asked for."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isinglass.method_names import METHODS

if TYPE_CHECKING:
    from isinglass.perturb.base import Perturbation


@dataclass(frozen=True, slots=True)
class Strength:
    """The parameter that sets how strongly a method perturbs, and values to begin a search with."""

    parameter: str
    values: tuple[float, ...]  # weakest first
    whole: bool = False  # the parameter takes whole numbers
    of_columns: bool = False  # `values` are shares of the number of columns


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the names a class goes by: the parameters it settles, and the one to vary."""

    fixed: dict[str, Any] = field(default_factory=dict)
    strength: Strength | None = None


#: The classes loaded so far, by the name that releases and key files carry.
_LOADED: dict[str, type[Perturbation]] = {}


def register(kind: type[Perturbation]) -> None:
    """Make a class known by its `method`; `Perturbation` does this for every class derived."""
    _LOADED[kind.method] = kind


def class_named(name: str) -> type[Perturbation]:
    """The class behind one of the names in `METHODS`."""
    entry = METHODS[name]
    importlib.import_module(f"isinglass.perturb.{entry.file}")
    return _LOADED[entry.method]


def class_of(method: str) -> type[Perturbation] | None:
    """The class whose releases and key files carry this name; None where there is none."""
    name = next((n for n, entry in METHODS.items() if entry.method == method), None)
    return _LOADED.get(method) if name is None else class_named(name)


def variant_named(name: str) -> Variant:
    """What one of the names in `METHODS` settles of its class."""
    return class_named(name).variants[name]
