"""Privacy-preserving anomaly detection: releases, detectors, attacks, and honest answers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives; a module loads when one of its names is first used.
_HOMES = {
    "AttackError": "errors",
    "AuditError": "errors",
    "BudgetError": "errors",
    "CuratorError": "errors",
    "IsinglassError": "errors",
    "KeyFileError": "errors",
    "LedgerError": "errors",
    "PrivacyWarning": "errors",
    "ReleaseError": "errors",
    "TableError": "errors",
    "CollusionAttack": "attack.collusion",
    "DecodingAttack": "attack.decoding",
    "DistanceAttack": "attack.distance",
    "ICAAttack": "attack.ica",
    "KeptColumnsAttack": "attack.kept_columns",
    "Colluders": "attack.knowledge",
    "ColumnStatistics": "attack.knowledge",
    "KeptColumns": "attack.knowledge",
    "Knowledge": "attack.knowledge",
    "KnownPairs": "attack.knowledge",
    "KnownRecords": "attack.knowledge",
    "OtherReleases": "attack.knowledge",
    "PopulationSample": "attack.knowledge",
    "PublicParameters": "attack.knowledge",
    "PublicTable": "attack.knowledge",
    "RowOrder": "attack.knowledge",
    "StolenKey": "attack.knowledge",
    "KnownInputAttack": "attack.known_input",
    "LinkageAttack": "attack.linkage",
    "MAPAttack": "attack.map_estimate",
    "NaiveAttack": "attack.naive",
    "PosteriorAttack": "attack.posterior",
    "RowOrderAttack": "attack.row_order",
    "SampleAttack": "attack.sample",
    "SpectralAttack": "attack.spectral",
    "StolenKeyAttack": "attack.stolen_key",
    "UnitPursuitAttack": "attack.unit_pursuit",
    "Policy": "auditing.policy",
    "Report": "auditing.report.report",
    "audit": "auditing.audit",
    "tune": "auditing.tuning.tune",
    "Answer": "curate.answer",
    "choose_beta_r": "curate.planning.choose",
    "compile_mechanism": "curate.mechanisms.compiler",
    "Curator": "curate.curator",
    "falsify": "curate.mechanisms.falsify",
    "Guarantee": "curate.guarantee",
    "Ledger": "curate.ledger.ledger",
    "bounded_mechanism": "curate.mechanisms.mechanism",
    "dp_mechanism": "curate.mechanisms.mechanism",
    "sensitive_mechanism": "curate.mechanisms.mechanism",
    "sparse_mechanism": "curate.mechanisms.mechanism",
    "plan": "curate.planning.plan",
    "choose_r_privately": "curate.planning.private_choice",
    "Question": "curate.questions.base",
    "Space": "curate.space",
    "Autoencoder": "detect.autoencoder",
    "DistanceOutliers": "detect.distance",
    "RadiusOutliers": "detect.radius",
    "expected_randomization_level": "measure.randomization",
    "randomization_level": "measure.randomization",
    "privacy_level": "measure.vod",
    "variance_of_difference": "measure.vod",
    "AdaptiveNoise": "perturb.adaptive",
    "Condensation": "perturb.condensation",
    "Distortion": "perturb.distortion",
    "GeometricPerturbation": "perturb.geometric",
    "load_key": "perturb.load",
    "MultipartyPerturbation": "perturb.multiparty",
    "AdditiveNoise": "perturb.noise",
    "MultiplicativeNoise": "perturb.noise",
    "RandomProjection": "perturb.projection",
    "PublicMatrix": "perturb.public_matrix",
    "public_matrix": "perturb.public_matrix",
    "Rotation": "perturb.rotation",
    "Promise": "promise",
    "write_release": "publish",
    "Release": "release",
}
_MODULES = ("datasets", "theory", "table")

__all__ = [
    "AdaptiveNoise",
    "AdditiveNoise",
    "Answer",
    "AttackError",
    "AuditError",
    "Autoencoder",
    "BudgetError",
    "Colluders",
    "CollusionAttack",
    "ColumnStatistics",
    "Condensation",
    "Curator",
    "CuratorError",
    "DecodingAttack",
    "DistanceAttack",
    "DistanceOutliers",
    "Distortion",
    "GeometricPerturbation",
    "Guarantee",
    "ICAAttack",
    "IsinglassError",
    "KeptColumns",
    "KeptColumnsAttack",
    "KeyFileError",
    "Knowledge",
    "KnownInputAttack",
    "KnownPairs",
    "KnownRecords",
    "Ledger",
    "LedgerError",
    "LinkageAttack",
    "MAPAttack",
    "MultipartyPerturbation",
    "MultiplicativeNoise",
    "NaiveAttack",
    "OtherReleases",
    "Policy",
    "PopulationSample",
    "PosteriorAttack",
    "PrivacyWarning",
    "Promise",
    "PublicMatrix",
    "PublicParameters",
    "PublicTable",
    "Question",
    "RadiusOutliers",
    "RandomProjection",
    "Release",
    "ReleaseError",
    "Report",
    "Rotation",
    "RowOrder",
    "RowOrderAttack",
    "SampleAttack",
    "Space",
    "SpectralAttack",
    "StolenKey",
    "StolenKeyAttack",
    "TableError",
    "UnitPursuitAttack",
    "__version__",
    "audit",
    "bounded_mechanism",
    "choose_beta_r",
    "choose_r_privately",
    "compile_mechanism",
    "datasets",
    "dp_mechanism",
    "expected_randomization_level",
    "falsify",
    "load_key",
    "plan",
    "privacy_level",
    "public_matrix",
    "randomization_level",
    "sensitive_mechanism",
    "sparse_mechanism",
    "table",
    "theory",
    "tune",
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
    from isinglass.attack.collusion import CollusionAttack
    from isinglass.attack.decoding import DecodingAttack
    from isinglass.attack.distance import DistanceAttack
    from isinglass.attack.ica import ICAAttack
    from isinglass.attack.kept_columns import KeptColumnsAttack
    from isinglass.attack.knowledge import (
        Colluders,
        ColumnStatistics,
        KeptColumns,
        Knowledge,
        KnownPairs,
        KnownRecords,
        OtherReleases,
        PopulationSample,
        PublicParameters,
        PublicTable,
        RowOrder,
        StolenKey,
    )
    from isinglass.attack.known_input import KnownInputAttack
    from isinglass.attack.linkage import LinkageAttack
    from isinglass.attack.map_estimate import MAPAttack
    from isinglass.attack.naive import NaiveAttack
    from isinglass.attack.posterior import PosteriorAttack
    from isinglass.attack.row_order import RowOrderAttack
    from isinglass.attack.sample import SampleAttack
    from isinglass.attack.spectral import SpectralAttack
    from isinglass.attack.stolen_key import StolenKeyAttack
    from isinglass.attack.unit_pursuit import UnitPursuitAttack
    from isinglass.auditing.audit import audit
    from isinglass.auditing.policy import Policy
    from isinglass.auditing.report.report import Report
    from isinglass.auditing.tuning.tune import tune
    from isinglass.curate.answer import Answer
    from isinglass.curate.curator import Curator
    from isinglass.curate.guarantee import Guarantee
    from isinglass.curate.ledger.ledger import Ledger
    from isinglass.curate.mechanisms.compiler import compile_mechanism
    from isinglass.curate.mechanisms.falsify import falsify
    from isinglass.curate.mechanisms.mechanism import (
        bounded_mechanism,
        dp_mechanism,
        sensitive_mechanism,
        sparse_mechanism,
    )
    from isinglass.curate.planning.choose import choose_beta_r
    from isinglass.curate.planning.plan import plan
    from isinglass.curate.planning.private_choice import choose_r_privately
    from isinglass.curate.questions.base import Question
    from isinglass.curate.space import Space
    from isinglass.detect.autoencoder import Autoencoder
    from isinglass.detect.distance import DistanceOutliers
    from isinglass.detect.radius import RadiusOutliers
    from isinglass.errors import (
        AttackError,
        AuditError,
        BudgetError,
        CuratorError,
        IsinglassError,
        KeyFileError,
        LedgerError,
        PrivacyWarning,
        ReleaseError,
        TableError,
    )
    from isinglass.measure.randomization import expected_randomization_level, randomization_level
    from isinglass.measure.vod import privacy_level, variance_of_difference
    from isinglass.perturb.adaptive import AdaptiveNoise
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
