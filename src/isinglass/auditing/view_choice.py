"""Choice of the views of a release that are worth an attack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import divisors, unit_columns
from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.linking.near import nearest_records
from isinglass.attack.naive import NaiveAttack
from isinglass.attack.views.views import View, file_views, group_views, views, views_beside
from isinglass.auditing.scene import Scene

Array = NDArray[Any]
Shown = tuple[Array, Array, Array]

#: Neighboring rows, and columns, of which a view is tried.
_ROWS, _COLUMNS = 4_000, 64
#: Columns of a file by which a view of all its rows is tried first, and what chance shows of them.
_HINTS, _HINT_ROWS = 4, 8
#: How much more of the table a view must show than the release itself and the views before.
_MORE = 0.01
#: Views that are attacked, of those worth it.
_AT_MOST = 2


#: Columns that are tried as labels of rows that go together.
_MOST_LABELS = 64
#: Records among which rows in any order are looked for, and rows that are.
_MOST_RECORDS, _FEW = 20_000, 300
#: So much nearer, as a logarithm, they must come through a view than as they are.
_NEARER = 0.2


@dataclass(frozen=True, slots=True)
class Promising:
    """Views for those who read columns as they stand, find out which is which, or learn."""

    read: tuple[View, ...] = ()
    matched: tuple[View, ...] = ()
    learned: tuple[View, ...] = ()

    def at(self, rows: NDArray[np.intp]) -> Promising:
        """The same views for a release of these rows only."""
        return Promising(
            *(tuple(v.at(rows) for v in some) for some in (self.read, self.matched, self.learned))
        )


def promising(scene: Scene, rng: np.random.Generator) -> Promising:
    """Try all views on a part of the release; the audit knows the truth, and so what they show.

    This only saves the time of attacks that would get nothing: whoever attacks tries them all.
    """
    n = len(scene.released)
    if min(n, len(scene.table)) < 8:
        return Promising()
    anywhere = () if scene.rows_correspond else _near_records(scene, rng)
    if scene.rows_correspond is False or n != len(scene.table):
        return Promising(anywhere)
    first = int(rng.integers(max(n - _ROWS, 0) + 1))
    rows = slice(first, first + _ROWS)
    Z, X = (np.asarray(t[rows], dtype=np.float64) for t in (scene.released, scene.table))
    half = rng.permutation(len(Z)) < len(Z) // 2
    plain = _shown(Z, X, scene.statistics, half)
    found: list[tuple[View, Shown]] = []
    everything = np.asarray(scene.released, dtype=np.float64)
    beside = (*group_views(_labels(scene)), *views_beside(everything, scene.others))
    for view in (*views(Z.shape[1]), *file_views(everything), *beside):
        if view.along_rows and not scene.order_shows:
            continue
        if view.by_column and not _hints(view, everything, rows, X, scene.statistics, half):
            continue
        with np.errstate(all="ignore"):
            if view.whole:
                seen = view.turn(everything, scene.statistics)[rows]
            else:
                seen = view.turn(Z, scene.statistics)
            seen = _varying(seen, X.shape[1])
        if np.isfinite(seen).all():
            found.append((view, _shown(seen, X, scene.statistics, half)))
    read, matched, learned = (_best(found, side, plain, len(Z)) for side in range(3))
    return Promising(tuple(dict.fromkeys((*read, *anywhere))), matched, learned)


def _hints(
    view: View,
    everything: Array,
    rows: slice,
    X: Array,
    known: ColumnStatistics,
    half: Array,
) -> bool:
    """Whether a few columns of a view that takes every column by itself go with the table's."""
    seen = view.turn(everything[:, _some(everything.shape[1], _HINTS)], known)[rows]
    if not np.isfinite(seen).all():
        return False
    _, matched, _ = _shown(seen, X, known, half)
    return bool(matched.max() > _MORE + _HINT_ROWS / len(X))


def _varying(seen: Array, n_columns: int) -> Array:
    """Without columns of one value, where a view has more columns than the table."""
    if seen.shape[1] <= n_columns:
        return seen
    varies = np.ptp(seen, axis=0) > 1e-9 * np.abs(seen).max(axis=0)
    return seen[:, varies] if varies.any() else seen


def _labels(scene: Scene) -> list[Array]:
    """Columns by which rows may go together: of the release, kept, or left beside it."""
    tables = [scene.released, *scene.others]
    if scene.kept is not None:
        tables.append(scene.kept.values)
    return [column for table in tables for column in np.asarray(table).T][:_MOST_LABELS]


