"""Baseline mechanisms B1 and B2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from isinglass import epsilon as eps
from isinglass.curate.questions.builtin import checked_beta

# Most points pairwise more than r apart in a closed ball of radius r > 0, by columns.
_PACKING = {1: 2, 2: 5, 3: 12}


@dataclass(frozen=True)
class Baseline:
    r"""Say "anomaly" about any record if the noisy share of anomalies in the table exceeds t.

    B1 answers O + Lap(1/epsilon) > t (N + Lap(1/epsilon)), for O anomalies among N records. B2
    adds Lap(beta/epsilon) to O instead. The record asked about plays no part. The noise X - tY
    is a sum of two independent Laplace variables, so the chance has a closed form:
    P(X - tY > z) = (a^2 e^(-z/a) - b^2 e^(-z/b)) / (2 (a^2 - b^2)) for z >= 0 and scales a != b,
    (1/2 + z / (4a)) e^(-z/a) for a = b.

    Guarantee: none at epsilon. One record can change O by tau * beta, tau the most points
    pairwise more than r apart in a ball of radius r, so the real price is `real_epsilon`: (tau
    beta + 1) epsilon for B1, (tau + 1) epsilon for B2. There is no radius of influence. A curator
    does not offer them.

    Utility: none for single records; errors on anomalies and on the rest add up to 1. F1 of the
    expected counts, 2 p O / (p N + O) at chance p, grows with p, so whoever tunes t by it is led
    to call every record an anomaly.

    Weakness: tuning t on the table tells about the table.

    Parameters
    ----------
    kind : {"B1", "B2"}
        Which of the two.
    beta : int
        Most records within r of an anomaly.
    micro : int
        The nominal epsilon in millionths.
    threshold : float
        t, from 0 to 1.

    References
    ----------
    Asif et al. 2019, section 5; the sensitivity there, beta, is too small.
    """

    kind: Literal["B1", "B2"]
    beta: int
    micro: int
    threshold: float

    def chance(self, n_anomalies: int, n_records: int) -> float:
        """The chance of the answer "anomaly"; a function of the table, the owner's alone."""
        scale = 1 / eps.as_float(self.micro)
        first = scale * (self.beta if self.kind == "B2" else 1)
        return _above(self.threshold * n_records - n_anomalies, first, scale * self.threshold)

    def error_probability(self, anomalous: bool, n_anomalies: int, n_records: int) -> float:
        """The chance of a wrong answer about an anomaly, or about another record."""
        yes = self.chance(n_anomalies, n_records)
        return 1 - yes if anomalous else yes

    def real_epsilon(self, tau: int) -> float:
        """What an answer really costs, where one record can undo or make tau * beta anomalies."""
        factor = tau * self.beta + 1 if self.kind == "B1" else tau + 1
        return eps.as_float(factor * self.micro)


def b1(beta: float, epsilon: Any, *, threshold: float) -> Baseline:
    """Noise of scale 1/epsilon on the number of anomalies; see `Baseline`."""
    return Baseline("B1", checked_beta(beta), eps.micro(epsilon), _checked(threshold))


def b2(beta: float, epsilon: Any, *, threshold: float) -> Baseline:
    """Noise of scale beta/epsilon on the number of anomalies; see `Baseline`."""
    return Baseline("B2", checked_beta(beta), eps.micro(epsilon), _checked(threshold))


def packing(n_columns: int, r: float) -> int:
    """tau of the Euclidean distance: 1 for r = 0, else 2, 5 or 12 in one to three columns."""
    if r == 0:
        return 1
    if n_columns not in _PACKING:
        raise ValueError(f"n_columns must be 1, 2 or 3 unless r is 0, got {n_columns}")
    return _PACKING[n_columns]


def _above(z: float, a: float, b: float) -> float:
    """P(X + Y > z) for independent Laplace variables of scales a > 0 and b >= 0."""
    if z < 0:
        return 1 - _above(-z, a, b)
    if abs(a - b) < 1e-5 * a:  # the difference quotient would cancel; its limit, at the middle
        middle = (a + b) / 2
        return (0.5 + z / (4 * middle)) * math.exp(-z / middle)
    tail = b * b * math.exp(-z / b) if b > 0 else 0.0
    return (a * a * math.exp(-z / a) - tail) / (2 * (a * a - b * b))


def _checked(threshold: float) -> float:
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must be between 0 and 1, got {threshold}")
    return float(threshold)
