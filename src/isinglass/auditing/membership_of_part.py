"""Membership in a release of fewer rows than the table, where nobody says which rows left."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.members.membership import nearest_rows
from isinglass.auditing.attackers import OUTSIDER
from isinglass.auditing.findings import MembershipResult
from isinglass.auditing.membership import area_under_curve
from isinglass.auditing.scene import Scene

Array = NDArray[Any]

#: Most records compared, standard errors from the area to its bounds, and most multiplications.
_MOST_COMPARED, _STANDARD_ERRORS, _MOST_WORK = 2_000, 2.0, 1e11
#: Columns are taken for the table's own where means differ by no more, in deviations.
_SAME_MEAN = 0.3
#: Most distance of the best imitation, as a share of that of imitations without the records.
_MUCH_NEARER = 0.6
#: Sizes of noise in the imitations, in deviations, and quantiles of distances compared.
_SIZES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0)
_QUANTILES = np.linspace(0.02, 0.98, 49)


def membership_of_part(scene: Scene, rng: np.random.Generator) -> tuple[MembershipResult, ...]:
    """How well records that left are told from those that did not, by the nearest released row.

    Who left is not known here, but what share did. Releases of as many records are imitated under
    noise of several sizes; the one in which records lie as far from their nearest rows as they do
    in this release shows how well its members are told, since there they are known.
    """
    X, Z = np.asarray(scene.table, float), np.asarray(scene.released, float)
    share, unit = len(Z) / len(X), X.std(axis=0)
    varies = unit > 0
    if X.shape[1] != Z.shape[1] or not 0.1 <= share <= 0.9 or not varies.any():
        return ()
    X, Z = X[:, varies] / unit[varies], Z[:, varies] / unit[varies]
    asked = rng.permutation(len(X))[: min(_MOST_COMPARED, len(X) // 2)]
    if (np.abs(Z.mean(axis=0) - X.mean(axis=0)) > _SAME_MEAN).mean() > 0.1 or (
        2.0 * len(_SIZES) * len(asked) * Z.size > _MOST_WORK
    ):
        return ()
    shown = np.quantile(nearest_rows(Z, X[asked], 1)[0], _QUANTILES)
    unlike, strange, area, error = np.inf, np.inf, 0.5, 0.0
    strangers = np.setdiff1d(np.arange(len(X)), asked)
    for size in _SIZES:
        left = np.zeros(len(X), dtype=bool)
        left[rng.permutation(len(X))[: len(Z)]] = True
        member = left[asked]
        noise = size * rng.normal(size=Z.shape)
        near = nearest_rows(X[left] + noise, X[asked], 1)[0][:, 0]
        off = _off(near, shown)
        if off < unlike and 0 < member.sum() < len(member):
            unlike = off
            area, error = area_under_curve(-near[member], -near[~member])
        # As near as the rows of strangers are, the records asked about need not have left at all.
        rows = X[rng.choice(strangers, size=len(Z))] + noise
        strange = min(strange, _off(nearest_rows(rows, X[asked], 1)[0][:, 0], shown))
    if unlike > _MUCH_NEARER * strange:
        area = 0.5
    return (
        MembershipResult(
            name="nearest_row",
            knowledge=f"{scene.statistics.describe()}, and the record in question",
            attacker=OUTSIDER,
            area=area,
            low=max(0.0, area - _STANDARD_ERRORS * error),
            high=min(1.0, area + _STANDARD_ERRORS * error),
            n_members=len(Z),
            n_others=len(X) - len(Z),
        ),
    )


def _off(near: Array, shown: Array) -> float:
    """How unlike two distributions of distances are, the second given by its quantiles."""
    return float(np.abs(np.quantile(near, _QUANTILES) - shown).mean())
