"""Inversion of a rotation from d + 1 known pairs, or from records like those of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics, KnownPairs, PopulationSample
from isinglass.attack.known_input import KnownInputAttack
from isinglass.attack.sample import SampleAttack
from isinglass.measure.vod import PrivacyLevel, privacy_level, variance_of_difference
from isinglass.perturb.rotation import Rotation
from isinglass_papers.rotation.sets import ScaledSet

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Undone:
    """What is left after two attacks on the rotation that the search kept.

    `pairs` is the largest error on any record and column, in shares of the column's range, of an
    attacker with as many pairs in general position as there are columns, plus one. `sample` is
    the level of one half of the table where the other half is known, `all_records` where all
    records are, without their rows: enough for the covariance.
    """

    n_pairs: int
    pairs: float
    sample: PrivacyLevel
    all_records: PrivacyLevel
    kept: PrivacyLevel


def undone(table: ScaledSet, n_iter: int) -> Undone:
    """Attack one release three times."""
    X, rng = table.X, table.chance(6)
    veil = Rotation(n_iter, check_ica=False, bounds="scaled", random_state=rng).fit(X)
    released = veil.transform(X)
    rows = general_position(X, rng)
    guess = KnownInputAttack("rigid").guess(released, KnownPairs(rows, X[rows]))
    half = rng.permutation(len(X)) < len(X) // 2
    statistics = ColumnStatistics.of(X)
    varies = X.min(axis=0) < X.max(axis=0)

    def left(rows: Array, records: Array) -> PrivacyLevel:
        known = PopulationSample(records) | statistics
        found = SampleAttack(random_state=rng).guess(released[rows], known)
        return privacy_level(variance_of_difference(X[rows][:, varies], found[:, varies]))

    return Undone(
        len(rows),
        float(np.abs(guess - X).max()),
        left(half, X[~half]),
        left(np.ones(len(X), dtype=bool), X),
        privacy_level(variance_of_difference(X, released)),
    )


def general_position(X: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Records that span as much as the table does, and one more: at most d + 1."""
    from scipy.linalg import qr

    order = rng.permutation(len(X))
    first, rest = order[0], order[1:]
    factor, chosen = qr((X[rest] - X[first]).T, mode="r", pivoting=True)
    sizes = np.abs(np.diag(factor))
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    return np.append(first, rest[chosen[:rank]])
