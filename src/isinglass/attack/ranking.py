"""How far down a public table the true records of known pairs come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.fit import GaussianFit, UniformFit
from isinglass.attack.join import Groups

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Known pairs on which ways of linking are compared.
_COMPARED = 200
_BLOCK = 1 << 23  # fits held at once


def compared(n_pairs: int, rng: np.random.Generator) -> Rows:
    """The pairs on which ways of linking are compared: all, or enough of them."""
    return np.sort(rng.permutation(n_pairs)[:_COMPARED])


def mean_log_rank(
    fit: GaussianFit | UniformFit, own: Array, rows: Rows, groups: Groups | None
) -> float:
    """Mean logarithm of how many public records fit as well as the true one: 0 if it is first.

    `own` is how well the true record fits where its pair was left out, `rows` are the pairs'
    released rows. Records of other groups are impossible.
    """
    ranks = np.empty(fit.n_released)
    step = max(1, _BLOCK // max(1, fit.n_public))
    for start in range(0, fit.n_released, step):
        block = slice(start, min(start + step, fit.n_released))
        # Products of large numbers round; a hundredth in the likelihood is no difference.
        as_good = fit.block(block) >= own[block, np.newaxis] - 0.01
        if groups is not None:
            as_good &= groups.released[rows[block], np.newaxis] == groups.public
        ranks[block] = np.maximum(as_good.sum(axis=1), 1)
    return float(np.log(ranks).mean())


def places_of(records: Array, public: Array) -> Rows:
    """Where each record stands in the public table; -1 where it does not."""
    numbers = {row.tobytes(): i for i, row in enumerate(np.ascontiguousarray(public) + 0.0)}
    wanted = np.ascontiguousarray(records) + 0.0  # adding 0 makes one zero of two
    return np.array([numbers.get(row.tobytes(), -1) for row in wanted], dtype=np.intp)