def _near_records(scene: Scene, rng: np.random.Generator) -> tuple[View, ...]:
    """Views whose rows lie near records, whichever row is whose; the two best.

    How near is the mean logarithm of the distance, against that of rows whose values were
    exchanged within columns.
    """
    d = scene.table.shape[1]
    if scene.released.shape[1] != d or len(scene.table) > _MOST_RECORDS:
        return ()
    Z = np.asarray(scene.released[:_MOST_RECORDS], dtype=np.float64)
    X, unit = np.asarray(scene.table, dtype=np.float64), divisors(scene.statistics.deviation)
    some = rng.permutation(len(Z))[:_FEW]
    plain, found = 0.0, []
    for view in (None, *views(d)):
        if view is not None and view.along_rows:
            continue
        with np.errstate(all="ignore"):
            seen = Z if view is None else view.turn(Z, scene.statistics)
        if seen.shape[1] != d or not np.isfinite(seen).all():
            continue
        guess = NaiveAttack().guess(seen, scene.statistics)[some] / unit
        mixed = np.column_stack([rng.permutation(column) for column in guess.T])
        near, far = (_log_distance(rows, X / unit) for rows in (guess, mixed))
        if view is None:
            plain = far - near
        else:
            found.append((far - near - plain, view))
    good = sorted((f for f in found if f[0] > _NEARER), key=lambda f: -f[0])
    return tuple(view for _, view in good[:_AT_MOST])


def _log_distance(rows: Array, records: Array) -> float:
    near = records[nearest_records(rows, records)]
    return float(np.log(np.square(rows - near).sum(axis=1) + 1e-9).mean() / 2)


def through(scene: Scene, view: View) -> Scene:
    """The same scene, with the view in place of the release; nothing is said about it."""
    turned = view.turn(np.asarray(scene.released, dtype=np.float64), scene.statistics)
    turned = _varying(turned, scene.table.shape[1])
    return replace(scene, released=turned, parameters=None, others=(), other_parameters=())


def _best(
    found: Sequence[tuple[View, Shown]], side: int, plain: Shown, n_rows: int
) -> tuple[View, ...]:
    """One view after the other, each for what it adds to those before; different columns may
    have been turned differently."""
    chosen: list[View] = []
    before = plain[side]
    while found and len(chosen) < _AT_MOST:
        added = [float(np.maximum(shown[side] - before, 0.0).mean()) for _, shown in found]
        best = int(np.argmax(added))
        if added[best] <= _MORE + 4 / n_rows:
            break
        view, shown = found[best]
        chosen.append(view)
        before = np.maximum(before, shown[side])
    return tuple(chosen)


def _shown(seen: Array, X: Array, known: ColumnStatistics, half: Array) -> Shown:
    """Of each column's variance: what one column tells as it stands, any of them, or all."""
    read = np.zeros(X.shape[1])
    if seen.shape[1] == X.shape[1]:
        read = np.maximum(
            *(
                _share_left(np.square(attack.guess(seen, known) - X).mean(axis=0), X)
                for attack in (NaiveAttack(), NaiveAttack(as_it_stands=True))
            )
        )
    a, b = (unit_columns(m[:, _some(m.shape[1])]) for m in (seen, X))
    # A few values far out would decide a correlation: it is that of half of the rows at a time.
    shares = [np.square(a[part].T @ b[part] / part.sum()).max(axis=0) for part in (half, ~half)]
    return read, np.minimum(*shares), _explained(a, b, half)


def _share_left(away: Array, X: Array) -> Array:
    """One less what is left of each column's variance; 0 where it is no less, or a column flat."""
    spread = X.var(axis=0)
    return np.where(spread > 0, np.maximum(1 - away / np.where(spread > 0, spread, 1.0), 0.0), 0.0)


def _explained(a: Array, b: Array, half: Array) -> Array:
    """The share of variance that a line through one half of the rows explains in the other."""
    square = a[half].T @ a[half] + 1e-6 * half.sum() * np.eye(a.shape[1])
    weights = np.linalg.solve(square, a[half].T @ b[half])
    away = np.square(b[~half] - a[~half] @ weights).mean(axis=0)
    return _share_left(away, b[~half])


def _some(n_columns: int, most: int = _COLUMNS) -> Array:
    """The same columns of tables as wide as each other."""
    return np.unique(np.linspace(0, n_columns - 1, min(n_columns, most)).round().astype(int))
