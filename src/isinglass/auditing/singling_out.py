"""Share of conditions read off a release that single somebody out, beyond chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.linking.predicates import first_meeting, predicates
from isinglass.auditing.scene import Scene
from isinglass.auditing.scoring import over_baseline
from isinglass.errors import IsinglassError

Array = NDArray[Any]

#: Numbers of columns that a condition compares, and conditions tried of each.
_COLUMNS, _TRIED = (2, 3, 4, 6), 2_000
_FEWEST = 50  # from fewer conditions no share is told
_MOST_ROWS = 5_000  # of a larger table, so many chosen at random


def singled_out(table: Array, released: Array, rng: np.random.Generator) -> float | None:
    """Share of conditions that hold for one released row and for one record, beyond chance.

    Rows must correspond; several records may be behind one row. Among many records a narrow
    condition holds for one now and then, whoever it was read off: as often as it holds for one
    record that is not behind its row. Only what is beyond that is the release's doing. None where
    columns do not correspond, or where too few conditions are to be had.
    """
    if table.shape != released.shape:
        return None
    X, Z = (np.asarray(m, dtype=np.float64) for m in (table, released))
    if len(X) > _MOST_ROWS:
        rows = rng.choice(len(X), size=_MOST_ROWS, replace=False)
        X, Z = X[rows], Z[rows]
    distinct, behind = np.unique(Z, axis=0, return_inverse=True)
    shares = []
    for n_columns in sorted({min(n, X.shape[1]) for n in _COLUMNS}):
        found = predicates(distinct, n_columns, _TRIED, rng)
        if len(found) < _FEWEST:
            continue
        single, anyway = np.zeros((2, len(found)), dtype=bool)
        for part, held in found.answers(X):
            n = held.sum(axis=1)
            own = (held & (behind.ravel() == found.rows[part, np.newaxis])).sum(axis=1)
            single[part], anyway[part] = n == 1, n - own == 1
        shares.append(float(over_baseline(single.mean(), anyway.mean())))
    return max(shares, default=None)


#: Records on either side, and ways to share the columns out.
_COMPARED, _SPLITS = 1_000, 5
_LARGE = 20_000  # rows
#: Halves meet in the nearest row, or in one of the five nearest: then in a small group.
_NEIGHBORS = (1, 5)


def halves_linked(scene: Scene, held_out: Array, rng: np.random.Generator) -> float | None:
    """Share of records whose halves meet in one released row, beyond that of records held out.

    Over several ways to share the columns out, and for the number of neighbors that links most;
    None where columns do not correspond.
    """
    # Each row of a large release is compared with every record: fewer of these do.
    large = len(scene.released) > _LARGE
    compared, splits = (_COMPARED // 2, 2) if large else (_COMPARED, _SPLITS)
    sides = [
        np.asarray(side[rng.permutation(len(side))[:compared]], dtype=np.float64)
        for side in (scene.table, held_out)
    ]
    d, public = scene.table.shape[1], scene.common(whole=True, others=False) | scene.statistics
    if any(len(side) < 10 for side in sides):
        return None
    met = np.zeros((2, len(_NEIGHBORS)))
    for _ in range(splits):
        first = rng.permutation(d)[: d // 2]
        try:
            for i, side in enumerate(sides):
                most = max(_NEIGHBORS)
                at = first_meeting(scene.released, side, first, public, n_neighbors=most)
                met[i] += [((at > 0) & (at <= k)).mean() for k in _NEIGHBORS]
        except (IsinglassError, ArithmeticError, ValueError):
            return None
    return float(over_baseline(*(met / splits)).max())
