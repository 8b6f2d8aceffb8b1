"""Search for hidden units: functions f(w x + a) that are linear in the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.activations import Activation
from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.theory.inversion import solve_rows

Array = NDArray[Any]

#: The share of a unit's variance that the release may fail to explain.
UNEXPLAINED = 1e-6
#: A unit is new if the others leave this share of its variance unexplained.
_NEW = 1e-8
#: What is left of two units differs by no more than this factor, beyond the rounding of a float.
_ALIKE, _ROUNDING = 1e5, 1e-30
#: Searches, and how many of them in turn may find nothing new.
_ROUNDS, _IN_VAIN = 8, 2
#: Steepness of the starts, in deviations of w x.
_STEEPNESS = (0.5, 1.5, 4.0)
#: Pairs beyond what a search needs make it slower, not surer.
_SPARE_PAIRS, _MOST_FITTED = 40, 200
#: How far a unit may be from its readout in other pairs, in deviations.
_CONFIRMED = 0.01
_NARROWEST = 1e-3
#: Multiplications for one step of a search, and starts below which none is worth its time; with
#: as many released columns as the table has this ends at about eighty of them.
_MOST_WORK, _LEAST_STARTS = 1e8, 20


@dataclass(frozen=True, slots=True)
class Units:
    """Units found, and how to read their values from a release."""

    activation: Activation
    weights: Array = field(repr=False)  # units x columns
    shifts: Array = field(repr=False)
    readout: Array = field(repr=False)  # (1 + released columns) x units
    deviation: Array = field(repr=False)  # of each unit's values in the pairs
    most: int  # how many units the release has room for

    def read(self, Z: Array) -> Array:
        """The value of each unit in every released row."""
        return np.asarray(self.readout[0] + Z @ self.readout[1:])

    def inner(self, Z: Array) -> Array | None:
        """w x + a of each unit in every released row; None where f has no inverse.

        Values beyond the range of f are moved into it, as far as the digits of a float go.
        """
        f = self.activation
        if f.inverse is None:
            return None
        said = self.read(Z)
        low, high = (float(f.function(np.array([end]))[0]) for end in (-np.inf, np.inf))
        room = 1e-13 * (high - low)
        return np.asarray(f.inverse(np.clip(said, low + room, high - room)))

    def confirmed(self, X: Array, Z: Array) -> Units | None:
        """The units whose values in other pairs are what the release says; None if there are none.

        What f(w x + a) does in a few saturated pairs may be explained by chance.
        """
        hidden = self.activation.function(X @ self.weights.T + self.shifts)
        off = np.sqrt(np.square(self.read(Z) - hidden).mean(axis=0))
        keep = off <= _CONFIRMED * self.deviation
        if not keep.any():
            return None
        return replace(
            self,
            weights=self.weights[keep],
            shifts=self.shifts[keep],
            readout=self.readout[:, keep],
            deviation=self.deviation[keep],
        )


def find_units(
    f: Activation,
    X: Array,
    Z: Array,
    n_starts: int,
    rng: np.random.Generator,
    known: Sequence[Units] = (),
) -> Units | None:
    """Units of f in the pairs of records X and released rows Z; None where there are none.

    Every search starts from linear functions of the release that no unit found so far explains,
    or that are `known` from other pairs.
    """
    n = max(Z.shape[1] + 2 * X.shape[1] + _SPARE_PAIRS, _MOST_FITTED if known else 0)
    varies = deviations(X[:n]) > 0
    search = _UnitSearch.of(f, X[:n][:, varies], Z[:n])
    if not varies.any() or search.most < 1 or search.outside.shape[1] < varies.sum() + 2:
        return None
    n_starts = min(n_starts, int(_MOST_WORK / search.work))
    if n_starts < _LEAST_STARTS:
        return None
    found, in_vain = np.empty((0, varies.sum() + 1)), 0
    if known:
        given = np.vstack([np.column_stack([u.weights[:, varies], u.shifts]) for u in known])
        found = search.units_among(search.run(given))
    for _ in range(_ROUNDS):
        # Where there are units, half as many starts find one.
        starts = search.starts(found, n_starts if len(found) else (n_starts + 1) // 2, rng)
        if starts is None or in_vain >= _IN_VAIN:
            break
        before = len(found)
        found = search.units_among(np.vstack([found, search.run(starts)]))
        in_vain = in_vain + 1 if len(found) <= before else 0
    if not len(found):
        return None
    units = search.units(found)
    whole = np.zeros((len(found), X.shape[1]))
    whole[:, varies] = units.weights
    return replace(units, weights=whole)


@dataclass(frozen=True, slots=True)
class _UnitSearch:
    """How far f(w x + a) of the pairs is from a linear function of their released rows.

    A map of rows (w, a), as `solve_rows` takes it: the part of f(w x + a) that (1, z) does not
    explain, over its deviation. Its squared length is 1 - R².
    """

    f: Activation
    inputs: Array = field(repr=False)  # (x, 1)
    released: Array = field(repr=False)
    inside: Array = field(repr=False)  # orthonormal basis of what (z, 1) spans, less the mean
    outside: Array = field(repr=False)  # of the rest
    unit: Array = field(repr=False)  # deviation of each column of x

    @classmethod
    def of(cls, f: Activation, X: Array, Z: Array) -> _UnitSearch:
        n = len(X)
        centered = Z - Z.mean(axis=0)
        left, sizes, _ = np.linalg.svd(centered, full_matrices=False)
        inside = left[:, sizes > 1e-9 * max(sizes[0], 1e-300)]
        both = np.column_stack([np.full(n, n**-0.5), inside])
        outside = np.linalg.qr(both, mode="complete")[0][:, both.shape[1] :]
        unit = np.maximum(divisors(deviations(X)), _NARROWEST)
        return cls(f, np.column_stack([X, np.ones(n)]), Z, inside, outside, unit)

    @property
    def most(self) -> int:
        """No more units than this are linearly independent functions of the release."""
        return int(self.inside.shape[1])

    @property
    def work(self) -> float:
        """Multiplications that the derivatives at one point take."""
        n, width = self.inputs.shape
        return float(n * width * self.outside.shape[1])

    def values(self, points: Array) -> Array:
        hidden, size = self._centered(self.f.function(points @ self.inputs.T))
        return np.asarray(hidden @ self.outside / size)

    def linearized(self, points: Array) -> tuple[Array, Array]:
        assert self.f.derivative is not None
        inner = points @ self.inputs.T
        hidden, size = self._centered(self.f.function(inner))
        off = hidden @ self.outside / size
        slope = self.f.derivative(inner)[:, :, np.newaxis] * self.inputs
        stretch = (hidden[:, np.newaxis] @ slope)[:, 0] / size**2  # d log(size)
        J = self.outside.T @ slope / size[:, :, np.newaxis]
        return off, np.asarray(J - off[:, :, np.newaxis] * stretch[:, np.newaxis])

    @staticmethod
    def _centered(hidden: Array) -> tuple[Array, Array]:
        hidden = hidden - hidden.mean(axis=1, keepdims=True)
        return hidden, np.sqrt(np.square(hidden).sum(axis=1, keepdims=True)) + 1e-12

    def run(self, starts: Array) -> Array:
        """The points that starts lead to."""
        metric = np.diag(np.append(self.unit**2, 1.0))
        goals = np.zeros((len(starts), self.outside.shape[1]))
        return solve_rows(self, goals, starts, metric=metric, goal=1e-30, n_iter=60).points

    def starts(self, found: Array, n: int, rng: np.random.Generator) -> Array | None:
        """(w, a) near linear functions of the release that the units found do not explain."""
        free = self.inside
        if len(found):
            q = np.linalg.qr(self._centered(self.f.function(found @ self.inputs.T))[0].T)[0]
            left, sizes, _ = np.linalg.svd(free - q @ (q.T @ free), full_matrices=False)
            free = left[:, sizes > 1e-6]
        if not free.shape[1]:
            return None
        wanted = rng.normal(size=(n, free.shape[1])) @ free.T
        X = self.inputs[:, :-1]
        scaled = (X - X.mean(axis=0)) / self.unit
        square = scaled.T @ scaled + 1e-3 * len(X) * np.eye(X.shape[1])
        w = np.linalg.solve(square, scaled.T @ wanted.T).T
        size = np.sqrt(np.square(w @ scaled.T).mean(axis=1, keepdims=True))
        w = w / np.maximum(size, 1e-300) * rng.choice(_STEEPNESS, size=(n, 1)) / self.unit
        middle = X[rng.integers(len(X), size=n)]
        return np.column_stack([w, -(w * middle).sum(axis=1)])

    def units_among(self, points: Array) -> Array:
        """Those of the points that are units, each once.

        What the release leaves unexplained of a unit is rounding, which is alike for all units
        however little they vary. A function that saturates may come near by chance.
        """
        points = points[np.isfinite(points).all(axis=1)]
        hidden, size = self._centered(self.f.function(points @ self.inputs.T))
        rest = np.square(hidden @ self.outside).sum(axis=1)
        size = size[:, 0]
        able = (size > 1e-7) & (rest <= UNEXPLAINED * size**2)
        if not able.any():
            return points[:0]
        surest = np.where(able, rest / np.maximum(size, 1e-300) ** 2, np.inf).argmin()
        able &= rest <= _ALIKE * max(float(rest[surest]), _ROUNDING)
        basis = np.empty((len(self.inputs), 0))
        kept: list[Any] = []
        for i in np.argsort(rest):
            if not able[i] or len(kept) == self.most:
                continue
            new = hidden[i] / size[i]
            new = new - basis @ (basis.T @ new)
            share = float(np.square(new).sum())
            if share > _NEW:
                kept.append(i)
                basis = np.column_stack([basis, new / np.sqrt(share)])
        return points[kept]

    def units(self, points: Array) -> Units:
        hidden = self.f.function(self.inputs @ points.T)
        seen = np.column_stack([np.ones(len(self.released)), self.released])
        readout = np.linalg.lstsq(seen, hidden, rcond=None)[0]
        deviation = hidden.std(axis=0)
        return Units(self.f, points[:, :-1], points[:, -1], readout, deviation, self.most)
