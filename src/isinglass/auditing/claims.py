"""Check of what a release says of itself against its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import PublicParameters
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.method_names import UNIT_KEEPING

Array = NDArray[Any]

#: Rows that are compared; more make no claim surer.
_COMPARED = 20_000
#: Standard errors by which a measured slope or scale may miss what is claimed.
_ERRORS = 6.0


def contradiction(parameters: PublicParameters, table: Array, released: Array) -> AuditNote | None:
    """Which claim fails where rows in the table's order cannot have been made so; else None.

    Only methods that keep a column's units can be checked: what mixes columns needs its key.
    """
    method = parameters.method
    if method not in UNIT_KEEPING:
        return None
    if table.shape != released.shape:
        return AuditNote.of(Kind.COLUMNS_NOT_AS_CLAIMED, method=method)
    some = slice(None, None, max(1, len(table) // _COMPARED))
    X, Z = (np.asarray(m[some], dtype=np.float64) for m in (table, released))
    varies = X.std(axis=0) > 1e-9 * np.maximum(np.abs(X).max(axis=0), 1e-300)
    if len(X) < 30 or not varies.any():
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
