"""Perturbation classes by name, and key files opened as fitted perturbations."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isinglass.errors import KeyFileError
from isinglass.method_names import METHODS
from isinglass.perturb.key import KeyFile, read_key

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


def load_key(path: str | Path, *, passphrase: str | None = None) -> Perturbation:
    """Give back the fitted perturbation whose key was saved in `path`.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> veil = ig.Rotation(optimize=None, bounds="scaled").fit(X)
    >>> veil.save_key("a.key", force=True)
    >>> bool((ig.load_key("a.key").transform(X) == veil.transform(X)).all())
    True
    """
    return restore(read_key(path, passphrase=passphrase), str(path))


def open_key(path: str | Path, *, passphrase: str | None = None) -> tuple[Perturbation, KeyFile]:
    """The fitted perturbation of a key file, and what else the key knows of its release."""
    stored = read_key(path, passphrase=passphrase)
    return restore(stored, str(path)), stored


def restore(stored: KeyFile, where: str) -> Perturbation:
    """Build the perturbation that a key file describes."""
    found = class_of(stored.method)
    if found is None:
        raise KeyFileError(f"key file {where} is of a method not known here: {stored.method}")
    return found.from_key_file(stored, where)
