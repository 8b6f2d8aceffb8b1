"""Choice of beta and r on public or past records."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.curate.questions.builtin import checked_beta
from isinglass.curate.records import read
from isinglass.curate.space import Space
from isinglass.detect.metric import Metric
from isinglass.kernels.ball import BallIndex

Places = NDArray[np.float64]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: one record in so many may be within reach of an anomaly, where beta is not given
SHARE = 200
#: Radii are not rounded to fewer digits than a reader takes in at a glance.
_FEWEST_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Chosen:
    """A pair (beta, r), and what it does on the records it was chosen on.

    `flagged` of them are anomalies at (beta, r). The last three compare those with the labels, and
    are None where none were given.
    """

    beta: int
    r: float
    flagged: int
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None


def choose_beta_r(
    table: ArrayLike,
    *,
    outlier_fraction: Any = None,
    labels: ArrayLike | None = None,
    beta: float | None = None,
    metric: str = "euclidean",
    p: float | None = None,
    weights: ArrayLike | None = None,
    space: Space | None = None,
    short: bool = False,
) -> Chosen:
    r"""Choose beta and r on a table that is public, or past and no longer protected.

    Let $d_\beta(i)$ be the distance of record i to its beta-th nearest *other* record. A record of
    the table is a (beta, r)-anomaly exactly where $d_\beta(i) > r$. By a share f of anomalies, r is
    the (M+1)-th largest $d_\beta$ with $M = \lceil f N \rceil$: M records are anomalies, or fewer
    where distances tie. By labels, r is the value of $d_\beta$, or 0, with the best F1 of
    $\{d_\beta > r\}$ against them; of equally good ones the largest.

    Guarantee: none. One record can move r as far as it likes, so an r chosen on the private table
    tells about its records, and no answer's guarantee covers that. `choose_r_privately` is for
    the private table.

    Utility: after Knorr and Ng; with the default beta of a two-hundredth of the records, as in the
    experiments of Asif, Papakonstantinou and Vaidya, who used .0036 to .0049.

    Weakness: one radius for the whole table; a table with dense and sparse regions is served badly.

    Parameters
    ----------
    table : records; without `space` they must lie in the space in which the curator will ask,
        scaled and projected as declared.
    outlier_fraction : the share of anomalies wanted, at least 0; read as a decimal. One of this and
        `labels` must be given.
    labels : for each record whether it is an anomaly.
    beta : at least 1, rounded down, less than the number of records; a two-hundredth of them, at
        least 1, by default.
    metric, p, weights : the distance, as in `RadiusOutliers`.
    space : the declared space, which then says the distance too.
    short : whether to round r up to the fewest digits at which the same records are anomalies, so
        that it can be read and typed.

    References
    ----------
    E. M. Knorr, R. T. Ng: Algorithms for mining distance-based outliers in large datasets.
    VLDB 1998.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> chosen = ig.choose_beta_r(X, outlier_fraction=0.05)
    >>> chosen.beta, round(chosen.r, 3)
    (1, 0.163)
    """
    places, declared = in_space(table, space, metric, p, weights)
    if not len(places):
        raise ValueError("table must have at least one record, got none")
    if (outlier_fraction is None) == (labels is None):
        raise ValueError(
            "one of outlier_fraction and labels must be given, and not both, "
            f"got outlier_fraction={outlier_fraction!r} and labels "
            f"{'given' if labels is not None else 'None'}"
        )
    n = len(places)
    whole = max(1, n // SHARE) if beta is None else checked_beta(beta)
    if whole >= n:
        raise ValueError(
            f"beta must be less than the number of records of the table, {n}, got {whole}"
        )
    reach = Neighborhoods(places, declared, whole)
    if labels is None:
        most = anomalies_wanted(outlier_fraction, n)
        if most >= n:
            raise ValueError(
                "outlier_fraction must leave at least one record that is no anomaly, "
                f"got {outlier_fraction!r}"
            )
        r = _by_share(reach, most)
        r = reach.shortest(r) if short else r
        return Chosen(whole, r, int(reach.beyond(reach.rows, r).sum()))
    truth = checked_labels(labels, n)
    r = _by_labels(reach, truth)
    r = reach.shortest(r) if short else r
    flagged = reach.beyond(reach.rows, r)
    hits, n_flagged, n_true = int(flagged[truth].sum()), int(flagged.sum()), int(truth.sum())
    return Chosen(
        whole,
        r,
        n_flagged,
        precision=hits / n_flagged if n_flagged else 0.0,
        recall=hits / n_true,
        f1=_f1(hits, n_flagged, n_true),
    )


def anomalies_wanted(share: Any, n_records: int) -> int:
    """So many of `n_records` are this share, rounded up.

    The share is read as it is written: .07 of 100 are 7, though .07 * 100 is more than 7.
    """
    try:
        exact = Fraction(str(share))
    except (ValueError, ZeroDivisionError):
        exact = Fraction(-1)
    if not 0 <= exact < 1:
        raise ValueError(f"outlier_fraction must be >= 0 and < 1, got {share!r}")
    return math.ceil(exact * n_records)


def in_space(
    table: Any, space: Space | None, metric: str, p: float | None, weights: ArrayLike | None
) -> tuple[Places, Metric]:
    """The places of a table's records and the distance between them."""
    if space is not None:
        if (metric, p, weights) != ("euclidean", None, None):
            raise ValueError("metric, p and weights must be left out where space says them")
        return space.places(table), space.metric
    found = read(table, what="table")
    if found.single or not found.rows.shape[1]:
        raise ValueError("table must have two dimensions, rows and columns")
    plain = Space.declare(found.rows.shape[1], metric=metric, p=p, weights=weights)
    return plain.places(found.rows), plain.metric


