"""One small instance of every perturbation, and what scikit-learn's checks cannot expect of it."""

from __future__ import annotations

import isinglass as ig
from isinglass.perturb.base import Perturbation

FRESH_NOISE = "every call draws the next rows of the noise stream, so no two calls agree"
NOT_PICKLED = "a copy does not know which rows already got noise, so it refuses to guess"

#: Each method by a name; settings small enough for many runs.
PERTURBATIONS: dict[str, Perturbation] = {
    "distortion": ig.Distortion(random_state=0),
    "distortion, two layers": ig.Distortion("erf", layers=2, n_hidden=5, random_state=0),
    "distortion, gaussian": ig.Distortion("square", weights="gaussian", random_state=0),
    "multiparty": ig.MultipartyPerturbation(alpha=0.1, random_state=0),
    "additive gaussian": ig.AdditiveNoise("gaussian", random_state=0),
    "additive uniform": ig.AdditiveNoise("uniform", random_state=0),
    "multiplicative": ig.MultiplicativeNoise(random_state=0),
    "rotation": ig.Rotation(n_iter=2, random_state=0),
    "rotation, not searched": ig.Rotation(optimize=None, random_state=0),
    "geometric": ig.GeometricPerturbation(random_state=0),
    "projection": ig.RandomProjection(random_state=0),
    "condensation": ig.Condensation(k=2, random_state=0),
}
