"""Exhaustive test of a mechanism's guarantee on small universes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.curate.mechanisms.mechanism import Mechanism
from isinglass.curate.questions.base import Array, Counts, Question
from isinglass.detect.metric import Metric, declare

#: more tables than this would take hours
MOST_TABLES = 2**18
# Chances are float64, right to the last place; their logarithms may be a few places off.
_SLACK = 1e-12


@dataclass(frozen=True)
class FalsificationResult:
    """What was found: `passed` unless a pair of neighbors, or a declaration, says otherwise.

    `worst` is the largest change of a log-chance met between covered neighbors and `allowed` the
    epsilon that is charged. `at` says where `worst` is: how often each record of the universe is
    in the table, then the positions of the record that was added and of the one asked about.
    """

    passed: bool
    worst: float
    allowed: float
    tables: int
    pairs: int
    problems: tuple[str, ...]
    at: tuple[tuple[int, ...], int, int] | None


def falsify(
    mechanism: Mechanism, universe: ArrayLike, *, most: int, metric: str | Metric = "euclidean"
) -> FalsificationResult:
    """Compare all neighboring tables over a small universe, by exact chances.

    A table here has up to `most` copies of each record of `universe`, and every record of it is
    asked about. Covered neighbors are all of them, or for sensitive privacy those that the
    question's `covers` accepts. Checked as well: distances of at least 1, the declared radius of
    influence, on all neighbors, and that `error_probability` tells the coin's chance.

    That nothing is found is evidence about small tables and no proof; yet a wrong bound
    seldom hides from tables a little larger than beta.

    Parameters
    ----------
    mechanism : Mechanism
        What `bounded_mechanism` or `compile_mechanism` made of your question.
    universe : array
        Different records, in rows; numbers in one dimension are records of one column.
    most : int
        Most copies of a record. There are (most + 1) ** len(universe) tables.
    metric : str or Metric, default="euclidean"
        The distance.

    Examples
    --------
    >>> mechanism = ig.mechanisms.sparse(2, 1.0, "0.5")
    >>> ig.mechanisms.falsify(mechanism, [[1.0], [2.0], [3.0]], most=2).passed
    True
    """
    places = np.asarray(universe, dtype=np.float64)
    places = places[:, None] if places.ndim == 1 else places
    n = len(places)
    if most < 1 or (most + 1) ** n > MOST_TABLES:
        raise ValueError(
            f"most must be >= 1 and (most + 1) ** {n} tables at most {MOST_TABLES}, got {most}"
        )
    if len(np.unique(places, axis=0)) < n:
        raise ValueError("universe must hold different records")
    rule = metric if isinstance(metric, Metric) else declare(metric, None, None, places.shape[1])
    small = _Small(places, rule)
    question = mechanism.question
    # Table number t holds (t // (most + 1)**j) % (most + 1) copies of record j.
    steps = (most + 1) ** np.arange(n)
    tables = np.arange((most + 1) ** n)[:, None] // steps % (most + 1)
    looks = np.array([small.look(question, copies, mechanism.cap) for copies in tables])
    kinds, kind = np.unique(looks.reshape(len(tables) * n, -1), axis=0, return_inverse=True)
    kind = kind.reshape(len(tables), n)
    rows = [tuple(row) for row in kinds.tolist()]

    problems = []
    if any(question.distance(*row) < 1 for row in rows):
        problems.append("a distance is below 1")
    wrong = np.array([mechanism.coin.probability(mechanism.multiple(*row)) for row in rows])
    if not np.allclose(wrong, [mechanism.error_probability(*row) for row in rows], _SLACK, 0):
        problems.append("error_probability is not the chance with which answers are wrong")
    true = np.array([mechanism.anomalous(*row) for row in rows])
    with np.errstate(divide="ignore"):  # an answer that never comes has log-chance -inf
        logs = np.log([np.where(true, 1 - wrong, wrong), np.where(true, wrong, 1 - wrong)])

    allowed, worst, at, pairs, reach = mechanism.micro / 10**6, 0.0, None, 0, True
    for j in range(n):
        before = np.flatnonzero(tables[:, j] < most)
        after = before + steps[j]
        covered = _covered(question, rows, kind[before, j], kind[after, j])
        moved = _moved(logs[:, kind[before]], logs[:, kind[after]])
        far = np.array([rule.distance(place, places[j]) > question.influence for place in places])
        reach &= not moved[:, far].any()
        pairs += int(covered.sum())
        largest = moved[covered].max(initial=0.0)
        if largest > worst:
            worst = float(largest)
            row, i = np.argwhere((moved == largest) & covered[:, None])[0]
            at = tuple(tables[before[row]].tolist()), j, int(i)
    if worst > allowed * (1 + _SLACK) + _SLACK:
        problems.append("a chance changes by more than the price allows")
    if not reach:
        problems.append("a record beyond the declared influence changes a chance")
    if pairs == 0:
        problems.append("no neighbors are covered, so nothing was promised")
    return FalsificationResult(
        not problems, worst, allowed, len(tables), pairs, tuple(problems), at
    )


def _moved(before: Array, after: Array) -> Array:
    """How far the log-chance of either answer moves; impossible before and after: not at all."""
    with np.errstate(invalid="ignore"):
        moved = np.abs(before - after)
    moved[before == after] = 0.0
    return np.asarray(moved.max(axis=0))


def _covered(
    question: Question, rows: list[tuple[int, ...]], before: Counts, after: Counts
) -> NDArray[np.bool_]:
    if question.privacy == "differential":
        return np.ones(len(before), dtype=bool)
    codes, code = np.unique(before * len(rows) + after, return_inverse=True)
    told = [question.covers(*(rows[at] for at in divmod(c, len(rows)))) for c in codes.tolist()]
    covered: NDArray[np.bool_] = np.array(told, dtype=bool)[code.ravel()]
    return covered


class _Small:
    """A table over the universe, as a question may look at it."""

    def __init__(self, universe: Array, metric: Metric) -> None:
        self._universe, self._metric = universe, metric
        self._known: dict[tuple[bytes, float | None], Counts] = {}
        self._copies: Counts = np.zeros(len(universe), dtype=np.int64)

    def look(self, question: Question, copies: Counts, cap: int) -> Counts:
        self._copies = copies
        return question.look(self, self._universe, cap)

    def within(self, places: Array, r: float, cap: int | None = None) -> Counts:
        key = places.tobytes(), r
        if key not in self._known:
            rule = self._metric
            self._known[key] = np.array(
                [[rule.distance(a, b) <= r for b in self._universe] for a in places], dtype=np.int64
            )
        near = self._known[key] @ self._copies
        return near if cap is None else np.minimum(near, cap)

    def copies(self, places: Array) -> Counts:
        key = places.tobytes(), None
        if key not in self._known:
            same = (places[:, None] == self._universe).all(axis=2)
            self._known[key] = same.astype(np.int64)
        return self._known[key] @ self._copies
