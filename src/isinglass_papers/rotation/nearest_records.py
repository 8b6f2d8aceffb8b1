"""Distances to the nearest original record, for condensation and for rotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.measure.vod import PrivacyLevel, privacy_level, variance_of_difference
from isinglass.perturb.condensation import Condensation
from isinglass.perturb.rotation import Rotation
from isinglass_papers.rotation.sets import ScaledSet

Array = NDArray[Any]
#: The group size at which the two methods are compared; the paper does not say its own.
GROUP = 10


@dataclass(frozen=True, slots=True)
class Nearest:
    """Levels by the nearest-record yardstick: of condensation by group size, and of rotation.

    `paired` are the levels of the same rotations by the paper's yardstick for them, record by
    record. Each is a mean over draws.
    """

    condensed: dict[int, PrivacyLevel]
    rotated: PrivacyLevel
    paired: PrivacyLevel


def nearest(table: ScaledSet, sizes: tuple[int, ...], draws: int, n_iter: int) -> Nearest:
    """Condense in groups of each size, and rotate by the search, so many times."""
    X, rng = table.X, table.chance(5)
    condensed = {
        k: _mean(
            [
                gap(X, Condensation(k, fill=False, random_state=rng).fit_transform(X))
                for _ in range(draws)
            ]
        )
        for k in sizes
        if k <= len(X)
    }
    rotated, paired = [], []
    for _ in range(draws):
        veil = Rotation(n_iter, check_ica=False, bounds="scaled", random_state=rng).fit(X)
        released = veil.transform(X)
        paired.append(privacy_level(variance_of_difference(X, released)))
        # A shift hides nothing from whoever knows the columns' means.
        rotated.append(gap(X, released - released.mean(axis=0) + X.mean(axis=0)))
    return Nearest(condensed, _mean(rotated), _mean(paired))


def gap(X: Array, released: Array) -> PrivacyLevel:
    """Each released record minus its nearest original, as levels (section 5.3)."""
    from scipy.spatial import cKDTree

    return privacy_level(variance_of_difference(X[cKDTree(X).query(released)[1]], released))


def _mean(found: list[PrivacyLevel]) -> PrivacyLevel:
    return PrivacyLevel(
        float(np.mean([f.minimum for f in found])), float(np.mean([f.average for f in found]))
    )
