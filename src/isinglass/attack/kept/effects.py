"""Random-effects model with several parts of kept values at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rows = NDArray[np.intp]
Codes = NDArray[np.intp]

#: Groups in all: further groupings are left aside.
_MOST_GROUPS = 500
#: What parts leave open of a column is at least this share of its variance.
_LEAST_OPEN = 0.02
_BLOCK = 5_000


@dataclass(frozen=True, slots=True)
class Effects:
    """Sums of the effects of a row's groups."""

    marks: Any = field(repr=False)  # sparse, rows x groups
    coefficients: Array = field(repr=False)
    inverse: Array = field(repr=False)  # of the groups' products and the mean strength
    own: Array = field(repr=False)  # training number of each row, -1 for others
    values: Array = field(repr=False)
    weights: Array = field(repr=False)
    open_share: float  # of a column's variance, that the effects leave

    @classmethod
    def of(
        cls,
        groupings: Sequence[Codes],
        effects: Sequence[float],
        open_share: float,
        trained: Rows,
        values: Array,
        variance: Array,
        noise: Array,
        waves: Sequence[Array | None] = (),
    ) -> Effects:
        r"""Best linear prediction in $y = \sum_p u_p + e$, with effects $u_p$ of known variance.

        `variance` is that of the columns, without noise; `noise` is the variance of the noise on
        each training row and column. Where there are `waves` in the place of groups, each has an
        effect of its own.
        """
        from scipy.sparse import csr_array, hstack

        open_share = max(open_share, _LEAST_OPEN)
        unit = np.where(variance > 0, variance, 1.0)
        ratio = noise / unit
        # Rows count by the mean of all columns; each column has a strength of its own.
        weights = open_share / (open_share + ratio.mean(axis=1))
        strength = (weights[:, np.newaxis] * (open_share + ratio)).mean(axis=0)
        n, n_groups, kept = len(groupings[0]), 0, list[Any]()
        given = [*waves, *[None] * (len(groupings) - len(waves))]
        for groups, effect, wave in zip(groupings, effects, given, strict=True):
            count = int(groups.max()) + 1 if wave is None else wave.shape[1]
            if n_groups + count > _MOST_GROUPS:
                continue
            n_groups += count
            size = float(np.sqrt(effect))
            if wave is None:
                ones = np.full(n, size)
                kept.append(csr_array((ones, groups, np.arange(n + 1)), shape=(n, count)))
            else:
                kept.append(csr_array(size * wave))
        marks = hstack(kept, format="csr") if kept else csr_array((n, 0))
        A = marks[trained]
        weighted = A.multiply(weights[:, np.newaxis]).tocsr()
        root, axes = np.linalg.eigh((weighted.T @ A).toarray())
        root = np.maximum(root, 0.0)
        inner = axes.T @ (weighted.T @ values)
        coefficients = axes @ (inner / (root[:, np.newaxis] + strength))
        inverse = (axes / (root + strength.mean())) @ axes.T
        own = np.full(n, -1, dtype=np.intp)
        own[trained] = np.arange(len(trained))
        return cls(marks, coefficients, inverse, own, values, weights, open_share)

    def predict(self, rows: Rows) -> Array:
        """Values of rows; of training rows without what they add themselves."""
        found = np.empty((len(rows), self.values.shape[1]))
        for start in range(0, len(rows), _BLOCK):
            part = rows[start : start + _BLOCK]
            A = self.marks[part]
            guess = A @ self.coefficients
            own = self.own[part]
            inside = own >= 0
            if inside.any():
                mine, B = own[inside], A[inside]
                share = np.asarray((B.multiply(B @ self.inverse)).sum(axis=1)).ravel()
                share = np.minimum(share * self.weights[mine], 1 - 1e-6)[:, np.newaxis]
                guess[inside] = (guess[inside] - share * self.values[mine]) / (1 - share)
            found[start : start + len(part)] = guess
        return found
