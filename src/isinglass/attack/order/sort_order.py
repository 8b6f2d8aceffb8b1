"""Sort keys of sorted tables, found from known pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Keys one within another, and the share of known pairs that must stand where a key puts them.
_MOST_KEYS, _NEARLY_ALL = 4, 0.95
#: Of known pairs next to each other so many stand in the order of a key.
_RISING = 0.9
#: Log evidence that an order needs; that of a pair which stands elsewhere.
_CLEAR, _ELSEWHERE = 12.0, -3.0
#: Rounds in which a score and its shape are fitted in turn, parts of the pairs left out in turn,
#: and the chance that a record stands anywhere.
_ROUNDS, _FOLDS, _ANYWHERE = 30, 5, 0.02
#: Ranks that an exact score may be off.
_LEAST_ERROR = 0.3


@dataclass(frozen=True, slots=True)
class Ties:
    """Groups of public records, numbered in the order of the file, that may stand in any order."""

    group: Rows = field(repr=False)  # of each public record
    elsewhere: float = 0.0  # the chance that a record stands elsewhere

    def of_rows(self) -> Rows:
        """The group of each row of the file."""
        return np.sort(self.group)

    @property
    def settled(self) -> bool:
        """Whether each record has a place of its own."""
        return int(self.group.max()) + 1 == len(self.group)

    def chances(self) -> Array:
        """For each row of the file the chances of all records, (n, n)."""
        inside = self.of_rows()[:, np.newaxis] == self.group
        near = inside / inside.sum(axis=1, keepdims=True)
        return np.asarray((1 - self.elsewhere) * near + self.elsewhere / len(self.group))


def sort_keys(keys: Array, pairs: Rows, places: Rows) -> Ties | None:
    """Ties of the public table sorted by the columns that put known pairs where they stand.

    `keys` has a row for each public record; `pairs` are those known, and `places` their rows in
    the file, which must hold all public records. A column counts where nearly every pair lies
    between as many smaller, or larger, values as rows stand before it; the next one sorts ties.
    """
    along = np.argsort(places)
    pairs, places = pairs[along], places[along]
    group, found = np.zeros(len(keys), dtype=np.intp), False
    for _ in range(_MOST_KEYS if len(pairs) > 1 else 0):
        sizes = np.bincount(group)[group[pairs]]
        best, chosen = _CLEAR + np.log(2 * keys.shape[1]), None
        for column in keys.T:
            for falls in (False, True):
                # Few columns pass this test, and it looks at known pairs only.
                if _rising(column[pairs], group[pairs], falls) < _RISING:
                    continue
                finer = _finer(column, group, falls)
                gain = _evidence(finer, pairs, places, sizes)
                if gain > best:
                    best, chosen = gain, finer
        if chosen is None:
            break
        group, found = np.unique(chosen, return_inverse=True)[1].ravel(), True
    if not found:
        return None
    inside = np.sort(group)[places] == group[pairs]
    return Ties(group, float(1 - inside.mean()))


def _finer(column: Array, group: Rows, falls: bool) -> Rows:
    """Groups divided by a column, numbered in its order."""
    code = np.unique(column, return_inverse=True)[1].ravel()
    last = int(code.max())
    return np.asarray(group * (last + 1) + (last - code if falls else code))


def _rising(column: Array, group: Rows, falls: bool) -> float:
    """Share of neighbors among known pairs that are not in the wrong order."""
    return float((np.diff(_finer(column, group, falls)) >= 0).mean())


def _evidence(finer: Rows, pairs: Rows, places: Rows, sizes: Array) -> float:
    """How much likelier known pairs stand where they do by this order than by the one before."""
    order, own = np.sort(finer), finer[pairs]
    low, high = (np.searchsorted(order, own, side) for side in ("left", "right"))
    inside = (low <= places) & (places < high)
    if inside.mean() < _NEARLY_ALL:
        return -np.inf
    return float(np.where(inside, np.log(sizes / np.maximum(high - low, 1)), _ELSEWHERE).sum())


@dataclass(frozen=True, slots=True)
class ScoreRanks:
    """Where a score puts each public record in the file, and how far that is off."""

    ranks: Array = field(repr=False)
    error: float

    def chances(self) -> Array:
        """For each row of the file the chances of all records, (n, n)."""
        n = len(self.ranks)
        off = (np.arange(n)[:, np.newaxis] - self.ranks) / self.error
        near = np.exp(-np.square(off) / 2)
        near /= near.sum(axis=1, keepdims=True)
        return (1 - _ANYWHERE) * near + _ANYWHERE / n


def score_ranks(
    columns: Array, pairs: Rows, places: Rows, rng: np.random.Generator
) -> ScoreRanks | None:
    """A weighted sum of columns by which the table is sorted, or nearly so; None where none is.

    Pairs left out show how far ranks are off, and whether that is better than no score at all.
    """
    n, m = len(columns), len(pairs)
    U = (columns - columns.mean(axis=0)) / divisors(deviations(columns))
    if m < U.shape[1] + 20:
        return None
    off = np.empty(m)
    for part in np.array_split(rng.permutation(m), _FOLDS):
        rest = np.setdiff1d(np.arange(m), part)
        off[part] = _ranks(U, pairs[rest], places[rest])[pairs[part]] - places[part]
    error = max(_LEAST_ERROR, 1.4826 * float(np.median(np.abs(off))))
    near = np.exp(-np.square(off / error) / 2) / (np.sqrt(2 * np.pi) * max(error, 0.4))
    if np.log((1 - _ANYWHERE) * n * near + _ANYWHERE).sum() < _CLEAR:
        return None
    return ScoreRanks(_ranks(U, pairs, places), error)


def _ranks(U: Array, pairs: Rows, places: Rows) -> Array:
    """Ranks of all records by the sum of columns that agrees best with known places."""
    from scipy.special import ndtri

    n, known = len(U), U[pairs] - U[pairs].mean(axis=0)
    # A little ridge, so that columns which are sums of others do no harm.
    inverse = np.linalg.solve(known.T @ known + 1e-9 * len(pairs) * np.eye(U.shape[1]), known.T)
    target = ndtri((places + 0.5) / n)
    for _ in range(_ROUNDS):
        scores = U @ (inverse @ target)
        # The scores themselves, sorted, say which score each place has.
        target = np.sort(scores)[places]
        target = (target - target.mean()) / max(float(target.std()), 1e-300)
    ranks = np.empty(n)
    ranks[np.argsort(scores, kind="stable")] = np.arange(n)
    return ranks
