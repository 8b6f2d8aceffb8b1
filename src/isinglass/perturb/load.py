"""From a key file back to the fitted perturbation it belongs to."""

from __future__ import annotations

import importlib
from dataclasses import fields
from pathlib import Path

import numpy as np

from isinglass.errors import KeyFileError
from isinglass.perturb.base import METHODS, Perturbation
from isinglass.perturb.key import KeyFile, read_key
from isinglass.perturb.limits import refuse_misstated

# One method a file; each registers itself when it is imported.
_FILES = (
    "adaptive",
    "condensation",
    "distortion",
    "geometric",
    "multiparty",
    "noise",
    "projection",
    "rotation",
)


def methods() -> dict[str, type[Perturbation]]:
    """Every perturbation by the name its key files carry."""
    for name in _FILES:
        importlib.import_module(f"isinglass.perturb.{name}")
    return METHODS


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


def restore(
    stored: KeyFile, where: str, expected: type[Perturbation] | None = None
) -> Perturbation:
    """Build the perturbation a key file describes; refuse one of another method than `expected`."""
    found = methods().get(stored.method)
    if found is None:
        raise KeyFileError(f"key file {where} is of a method not known here: {stored.method}")
    if expected is not None and found is not expected:
        raise KeyFileError(
            f"key file {where} belongs to the method {stored.method}, not {expected.method}"
        )
    try:
        refuse_misstated(found, stored.facts["parameters"])
        perturbation = found.from_parameters(stored.facts["parameters"])
        perturbation._restore(stored)
        sound = _fits(perturbation)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        sound = False
    if not sound:
        raise KeyFileError(
            f"key file {where} is damaged: it does not hold what {stored.method} needs"
        )
    return perturbation


def _fits(perturbation: Perturbation) -> bool:
    """Whether a key's arrays have the shapes, kinds and finite numbers their method works with."""
    key = perturbation._key
    for name, shape in perturbation.key_shapes().items():
        array = getattr(key, name)
        if array is None or array.shape != shape:
            return False
    arrays = [getattr(key, f.name) for f in fields(key)]
    return all(
        a is None or (a.dtype in (np.float64, np.uint64, np.int64) and bool(np.isfinite(a).all()))
        for a in arrays
    )
