"""Rank of the true record among all public records, for known pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.kept.join import Groups
from isinglass.attack.linking.bounded_fit import NoiseFit

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Known pairs on which ways of linking are compared.
_COMPARED = 200
#: So many pairs that stand alone show that nearly all records do.
_ENOUGH = 50
#: Errors below this share of a column's deviation are rounding.
_ROUNDING = 1e-6
_BLOCK = 1 << 23  # fits held at once


def compared(n_pairs: int, rng: np.random.Generator) -> Rows:
    """The pairs on which ways of linking are compared: all, or enough of them."""
    return np.sort(rng.permutation(n_pairs)[:_COMPARED])


def mean_log_rank(fit: NoiseFit, own: Array, rows: Rows, groups: Groups | None) -> float:
    """Mean logarithm of how many public records fit as well as the true one: 0 if it stands alone.

    One that fits less well counts by how likely it still is. `own` is how well the true record
    fits where its pair was left out, `rows` are the pairs' released rows. Records of other groups
    are impossible.
    """
    ranks = np.empty(fit.n_released)
    step = max(1, _BLOCK // max(1, fit.n_public))
    for start in range(0, fit.n_released, step):
        block = slice(start, min(start + step, fit.n_released))
        with np.errstate(invalid="ignore"):
            behind = fit.block(block) - own[block, np.newaxis]
        # Where even the true record is impossible, all are as good as it.
        counts = np.exp(np.minimum(np.nan_to_num(behind, nan=0.0, posinf=0.0), 0.0))
        if groups is not None:
            counts *= groups.released[rows[block], np.newaxis] == groups.public
        ranks[block] = np.maximum(counts.sum(axis=1), 1.0)
    return float(np.log(ranks).mean())


def log_error(left_out: Array, table: Array) -> float:
    """Mean logarithm of errors in deviations of a table's columns; 0 where all is rounding."""
    deviation = table.std(axis=0)
    varies = deviation > 0
    error = np.sqrt(np.square(left_out[:, varies]).mean(axis=0)) / deviation[varies]
    return float(np.log(np.maximum(error / _ROUNDING, 1.0)).mean()) if varies.any() else 0.0


def settled(left: float, n_pairs: int) -> bool:
    """Whether a rank or an error, as above, leaves nothing to be improved."""
    return left < 1e-3 and n_pairs >= _ENOUGH


def places_of(records: Array, public: Array) -> Rows:
    """Where each record stands in the public table; -1 where it does not."""
    numbers = {row.tobytes(): i for i, row in enumerate(np.ascontiguousarray(public) + 0.0)}
    wanted = np.ascontiguousarray(records) + 0.0  # adding 0 makes one zero of two
    return np.array([numbers.get(row.tobytes(), -1) for row in wanted], dtype=np.intp)
