"""Scripts of somebody who got hold of the key."""

from __future__ import annotations

import json

import numpy as np
from safetensors import safe_open

import isinglass as ig
from tests.redteam.harness import Known, with_one

FUNCTIONS = {
    "tanh": (np.tanh, lambda v: 1 - np.tanh(v) ** 2),
    "square": (np.square, lambda v: 2 * v),
    "sigmoid": (lambda v: 1 / (1 + np.exp(-v)), lambda v: np.exp(-v) / (1 + np.exp(-v)) ** 2),
    "identity": (lambda v: v, np.ones_like),
}


def invert_whole_map(k: Known) -> np.ndarray:
    """Least squares on z = B + Q f(s (W u + A)) row by row: damped Gauss-Newton, several starts."""
    with safe_open(k.key, "np") as file:
        key = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        parameters = json.loads(file.metadata()["facts"])["parameters"]
    f, df = FUNCTIONS[parameters["activation"]]
    W, A = key["first"] * parameters["slope"], key["shifts"][0] * parameters["slope"]
    target, Q = k.Z - key["offset"], key["last"]
    low, wide = key["bounds_low"], key["bounds_high"] - key["bounds_low"]
    made_up = (k.mean + k.sd * k.rng.normal(size=(4000, len(wide))) - low) / wide - 0.5
    back, *_ = np.linalg.lstsq(with_one(f(made_up @ W.T + A) @ Q.T), made_up, rcond=None)
    plain = with_one(target) @ back  # the first start: learned backwards from made-up records
    best, least = plain.copy(), np.full(len(target), np.inf)
    for spread in (0.0, *np.linspace(0.05, 0.4, 24)):
        todo = np.flatnonzero(least > 1e-16 * (target**2).sum(axis=1))
        U = np.clip(plain[todo] + spread * k.rng.normal(size=(len(todo), len(wide))), -0.5, 0.5)
        want, damp = target[todo], np.full(len(todo), 1e-3)
        error = ((want - f(U @ W.T + A) @ Q.T) ** 2).sum(axis=1)
        for _ in range(40):
            inner = U @ W.T + A
            J = (df(inner)[:, None, :] * Q) @ W
            H = J.transpose(0, 2, 1) @ J
            H += np.eye(len(wide)) * (1e-15 + damp * np.trace(H, axis1=1, axis2=2))[:, None, None]
            g = J.transpose(0, 2, 1) @ (want - f(inner) @ Q.T)[..., None]
            new = np.clip(U + np.linalg.solve(H, g)[..., 0], -0.5, 0.5)
            after = ((want - f(new @ W.T + A) @ Q.T) ** 2).sum(axis=1)
            won = after < error
            U[won], error[won] = new[won], after[won]
            damp = np.clip(np.where(won, damp / 5, damp * 4), 1e-14, 1e3)
        won = error < least[todo]
        best[todo[won]], least[todo[won]] = U[won], error[won]
    return (best + 0.5) * wide + low


def subtract_noise(k: Known) -> np.ndarray:
    """Noise added by row number: perturb zeros with the key, and subtract."""
    return k.Z - ig.load_key(k.key).transform_rows(np.zeros_like(k.Z), 0)


def read_off_affine_map(k: Known) -> np.ndarray:
    """An affine map: what the key does to d + 1 records says all; marginals fill the rest."""
    veil, d = ig.load_key(k.key), len(k.mean)
    base = veil.transform(k.mean[None])
    M = (veil.transform(k.mean + np.diag(k.sd) / 10) - base) * 10  # rows: one deviation each
    seen = M.T @ M + 1e-12 * np.trace(M.T @ M) * np.eye(M.shape[1])
    return k.mean + k.sd * ((k.Z - base) @ np.linalg.solve(seen, M.T)).reshape(-1, d)
