"""(beta, r)-anomalies: records with few others within a radius."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from isinglass.detect.base import Detector
from isinglass.detect.metric import Metric, declare
from isinglass.kernels.ball import UNCAPPED, BallIndex
from isinglass.kernels.ball_count import Limits
from isinglass.threads import as_scikit_learn

Counts = NDArray[np.int64]


class RadiusOutliers(Detector):
    r"""Call a record an outlier if at most `beta` records of the table lie within `r` of it.

    The record itself counts, and so do its copies. Counts are exact: two records are within `r`
    where their distance, one fixed float64 function of the two, is at most `r`; no path through
    the index decides otherwise. The fitted index answers single records in microseconds, and
    follows records that come and go.

    Guarantee: none. A count is a plain fact of the table it was counted in, and so is every
    answer made of it.

    Utility: the definition is local and says why: few neighbors. One radius must fit all of the
    table, so a table with dense and sparse regions is served badly.

    Weakness: an answer about a record tells about its neighbors; whoever may ask at will can map
    the table.

    Parameters
    ----------
    beta : float, default=1
        Most records within `r` that an outlier may have, itself included; at least 1, and rounded
        down. None where `fraction` says it.
    r : float, default=1.0
        The radius: 0, or between 1e-150 and 1e150.
    fraction : float, str, Fraction or None, default=None
        Knorr and Ng's form instead of `beta`: a record is an outlier if at least this share of
        the table lies farther away than `r`. `beta` is then the whole part of
        (1 - `fraction`) times the number of records, reckoned in decimals as they are written.
    metric : {"euclidean", "manhattan", "chebyshev", "minkowski", "hamming"}, default="euclidean"
        The distance.
    p : float or None
        The power of a Minkowski distance, at least 1.
    weights : sequence of float or None
        A weight for each column, multiplied with its term of the distance.
    cap : int or None
        Stop counting a record's neighbors once there are so many, more than `beta`: counts are
        then the smaller of the true count and `cap`, outliers the same.
    contamination : float or None, default=None
        The share of the table, up to 0.5, that are outliers, in place of `beta`: `beta_` is then
        the largest number of records, below `cap`, that makes no more of them outliers.
    n_jobs : int or None
        Threads; None means one, unless joblib says otherwise, and -1 all cores. Counts do not
        depend on it.

    Attributes
    ----------
    beta_ : int
        Most records within `r` that an outlier may have.
    counts_ : array
        Records within `r` of each row of the fitted table.
    outliers_ : array
        Numbers of the rows that are outliers, fewest neighbors first, ties by row number.
    threshold_ : float
        The score above which a record is an outlier, -(`beta_` + 1).

    References
    ----------
    E. M. Knorr, R. T. Ng: Algorithms for mining distance-based outliers in large datasets.
    VLDB 1998.
    H. Asif, P. A. Papakonstantinou, J. Vaidya: How to accurately and privately identify
    anomalies. CCS 2019.

    Examples
    --------
    >>> import isinglass as ig
    >>> found = ig.RadiusOutliers(beta=1, r=0.5).fit([[0.0], [0.1], [0.2], [3.0]])
    >>> found.counts_, found.outliers_
    (array([3, 3, 3, 1]), array([3]))
    >>> found.predict([[0.3], [9.0]])
    array([ 1, -1])
    """

    counts_: Counts
    outliers_: Counts
    beta_: int

    def __init__(
        self,
        beta: float | None = 1,
        r: float = 1.0,
        *,
        fraction: float | str | Fraction | None = None,
        metric: str = "euclidean",
        p: float | None = None,
        weights: Sequence[float] | NDArray[np.float64] | None = None,
        cap: int | None = None,
        contamination: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.beta = beta
        self.r = r
        self.fraction = fraction
        self.metric = metric
        self.p = p
        self.weights = weights
        self.cap = cap
        self.contamination = contamination
        self.n_jobs = n_jobs

    @classmethod
    def knorr_ng(cls, fraction: float | str | Fraction, r: float, **settings: Any) -> Self:
        """Outliers as Knorr and Ng say it: at least `fraction` of the table is farther than `r`."""
        return cls(None, r, fraction=fraction, **settings)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Index the table `X` and count the neighbors of all its rows; `y` is ignored."""
        table: NDArray[np.float64] = self._validated(X, reset=True, dtype=np.float64, order="C")
        share = self._contamination()
        beta = self._checked_beta(len(table)) if share is None else 0
        cap = _checked_cap(self.cap, beta)
        metric = declare(self.metric, self.p, self.weights, table.shape[1])
        limits = metric.limits(float(self.r))
        self._index = BallIndex(table, metric.kernel, n_jobs=as_scikit_learn(self.n_jobs))
        self._limits, self._cap, self._metric = limits, cap, metric
        self.counts_ = self._index.own_counts(limits, cap)
        if share is not None:
            # The first count, from the fewest up, whose records must not all be outliers.
            beta = int(np.sort(self.counts_)[int(share * len(table))]) - 1
        self.beta_ = beta
        self.threshold_ = -(beta + 1.0)
        rows = np.flatnonzero(self.counts_ <= beta)
        self.outliers_ = rows[np.argsort(self.counts_[rows], kind="stable")]
        return self

    _index: BallIndex
    _limits: Limits
    _metric: Metric
    _cap: int

    def _checked_beta(self, n_records: int) -> int:
        """The most records within `r` that an outlier may have, where the share is not given."""
        if (self.beta is None) == (self.fraction is None):
            raise ValueError(
                "one of beta and fraction must be given, and not both, "
                f"got beta={self.beta}, fraction={self.fraction}"
            )
        if self.beta is not None:
            if not 1 <= self.beta < math.inf:
                raise ValueError(f"beta must be >= 1 and finite, got {self.beta}")
            return math.floor(self.beta)
        # 0.9 is meant as nine tenths, not as the float64 nearest to it.
        try:
            share = Fraction(str(self.fraction))
        except (ValueError, ZeroDivisionError):
            share = Fraction(-1)
        if not 0 <= share <= 1 - Fraction(1, n_records):
            raise ValueError(
                "fraction must be >= 0 and leave at least one record out of all, which is the "
                f"outlier itself, got {self.fraction!r}"
            )
        return math.floor(n_records * (1 - share))

    def fit_predict(self, X: ArrayLike, y: object = None, **settings: Any) -> NDArray[np.int64]:
        """Fit `X`, then -1 for its outliers and 1 for the rest; rows are counted once."""
        self.fit(X, y)
        return np.where(self.counts_ <= self.beta_, -1, 1)

    def counts(self, X: ArrayLike) -> Counts:
        """How many records of the table lie within `r` of each row of `X`.

        A row need not be in the table; where it is, it counts itself, as in `counts_`.
        """
        check_is_fitted(self, "counts_")
        records = self._validated(X, reset=False, dtype=np.float64, order="C")
        return self._index.counts(records, self._limits, self._cap)

    def anomaly_score(self, X: ArrayLike) -> NDArray[np.float64]:
        """Minus the number of records of the table within `r` of each row of `X`."""
        return -self.counts(X).astype(np.float64)

    def count(self, record: ArrayLike, *, cap: int | None = None) -> int:
        """How many records of the table lie within `r` of one record; at most `cap`.

        `cap` defaults to the detector's own.
        """
        if "_index" not in self.__dict__:
            check_is_fitted(self, "counts_")
        if cap is None:
            cap = self._cap
        elif not (isinstance(cap, int | np.integer) and cap >= 1):
            raise ValueError(f"cap must be a whole number >= 1, got {cap}")
        found = self._index.count(self._record(record), self._limits, int(cap))
        if found < 0:
            raise ValueError("record must hold finite numbers only")
        return found

    def add(self, record: ArrayLike) -> Self:
        """Add a record to the table: counts and predictions from now on include it.

        `counts_`, `outliers_` and `beta_` remain those of the table that was fitted.
        """
        check_is_fitted(self, "counts_")
        self._index.add(self._finite(record))
        return self

    def remove(self, record: ArrayLike) -> Self:
        """Remove one record that equals this one in every column; the reverse of `add`."""
        check_is_fitted(self, "counts_")
        if not self._index.remove(self._finite(record)):
            raise ValueError("record must be in the table to be removed, but no row equals it")
        return self

    def _record(self, record: ArrayLike) -> NDArray[np.float64]:
        try:
            found = np.array(record, dtype=np.float64, order="C")
        except (ValueError, TypeError):  # whose words would quote the record
            raise ValueError("record must hold finite numbers only") from None
        if found.shape != (self.n_features_in_,):
            raise ValueError(
                f"record must have {self.n_features_in_} numbers in one dimension, "
                f"got an array of shape {found.shape}"
            )
        return found

    def _finite(self, record: ArrayLike) -> NDArray[np.float64]:
        found = self._record(record)
        if not np.isfinite(found).all():
            raise ValueError("record must hold finite numbers only")
        return found


def _checked_cap(cap: Any, beta: int) -> int:
    if cap is None:
        return UNCAPPED
    whole = isinstance(cap, Real) and math.isfinite(cap) and math.floor(cap) == cap
    if not (whole and cap > beta):
        raise ValueError(f"cap must be a whole number > beta, which is {beta}, got {cap}")
    return int(cap)
