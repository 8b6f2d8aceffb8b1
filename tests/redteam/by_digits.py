"""Last digits of noisy numbers: cases, and a script that rules out records by them.

Noise that is a float64 is one of so many numbers, and a released number minus a candidate value is
hardly ever one of them, unless the candidate is the true one.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import ndtr, ndtri

from tests.redteam import making as mk
from tests.redteam import tables as t
from tests.redteam.harness import Case, Known


def _possible(z: np.ndarray, x: np.ndarray, sd: float, law: str) -> np.ndarray:
    away = (z - x) / sd
    place = (away / np.sqrt(3) + 1) / 2 if law == "uniform" else ndtr(away)
    found = np.zeros(np.broadcast(z, x).shape, bool)
    for step in range(-2, 3):
        u = np.clip((np.floor(place * 2.0**52) + step + 0.5) / 2.0**52, 2.0**-53, 1 - 2.0**-53)
        noise = (2 * u - 1) * np.sqrt(3) if law == "uniform" else ndtri(u)
        found |= x + noise * sd == z
    return found


def records_that_are_possible(k: Known, scale: float, law: str) -> np.ndarray:
    """The public record of which most values are possible in each row.

    Known rows tell the deviation to the last bit.
    """
    P, X, rows = k.values("public"), k.values("records"), k.rows
    fits = np.zeros((len(k.Z), len(P)), dtype=int)
    for j in range(P.shape[1]):
        sd = scale * P[:, j].std(ddof=1)
        near = [sd + step * np.spacing(sd) for step in range(-20, 21)]
        sd = max(near, key=lambda s: _possible(k.Z[rows, j], X[:, j], s, law).sum())
        fits += _possible(k.Z[:, j][:, None], P[:, j][None], sd, law)
    return fits.argmax(axis=1)


_apart = partial(t.independent, 1000, 8)

DIGITS = [
    Case("digits-of-gaussian-noise", "noise of scale 15", "insider", "linked",
         mk.ours(_apart, "gaussian", "scale=15"),
         partial(records_that_are_possible, scale=15, law="gaussian")),
    Case("digits-of-uniform-noise", "uniform noise of scale 20", "insider", "linked",
         mk.ours(_apart, "uniform", "scale=20"),
         partial(records_that_are_possible, scale=20, law="uniform")),
]  # fmt: skip
