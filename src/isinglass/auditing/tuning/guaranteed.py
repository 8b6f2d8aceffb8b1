"""Guaranteed models beside the settings of a search."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isinglass.auditing.detection import default_detector
from isinglass.auditing.scoring import over_trials
from isinglass.detect.private.detector import PrivateDetector
from isinglass.measure.area import area_limits

Floats = NDArray[np.float64]
#: Prices that are compared, and the chance that the promise fails.
EPSILONS = ("0.3", "1", "3")
DELTA = "1e-6"
#: Bounds of a column are its range, widened on both sides by this share of it. A model that leaves
#: takes declared bounds; these are for the owner's comparison alone.
_WIDENED = 0.5
_TRIALS = 3  # models of each price; noise differs from one to the next


@dataclass(frozen=True, slots=True)
class ModelPoint:
    """What a guaranteed model finds, and the most that anybody can learn of one record from it.

    `bound` follows from epsilon and delta, whatever attack is made: how far anybody who asks
    whether a record is in the table gets from a blind guess (0) to certainty (1).
    """

    epsilon: float
    delta: float
    bound: float
    detection: float
    detection_low: float
    detection_high: float
    trials: int
    auc_table: float | None = None
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None

    @property
    def name(self) -> str:
        """As it is called in tables and pictures."""
        return f"model epsilon={self.epsilon:g}"


def bound_of(epsilon: float, delta: float) -> float:
    """The most by which hits exceed false alarms when somebody tells whether a record is in.

    (e^eps - 1 + 2 delta) / (e^eps + 1): the largest distance of the error rates that (epsilon,
    delta)-differential privacy allows (Kairouz, Oh and Viswanath, ICML 2015).
    """
    return min(1.0, math.tanh(epsilon / 2) + 2 * delta / (math.exp(epsilon) + 1))


def guaranteed_points(
    table: Floats,
    rows: NDArray[np.int64],
    labels: NDArray[np.bool_] | None,
    n_outliers: int | None,
    epsilons: tuple[str, ...] = EPSILONS,
) -> tuple[ModelPoint, ...]:
    """Models of the whole table at several prices, compared on some of its rows.

    The strongest anomalies are those that the default detector finds among these rows, as for
    the releases of a search. Noise cannot be drawn again from a seed, so neither can these figures.
    """
    part = table[rows]
    truth = default_detector(len(part), n_outliers).fit(part)
    strongest = np.zeros(len(part), dtype=bool)
    strongest[truth.outliers_] = True
    marks = None if labels is None else labels[rows]
    if marks is not None and (marks.all() or not marks.any()):
        marks = None
    plain = None if marks is None else _area(marks, truth.anomaly_score())
    return tuple(_point(table, part, strongest, marks, plain, epsilon) for epsilon in epsilons)


def _point(
    table: Floats,
    part: Floats,
    strongest: NDArray[np.bool_],
    marks: NDArray[np.bool_] | None,
    plain: float | None,
    epsilon: str,
) -> ModelPoint:
    n = int(strongest.sum())
    rates, areas = [], []
    for _ in range(_TRIALS):
        scores = _scores(table, part, epsilon)
        top = np.lexsort((np.arange(len(part)), -scores))[:n]
        rates.append(float(strongest[top].mean()))
        if marks is not None:
            areas.append(_area(marks, scores))
    low, high = over_trials([float(np.mean(rates)), *rates], n)
    area = auc_low = auc_high = None
    if marks is not None:
        area = float(np.mean(areas))
        auc_low, auc_high = area_limits(areas, int(marks.sum()), int((~marks).sum()))
    promised = float(epsilon), float(DELTA)
    return ModelPoint(
        *promised, bound_of(*promised), float(np.mean(rates)), low, high, _TRIALS,
        plain, area, auc_low, auc_high,
    )  # fmt: skip


def _scores(table: Floats, part: Floats, epsilon: str) -> Floats:
    low, high = table.min(axis=0), table.max(axis=0)
    # A column of one value has bounds, too.
    wider = np.where(high > low, _WIDENED * (high - low), 1.0)
    made = PrivateDetector(epsilon, DELTA, (low - wider, high + wider), n_jobs=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small table drowns in noise, which its figures show
        return made.fit(table).anomaly_score(part)


def _area(marks: NDArray[np.bool_], scores: Floats) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(marks, scores))
