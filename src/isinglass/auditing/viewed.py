"""Which views of a release are worth an attack: those that show more of the table than it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.naive import NaiveAttack
from isinglass.attack.views import View, views
from isinglass.auditing.scene import Scene

Array = NDArray[Any]
Shown = tuple[float, float, float]

#: Neighboring rows, and columns, of which a view is tried.
_ROWS, _COLUMNS = 4_000, 64
#: How much more of the table a view must show than the release itself.
_MORE = 0.01
#: Views that are attacked, of those worth it.
_AT_MOST = 2


@dataclass(frozen=True, slots=True)
class Promising:
    """Views for those who read columns as they stand, find out which is which, or learn."""

    read: tuple[View, ...] = ()
    matched: tuple[View, ...] = ()
    learned: tuple[View, ...] = ()


def promising(scene: Scene, rng: np.random.Generator) -> Promising:
    """Try all views on a part of the release; the audit knows the truth, and so what they show.

    This only saves the time of attacks that would get nothing: whoever attacks tries them all.
    """
    n = len(scene.released)
    if scene.rows_correspond is False or n != len(scene.table) or n < 8:
        return Promising()
    first = int(rng.integers(max(n - _ROWS, 0) + 1))
    rows = slice(first, first + _ROWS)
    Z, X = (np.asarray(t[rows], dtype=np.float64) for t in (scene.released, scene.table))
    half = rng.permutation(len(Z)) < len(Z) // 2
    plain = _shown(Z, X, scene.statistics, half)
    found: list[tuple[View, Shown]] = []
    for view in views(Z.shape[1]):
        if view.along_rows and not scene.order_shows:
            continue
        with np.errstate(all="ignore"):
            seen = view.turn(Z, scene.statistics)
        if np.isfinite(seen).all():
            found.append((view, _shown(seen, X, scene.statistics, half)))
    least = _MORE + 4 / len(Z)
    return Promising(*(_best(found, side, plain[side] + least) for side in range(3)))


def through(scene: Scene, view: View) -> Scene:
    """The same scene, with the view in place of the release; nothing is said about it."""
    turned = view.turn(np.asarray(scene.released, dtype=np.float64), scene.statistics)
    return replace(scene, released=turned, parameters=None, others=(), other_parameters=())


def _best(found: Sequence[tuple[View, Shown]], side: int, least: float) -> tuple[View, ...]:
    good = [(shown[side], i) for i, (_, shown) in enumerate(found) if shown[side] > least]
    return tuple(found[i][0] for _, i in sorted(good, key=lambda g: (-g[0], g[1]))[:_AT_MOST])


def _shown(seen: Array, X: Array, known: ColumnStatistics, half: Array) -> Shown:
    """Of the table's variance: what columns tell as they stand, one of them each, all together."""
    read = 0.0
    if seen.shape[1] == X.shape[1]:
        varies = known.deviation > 0
        away = np.square(NaiveAttack().guess(seen, known) - X).mean(axis=0)[varies]
        spread = np.maximum(X.var(axis=0)[varies], 1e-300)
        read = float(np.maximum(1 - away / spread, 0.0).sum() / max(varies.sum(), 1))
    a, b = (_standard(m[:, _some(m.shape[1])]) for m in (seen, X))
    # A few values far out would decide a correlation: it is that of half of the rows at a time.
    shares = [np.square(a[part].T @ b[part] / part.sum()).max(axis=0) for part in (half, ~half)]
    return read, float(np.minimum(*shares).mean()), _explained(a, b, half)


def _explained(a: Array, b: Array, half: Array) -> float:
    """The share of variance that a line through one half of the rows explains in the other."""
    square = a[half].T @ a[half] + 1e-6 * half.sum() * np.eye(a.shape[1])
    weights = np.linalg.solve(square, a[half].T @ b[half])
    left = np.square(b[~half] - a[~half] @ weights).mean(axis=0)
    spread = np.maximum(np.square(b[~half]).mean(axis=0), 1e-300)
    return float(np.maximum(1 - left / spread, 0.0).mean())


def _standard(rows: Array) -> Array:
    deviation = rows.std(axis=0)
    return np.asarray((rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def _some(n_columns: int) -> Array:
    """The same columns of tables as wide as each other."""
    return np.unique(np.linspace(0, n_columns - 1, min(n_columns, _COLUMNS)).round().astype(int))
