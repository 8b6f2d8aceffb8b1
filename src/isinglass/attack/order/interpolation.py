"""Interpolation of known values along the rows by Gaussian processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: How far a value reaches, in mean gaps between known rows.
_REACHES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
#: How much of a value is its own and not its neighbors', as a share of the kernel's variance.
_NUGGETS = np.logspace(-6, 3, 19)
#: Known rows on which reach and shape are chosen.
_MOST_CHOOSING = 150
#: Points at which it is computed; what lies between two of them is on their line.
_POINTS = 4_096


@dataclass(frozen=True, slots=True)
class Interpolation:
    """Weights of known rows, and what each of them is predicted to be from the others."""

    positions: Array = field(repr=False)
    shape: str
    reach: float
    weights: Array = field(repr=False)
    left_out: Array = field(repr=False)

    def at(self, positions: Array) -> Array:
        """Values at any position; far from all known rows 0."""
        points = np.unique(positions)
        if len(points) > _POINTS + len(self.positions):
            even = points[np.linspace(0, len(points) - 1, _POINTS).astype(int)]
            points = np.union1d(even, self.positions)
        found = _kernel(points, self.positions, self.shape, self.reach) @ self.weights
        return np.stack([np.interp(positions, points, column) for column in found.T], axis=1)


class Interpolator:
    """Gaussian processes of mean 0 on some known positions, decomposed once for many values.

    An exponential kernel joins neighbors by nearly straight lines, and forgets at jumps; a
    Gaussian one bends smoothly.
    """

    def __init__(self, positions: Array) -> None:
        self.positions = np.asarray(positions, dtype=np.float64)
        n = len(self.positions)
        self._few = np.arange(0, n, max(1, -(-n // _MOST_CHOOSING)))
        gap = float(np.ptp(self.positions)) / max(n - 1, 1) or 1.0
        few = self.positions[self._few]
        self._tried = {
            (shape, reach * gap): _Spectrum.of(_kernel(few, few, shape, reach * gap))
            for shape in ("exponential", "gaussian")
            for reach in _REACHES
        }
        self._whole: dict[tuple[str, float], _Spectrum] = {}

    def fit(self, values: Array) -> Interpolation:
        """The kernel that does best on known rows left out; each column has its own nugget."""
        unit = np.maximum(np.square(values).mean(axis=0), 1e-300)
        losses = {
            kind: float((np.square(spectrum.fit(values[self._few])[1]).mean(axis=0) / unit).sum())
            for kind, spectrum in self._tried.items()
        }
        best = min(losses, key=lambda kind: losses[kind])
        if best not in self._whole:
            self._whole[best] = _Spectrum.of(_kernel(self.positions, self.positions, *best))
        weights, errors = self._whole[best].fit(values)
        return Interpolation(self.positions, *best, weights, values - errors)


@dataclass(frozen=True, slots=True)
class _Spectrum:
    """A kernel matrix by its eigenvectors."""

    sizes: Array
    vectors: Array

    @classmethod
    def of(cls, K: Array) -> _Spectrum:
        sizes, vectors = np.linalg.eigh(K)
        return cls(np.maximum(sizes, 0.0), vectors)

    def fit(self, values: Array) -> tuple[Array, Array]:
        """Weights, and errors on known rows left out, each column with the best nugget.

        With A = (K + nugget I)^-1 the error at a row left out is (A y)_i / A_ii.
        """
        inner, squares = self.vectors.T @ values, np.square(self.vectors)
        loss = np.full(values.shape[1], np.inf)
        weights, errors = np.zeros_like(values), np.array(values)
        for nugget in _NUGGETS:
            inverse = 1.0 / (self.sizes + nugget)
            dual = self.vectors @ (inverse[:, np.newaxis] * inner)
            left_out = dual / (squares @ inverse)[:, np.newaxis]
            found = np.square(left_out).mean(axis=0)
            better = found < loss
            weights[:, better], errors[:, better] = dual[:, better], left_out[:, better]
            loss[better] = found[better]
        return weights, errors


def _kernel(a: Array, b: Array, shape: str, reach: float) -> Array:
    away = np.abs(a[:, np.newaxis] - b) / reach
    return np.asarray(np.exp(-away) if shape == "exponential" else np.exp(-np.square(away) / 2))
