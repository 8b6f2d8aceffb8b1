"""How often private answers about the records of a table are wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from isinglass.curate.mechanisms.mechanism import (
    Mechanism,
    dp_mechanism,
    sensitive_mechanism,
    sparse_mechanism,
)
from isinglass.curate.planning.choose import Chosen, choose_beta_r
from isinglass.curate.questions.neighbor_counter import NeighborCounter
from isinglass.detect.metric import declare
from isinglass_papers.sensitive.baselines import b1, b2
from isinglass_papers.sensitive.cases import SHORT, Case
from isinglass_papers.sensitive.printed import TABLES

EPSILON = "0.1"
# Errors as in the paper, which caps nothing: beyond, they are below 1e-47 and play no part.
CAP = 1100
PICKED = 5  # one record in so many is picked at random, as in their Table 2
# Thresholds to tune the baselines with, by looking at the truth, as they did.
THRESHOLDS = np.linspace(0.0, 1.0, 1001)

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Errors:
    """Mean chances of a wrong answer, on anomalies, on other records and on random places."""

    anomalies: int
    labeled: int  # of the anomalies
    sparse: float
    sensitive: float
    dp: float
    labeled_sensitive: float
    normal_sparse: float
    normal_sensitive: float
    normal_dp: float
    normal_gap: float  # largest difference of one normal record's error between the three
    random_sparse: tuple[float, ...]  # one for each drawing of places
    random_sensitive: tuple[float, ...]
    random_dp: tuple[float, ...]
    random_anomalies: tuple[float, ...]  # sensitive's, on the anomalous places alone
    random_share: float  # of places that are anomalous
    lone_printed_beta: float  # sensitive's error about a lone record with the beta of the paper


@dataclass(frozen=True)
class CountScore:
    """Precision, recall and F1 of expected counts against the (beta, r)-anomalies.

    `labeled_precision` counts as hits only those anomalies that the data call so too.
    """

    mechanism: str
    threshold: float | None
    precision: float
    recall: float
    f1: float
    labeled_precision: float


@dataclass(frozen=True)
class MeasuredTable:
    """One table, measured; `counts` are (copies, records within r) of each record."""

    case: Case
    records: int
    errors: Errors
    scores: tuple[CountScore, ...]
    chosen: Chosen
    counts: Counts = field(repr=False)
    anomalous: Mask = field(repr=False)
    labels: Mask = field(repr=False)

    @property
    def short(self) -> str:
        """A name that fits below a box."""
        called = SHORT[self.case.name]
        return called if self.case.whole else f"{called} ({self.records:,})"

    @property
    def copied(self) -> int:
        """How many anomalies have a copy."""
        return int((self.counts[self.anomalous, 0] > 1).sum())

    def score(self, mechanism: str) -> CountScore:
        """The score of one of "sparse", "sensitive", "dp", "B1", "B2"."""
        return next(score for score in self.scores if score.mechanism == mechanism)


def mechanisms(beta: int, r: float, epsilon: str = EPSILON, k: int = 1) -> dict[str, Mechanism]:
    """The three modes; the records asked about are the table's own, so sparse adds none."""
    return {
        "sparse": sparse_mechanism(beta, r, epsilon, count_query=False, cap=CAP),
        "sensitive": sensitive_mechanism(beta, r, epsilon, k=k, cap=CAP),
        "dp": dp_mechanism(beta, r, epsilon, cap=CAP),
    }


def own_and_near(look: NeighborCounter, places: Array, case: Case) -> Counts:
    """Copies of each record, and records within r of it, as far as they can matter."""
    near = look.within(places, case.r, case.beta + CAP)
    return np.column_stack([np.minimum(look.copies(places), near), near])


def error(mechanism: Mechanism, counts: Counts) -> Array:
    """Each record's chance of a wrong answer, reckoned once for equal counts."""
    kinds, which = np.unique(counts, axis=0, return_inverse=True)
    wrong = [mechanism.error_probability(*map(int, kind)) for kind in kinds]
    return np.array(wrong)[which.ravel()]


