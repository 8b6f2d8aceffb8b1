"""Third way of the demo: every airline's counts with exact noise, added up to one model."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.auditing.scoring import WITHIN
from isinglass.detect.private.columns import NumberColumn
from isinglass.detect.private.layout import Layout, usual_projections
from isinglass.detect.private.model import PrivateModel
from isinglass.detect.private.noise import price_rounds
from isinglass.detect.private.records import CodedRecords
from isinglass.detect.private.rounds import one_round, one_round_model
from isinglass.epsilon import femto, micro

Array = NDArray[Any]

EPSILON, DELTA = "1", "1e-6"
HELD_OUT = 300  # records at most of the first airline that are not counted, to compare with
_CANDIDATES = 64  # values that an attacker tries for the one that is missing


@dataclass(frozen=True, slots=True)
class GuaranteedChapter:
    """What one guaranteed model finds, and what it tells of the records it was made from.

    `read` is the share of values of counted records that whoever knows all others of a record
    gets from the model; `read_uncounted` is the same share for records that were not counted.
    `forest_found` is what an isolation forest finds in the same flights without any privacy:
    another model that looks at one column after the other, and has no noise.
    """

    found: int  # of the strongest outliers of the pooled tables
    planted_found: int  # of all planted anomalies
    forest_found: int
    forest_planted_found: int
    epsilon: float
    delta: float
    read: float
    read_uncounted: float

    @property
    def certainty(self) -> float:
        """The most right guesses, from even odds, of whether a record was counted."""
        odds = math.exp(self.epsilon)
        return min(1.0, (odds + self.delta) / (1 + odds))

    def to_json(self) -> dict[str, Any]:
        """For the demo's JSON."""
        facts = {name: getattr(self, name) for name in self.__slots__}
        return {"name": "guaranteed model", **facts, "certainty": self.certainty}


def guaranteed_scores(
    tables: list[Array], bounds: dict[str, tuple[float, float]]
) -> tuple[NDArray[np.float64], float, float]:
    """Scores of all records, and the shares of values that the model gives away; see the chapter.

    Each airline counts its own records once and adds all of the noise at home, so that neither
    the miner nor another airline ever has a count without noise.
    """
    columns = tuple(NumberColumn(name, *pair) for name, pair in bounds.items())
    layout = Layout(columns, 1, usual_projections(1, pure=False))
    noise = price_rounds(micro(EPSILON, "epsilon"), femto(DELTA), layout.moved).rounds[0]
    # The rows are chosen at random, since neighboring moments are much alike.
    n_out = min(HELD_OUT, len(tables[0]) // 20)
    out = np.random.default_rng(0).permutation(len(tables[0])) < n_out
    counted = [tables[0][~out], *tables[1:]]
    noised = (one_round(layout, noise, _source(X), n_jobs=-1) for X in counted)
    model = one_round_model(layout, functools.reduce(operator.add, noised))
    reach = WITHIN * np.ptp(tables[0], axis=0)
    some = counted[0][:: len(counted[0]) // n_out][:n_out]
    read, uncounted = (_read(model, X, columns, reach) for X in (some, tables[0][out]))
    return model.scores(_records(np.vstack(tables)), n_jobs=-1), read, uncounted


def forest_scores(tables: list[Array], seed: int | None) -> NDArray[np.float64]:
    """Scores of all records by an isolation forest that sees them as they are."""
    from sklearn.ensemble import IsolationForest

    pooled = np.vstack(tables)
    forest = IsolationForest(random_state=seed).fit(pooled)
    return np.asarray(-forest.score_samples(pooled))


def _read(model: PrivateModel, X: Array, columns: tuple[NumberColumn, ...], reach: Array) -> float:
    """The share of values within reach of the ones that make their records least strange."""
    hits = np.empty(X.shape)
    parts = (np.arange(_CANDIDATES) + 0.5) / _CANDIDATES
    for j, column in enumerate(columns):
        candidates = column.low + parts * (column.high - column.low)
        tried = np.repeat(X, _CANDIDATES, axis=0)
        tried[:, j] = np.tile(candidates, len(X))
        scores = model.scores(_records(tried), n_jobs=-1).reshape(len(X), _CANDIDATES)
        hits[:, j] = np.abs(candidates[scores.argmin(axis=1)] - X[:, j]) <= reach[j]
    return float(hits.mean())


def _source(X: Array) -> Callable[[], list[CodedRecords]]:
    return lambda: [_records(X)]


def _records(X: Array) -> CodedRecords:
    return CodedRecords(np.ascontiguousarray(X), np.empty((len(X), 0), dtype=np.int64))
