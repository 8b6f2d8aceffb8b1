"""Scripts that see whole numbers behind a mixture: rows differ by steps of single columns."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from tests.redteam.harness import Known


def steps_of_rows(k: Known) -> np.ndarray:
    """The shortest differences of two rows are one step of one column; its ends tell which."""
    spread, axes = np.linalg.eigh(np.cov(k.Z.T))
    Y = (k.Z - k.Z.mean(axis=0)) @ axes[:, spread > 1e-9] / np.sqrt(spread[spread > 1e-9])
    first, second = np.triu_indices(len(Y), 1)
    lengths = np.linalg.norm(Y[first] - Y[second], axis=1)
    steps = np.empty((0, Y.shape[1]))
    for i in np.argsort(lengths):
        tried = np.vstack([steps, Y[first[i]] - Y[second[i]]])
        if lengths[i] > 1e-6 and np.linalg.matrix_rank(tried, tol=1e-3) == len(tried):
            steps = tried
        if len(steps) == Y.shape[1]:
            break
    C = Y @ np.linalg.inv(steps)
    C /= C.std(axis=0, ddof=1)
    low, high = ((end - k.mean)[:, None] / k.sd[:, None] for end in (k.low, k.high))
    straight = abs(low - C.min(axis=0)) + abs(high - C.max(axis=0))
    turned = abs(low + C.max(axis=0)) + abs(high + C.min(axis=0))
    columns, parts = linear_sum_assignment(np.minimum(straight, turned))
    sign = np.where(straight <= turned, 1.0, -1.0)[columns, parts]
    return k.mean + C[:, parts] * sign * k.sd