def measured(
    case: Case,
    X: Array,
    labels: Mask,
    *,
    seed: int = 0,
    drawings: int = 1,
    r_by_labels: bool = True,
) -> MeasuredTable:
    """One table's errors and scores, from exact chances; only the random places are drawn."""
    look = NeighborCounter(X, declare("euclidean", None, None, X.shape[1]))
    counts = own_and_near(look, X, case)
    anomalous = counts[:, 1] <= case.beta
    made = mechanisms(case.beta, case.r)
    wrong = {name: error(mechanism, counts) for name, mechanism in made.items()}
    normal = np.array([wrong[name][~anomalous] for name in wrong])
    at_random = _at_random(case, X, look, np.random.default_rng(seed), drawings)
    errors = Errors(
        anomalies=int(anomalous.sum()),
        labeled=int((anomalous & labels).sum()),
        sparse=_mean(wrong["sparse"][anomalous]),
        sensitive=_mean(wrong["sensitive"][anomalous]),
        dp=_mean(wrong["dp"][anomalous]),
        labeled_sensitive=_mean(wrong["sensitive"][anomalous & labels]),
        normal_sparse=_mean(wrong["sparse"][~anomalous]),
        normal_sensitive=_mean(wrong["sensitive"][~anomalous]),
        normal_dp=_mean(wrong["dp"][~anomalous]),
        normal_gap=float(np.ptp(normal, axis=0).max()),
        random_sparse=at_random[0],
        random_sensitive=at_random[1],
        random_dp=at_random[2],
        random_anomalies=at_random[3],
        random_share=at_random[4],
        lone_printed_beta=lone_error(TABLES[case.printed].beta),
    )
    scores = [
        CountScore(name, None, *scored(1 - each[anomalous], each[~anomalous], labels[anomalous]))
        for name, each in wrong.items()
    ]
    scores += baselines(case, anomalous, labels)
    chosen = (
        choose_beta_r(X, labels=labels, beta=case.beta)
        if r_by_labels
        else Chosen(case.beta, case.r, errors.anomalies)
    )
    return MeasuredTable(case, len(X), errors, tuple(scores), chosen, counts, anomalous, labels)


def lone_error(beta: int, epsilon: str = EPSILON, k: int = 1) -> float:
    """Sensitive privacy's error about a record that nobody is near, itself counted."""
    return sensitive_mechanism(beta, 1.0, epsilon, k=k, cap=CAP).error_probability(1, 1)


def _at_random(
    case: Case, X: Array, look: NeighborCounter, rng: np.random.Generator, drawings: int
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...], float]:
    """Errors about places uniform in the box around the table; they count as one record more."""
    made = mechanisms(case.beta, case.r)
    made["sparse"] = sparse_mechanism(case.beta, case.r, EPSILON, cap=CAP)
    rows, shares = [], []
    for _ in range(drawings):
        picked = rng.uniform(X.min(axis=0), X.max(axis=0), size=(len(X) // PICKED, X.shape[1]))
        counts = own_and_near(look, picked, case)
        few = counts[:, 1] <= case.beta
        wrong = {name: error(mechanism, counts) for name, mechanism in made.items()}
        rows.append([*map(_mean, wrong.values()), _mean(wrong["sensitive"][few])])
        shares.append(few.mean())
    sparse, sensitive, dp, anomalies = (tuple(column) for column in zip(*rows, strict=True))
    return sparse, sensitive, dp, anomalies, float(np.mean(shares))


def scored(hit: Array, alarm: Array, labeled: Mask) -> tuple[float, float, float, float]:
    """Precision, recall, F1 and precision by labels, of expected numbers of calls."""
    hits, calls = float(hit.sum()), float(hit.sum() + alarm.sum())
    if calls == 0:
        return 0.0, 0.0, 0.0, 0.0
    by_labels = float(hit[labeled].sum()) / calls
    return hits / calls, hits / len(hit), 2 * hits / (calls + len(hit)), by_labels


def baselines(case: Case, anomalous: Mask, labels: Mask) -> list[CountScore]:
    """B1 and B2 at the threshold of the best F1, found by looking at the truth."""
    n_true, n = int(anomalous.sum()), len(anomalous)
    found = []
    for name, make in (("B1", b1), ("B2", b2)):
        tried = []
        for t in THRESHOLDS.tolist():
            p = make(case.beta, EPSILON, threshold=t).chance(n_true, n)
            f1 = 2 * p * n_true / (p * n + n_true)
            tried.append((round(f1, 9), -t, p))
        _, t, p = max(tried)
        parts = scored(np.full(n_true, p), np.full(n - n_true, p), labels[anomalous])
        found.append(CountScore(name, abs(t), *parts))
    return found


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else float("nan")
