"""Scripts that say of each candidate how surely it was in the table."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from tests.redteam.harness import Known


def distance_to_flat(k: Known) -> np.ndarray:
    """Condensation with small groups: a member lies in the flat that its group's rows span."""
    Y, X = k.Z / (k.sd + 1e-12), k.values("candidates") / (k.sd + 1e-12)
    width = min(X.shape[1] - 1, len(Y))  # so many rows still leave directions free
    pool = min(len(Y), int(1.4 * X.shape[1]))  # the group is among the nearest rows, somewhere
    left = np.full(len(X), np.inf)
    for i, near in enumerate(cKDTree(Y).query(X, k=pool)[1]):
        tries = 1 if pool == width else 60
        picks = near[np.argsort(k.rng.random((tries, pool)), axis=1)[:, :width]]
        spans, gap = np.swapaxes(Y[picks[:, 1:]] - Y[picks[:, :1]], 1, 2), X[i] - Y[picks[:, 0]]
        q = np.linalg.qr(spans)[0]
        rest = gap[..., None] - q @ (np.swapaxes(q, 1, 2) @ gap[..., None])
        left[i] = np.linalg.norm(rest, axis=(1, 2)).min()
    return -left


def distance_to_release(k: Known) -> np.ndarray:
    """A member has a released row nearer than a stranger has."""
    return -cKDTree(k.Z / k.sd).query(k.values("candidates") / k.sd)[0]


def likelier_with_it(k: Known) -> np.ndarray:
    """Noise of known size: rows that a candidate explains better than a stranger would."""
    said = k.facts["parameters"]
    Y, X = (k.Z - k.mean) / k.sd, (k.values("candidates") - k.mean) / k.sd
    size = float(said["scale"])
    if said["distribution"] == "uniform":
        reach = size * 3**0.5
        held = [(np.abs(Y - x).max(axis=1) <= 1.01 * reach).sum() for x in X]
        blind = np.log(np.minimum(1, reach / (np.abs(X) + reach))).sum(axis=1)
        return np.log(np.array(held) + 1e-9) - blind
    stranger = (Y**2).sum(axis=1) / (2 * (1 + size**2))
    return np.array(
        [np.logaddexp.reduce(stranger - ((Y - x) ** 2).sum(axis=1) / 2 / size**2) for x in X]
    )


def kept_values_are_there(k: Known) -> np.ndarray:
    """What was kept of a candidate stands in the file, or does not."""
    shown, asked = (
        zip(*(t[name].astype(str).str[:10] for name in k.facts["kept"]), strict=True)  # days
        for t in (k.release, k.candidates)
    )
    there = set(shown)
    return np.array([values in there for values in asked], float)


def rare_kept_values_are_there(k: Known) -> np.ndarray:
    """The same, and rare values meet by chance less often than frequent ones."""
    common = np.zeros(len(k.candidates))
    for name in k.facts["kept"]:
        seen = k.release[name].value_counts()
        common += np.log(k.candidates[name].map(seen).fillna(0.5).to_numpy(float))
    return np.where(kept_values_are_there(k) > 0, 1e3, 0.0) - common


def as_far_from_the_mean(k: Known) -> np.ndarray:
    """A rotation keeps how far a record is from the mean, in columns brought to [0, 1]."""
    rows = np.linalg.norm(k.Z - k.Z.mean(axis=0), axis=1)
    away = np.linalg.norm((k.values("candidates") - k.mean) / (k.high - k.low), axis=1)
    return -np.abs(away[:, None] - rows).min(axis=1)


def along_the_release(k: Known) -> np.ndarray:
    """Draws from a covariance: a member lies in the directions in which they happen to spread."""
    Z, X = k.Z / k.sd, k.values("candidates") / k.sd
    center = Z.mean(axis=0)
    widest = np.linalg.svd(Z - center, full_matrices=False)[2][: Z.shape[1] // 3]
    away = X - center
    return np.square(away @ widest.T).sum(axis=1) / np.square(away).sum(axis=1)
