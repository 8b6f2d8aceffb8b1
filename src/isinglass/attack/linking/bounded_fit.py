"""Log-likelihood of pairs under noise that ends somewhere: an end rules records out for certain."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.linking.record_fit import GaussianFit, PairFit, blocks
from isinglass.threads import spread

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Noisy numbers are rounded to this part of the noise's deviation at most (perturb.rounding): so
#: much further a released number may lie, and no more.
_GRID = 2.0**-18


@dataclass(frozen=True, slots=True)
class _BoundedFit:
    """The records on both sides of a fit."""

    released: Array = field(repr=False)
    public: Array = field(repr=False)

    @property
    def n_released(self) -> int:
        return len(self.released)

    @property
    def n_public(self) -> int:
        return len(self.public)


@dataclass(frozen=True, slots=True)
class UniformFit(_BoundedFit):
    r"""$F = -\sum_j \log a_j$ where every $|z_j - x'_j| \le a_j / 2$, else minus infinity.

    `scale` are deviations: the noise spans $a_j = \sqrt{12} \sigma_j$.
    """

    scale: Array = field(repr=False)

    def block(self, rows: slice) -> Array:
        from isinglass.kernels.likelihoods import uniform_fits  # slow to import

        Z, X = _contiguous(self.released[rows]), _contiguous(self.public)
        half = math.sqrt(3) * self.scale * (1 + _GRID) + _rounding(self.released) * np.abs(Z)
        constant = -float(np.log(math.sqrt(12) * self.scale).sum())
        found = np.empty((len(Z), len(X)))

        def work(start: int, stop: int) -> None:
            uniform_fits(Z, half, start, stop, X, constant, found)

        spread(work, len(Z), n_jobs=None, step=64)
        return found

    def part(self, rows: Rows, records: Rows) -> UniformFit:
        """The fits of some released rows with some public records."""
        return UniformFit(self.released[rows], self.public[records], self.scale)

    def best(self) -> tuple[Rows, Array]:
        return _best(self)


@dataclass(frozen=True, slots=True)
class FactorFit(_BoundedFit):
    r"""$F = \sum_j -\log(C s|x'_j|) - (z_j/x'_j - 1)^2 / 2s^2$, for factors normal about one.

    They are cut to $|z_j/x'_j - 1| \le h$, which leaves the share $C$ of the law; beyond it F is
    minus infinity. A zero stays one, and nothing else becomes one.
    """

    scale: float

    def block(self, rows: slice) -> Array:
        from isinglass.kernels.likelihoods import factor_fits  # slow to import

        Z, X = _contiguous(self.released[rows]), _contiguous(self.public)
        half, s = min(1.0, 3 * self.scale), self.scale
        # Products are rounded to binary digits of their own, whatever their size.
        reach = half + (1 + half) * (min(s, 1.0) * _GRID * 2 + _rounding(self.released))
        held = math.erf(half / s / math.sqrt(2))
        present = X != 0
        inverse = np.divide(1.0, X, out=np.zeros_like(X), where=present)
        sizes = np.log(np.where(present, np.abs(X) * (math.sqrt(2 * math.pi) * s * held), 1.0))
        own, found = -sizes.sum(axis=1), np.empty((len(Z), len(X)))

        def work(start: int, stop: int) -> None:
            factor_fits(Z, start, stop, inverse, own, 0.5 / s**2, reach, found)

        spread(work, len(Z), n_jobs=None, step=64)
        return found

    def part(self, rows: Rows, records: Rows) -> FactorFit:
        """The fits of some released rows with some public records."""
        return FactorFit(self.released[rows], self.public[records], self.scale)

    def best(self) -> tuple[Rows, Array]:
        return _best(self)


#: How well records fit rows by the law of some noise.
NoiseFit = GaussianFit | UniformFit | FactorFit


def likely_means(fit: PairFit, records: Array) -> tuple[Array, NDArray[np.bool_]]:
    """For each row the mean of all records, likelier ones more; and whether any can be behind it.

    A row that no record can be behind is anybody's.
    """
    found = np.empty((fit.n_released, records.shape[1]))
    possible = np.empty(fit.n_released, dtype=bool)
    for rows, fits in blocks(fit):
        best = fits.max(axis=1, keepdims=True)
        possible[rows] = np.isfinite(best[:, 0])
        weights = np.exp(fits - np.where(np.isfinite(best), best, 0.0))
        weights[~possible[rows]] = 1.0
        found[rows] = weights @ records / weights.sum(axis=1, keepdims=True)
    return found, possible


def _best(fit: PairFit) -> tuple[Rows, Array]:
    where, share = np.zeros(fit.n_released, dtype=np.intp), np.zeros(fit.n_released)
    for rows, fits in blocks(fit):
        where[rows] = fits.argmax(axis=1)
        top = fits.max(axis=1, keepdims=True)
        possible = np.isfinite(top)
        total = np.exp(fits - np.where(possible, top, 0.0)).sum(axis=1)
        share[rows] = np.where(possible[:, 0], 1.0 / np.maximum(total, 1.0), 0.0)
    return where, share


def _contiguous(table: Array) -> Array:
    return np.ascontiguousarray(table, dtype=np.float64)


def _rounding(released: Array) -> float:
    """By which share of itself a number may have been rounded on its way through a file."""
    some = released[:1000]
    single = np.array_equal(some.astype(np.float32).astype(np.float64), some)
    return 4 * (2.0**-24 if single else 2.0**-53)
