"""The paper's experiment, once: participants perturb, a network learns, end users test."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.autoencoder import Autoencoder
from isinglass.errors import PrivacyWarning
from isinglass.perturb.multiparty import MultipartyPerturbation, public_transform
from isinglass.perturb.public_matrix import PublicMatrix, public_matrix

Array = NDArray[Any]

RECORDS = 1000  # "the first 1000 records of each dataset"
ANOMALIES = 0.05  # added to them, uniform in the unit cube
BATCH = 30  # records of one participant


@dataclass(frozen=True, slots=True)
class ProtocolSetting:
    """What varies. `alpha` None leaves the records as they are; r = n - w columns are lost."""

    alpha: float | None
    epochs: int
    r: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutScores:
    """Scores of the records that nobody trained on, and which of them were added.

    `private` are their scores where they, too, come under private matrices in place of T.
    """

    added: NDArray[np.bool_] = field(repr=False)
    scores: Array = field(repr=False)
    threshold: float
    private: Array | None = field(default=None, repr=False)

    @property
    def auc(self) -> float:
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(self.added, self.scores))

    @property
    def private_auc(self) -> float:
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(self.added, self.private))

    @property
    def caught(self) -> float:
        """Share of the added records above the threshold, mean plus three deviations."""
        return float((self.scores[self.added] > self.threshold).mean())

    @property
    def false_alarms(self) -> float:
        return float((self.scores[~self.added] > self.threshold).mean())

    def roc(self, at: Array) -> Array:
        """The rate of true alarms at given rates of false ones."""
        from sklearn.metrics import roc_curve

        false, true, _ = roc_curve(self.added, self.scores)
        return np.asarray(np.interp(at, false, true))


def unit(X: Array) -> NDArray[np.float32]:
    """The first records, every column brought to [0, 1]; a column that never varies is 0."""
    X = np.asarray(X[:RECORDS], dtype=np.float64)
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    scaled = np.clip((X - low) / np.where(span > 0, span, 1.0), 0, 1)
    return np.asarray(scaled, dtype=np.float32)


def matrix_of(n: int, r: int, rng: np.random.Generator) -> PublicMatrix:
    """T with n - r rows; as many as the paper took, which the product refuses unless forced."""
    return public_matrix(n, n - r, study="reproduce", seed=rng.bytes(32).hex(), force=True)


def participant(
    matrix: PublicMatrix, alpha: float, rng: np.random.Generator
) -> MultipartyPerturbation:
    """Somebody with a private matrix of their own."""
    veil = MultipartyPerturbation(matrix, alpha=alpha, bounds="scaled", random_state=rng)
    with warnings.catch_warnings():
        # That T has too many rows is what is measured here.
        warnings.simplefilter("ignore", PrivacyWarning)
        return veil.fit(np.zeros((2, matrix.n_features)))


def experiment(table: Array, setting: ProtocolSetting, seed: list[int]) -> HeldOutScores:
    """One draw of anomalies, split, matrices and network.

    Whatever the setting, a seed draws the same anomalies, the same half to train on and, at the
    same r, the same public matrix: settings are compared on equal terms.
    """
    places, keys, start = (np.random.default_rng([*seed, part]) for part in range(3))
    n = table.shape[1]
    extra = places.random((round(ANOMALIES * len(table)), n), dtype=np.float32)
    order = places.permutation(len(table) + len(extra))
    records = np.vstack([table, extra])[order]
    added = (order >= len(table))[len(order) // 2 :]
    train, test = records[: len(order) // 2], records[len(order) // 2 :]
    private = None
    if setting.alpha is not None:
        matrix = matrix_of(n, setting.r, keys)
        train = _by_participants(train, matrix, setting.alpha, keys)
        private = _by_participants(test, matrix, setting.alpha, keys)
        test = public_transform(test, matrix, bounds="scaled")
    # The paper runs all of its epochs, so nothing is held back to stop by.
    detector = Autoencoder(
        max_epochs=setting.epochs, validation_fraction=0.0, random_state=start
    ).fit(train)
    score = detector.anomaly_score
    other = None if private is None else score(private)
    return HeldOutScores(added, score(test), float(detector.threshold_), other)


def _by_participants(
    records: Array, matrix: PublicMatrix, alpha: float, rng: np.random.Generator
) -> Array:
    """Every batch under a private matrix; the last one may be smaller."""
    parts = [records[i : i + BATCH] for i in range(0, len(records), BATCH)]
    return np.vstack([participant(matrix, alpha, rng).transform(part) for part in parts])
