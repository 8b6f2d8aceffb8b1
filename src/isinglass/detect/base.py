"""What every detector promises: a score that goes up with strangeness, and a threshold."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import validate_data

NUMBERS = [np.float64, np.float32]  # kinds that are kept as they are; others become the first


class Detector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Fits a table, then scores records: the higher, the stranger.

    A detector supplies `fit` and `anomaly_score`; a record is an outlier where its score passes
    `threshold_`. `predict` uses scikit-learn's signs: -1 for outliers, 1 for the rest.
    """

    threshold_: float

    def _validated(self, X: Any, *, reset: bool, **checks: Any) -> NDArray[Any]:
        """`X` as scikit-learn checks it; what it says about text would quote a record."""
        try:
            return np.asarray(validate_data(self, X, reset=reset, **checks))
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            raise ValueError("X must hold numbers only; it has text in it") from None

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from the table `X`; `y` is ignored."""
        raise NotImplementedError

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """How strange each record of `X` is beside the fitted table."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[np.int64]:
        """-1 where a record of `X` scores above the threshold, 1 elsewhere."""
        return np.where(self.anomaly_score(X) > self.threshold_, -1, 1)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """scikit-learn's score, which goes *down* with strangeness: minus `anomaly_score`."""
        return -self.anomaly_score(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Below zero for outliers, as in scikit-learn."""
        score = self.anomaly_score(X)
        return self.threshold_ - score

    @property
    def offset_(self) -> float:
        """What scikit-learn takes off `score_samples` to get `decision_function`."""
        return -self.threshold_
