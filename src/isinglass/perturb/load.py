"""From a key file back to the fitted perturbation it belongs to."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np

from isinglass.errors import KeyFileError
from isinglass.perturb.base import Perturbation
from isinglass.perturb.key import KeyFile, read_key
from isinglass.perturb.limits import refuse_misstated
from isinglass.perturb.registry import class_of


def load_key(path: str | Path, *, passphrase: str | None = None) -> Perturbation:
    """Give back the fitted perturbation whose key was saved in `path`."""
    return restore(read_key(path, passphrase=passphrase), str(path))


def restore(
    stored: KeyFile, where: str, expected: type[Perturbation] | None = None
) -> Perturbation:
    """Build the perturbation a key file describes; refuse one of another method than `expected`."""
    found = class_of(stored.method)
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
