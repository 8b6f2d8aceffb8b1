"""Check of what a release says of itself against its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import PublicParameters
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.method_names import UNIT_KEEPING

Array = NDArray[Any]

#: Of fewer rows nothing can be said.
_FEWEST = 30
#: Rows that are compared; more make no claim surer.
_COMPARED = 20_000
#: Standard errors by which a measured slope or scale may miss what is claimed.
_ERRORS = 6.0
#: By how many ranges values of condensed records may lie outside the table's, and which share.
_OUTSIDE, _FEW = 1.0, 0.01
#: How much narrower condensed records may be in a column, as filled groups are, and how much
#: wider or narrower in all.
_NARROWER, _WIDER = 0.3, 2.0
#: Share of all variance from which a single record decides it.
_ONE_ROW = 0.1
#: How much of the columns' covariances must be left, where they are so many times those of chance.
_TOGETHER, _CLEAR = 0.2, 5.0
CONDENSATION = "condensation"


def contradiction(parameters: PublicParameters, table: Array, released: Array) -> AuditNote | None:
    """Which claim fails where rows in the table's order cannot have been made so; else None.

    Only methods that keep a column's units can be checked: what mixes columns needs its key. Rows
    of a condensation may stand in any order, and be more or fewer.
    """
    method = parameters.method
    if method == CONDENSATION:
        return _not_condensed(table, released)
    if method not in UNIT_KEEPING:
        return None
    if table.shape != released.shape:
        return AuditNote.of(Kind.COLUMNS_NOT_AS_CLAIMED, method=method)
    some = slice(None, None, max(1, len(table) // _COMPARED))
    X, Z = (np.asarray(m[some], dtype=np.float64) for m in (table, released))
    varies = X.std(axis=0) > 1e-9 * np.maximum(np.abs(X).max(axis=0), 1e-300)
    if len(X) < _FEWEST or not varies.any():
        return None
    X, Z = X[:, varies], Z[:, varies]
    x = (X - X.mean(axis=0)) / X.std(axis=0)
    z = (Z - Z.mean(axis=0)) / X.std(axis=0)
    slope = (x * z).mean(axis=0)  # 1 for any noise that is independent of the value
    residual = z - x * slope
    error = np.sqrt((np.square(x) * np.square(residual)).mean(axis=0) / len(x))
    off = np.abs(slope - 1.0) > _ERRORS * error + 0.05
    if off.mean() > 0.5:
        return AuditNote.of(Kind.VALUES_NOT_AS_CLAIMED, method=method)
    wrong = method == "additive_noise" and _other_scale(parameters.parameters, X, z - x, varies)
    if wrong:
        return AuditNote.of(Kind.NOISE_NOT_AS_CLAIMED)
    return None


def _not_condensed(table: Array, released: Array) -> AuditNote | None:
    """Which claim fails where a release cannot be a condensation of the table; else None.

    New records are drawn around the means of groups, so that columns keep their means, most of
    their covariances and, all together, their variance; hardly a value lies far outside the
    table's range.
    """
    if table.shape[1] != released.shape[1]:
        return AuditNote.of(Kind.COLUMNS_NOT_AS_CLAIMED, method=CONDENSATION)
    X, Z = (np.asarray(m, dtype=np.float64) for m in (table, released))
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    varies = span > 1e-9 * np.maximum(np.abs(X).max(axis=0), 1e-300)
    if min(len(X), len(Z)) < _FEWEST or not varies.any():
        return None
    X, Z = ((m[:, varies] - low[varies]) / span[varies] for m in (X, Z))
    own, theirs = X.var(axis=0), Z.var(axis=0)
    error = np.sqrt((own + theirs) / min(len(X), len(Z)))
    off = np.abs(Z.mean(axis=0) - X.mean(axis=0)) > _ERRORS * error + 0.05 * np.sqrt(own)
    far = ((Z < -_OUTSIDE) | (Z > 1 + _OUTSIDE)).mean(axis=0) > _FEW
    spread = np.square(X - X.mean(axis=0)).sum(axis=1)
    if spread.max() > _ONE_ROW * spread.sum():  # where that one goes decides all variances
        wrong, ratio, apart = off | far, 1.0, False
    else:
        wrong = off | far | (theirs < _NARROWER * own)
        ratio, apart = float(theirs.sum() / own.sum()), _come_apart(X, Z)
    if wrong.mean() > 0.5 or not 1 / _WIDER < ratio < _WIDER or apart:
        return AuditNote.of(Kind.MOMENTS_NOT_AS_CLAIMED, method=CONDENSATION)
    return None


def _come_apart(X: Array, Z: Array) -> bool:
    """Whether columns that go together in the table do not in the release."""
    own, theirs = (np.atleast_2d(np.cov(m.T)) for m in (X, Z))
    apart = ~np.eye(len(own), dtype=bool)
    by_chance = np.outer(np.diag(own), np.diag(own))[apart].sum() / len(X)
    size = float(np.square(own[apart]).sum())
    if size <= _CLEAR * by_chance:
        return False
    return float((own[apart] * theirs[apart]).sum()) < _TOGETHER * size


def _other_scale(said: dict[str, Any], X: Array, noise: Array, varies: NDArray[np.bool_]) -> bool:
    """Whether the noise, in deviations of the columns, is not as large as claimed."""
    try:
        scale = np.broadcast_to(np.asarray(said.get("scale", 1.0), dtype=np.float64), varies.shape)
    except (TypeError, ValueError):
        return True
    claimed = scale[varies]
    if not said.get("relative", True):
        claimed = claimed / X.std(axis=0)
    found = noise.std(axis=0)
    # The deviation of n draws is known to a share of sqrt((kurtosis - 1) / 4 n).
    fourth = np.square(np.square(noise - noise.mean(axis=0))).mean(axis=0)
    share = np.sqrt(np.maximum(fourth / np.maximum(found, 1e-300) ** 4 - 1, 1.0) / (4 * len(noise)))
    with np.errstate(invalid="ignore"):
        off = np.abs(found - claimed) > (_ERRORS * share + 0.05) * np.maximum(claimed, 1e-6)
    return bool(off.mean() > 0.5)
