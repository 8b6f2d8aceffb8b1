"""Distance attack: find known records without row numbers by the distances between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import NO_ROWS, Attack, ReleaseFacts, rows_of
from isinglass.attack.columns.marginals import scaling_bounds, spans
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    Knowledge,
    KnownPairs,
    KnownRecords,
    PublicParameters,
    PublicTable,
)
from isinglass.attack.known_input import KnownInputAttack
from isinglass.attack.linking.constellation import Constellation, constellation, search
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Tolerances as shares of the largest known distance: of rounding, and of a little distortion.
_EXACT, _LOOSE = 1e-5, 0.03
#: How far off a common factor may be that comes from the deviations of release and table.
_UNSURE = 0.05


class DistanceAttack(Attack):
    """Find known records in a release that keeps distances, then treat them as known pairs.

    A rotation moves all records but leaves every distance as it was, so a handful of records is
    recognized by their distances from one another, as a constellation is in a turned sky. Columns
    are brought to [0, 1] where their bounds are known, since perturbations that mix columns do so
    too; a release in the table's own units is tried next. A common factor on all distances is
    found from the columns' deviations where those are known.

    Where no rows fit, as in a release of noise, nothing is located and the guess is the mean of
    the known records. The search is bounded, so a release may also be too large or too blurred
    for it: that nothing was located is no proof that nobody can.

    References
    ----------
    S. M. Erfani, Y. W. Law, S. Karunasekera, C. A. Leckie, M. Palaniswami: Privacy-preserving
    collaborative anomaly detection for participatory sensing. PAKDD 2014. Their first design
    principle is that distances must not survive.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> Z = X @ [[0, 1, 0], [0, 0, 1], [1, 0, 0]]  # a release by a rotation
    >>> known = ig.attacks.KnownRecords(X[:40])
    >>> ig.attacks.DistanceAttack(random_state=0).guess(Z, known).shape
    (200, 3)
    """

    name = "distance"
    story = "finds known records by the distances between them, then fits the way back"
    needs = (KnownRecords,)

    def __init__(self, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        return NO_ROWS if release.has_no_rows else None

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The table by known pairs, once the known records are located."""
        Z, known = rows_of(released), Knowledge.of(knowledge)
        records = known.need(KnownRecords).records
        rows = self.locate(Z, known)
        found = rows >= 0
        if not found.any():
            return np.broadcast_to(records.mean(axis=0), (len(Z), records.shape[1])).copy()
        pairs = KnownPairs(rows[found], records[found])
        return KnownInputAttack(random_state=self.random_state).guess(Z, known | pairs)

    def locate(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Rows:
        """The released row of each known record; -1 where it was not found."""
        Z, known = rows_of(released), Knowledge.of(knowledge)
        records = known.need(KnownRecords).records
        if not len(records) or not np.isfinite(records).all():
            raise AttackError("known records must be at least 1, with finite numbers only")
        for low, unit in _scales(known, records):
            rows = self._locate(Z, known, records, low, unit)
            if (rows >= 0).any():
                return rows
        return np.full(len(records), -1, dtype=np.intp)

    def _locate(self, Z: Array, known: Knowledge, records: Array, low: Array, unit: Array) -> Rows:
        scaled, which = np.unique((records - low) / unit, axis=0, return_inverse=True)
        which = which.reshape(-1)
        statistics = _statistics(known)
        center = None if statistics is None else (statistics.mean - low) / unit
        rng = chance.generator(self.random_state)
        noise = _noise(known)
        if len(scaled) < 3 or len(Z) < len(scaled):  # two points look like any other two
            return np.full(len(records), -1, dtype=np.intp)
        stars = constellation(scaled, center, noise=noise, n_out=Z.shape[1])
        for factor, window, tolerance in _stages(Z, stars, known, unit, noise):
            rows = search(Z, stars, factor, tolerance, rng, window=window)
            if rows is not None:
                return _apart(Z, rows[which])
        return np.full(len(records), -1, dtype=np.intp)


def _stages(
    Z: Array, stars: Constellation, known: Knowledge, unit: Array, noise: float
) -> list[tuple[float, float, float]]:
    """What to try in turn: a factor on all distances, how unsure it is, and a tolerance."""
    if noise > 0:
        # A distance of two noisy rows is off by sqrt(2) times the noise, hardly one by four such.
        return [(1.0, 0.0, 4 * np.sqrt(2) * noise / stars.longest)]
    factor = 1.0
    stages = [(factor, 0.0, _EXACT)]
    statistics = _statistics(known)
    if statistics is not None and statistics.deviation.any():
        factor = float(np.sqrt(Z.var(axis=0).sum()) / np.linalg.norm(statistics.deviation / unit))
        if factor > 0:
            stages.append((factor, _UNSURE, _EXACT))
        factor = 1.0 if abs(factor - 1) < _UNSURE else factor
    return [*stages, (factor, 0.0, _LOOSE)] if factor > 0 else stages


def _scales(known: Knowledge, records: Array) -> list[tuple[Array, Array]]:
    """Origins and units of the columns to try: their bounds, where known, and their own."""
    d = records.shape[1]
    bounds = scaling_bounds(known, d)
    public = known.find(PublicTable)
    if bounds is None and public is not None and public.records.shape[1] == d:
        bounds = public.records.min(axis=0), public.records.max(axis=0)
    own = np.zeros(d), np.ones(d)
    return [own] if bounds is None else [(bounds[0], spans(*bounds)), own]


def _statistics(known: Knowledge) -> ColumnStatistics | None:
    statistics, public = known.find(ColumnStatistics), known.find(PublicTable)
    if statistics is None and public is not None and len(public.records):
        return ColumnStatistics.of(public.records)
    return statistics


def _noise(known: Knowledge) -> float:
    """Deviation of the noise in a release that is said to have some."""
    public = known.find(PublicParameters)
    if public is None or public.method != "geometric":
        return 0.0
    return float(public.parameters.get("noise", 0.05))


def _apart(Z: Array, rows: Rows) -> Rows:
    """Give equal known records different rows where the release has as many equal ones."""
    out = rows.copy()
    for row in np.unique(rows[rows >= 0]):
        mine = np.flatnonzero(rows == row)
        if len(mine) > 1:
            gap = np.abs(Z - Z[row]).max(axis=1)
            twins = np.flatnonzero(gap <= 1e-9 * (1 + np.abs(Z[row]).max()))
            twins = np.concatenate([[row], twins[twins != row]])
            out[mine] = twins[np.arange(len(mine)) % len(twins)]
    return out
