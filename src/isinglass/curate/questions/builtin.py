"""Built-in questions, and how many changes of the table lie between their answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isinglass.curate.questions.base import Array, Counts, Look, Question
from isinglass.documents import plain
from isinglass.errors import PrivacyWarning
from isinglass.field_checks import is_number
from isinglass.messages import warn


def sparse_distance(near: int, beta: int) -> int:
    """Changes between `near` records and the other side of `beta`."""
    return beta + 1 - near if near <= beta else near - beta


def presence_distance(own: int, near: int, beta: int) -> int:
    """Fewest changes of any records that turn a (beta, r)-anomaly over: Asif et al., eq. (2)."""
    if own == 0:
        return 1 if near < beta else 2 + near - beta
    return min(own, beta + 1 - near) if near <= beta else near - beta


def sensitive_distance(own: int, near: int, beta: int, k: int) -> int:
    """The same where only changes of sensitive records count, from below: their eq. (3).

    While i has fewer than beta + 1 - k records near, no change may touch i itself. Others must
    come first: up to beta + 1 - k to remove copies of i, up to beta - k to add one.
    """
    if near >= beta + 1 - k:
        return presence_distance(own, near, beta)
    return beta + 1 - near + min(0, own - k)


@dataclass(frozen=True)
class Sparse(Question):
    r"""Is this place sparse in the table? Whether the record is in it is not part of the answer.

    Let B' be the number of records within `r`, and one more for the hypothetical record itself
    if `count_query`; the answer is whether B' <= beta. A record changes B' by at most 1, so the
    distance beta + 1 - B', or B' - beta on the other side, is exact and 1-Lipschitz.

    Guarantee: epsilon-differential privacy for every record. With the chance of
    `bounded_mechanism` the answer is B' + Z <= beta for discrete Laplace noise Z of scale
    1/epsilon: the noisy count, compared with beta (checked for every count, as both sides have
    P(Z >= m) = exp(-epsilon m) / (1 + exp(-epsilon)) at m = the distance).

    Utility: with `count_query=False` and a record that is present, the error of sensitive
    privacy with k = 1, the least of all k.

    Weakness: it does not say that the record is in the table; a place far from everything is
    sparse too. Near the threshold answers are close to a fair coin.

    Parameters
    ----------
    beta : float
        Most records within `r` of an anomaly; at least 1, and rounded down.
    r : float
        The radius: 0, or between 1e-150 and 1e150. It is the radius of influence as well.
    count_query : bool, default=True
        Whether the record asked about is counted as one more. Say False when it is meant as one
        of the table's. This is the asker's choice, and never read off the table.

    References
    ----------
    H. Asif, P. A. Papakonstantinou, J. Vaidya: How to accurately and privately identify
    anomalies. CCS 2019; their question without "present".
    A. Ghosh, T. Roughgarden, M. Sundararajan: Universally utility-maximizing privacy mechanisms.
    STOC 2009; the noise.
    """

    beta: int
    r: float
    count_query: bool = True
    influence: float = field(init=False)
    name = "sparse"

    def __post_init__(self) -> None:
        _settle(self)
        if not isinstance(self.count_query, bool):
            raise ValueError(f"count_query must be True or False, got {self.count_query}")

    def look(self, table: Look, places: Array, cap: int) -> Counts:
        counts = np.zeros((len(places), 2), dtype=np.int64)
        counts[:, 1] = table.within(places, self.r, self.beta + cap)
        return counts

    def anomalous(self, *counts: int) -> bool:
        return counts[1] + self.count_query <= self.beta

    def distance(self, *counts: int) -> int:
        return sparse_distance(counts[1] + self.count_query, self.beta)


@dataclass(frozen=True)
class Present(Question):
    r"""Is this record in the table, and an anomaly there? Differential privacy for every record.

    The answer is x_i > 0 and B <= beta, for x_i copies of the record and B records within `r`,
    copies included. The distance is the least number of changes that turn this over
    (`presence_distance`); a least number of steps is 1-Lipschitz, and 1 at the boundary.

    Guarantee: epsilon-differential privacy for every record. An answer is turned over when
    discrete Laplace noise of scale 1/epsilon reaches the distance; unlike `Sparse`, this is not
    a noisy count compared with beta, because a copy that goes turns the answer over as well.

    Utility: Pareto-optimal; no epsilon-differentially private mechanism is as good on every
    table and better on one. (It is not the best on each: always "no" errs never where that is
    true.)

    Weakness: a single record may always leave, so about a lone anomaly it errs nearly half the
    time, however clear the case; `Sparse` does not.

    Parameters
    ----------
    beta, r
        As in `Sparse`.

    References
    ----------
    Asif et al. 2019, eq. (2), Construction 1.
    """

    beta: int
    r: float
    influence: float = field(init=False)
    name = "dp"

    def __post_init__(self) -> None:
        _settle(self)

    def look(self, table: Look, places: Array, cap: int) -> Counts:
        return _own_and_near(self, table, places, cap)

    def anomalous(self, *counts: int) -> bool:
        own, near = counts
        return own > 0 and near <= self.beta

    def distance(self, *counts: int) -> int:
        own, near = counts
        return presence_distance(own, near, self.beta)


@dataclass(frozen=True)
class Sensitive(Question):
    r"""Is this record in the table, and an anomaly there? Privacy for sensitive records only.

    A record is k-sensitive if adding or removing at most k records can make it normal: B >= beta
    + 1 - k. Only neighbors whose one record is sensitive in the larger table are compared, so an
    anomaly's own presence need not be hidden, and the distance (`sensitive_distance`) is larger.

    Guarantee: epsilon-sensitive privacy. More holds than the definition asks: every record but
    copies of the very one asked about is covered, sensitive or not. Its holder loses up to
    log((1 + e^epsilon) e^(epsilon (beta - k)) - 1), when it lies alone.

    Utility: about a lone anomaly the error falls as exp(-epsilon (beta + 1 - k)).

    Weakness: lone records are those whose holders may have most to lose. As in `Present` an
    answer is turned over when discrete Laplace noise reaches the distance; no noisy count.

    Parameters
    ----------
    beta, r
        As in `Sparse`.
    k : int, default=1
        At least 1, at most `beta`, where nothing is gained over `Present` any more.

    References
    ----------
    Asif et al. 2019, eq. (3), Construction 1, Theorem 4.6.
    """

    beta: int
    r: float
    k: int = 1
    influence: float = field(init=False)
    name = "sensitive"
    privacy = "sensitive"

    def __post_init__(self) -> None:
        _settle(self)
        object.__setattr__(self, "k", checked_k(self.k, self.beta))

    def look(self, table: Look, places: Array, cap: int) -> Counts:
        return _own_and_near(self, table, places, cap)

    def anomalous(self, *counts: int) -> bool:
        own, near = counts
        return own > 0 and near <= self.beta

    def distance(self, *counts: int) -> int:
        own, near = counts
        return sensitive_distance(own, near, self.beta, self.k)

    def covers(self, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
        return max(before[1], after[1]) >= self.beta + 1 - self.k


def _own_and_near(question: Question, table: Look, places: Array, cap: int) -> Counts:
    """Both counts, always: what is looked up must not depend on what was found."""
    near = table.within(places, question.r, question.beta + cap)
    # Where counting stopped, copies may outnumber it; beyond beta only their presence matters.
    return np.column_stack([np.minimum(table.copies(places), near), near])


def _settle(question: Question) -> None:
    """Check `beta` and `r`, and declare `r` the radius of influence."""
    object.__setattr__(question, "beta", checked_beta(question.beta))
    object.__setattr__(question, "r", checked_r(question.r))
    object.__setattr__(question, "influence", question.r)


def checked_beta(beta: Any) -> int:
    """A number >= 1, rounded down."""
    if not (is_number(plain(beta)) and 1 <= beta < 2**53):
        raise ValueError(f"beta must be >= 1 and finite, got {beta}")
    return math.floor(float(beta))


def checked_r(r: Any) -> float:
    """A radius whose square neither under- nor overflows."""
    if not (is_number(plain(r)) and (r == 0 or 1e-150 <= r <= 1e150)):
        raise ValueError(f"r must be 0, or between 1e-150 and 1e150, got {r}")
    return float(r)


def checked_k(k: Any, beta: int) -> int:
    """A whole number from 1 to `beta`; `beta` itself is warned of."""
    if isinstance(k, bool) or not (isinstance(k, int | np.integer) and k >= 1):
        raise ValueError(f"k must be a whole number >= 1, got {k}")
    if k > beta:
        raise ValueError(f"k must be at most beta, which is {beta}, got {k}")
    if k == beta:
        warn(
            PrivacyWarning(
                f"k is beta, {beta}: no gain over dp, which makes the same answers and promises "
                "more; take a smaller k"
            )
        )
    return int(k)
