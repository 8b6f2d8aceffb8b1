"""Hidden Markov model of a file as a walk between near records of a public table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Records that may come next, and the chance that any other does.
NEIGHBORS, _JUMP = 8, 0.02
#: Steps so much less likely than the likeliest are left to chance, which saves time.
_NEGLIGIBLE = 1e-3
#: Steps to tell apart: how much of the last step is repeated, and how far the next record may be
#: off, in the usual distance of the nearest one. The first two tell whether there is a walk, and
#: which others are worth trying.
_FIRST = ((0.0, 0.6), (0.5, 0.35))
_MORE = {_FIRST[0]: ((0.0, 0.35), (0.5, 0.6)), _FIRST[1]: ((0.5, 0.2), (1.0, 0.35))}
#: Log evidence that a walk needs, and rows that are asked for it.
_CLEAR, _ASKED = 10.0, 800
#: Trust in what rows tell by themselves, where that is to be doubted.
_CAREFUL = 0.3
#: Rows between two whose states are kept; those between are computed again.
_KEPT = 48
#: Next rows looked at, and the share of them that must be near neighbors for a walk to pay.
_LOOKED_AT, _NEAR = 500, 0.1


def is_walk(table: Array) -> bool:
    """Whether records that follow each other are near neighbors often enough to try."""
    from scipy.spatial import cKDTree

    if len(table) < 4 * NEIGHBORS:
        return False
    U = _unit(table)
    rows = np.linspace(0, len(U) - 2, min(len(U) - 1, _LOOKED_AT)).astype(np.intp)
    distance = cKDTree(U).query(U[rows], NEIGHBORS + 1)[0][:, -1]
    return bool((np.linalg.norm(U[rows + 1] - U[rows], axis=1) <= distance).mean() > _NEAR)


@dataclass(frozen=True, slots=True)
class Walk:
    """Steps from record to record that explain rows better than no order does."""

    steps: Any = field(repr=False)
    trust: float  # in what rows tell by themselves: 1, or less
    gain: float  # log evidence for each row, above that of records in any order

    def chances(self, log_fits: Array) -> Array:
        """For each row, in order, the chances of all records."""
        return _smoothed(self.steps, _relative(log_fits, self.trust))


def find_walk(log_fits: Array, records: Array) -> Walk | None:
    """The kind of step for which evidence is strongest; None where rows are no walk.

    `log_fits` has a row for each row of the file, in order, and a column for each record, minus
    infinity where a record is impossible. The state is a record and the one before it, so that a
    walk does not turn back.
    """
    if len(records) < 4 * NEIGHBORS or len(log_fits) < 3:
        return None
    steps, log_fits = _Steps.of(_unit(records)), log_fits[:_ASKED]
    chances = _relative(log_fits, 1.0)
    tried = {kind: _gain(steps.matrix(*kind), chances) for kind in _FIRST}
    best = max(tried, key=tried.__getitem__)
    if tried[best] > 0:
        tried |= {kind: _gain(steps.matrix(*kind), chances) for kind in _MORE[best]}
        best = max(tried, key=tried.__getitem__)
    chosen, trust, gain = steps.matrix(*best), 1.0, tried[best]
    # What was learned from few pairs is surer of itself than it should be.
    careful = _gain(chosen, _relative(log_fits, _CAREFUL))
    if careful > gain:
        trust, gain = _CAREFUL, careful
    return None if gain <= _CLEAR else Walk(chosen, trust, gain / len(chances))


def _relative(log_fits: Array, trust: float) -> Array:
    """How likely each record is in a row by itself, the likeliest being 1."""
    return np.asarray(np.exp(trust * (log_fits - log_fits.max(axis=1, keepdims=True))))


def _unit(records: Array) -> Array:
    X = np.asarray(records, dtype=np.float64)
    return np.asarray((X - X.mean(axis=0)) / divisors(deviations(X)))


@dataclass(frozen=True, slots=True)
class _Steps:
    """All pairs of a record and a neighbor before it, and which pair can follow which."""

    U: Array = field(repr=False)
    before: Rows = field(repr=False)  # state s is record s // NEIGHBORS after this one
    source: Rows = field(repr=False)
    target: Rows = field(repr=False)

    @classmethod
    def of(cls, U: Array) -> _Steps:
        from scipy.spatial import cKDTree

        near = cKDTree(U).query(U, NEIGHBORS + 1)[1]
        # Among equal records the first need not be the record itself.
        own = near == np.arange(len(U))[:, np.newaxis]
        own[~own.any(axis=1), -1] = True
        before = near[~own]
        now = np.repeat(np.arange(len(U)), NEIGHBORS)
        order = np.argsort(before, kind="stable")
        starts = np.searchsorted(before[order], np.arange(len(U) + 1))
        count = (starts[1:] - starts[:-1])[now]
        source = np.repeat(np.arange(len(now)), count)
        within = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
        target = order[starts[now[source]] + within]
        ahead = now[target] != before[source]
        return cls(U, before, source[ahead], target[ahead])

    def matrix(self, repeated: float, width: float) -> Any:
        """The chances of each next state: the nearer to where the last step leads, the likelier."""
        from scipy.sparse import csr_matrix

        now, last = self.source // NEIGHBORS, self.before[self.source]
        expected = (1 + repeated) * self.U[now] - repeated * self.U[last]
        off = np.square(self.U[self.target // NEIGHBORS] - expected).sum(axis=1)
        n = len(self.before)
        least = np.full(n, np.inf)
        np.minimum.at(least, self.source, off)
        usual = float(np.median(least[np.isfinite(least)]))
        weights = np.exp((least[self.source] - off) / (2 * width**2 * max(usual, 1e-12)))
        some = weights > _NEGLIGIBLE
        source, target, weights = self.source[some], self.target[some], weights[some]
        chances = weights / np.bincount(source, weights, minlength=n)[source]
        return csr_matrix((chances, (source, target)), shape=(n, n))


def _forward(back: Any, state: Array, seen: Array) -> tuple[Array, float]:
    """The next row's states, and how likely what is seen of it was."""
    n = len(state)
    ahead = back @ state
    # What has no neighbor to go to jumps, too.
    ahead += (1 - ahead.sum()) / n
    ahead = ((1 - _JUMP) * ahead + _JUMP / n).reshape(-1, NEIGHBORS) * seen[:, np.newaxis]
    total = float(ahead.sum())
    return (ahead / total).ravel(), total


