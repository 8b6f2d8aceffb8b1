"""Inverse map from released rows to records, fitted to pairs, and the covariance of its errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import chance
from isinglass.attack.knowledge import Knowledge, KnownPairs
from isinglass.attack.known_input import KnownInputAttack
from isinglass.attack.linking.record_fit import GaussianFit, gaussian
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Where the largest tenth of the errors makes up nearly all of them, only the rest is noise.
_TRIMMED = 0.1
_NEARLY_ALL = 0.01


@dataclass(frozen=True)
class InverseGuess:
    """A guess of every record, compared with the records of a public table."""

    guess: Array = field(repr=False)
    public: Array = field(repr=False)
    covariance: Array = field(repr=False)
    pair_rows: Rows = field(repr=False)
    records: Array = field(repr=False)  # of the known pairs
    left_out: Array = field(repr=False)  # their errors where they were left out

    def fit(self, rows: Any = slice(None), n_columns: int | None = None) -> GaussianFit:
        """Fits of the guesses to the public table's first columns, or to all."""
        return self._fit(self.guess[rows, :n_columns], n_columns)

    def pairs_left_out(self, some: Rows, n_columns: int | None = None) -> tuple[GaussianFit, Array]:
        """Fits of some pairs, guessed without them, to all records; and that of the true one."""
        errors = self.left_out[some, :n_columns]
        away = errors @ self._white(n_columns).T
        own = -away.shape[1] / 2 * np.log(2 * np.pi) - np.square(away).sum(axis=1) / 2
        return self._fit(self.records[some, :n_columns] + errors, n_columns), own

    def _white(self, n_columns: int | None) -> Array:
        inner = self.covariance[:n_columns, :n_columns]
        return whitening(inner, self.public[:, :n_columns].std(axis=0))

    def _fit(self, guess: Array, n_columns: int | None) -> GaussianFit:
        white = self._white(n_columns)
        P = self.public[:, :n_columns]
        return gaussian(guess @ white.T, P @ white.T, np.ones(len(white)))


def fit_inverse_map(
    released: Array, public: Array, known: Knowledge, random_state: chance.RandomState = None
) -> InverseGuess:
    """Fit the map to known pairs and guess every record; errors are those of pairs left out."""
    n = len(known.need(KnownPairs).rows)
    if n < 2:
        raise AttackError(f"linking needs at least 2 known pairs to see its error, got {n}")
    found = KnownInputAttack(random_state=random_state).learn(released, known)
    covariance = covariance_of(found.left_out)
    return InverseGuess(found.guess, public, covariance, found.rows, found.records, found.left_out)


def covariance_of(errors: Array) -> Array:
    """Covariance about zero of errors, one row for each pair.

    The covariance of few errors underestimates the variance, so it is shrunk toward the diagonal.
    A few pairs that are far off (values that were clipped) do not hide that all others fit exactly.
    """
    n, d = errors.shape
    variance = np.square(errors).mean(axis=0)
    size = (np.square(errors) / np.where(variance > 0, variance, 1.0)).sum(axis=1)
    inner = np.argsort(size, kind="stable")[: n - int(_TRIMMED * n)]
    if size[inner].mean() < _NEARLY_ALL * size.mean():
        errors, n = 1.5 * errors[inner], len(inner)
    square = errors.T @ errors / n
    trust = n / (n + d)
    return np.asarray(trust * square + (1 - trust) * np.diag(np.diag(square)))


def whitening(covariance: Array, deviation: Array) -> Array:
    """W with W' W the inverse of the covariance, its eigenvalues with a floor.

    No direction gets a deviation below a millionth of a column's. Columns that do not vary get
    a weight of 0, because they tell no two records apart.
    """
    varies = deviation > 0
    unit = np.where(varies, deviation, 1.0)
    inner = covariance / unit / unit[:, np.newaxis]
    inner[~varies] = inner[:, ~varies] = 0
    values, vectors = np.linalg.eigh(inner)
    root = (vectors / np.sqrt(np.maximum(values, 1e-12))).T / unit
    root[:, ~varies] = 0
    return np.asarray(root)
