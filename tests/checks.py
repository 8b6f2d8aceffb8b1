"""The contract of a role, written once: a small instance of every perturbation, and its exceptions.

`expected_failures` are the scikit-learn checks a class cannot pass by design, each with its reason.
"""

from __future__ import annotations

import isinglass as ig
from isinglass.perturb.base import Perturbation

_NOISE = {
    "check_estimators_pickle": "a copy cannot know which rows already got noise; it must be told",
    "check_methods_sample_order_invariance": "noise belongs to the row number, not the record",
    "check_methods_subset_invariance": "each call takes the next rows of the noise stream",
    "check_dict_unchanged": "transform moves the cursor of rows that are used up",
}
_OWN_ORDER = "fit_transform emits new records in an order of their own"
_NEW_RECORDS = _NOISE | {
    "check_transformer_general": _OWN_ORDER,
    "check_transformer_data_not_an_array": _OWN_ORDER,
}

#: name: (instance with settings small enough for many runs, expected failures)
PERTURBATIONS: dict[str, tuple[Perturbation, dict[str, str]]] = {
    "tanh": (ig.Distortion(random_state=0), {}),
    "two layers": (ig.Distortion("erf", layers=2, n_hidden=5, random_state=0), {}),
    "square": (ig.Distortion("square", weights="gaussian", random_state=0), {}),
    "multiparty": (ig.MultipartyPerturbation(alpha=0.1, random_state=0), {}),
    "gaussian": (ig.AdditiveNoise("gaussian", random_state=0), _NOISE),
    "uniform": (ig.AdditiveNoise("uniform", random_state=0), _NOISE),
    "adaptive": (ig.AdaptiveNoise(k=2, random_state=0), _NOISE),
    "multiplicative": (ig.MultiplicativeNoise(random_state=0), _NOISE),
    "rotation": (ig.Rotation(n_iter=2, random_state=0), {}),
    "rotation unsearched": (ig.Rotation(optimize=None, random_state=0), {}),
    "geometric": (ig.GeometricPerturbation(random_state=0), _NOISE),
    "geometric noiseless": (ig.GeometricPerturbation(0.0, random_state=0), {}),
    "projection": (ig.RandomProjection(random_state=0), {}),
    "condensation": (ig.Condensation(k=2, random_state=0), _NEW_RECORDS),
}
