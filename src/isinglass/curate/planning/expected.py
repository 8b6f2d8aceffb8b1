"""Expected errors of answers at a price."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isinglass.curate.mechanisms.mechanism import bounded_mechanism
from isinglass.curate.planning.choose import Mask
from isinglass.curate.questions.base import Question
from isinglass.epsilon import MOST, as_float, fraction

#: what is shown of a price
SHARES = ("recall", "precision", "false alarms")

#: counts of records, and how many records have them: all, and labeled ones
Counted = dict[tuple[int, ...], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class PricePoint:
    """What to expect of answers at one price, in millionths of epsilon.

    `recall` is the expected share of (beta, r)-anomalies that are called so, `false_alarms` that
    of the other records, `precision` the expected true calls over all expected calls. They are
    None where there is nothing to take a share of. The last two compare with labels instead.
    """

    micro: int
    queries_here: int
    recall: float | None
    precision: float | None
    false_alarms: float | None
    labelled_recall: float | None = None
    labelled_precision: float | None = None

    @property
    def epsilon(self) -> float:
        """The price of an answer."""
        return as_float(self.micro)

    @property
    def shares(self) -> dict[str, float | None]:
        """What a person is shown, by the same words everywhere."""
        values = (self.recall, self.precision, self.false_alarms)
        return dict(zip(SHARES, values, strict=True))


class Expected:
    """Records with equal chances together: one row of counts for each distance and true answer.

    Columns of `_times`: how many records, and how many of them are labeled.
    """

    def __init__(self, question: Question, counted: Counted, *, labeled: bool = False) -> None:
        groups: dict[tuple[bool, int], tuple[tuple[int, ...], NDArray[np.int64]]] = {}
        for counts, times in counted.items():
            kind = bool(question.anomalous(*counts)), int(question.distance(*counts))
            like, before = groups.get(kind, (counts, np.zeros(2, dtype=np.int64)))
            groups[kind] = like, before + times
        self._question, self._labeled = question, labeled
        self.lipschitz = question.lipschitz
        self._yes = np.array([anomalous for anomalous, _ in groups], dtype=bool)
        self._like = [counts for counts, _ in groups.values()]
        self._times = np.array([times for _, times in groups.values()]).reshape(-1, 2)
        self.n_records = int(self._times[:, 0].sum())
        self.n_anomalies = int(self._times[self._yes, 0].sum())

    def recall(self, used: int) -> float:
        """The expected share of anomalies that are called so."""
        mechanism = bounded_mechanism(self._question, fraction(used))
        at = np.flatnonzero(self._yes)
        found = ((1 - mechanism.error_probability(*self._like[g])) * self._times[g, 0] for g in at)
        return math.fsum(found) / self.n_anomalies

    def at(self, used: int, cap: int) -> PricePoint:
        """What to expect at this epsilon, which the price is a multiple of."""
        mechanism = bounded_mechanism(self._question, fraction(used))
        wrong = np.array([mechanism.error_probability(*counts) for counts in self._like])
        calls = np.where(self._yes, 1 - wrong, wrong)  # chance to be called an anomaly
        all_, marked = self._times[:, 0], self._times[:, 1]
        n_true, n_other = all_ @ self._yes, all_ @ ~self._yes
        hits, alarms = (math.fsum(calls[s] * all_[s]) for s in (self._yes, ~self._yes))
        labeled, called = math.fsum(calls * marked), hits + alarms
        return PricePoint(
            mechanism.micro,
            cap // mechanism.micro,
            recall=self.recall(used) if n_true else None,
            precision=hits / called if n_true else None,
            false_alarms=alarms / int(n_other) if n_other else None,
            labelled_recall=labeled / int(marked.sum()) if self._labeled else None,
            labelled_precision=labeled / called if self._labeled and called else None,
        )


def least_price(records: Expected, target: float) -> int:
    """The least price whose recall reaches the target.

    There always is one: a distance is at least 1, so no error exceeds 1 / (1 + e^epsilon).
    """
    if not records.n_anomalies:
        raise ValueError(
            "target_recall must be of some anomalies, but none of the records given is one at "
            "this beta and r"
        )
    low, high = 0, MOST // records.lipschitz
    while high - low > 1:
        middle = (low + high) // 2
        if records.recall(middle) >= target:
            high = middle
        else:
            low = middle
    return high


def grouped(counts: NDArray[np.int64], truth: Mask) -> Counted:
    """Group equal rows of counts; `truth` says which records are labeled."""
    kinds, which = np.unique(counts, axis=0, return_inverse=True)
    times = np.zeros((len(kinds), 2), dtype=np.int64)
    np.add.at(times[:, 0], which.ravel(), 1)
    np.add.at(times[:, 1], which.ravel(), truth.astype(np.int64))
    return {tuple(map(int, kind)): many for kind, many in zip(kinds, times, strict=True)}


def checked_counts(
    counts: Mapping[tuple[int, ...], int] | Iterable[tuple[int, ...]],
) -> Counted:
    """Counts that a person assumed; raise ValueError unless they can be."""
    many = dict(counts) if isinstance(counts, Mapping) else dict(Counter(map(tuple, counts)))
    for kind, times in many.items():
        own, near = kind if len(kind) == 2 else (0, 0)
        if not (1 <= own <= near and times >= 0):
            raise ValueError(
                "counts must be pairs (copies, records within r), 1 <= copies <= records, each "
                f"with a number of records >= 0, got {kind}: {times}"
            )
    if not any(many.values()):
        raise ValueError("counts must be of at least one record, got none")
    return {kind: np.array([times, 0]) for kind, times in many.items()}
