"""Overlap of the strongest outliers of table and release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.base import clone

from isinglass.auditing.findings import Detection
from isinglass.auditing.scoring import over_trials
from isinglass.detect.base import Detector
from isinglass.detect.distance import DistanceOutliers

Array = NDArray[Any]

#: Rows on which all scores are computed, for ranks and areas; the strongest are found among all.
RANKED = 10_000
MOST_OUTLIERS = 500


def default_detector(n_rows: int, n_outliers: int | None = None) -> DistanceOutliers:
    """The papers' measure: the 500 strongest by their five neighbors, of small tables a tenth."""
    if n_outliers is None:
        n_outliers = max(1, min(MOST_OUTLIERS, n_rows // 10))
    return DistanceOutliers(n_outliers=min(n_outliers, n_rows), n_neighbors=5, n_jobs=-1)


class Truth:
    """Scores and strongest outliers of the table itself, with which releases are compared."""

    def __init__(
        self, table: Array, detector: Detector, rng: np.random.Generator, labels: Array | None
    ) -> None:
        self._detector = detector
        self.n_outliers = int(min(getattr(detector, "n_outliers", MOST_OUTLIERS), len(table)))
        self.n_rows = len(table)
        fitted = clone(detector).fit(table)
        self.strongest = _strongest(fitted, table, self.n_outliers)
        self._scores = _scores_of(fitted, table, self.strongest)
        some = rng.permutation(len(table))[:RANKED]
        self._some = np.sort(some)
        self._ranked = _all_scores(detector, table[self._some])
        self._labels = labels

    def compare(self, released: Array) -> Detection:
        """Compare the outliers of a release with the table's; rows must correspond."""
        fitted = clone(self._detector).fit(released)
        found = _strongest(fitted, released, self.n_outliers)
        true = np.zeros(self.n_rows, dtype=bool)
        true[self.strongest] = True
        hits = true[found]
        ranked = _all_scores(self._detector, released[self._some])
        precision = tuple(
            (m, float(hits[:m].mean()))
            for m in sorted({max(1, self.n_outliers // 10), max(1, self.n_outliers // 2)})
        )
        rate = float(hits.mean())
        low, high = over_trials([rate], self.n_outliers)
        area = self._area(ranked)
        auc_low, auc_high = (None, None) if area is None else self._area_limits(area)
        return Detection(
            rate=rate,
            low=low,
            high=high,
            n_outliers=self.n_outliers,
            rank_correlation=_rank_correlation(self._ranked, ranked),
            precision=precision,
            auc_table=self._area(self._ranked),
            auc_release=area,
            auc_low=auc_low,
            auc_high=auc_high,
            chance=self.n_outliers / self.n_rows,
            table_scores=_as_shares(self._scores),
            release_scores=_as_shares(_scores_of(fitted, released, self.strongest)),
        )

    def _area(self, scores: Array) -> float | None:
        if self._labels is None:
            return None
        labels = self._labels[self._some]
        if labels.all() or not labels.any():
            return None
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(labels, scores))

    def _area_limits(self, area: float) -> tuple[float, float]:
        from isinglass.measure.area import area_limits  # only where anomalies are labeled

        assert self._labels is not None
        labels = self._labels[self._some]
        known = int(np.count_nonzero(labels))
        return area_limits([area], known, len(labels) - known)


def unknown_detection(truth: Truth) -> Detection:
    """Detection without a rate, for a release whose rows do not correspond to the table's."""
    return Detection(
        rate=None, low=None, high=None, n_outliers=truth.n_outliers,
        chance=truth.n_outliers / truth.n_rows,
    )  # fmt: skip


def over_all_trials(first: Detection, others: list[Detection]) -> Detection:
    """The release's own figures, with the spread over keys drawn anew."""
    rates = [d.rate for d in others if d.rate is not None]
    if not rates or first.rate is None:
        return first
    low, high = over_trials([first.rate, *rates], first.n_outliers)
    spread = float(np.std(rates, ddof=1)) if len(rates) > 1 else None
    return replace(first, low=low, high=high, mean=float(np.mean(rates)), deviation=spread)


def _strongest(fitted: Detector, table: Array, n: int) -> Array:
    """Rows by falling score, equal scores by row number."""
    if isinstance(fitted, DistanceOutliers):
        return fitted.outliers_
    scores = np.asarray(fitted.anomaly_score(table))
    return np.lexsort((np.arange(len(scores)), -scores))[:n]


def _scores_of(fitted: Detector, table: Array, rows: Array) -> Array:
    if isinstance(fitted, DistanceOutliers):
        return fitted.row_scores(rows)
    return np.asarray(fitted.anomaly_score(table[rows]))


def _all_scores(detector: Detector, table: Array) -> Array:
    fitted = clone(detector).fit(table)
    if isinstance(fitted, DistanceOutliers):
        return fitted.anomaly_score()
    return np.asarray(fitted.anomaly_score(table))


def _rank_correlation(a: Array, b: Array) -> float | None:
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(spearmanr(a, b).statistic)


def _as_shares(scores: Array) -> tuple[float, ...]:
    top = float(np.max(scores, initial=0.0))
    return tuple(float(s) / top if top > 0 else 0.0 for s in scores)