def _gain(steps: Any, chances: Array) -> float:
    """Log evidence of a walk, above that of records in any order."""
    back, found = steps.T.tocsr(), 0.0
    state = np.full(steps.shape[0], 1 / steps.shape[0])
    for seen in chances:
        state, total = _forward(back, state, seen)
        found += np.log(total)
    return float(found - np.log(chances.mean(axis=1)).sum())


def _smoothed(steps: Any, chances: Array) -> Array:
    """Forwards and backwards; states of rows between are computed a second time, to save memory."""
    back, (n, M), size = steps.T.tocsr(), chances.shape, steps.shape[0]
    stuck = 1 - np.asarray(steps.sum(axis=1)).ravel()
    state, kept = np.full(size, 1 / size), []
    for t in range(n):
        if t % _KEPT == 0:
            kept.append(state)
        state = _forward(back, state, chances[t])[0]
    found, later = np.empty((n, M)), np.ones(size)
    for first in range((len(kept) - 1) * _KEPT, -1, -_KEPT):
        states = [kept[first // _KEPT]]
        rows = range(first, min(first + _KEPT, n))
        for t in rows:
            states.append(_forward(back, states[-1], chances[t])[0])
        for t in reversed(rows):
            both = (states[t - first + 1] * later).reshape(M, NEIGHBORS).sum(axis=1)
            found[t] = both / both.sum()
            seen = (later.reshape(M, NEIGHBORS) * chances[t][:, np.newaxis]).ravel()
            later = (1 - _JUMP) * (steps @ seen + stuck * seen.mean()) + _JUMP * seen.mean()
            later /= later.max()
    return found
