"""Releases that hide a table from a first look, and scripts that turn them round."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from scipy.ndimage import uniform_filter1d

from tests.redteam import making as mk
from tests.redteam import tables as t
from tests.redteam.harness import Case, Known


def _file(make):
    """A file whose columns have the table's names."""

    def change(records: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        return pd.DataFrame(make(records.to_numpy(float), rng), columns=records.columns)

    return change


@_file
def running_sums(X, rng):
    return np.cumsum(X, axis=0)


@_file
def moving_means(X, rng):
    return pd.DataFrame(X).rolling(5, min_periods=1).mean().to_numpy()


@_file
def centered_means(X, rng):
    return pd.DataFrame(X).rolling(7, center=True, min_periods=1).mean().to_numpy()


@_file
def forgetting_means(X, rng):
    return pd.DataFrame(X).ewm(alpha=0.2, adjust=False).mean().to_numpy()


@_file
def one_number_a_row(X, rng):
    return X + 20 * X.std(axis=0) * rng.normal(size=(len(X), 1))


@_file
def heavy_tails(X, rng):
    return X + 0.05 * X.std(axis=0) * rng.standard_cauchy(X.shape) ** 3


@_file
def drifting_noise(X, rng):
    return X + np.cumsum(0.3 * X.std(axis=0) * rng.normal(size=X.shape), axis=0)


@_file
def behind_the_noise(X, rng):
    share = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return np.round(6 * rng.normal(size=X.shape), 2) + 0.009 * share


def differences(k: Known) -> np.ndarray:
    """Running sums: take the row before off."""
    return np.diff(k.Z, axis=0, prepend=0 * k.Z[:1])


def one_by_one(k: Known) -> np.ndarray:
    """Moving means: all rows but the last of each window are known already."""
    found = np.empty_like(k.Z)
    for i, z in enumerate(k.Z):
        found[i] = z * min(i + 1, 5) - found[max(0, i - 4) : i].sum(axis=0)
    return found


def every_seventh(k: Known) -> np.ndarray:
    """Centered means: differences are those of rows seven apart; their means are known."""
    steps, found = 7 * np.diff(k.Z, axis=0, prepend=k.Z[:1]), np.empty_like(k.Z)
    for first in range(7):
        part = np.cumsum(steps[first::7], axis=0)
        found[first::7] = part - part.mean(axis=0) + k.mean
    return np.roll(found, 3, axis=0)


def forget_less(k: Known) -> np.ndarray:
    """Means that forget: what is new in a row is a fifth of its record."""
    return np.vstack([k.Z[:1], (k.Z[1:] - 0.8 * k.Z[:-1]) / 0.2])


def less_the_row(k: Known) -> np.ndarray:
    """One number for the whole row: columns in deviations, less the mean of the row."""
    parts = k.Z / k.sd
    parts = parts - parts.mean(axis=1, keepdims=True)
    return k.mean + k.sd * (parts - parts.mean(axis=0))


def inside(k: Known) -> np.ndarray:
    """Wild values say nothing, the others nearly all."""
    return np.where((k.Z < k.low) | (k.Z > k.high), k.mean, k.Z)


def less_the_neighbors(k: Known) -> np.ndarray:
    """Noise that drifts is what neighbors share; records have no order."""
    return k.mean + k.Z - uniform_filter1d(k.Z, 9, axis=0)


def later_digits(k: Known) -> np.ndarray:
    """Noise of two digits; what follows is the value."""
    rest = k.Z * 100 - np.floor(k.Z * 100 + 1e-9)
    return k.low + (k.high - k.low) * np.clip(rest / 0.9, 0, 1)


apart = partial(t.independent, 800, 6)
_CASES = [
    ("running-sums", "running sums of the rows", running_sums, differences),
    ("moving-means", "means of the last five rows", moving_means, one_by_one),
    ("centered-means", "means of seven rows around", centered_means, every_seventh),
    ("forgetting-means", "means that forget a fifth a row", forgetting_means, forget_less),
    ("one-number-a-row", "one number of noise for all columns", one_number_a_row, less_the_row),
    ("heavy-tails-alone", "noise with heavy tails", heavy_tails, inside),
    ("drifting-noise", "noise that drifts along the rows", drifting_noise, less_the_neighbors),
    ("behind-the-noise", "the value in further digits of noise", behind_the_noise, later_digits),
]
TURNED = [
    Case(name, leaves, "outsider", "r2", mk.foreign(apart, change), script)
    for name, leaves, change, script in _CASES
]
