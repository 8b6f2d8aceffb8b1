"""The twelve sets of Table 1 with columns brought to [0, 1], and their rotations."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.errors import PrivacyWarning
from isinglass.perturb.rotation import Rotation
from isinglass.table.scale import Scaling
from isinglass_papers.core.data import MissingData, Sets
from isinglass_papers.core.result import Missing
from isinglass_papers.rotation.printed import TABLE_1, PrintedSet

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ScaledSet:
    """A set of Table 1; `X` is scaled from [low, high] to [0, 1], and `seed` is its own."""

    printed: PrintedSet
    X: Array = field(repr=False)
    y: Array = field(repr=False)
    low: Array = field(repr=False)
    high: Array = field(repr=False)
    seed: tuple[int, int]

    @property
    def name(self) -> str:
        return self.printed.name

    @property
    def called(self) -> str:
        return self.printed.called

    def chance(self, part: int) -> np.random.Generator:
        """The chance of one part of the work; parts do not move each other."""
        return np.random.default_rng([*self.seed, part])


def tables(sets: Sets, seed: int) -> tuple[list[ScaledSet], list[Missing]]:
    """Those that are there, and those that are not."""
    found, missing = [], []
    for i, printed in enumerate(TABLE_1):
        try:
            data = sets.load(printed.name)
        except MissingData as error:
            missing.append(Missing(f"{printed.called} in Table 1", str(error)))
            continue
        if data.labels is None:
            missing.append(Missing(f"{printed.called} in Table 1", "the file has no label column"))
            continue
        X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.labels)
        found.append(ScaledSet(printed, scaled(X), y, X.min(axis=0), X.max(axis=0), (seed, i)))
    return found, missing


def scaled(X: Array) -> Array:
    """Columns brought to [0, 1] by their own range; constant ones to 0."""
    low, factor = Scaling(X.min(axis=0), X.max(axis=0), declared=False).factors(np.float64)
    return np.asarray((X - low) * factor)


def turned(X: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """One random rotation of the records: about the origin, and about a random center."""
    veil = Rotation(optimize=None, bounds="scaled", random_state=rng).fit(X)
    released = veil.transform(X)
    # R (x - t) - R (0 - t) = R x.
    return released - veil.transform(np.zeros((1, X.shape[1]))), released


@contextmanager
def unwarned() -> Iterator[None]:
    """Nothing is released here, so what warns the owner of a release is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        yield
