"""Fit of a distortion's own formula, b + Q f(a + W record), to known pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.activations import ACTIVATIONS, Activation
from isinglass.attack.knowledge import Knowledge, PublicParameters
from isinglass.attack.learning.regression import Fit

Array = NDArray[Any]

#: Weights of the first layer that are looked for at most, and pairs that are fitted.
_MOST_WEIGHTS, _MOST_PAIRS = 200, 300
#: So many more equations than unknowns there must be.
_SPARE = 1.2
#: Starts of different sizes, steps from each, and the share of variance that is left at the end.
_STARTS, _SIZES, _STEPS, _SOLVED = 12, (0.1, 0.3, 0.7), 300, 1e-21
#: Multiplications that all starts may cost.
_WORK = 2e9
#: Less than this share must be left, or the formula was not found; from so much on nobody tries on.
_FITS, _HOPELESS = 0.05, 0.5


@dataclass(frozen=True, slots=True)
class Formula:
    """What is public of a distortion in one layer: its function and its number of units."""

    activation: Activation = field(repr=False)
    n_hidden: int

    @classmethod
    def of(cls, known: Knowledge, n_columns: int) -> Formula | None:
        """The formula that a release states; None where it states none that can be fitted."""
        public = known.find(PublicParameters)
        if public is None or public.parameters.get("layers", 1) not in (None, 1):
            return None
        name, hidden = (public.parameters.get(key) for key in ("activation", "n_hidden"))
        made = ACTIVATIONS.get(name) if isinstance(name, str) else None
        hidden = n_columns if hidden is None else hidden
        if made is None or made.derivative is None or not isinstance(hidden, int):
            return None
        few = 1 <= hidden and hidden * (n_columns + 1) <= _MOST_WEIGHTS
        return cls(made, hidden) if few and name != "identity" else None


def fit_formula(formula: Formula, A: Array, B: Array, rng: np.random.Generator) -> Fit | None:
    """The formula through known pairs, by nonlinear least squares; None where it is not found.

    Q and b are solved for at every step (variable projection), so that only W and a are looked
    for. Leaving a pair out is worked out from the pull that each pair has on the fit.
    """
    from scipy.optimize import least_squares

    X, Z = A[:_MOST_PAIRS], B[:_MOST_PAIRS]
    unit = Z.std(axis=0)
    (m, d), c, h = X.shape, Z.shape[1], formula.n_hidden
    unknown = h * (d + 1) + c * (h + 1)
    if m * c < _SPARE * unknown or m <= h + 1 or not (unit > 0).all():
        return None
    target = (Z - Z.mean(axis=0)) / unit
    rows = np.column_stack([X, np.ones(m)])
    problem = _Problem(formula.activation, rows, target, h)
    most = int(_WORK / (m * c * (h * (d + 1)) ** 2 + m * c * d))
    best, left = None, np.inf
    for start in range(_STARTS):
        if most < 2:
            break
        size = _SIZES[start % len(_SIZES)]
        found = least_squares(
            problem.residual, size * rng.normal(size=h * (d + 1)), jac=problem.jacobian,
            method="trf", max_nfev=min(_STEPS, most), ftol=1e-15, xtol=1e-15, gtol=1e-15,
        )  # fmt: skip
        most -= int(found.nfev)
        if (share := 2 * float(found.cost) / (m * c)) < left:
            best, left = found.x, share
        if left < _SOLVED or (start >= 2 and left > _HOPELESS):
            break
    if best is None or left > _FITS:
        return None
    weights = best.reshape(h, d + 1)
    last = problem.last_layer(weights)

    def predict(records: Array) -> Array:
        hidden = formula.activation.function(records @ weights[:, :-1].T + weights[:, -1])
        return np.asarray((np.column_stack([hidden, np.ones(len(hidden))]) @ last) * unit + middle)

    middle = Z.mean(axis=0)
    away = predict(A) - B
    away[:m] = problem.without_own_pull(away[:m] / unit, weights, last) * unit
    return Fit(predict, away)


@dataclass(frozen=True, slots=True)
class _Problem:
    activation: Activation
    rows: Array = field(repr=False)  # records with a one beside them
    target: Array = field(repr=False)
    n_hidden: int

    def _layers(self, weights: Array) -> tuple[Array, Array]:
        """Outputs of the hidden units with a one beside them, and their slopes."""
        inner = self.rows @ weights.T
        hidden = self.activation.function(inner)
        assert self.activation.derivative is not None
        return np.column_stack([hidden, np.ones(len(hidden))]), self.activation.derivative(inner)

    def last_layer(self, weights: Array) -> Array:
        return np.linalg.lstsq(self._layers(weights)[0], self.target, rcond=1e-12)[0]

    def residual(self, flat: Array) -> Array:
        outputs, _ = self._layers(flat.reshape(self.n_hidden, -1))
        last = np.linalg.lstsq(outputs, self.target, rcond=1e-12)[0]
        return np.asarray((outputs @ last - self.target).ravel())

    def jacobian(self, flat: Array) -> Array:
        """Of the residual with the last layer solved for (Kaufman's approximation)."""
        weights = flat.reshape(self.n_hidden, -1)
        outputs, slopes = self._layers(weights)
        last = np.linalg.lstsq(outputs, self.target, rcond=1e-12)[0]
        moved = self._moved(slopes, last)
        basis, _ = np.linalg.qr(outputs)
        whole = moved.reshape(len(outputs), -1)
        whole = whole - basis @ (basis.T @ whole)
        return np.asarray(whole.reshape(-1, flat.size))

    def _moved(self, slopes: Array, last: Array) -> Array:
        """How each output of each pair moves with each weight of the first layer."""
        inner = slopes[:, :, np.newaxis] * self.rows[:, np.newaxis]  # pairs x units x weights
        moved = inner[:, np.newaxis] * last[:-1].T[np.newaxis, :, :, np.newaxis]
        return np.asarray(moved.reshape(len(slopes), last.shape[1], -1))

    def without_own_pull(self, away: Array, weights: Array, last: Array) -> Array:
        """Errors of pairs as they would be if each had been left out, all its outputs at once."""
        outputs, slopes = self._layers(weights)
        m, c = len(outputs), last.shape[1]
        first = self._moved(slopes, last).reshape(m * c, -1)
        second = np.einsum("mk,ij->mikj", outputs, np.eye(c)).reshape(m * c, -1)
        left, sizes, _ = np.linalg.svd(np.hstack([first, second]), full_matrices=False)
        used = left[:, sizes > 1e-10 * sizes[0]].reshape(m, c, -1)
        rest = np.eye(c) - used @ used.transpose(0, 2, 1)
        # A pair that decides some weight alone would have no error of its own at all.
        values, vectors = np.linalg.eigh(rest)
        turned = np.einsum("mij,mi->mj", vectors, away) / np.maximum(values, 0.05)
        return np.asarray(np.einsum("mij,mj->mi", vectors, turned))
