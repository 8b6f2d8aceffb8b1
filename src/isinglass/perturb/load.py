"""Loading of a key file into its fitted perturbation."""

from __future__ import annotations

from pathlib import Path

from isinglass.errors import KeyFileError
from isinglass.perturb.base import Perturbation
from isinglass.perturb.key import KeyFile, read_key
from isinglass.perturb.registry import class_of


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
