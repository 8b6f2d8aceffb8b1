"""Scripts that link by what was left: residues, turns, sorted rows, cells that agree, gaps."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from tests.redteam.harness import Known, nearest


def _on_circle(turns: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)])


def residues(k: Known) -> np.ndarray:
    """Find the step from differences of known pairs, then match what is left after full steps."""
    noise = k.Z[k.rows] - k.values("records")
    step = []
    for column in noise.T:
        gaps = np.unique(np.abs(column[:, None] - column).round(5))
        step.append(gaps[gaps > 1e-4][0])
    return nearest(_on_circle(k.Z / step), _on_circle(k.values("public") / step))


def turns(k: Known) -> np.ndarray:
    """Try whole numbers as factors until known pairs agree behind the point."""
    u, v = ((k.values(of) - k.low) / (k.high - k.low) for of in ("records", "public"))
    factors = np.arange(1, 10_000)[:, None]
    found = []
    for z, x in zip(k.Z[k.rows].T, u.T, strict=True):
        off = np.abs((factors * x - z + 0.5) % 1 - 0.5).sum(axis=1)
        found.append(1 + off.argmin())
    return nearest(_on_circle(k.Z), _on_circle(v * found))


def further_digits(k: Known) -> np.ndarray:
    """What stands behind two decimals is the value, scaled."""
    behind = (k.Z * 100 + 1e-9) % 1
    return nearest(behind / 0.9, (k.values("public") - k.low) / (k.high - k.low))


def sorted_rows(k: Known) -> np.ndarray:
    X = (k.values("public") - k.mean) / k.sd
    return nearest(np.sort(k.Z, axis=1), np.sort(X, axis=1))


def agreeing_cells(k: Known) -> np.ndarray:
    """The record that agrees in most cells, to a small share of a deviation."""
    X, near = k.values("public"), 1e-3 * k.sd
    return np.array([(np.abs(X - z) < near).sum(axis=1).argmax() for z in k.Z])


def bounded_differences(k: Known) -> np.ndarray:
    """Far off is far off: no column counts for more than a tenth of a deviation."""
    X = k.values("public")
    return np.array([np.minimum(np.abs(X - z) / k.sd, 0.1).sum(axis=1).argmin() for z in k.Z])


def gaps_in_the_row(k: Known) -> np.ndarray:
    z, x = k.Z / k.sd, k.values("public") / k.sd
    return nearest(z - z.mean(1, keepdims=True), x - x.mean(1, keepdims=True))


def gaps_as_values(k: Known) -> np.ndarray:
    """Whoever has the file only takes the row's mean off and puts the columns on theirs."""
    z = k.Z / k.sd
    z = z - z.mean(1, keepdims=True)
    return k.mean + k.sd * (z - z.mean(0))


def direction_of_gaps(k: Known) -> np.ndarray:
    z, x = k.Z, k.values("public") / k.sd
    z, x = z - z.mean(1, keepdims=True), x - x.mean(1, keepdims=True)
    return cKDTree(x / np.linalg.norm(x, axis=1, keepdims=True)).query(
        z / np.linalg.norm(z, axis=1, keepdims=True)
    )[1]
