"""Lattice basis reduction in floating point (Lenstra, Lenstra, Lovász 1982)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: How much shorter a vector has to get for two to change places.
DELTA = 0.99
#: Lattices of 20 columns that are found at all take fewer than 100; without one, it never ends.
MOST_SWEEPS = 400


def reduce_basis(vectors: Array, zero: float, floor: float) -> Array | None:
    """Return a basis of short vectors of the lattice that the rows of `vectors` span.

    One row more than the dimension is allowed: it is worked in, until a vector of a length below
    `zero` falls out (Pohst 1987). None where a vector gets shorter than `floor` without being
    zero, as happens sooner or later if there is no lattice, or after `MOST_SWEEPS`.

    Each sweep starts from a fresh QR decomposition, so that rounding does not build up in it.
    """
    B = np.array(vectors, dtype=np.float64)
    for _ in range(MOST_SWEEPS):
        R = np.asarray(np.linalg.qr(B.T, mode="r"))
        diagonal = np.zeros(len(B))
        diagonal[: len(R)] = np.abs(R.diagonal())
        flat = np.flatnonzero(diagonal <= zero)
        dependent = len(flat) > 0
        # Vectors behind a dependent one wait: their part of R is rounding.
        last = int(flat[0]) if dependent else len(B) - 1
        if dependent and last == 0:
            B = B[1:]
            continue
        if diagonal[:last].min(initial=np.inf) < floor:
            return None
        _subtract_multiples(B, R, last)
        swaps = _find_swaps(R, diagonal, last, dependent=dependent)
        if not swaps:
            return None if dependent else B
        for k in swaps:
            B[[k, k + 1]] = B[[k + 1, k]]
    return None


def _subtract_multiples(B: Array, R: Array, last: int) -> None:
    """Bring each vector as near to being orthogonal to those before it as whole multiples can."""
    for i in range(min(last, len(R)) - 1, -1, -1):
        times = np.round(R[i, i + 1 :] / R[i, i])
        if times.any():
            B[i + 1 :] -= np.outer(times, B[i])
            R[:, i + 1 :] -= np.outer(R[:, i], times)


def _find_swaps(R: Array, diagonal: Array, last: int, *, dependent: bool) -> list[int]:
    """Neighbors that stand in the wrong order, none of them twice."""
    k = np.arange(last)
    length = diagonal[1 : last + 1] ** 2 + R[k, k + 1] ** 2
    wrong = np.flatnonzero(length < DELTA * diagonal[:last] ** 2)
    swaps: list[int] = []
    for at in wrong:
        # The dependent vector comes last: let in early, it would make its neighbors tiny.
        late = dependent and at == last - 1 and len(wrong) > 1
        if not late and (not swaps or at > swaps[-1] + 1):
            swaps.append(int(at))
    return swaps
