"""What noise leaves: hard ends of factors and of uniform noise, zeros, columns without any."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import log_ndtr, logsumexp, ndtr

from tests.redteam.harness import Known


def _named(values: np.ndarray, name: str = "c") -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"{name}{j}" for j in range(values.shape[1])])


def far_from_zero(rows: int, width: int, mean: float) -> pd.DataFrame:
    """Columns whose mean is many deviations from zero, as of temperatures in kelvin."""
    return _named(mean + np.random.default_rng(0).normal(size=(rows, width)))


def around_zero(rows: int, width: int) -> pd.DataFrame:
    return _named(np.random.default_rng(1).normal(size=(rows, width)))


def sparse(rows: int = 700, zeros: int = 4, width: int = 12) -> pd.DataFrame:
    """A few amounts that are often zero; which ones are says what all other columns are around."""
    rng = np.random.default_rng(2)
    present = rng.integers(0, 2, size=(rows, zeros))
    pattern = present @ 2 ** np.arange(zeros)
    values = 8 + 0.84 * rng.normal(size=(2**zeros, width))[pattern]
    values += 0.55 * rng.normal(size=(rows, width))
    amounts = _named(present * (5 + rng.random((rows, zeros))), "a")
    return pd.concat([amounts, _named(values)], axis=1)


def coded(rows: int = 300, codes: int = 5, width: int = 6) -> pd.DataFrame:
    """A number that stands for a kind; all other columns are around means of their kind."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, codes, rows)
    names = rng.choice(np.arange(10**8, 10**9), codes, replace=False)
    values = 0.9 * rng.normal(size=(codes, width))[kind] + 0.4 * rng.normal(size=(rows, width))
    return pd.concat([pd.DataFrame({"kind": names[kind].astype(float)}), _named(values)], axis=1)


def members_by_factors(k: Known) -> np.ndarray:
    """No factor is above 2: hardly a stranger can be behind many rows, and few are likely."""
    X = k.values("candidates")
    stranger = -0.5 * np.square((k.Z - k.Z.mean(axis=0)) / k.Z.std(axis=0)).sum(axis=1)
    stranger -= np.log(k.Z.std(axis=0)).sum()
    scores = []
    for x in X:
        factor = k.Z / x
        fit = -0.5 * np.square(factor - 1).sum(axis=1) - np.log(x).sum()
        possible = (factor <= 2.00002).all(axis=1)
        scores.append(logsumexp(np.where(possible, fit - stranger, -1e300)))
    return np.array(scores)


def members_by_reach(k: Known) -> np.ndarray:
    """Uniform noise ends sharply: how rare are the rows that a record can be behind."""
    n = len(k.Z)
    reach = np.sqrt(3 * n / (n - 1)) * k.facts["parameters"]["scale"] * k.sd * (1 + 1e-6)
    near, far = (k.Z - k.mean + reach) / k.sd, (k.Z - k.mean - reach) / k.sd
    rare = np.log(np.maximum(ndtr(near) - ndtr(far), np.exp(log_ndtr(-38.0)))).sum(axis=1)
    possible = [(np.abs(k.Z - x) <= reach).all(axis=1) for x in k.values("candidates")]
    return np.array([np.log(1e-300 + np.exp(-rare[p]).sum()) for p in possible])


def _means(Z: np.ndarray, group: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Means of groups, drawn toward the mean of all by what noise leaves of them."""
    _, group, size = np.unique(group, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(group, z) / size for z in Z.T], axis=1)[group]
    left = 1 - noise / size[group, None].mean() / np.maximum(means.var(axis=0), 1e-12)
    return Z.mean(axis=0) + np.clip(left, 0, 1) * (means - Z.mean(axis=0))


def means_by_zeros(k: Known) -> np.ndarray:
    """Factors leave zeros: rows with the same ones have the same means."""
    zero = k.Z == 0
    pattern = zero[:, zero.any(axis=0)] @ 2 ** np.arange(zero.any(axis=0).sum())
    return _means(k.Z, pattern, k.Z.var(axis=0))


def means_by_code(k: Known) -> np.ndarray:
    """The first column got no noise: it is right, and says where all others are."""
    found = _means(k.Z, k.Z[:, 0], k.Z.var(axis=0))
    found[:, 0] = k.Z[:, 0]
    return found
