"""How many conditions read off the release single somebody out, beyond those that would anyway."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.linking.predicates import predicates
from isinglass.auditing.scoring import over_baseline

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
