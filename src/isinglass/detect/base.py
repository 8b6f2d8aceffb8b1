"""Base class of detectors."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import validate_data

from isinglass.table.columns import refuse_columns

NUMBERS = [np.float64, np.float32]  # kinds that are kept as they are; others become the first


class Detector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Fits a table, then scores records as scikit-learn's outlier detectors do.

    A detector supplies `fit` and `anomaly_score`, the higher the stranger; a record is an outlier
    where its score passes `threshold_`. Everything else has scikit-learn's signs: `predict` gives
    -1 for outliers and 1 for the rest, and `score_samples` and `decision_function` go *down* with
    strangeness. A scorer such as `scoring="roc_auc"` therefore wants labels that are -1 for
    outliers and 1 for the rest; where 1 marks the outliers, give it `anomaly_score`.

    There is no `score`: without labels no single number says how good a detector is. A search such
    as `GridSearchCV` must be told what to measure with `scoring=`.

    Examples
    --------
    >>> import numpy as np
    >>> from isinglass import Detector
    >>> class FarFromZero(Detector):
    ...     def fit(self, X, y=None):
    ...         self.threshold_ = float(self._validated(X, reset=True).max())
    ...         return self
    ...     def anomaly_score(self, X):
    ...         return np.abs(self._validated(X, reset=False)).max(axis=1)
    >>> FarFromZero().fit([[1.0], [2.0]]).predict([[1.5], [-3.0]])
    array([ 1, -1])
    """

    threshold_: float

    def _validated(self, X: Any, *, reset: bool, **checks: Any) -> NDArray[Any]:
        """`X` as scikit-learn checks it; what it says about text would quote a record."""
        refuse_columns(X)
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

    def _contamination(self) -> float | None:
        """The parameter `contamination`, checked; None leaves the threshold to the detector."""
        share: Any = getattr(self, "contamination", None)
        if share is None:
            return None
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) <= 0.5:
            raise ValueError(f"contamination must be None, or > 0 and <= 0.5, got {share!r}")
        return float(share)

    @property
    def offset_(self) -> float:
        """What scikit-learn takes off `score_samples` to get `decision_function`."""
        return -self.threshold_
