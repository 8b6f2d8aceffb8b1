"""Privacy-preserving anomaly detection: releases, detectors, attacks, and honest answers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives; a module loads when one of its names is first used.
_HOMES = {
    "IsinglassError": "errors",
    "KeyFileError": "errors",
    "PrivacyWarning": "errors",
    "ReleaseError": "errors",
    "TableError": "errors",
    "Promise": "promise",
    "AdditiveNoise": "perturb.noise",
    "Autoencoder": "detect.autoencoder",
    "Condensation": "perturb.condensation",
    "DistanceOutliers": "detect.distance",
    "Distortion": "perturb.distortion",
    "GeometricPerturbation": "perturb.geometric",
    "MultiplicativeNoise": "perturb.noise",
    "MultipartyPerturbation": "perturb.multiparty",
    "PublicMatrix": "perturb.public_matrix",
    "RandomProjection": "perturb.projection",
    "Rotation": "perturb.rotation",
    "load_key": "perturb.load",
    "public_matrix": "perturb.public_matrix",
    "RadiusOutliers": "detect.radius",
    "Release": "release",
    "privacy_level": "measure.vod",
    "variance_of_difference": "measure.vod",
    "write_release": "publish",
}
_MODULES = ("datasets", "theory", "table")

__all__ = [
    "AdditiveNoise",
    "Autoencoder",
    "Condensation",
    "DistanceOutliers",
    "Distortion",
    "GeometricPerturbation",
    "IsinglassError",
    "KeyFileError",
    "MultipartyPerturbation",
    "MultiplicativeNoise",
    "PrivacyWarning",
    "Promise",
    "PublicMatrix",
    "RadiusOutliers",
    "RandomProjection",
    "Release",
    "ReleaseError",
    "Rotation",
    "TableError",
    "__version__",
    "datasets",
    "load_key",
    "privacy_level",
    "public_matrix",
    "table",
    "theory",
    "variance_of_difference",
    "write_release",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from isinglass import datasets, table, theory
    from isinglass.detect.autoencoder import Autoencoder
    from isinglass.detect.distance import DistanceOutliers
    from isinglass.detect.radius import RadiusOutliers
    from isinglass.errors import (
        IsinglassError,
        KeyFileError,
        PrivacyWarning,
        ReleaseError,
        TableError,
    )
    from isinglass.measure.vod import privacy_level, variance_of_difference
    from isinglass.perturb.condensation import Condensation
    from isinglass.perturb.distortion import Distortion
    from isinglass.perturb.geometric import GeometricPerturbation
    from isinglass.perturb.load import load_key
    from isinglass.perturb.multiparty import MultipartyPerturbation
    from isinglass.perturb.noise import AdditiveNoise, MultiplicativeNoise
    from isinglass.perturb.projection import RandomProjection
    from isinglass.perturb.public_matrix import PublicMatrix, public_matrix
    from isinglass.perturb.rotation import Rotation
    from isinglass.promise import Promise
    from isinglass.publish import write_release
    from isinglass.release import Release