def checked_labels(labels: ArrayLike, n: int) -> Mask:
    found = np.asarray(labels)
    if found.shape != (n,):
        raise ValueError(f"labels must be one for each of the {n} records, got {found.shape}")
    if not np.isin(found, (0, 1)).all():
        raise ValueError("labels must be True or False, or 1 or 0, for each record")
    truth: Mask = found.astype(bool)
    if not truth.any():
        raise ValueError("labels must mark at least one record as an anomaly, got none")
    return truth


class Neighborhoods:
    """Which records have their beta-th neighbor farther away than a radius, by counting.

    d_beta itself is never computed. Every radius is tried by counting neighbors just as an answer
    counts them, so that the radius found means the same to an answer, to the last bit.
    """

    def __init__(self, places: Places, metric: Metric, beta: int) -> None:
        self.rows: Rows = np.arange(len(places))
        self._places, self._metric, self._beta = places, metric, beta
        self._index = BallIndex(places, metric.kernel)

    def beyond(self, rows: Rows, r: float) -> Mask:
        """For each of these rows, whether it is a (beta, r)-anomaly, that is d_beta > r."""
        limits, cap = self._metric.limits(r), self._beta + 1
        if len(rows) == len(self.rows):
            return np.asarray(self._index.own_counts(limits, cap) <= self._beta)
        return np.asarray(self._index.counts(self._places[rows], limits, cap) <= self._beta)

    def shortest(self, r: float) -> float:
        """The radius with the fewest digits, no smaller, beyond which the same rows lie."""
        beyond = self.beyond(self.rows, r)
        for digits in range(_FEWEST_DIGITS, 17):
            context = Context(prec=digits, rounding=ROUND_CEILING)
            rounded = float(context.create_decimal(Decimal(r)))
            if np.array_equal(self.beyond(self.rows, rounded), beyond):
                return rounded
        return r


# All radii that can be asked with, in order: 0, then every float64 from 1e-150 to 1e150. The bits
# of a positive float64, read as a whole number, grow with it.
_FIRST, _LAST = (int(np.float64(end).view(np.int64)) for end in (1e-150, 1e150))
_TOP = _LAST - _FIRST + 1


def _radius(step: int) -> float:
    return float(np.int64(_FIRST + step - 1).view(np.float64)) if step else 0.0


def _none_beyond_all(reach: Neighborhoods) -> None:
    if reach.beyond(reach.rows, _radius(_TOP)).any():
        raise ValueError("table must hold records less than 1e150 apart; scale its columns")


def _by_share(reach: Neighborhoods, most: int) -> float:
    """The least radius at which at most so many rows are anomalies: the next largest d_beta."""
    _none_beyond_all(reach)
    # More than `most` are anomalies at step `low`, no more at `high`; `between` lie the other rows,
    # and `farther` is how many lie beyond `high`.
    low, high, between, farther = -1, _TOP, reach.rows, 0
    while high - low > 1:
        middle = (low + high) // 2
        beyond = reach.beyond(between, _radius(middle))
        if farther + int(beyond.sum()) <= most:
            high, farther, between = middle, farther + int(beyond.sum()), between[~beyond]
        else:
            low, between = middle, between[beyond]
    return _radius(high)


@dataclass(frozen=True, slots=True)
class _Span:
    """The rows whose d_beta lies in (low, high], and what lies beyond: best promise first."""

    promise: float  # minus the highest F1 that a radius of this span can have
    place: int  # minus `high`: of equal promises the larger radius comes first
    low: int
    between: Rows
    flagged: int  # rows beyond `high`
    hits: int  # true ones of them

    def __lt__(self, other: _Span) -> bool:
        return (self.promise, self.place) < (other.promise, other.place)


def _by_labels(reach: Neighborhoods, truth: Mask) -> float:
    """The d_beta, or 0, with the best F1; the largest of them. Best first, by promises.

    A radius in a span flags what lies beyond it and some of its rows, but not the row whose d_beta
    it is. F1 = 2 hits / (true + flagged) is then highest if only true ones are added.
    """
    _none_beyond_all(reach)
    n_true = int(truth.sum())

    def span(low: int, high: int, between: Rows, flagged: int, hits: int) -> _Span:
        more = min(int(truth[between].sum()), len(between) - 1) if high - low > 1 else 0
        best = _f1(hits + more, flagged + more, n_true)
        return _Span(-best, -high, low, between, flagged, hits)

    farther = reach.beyond(reach.rows, 0.0)
    # Radius 0 is always among those to choose from, whether or not records have so many copies.
    zero = span(-1, 0, reach.rows[~farther], int(farther.sum()), int(truth[farther].sum()))
    spans = [zero]
    if farther.any():
        spans.append(span(0, _TOP, reach.rows[farther], 0, 0))
    heapq.heapify(spans)
    while True:
        top = heapq.heappop(spans)
        low, high = top.low, -top.place
        if high - low == 1:  # no radius left between: its promise is its F1, and nobody's is higher
            return _radius(high)
        middle = (low + high) // 2
        beyond = reach.beyond(top.between, _radius(middle))
        upper, lower = top.between[beyond], top.between[~beyond]
        if len(upper):
            heapq.heappush(spans, span(middle, high, upper, top.flagged, top.hits))
        if len(lower):
            flagged, hits = top.flagged + len(upper), top.hits + int(truth[upper].sum())
            heapq.heappush(spans, span(low, middle, lower, flagged, hits))


def _f1(hits: int, flagged: int, n_true: int) -> float:
    return 2 * hits / (n_true + flagged)
