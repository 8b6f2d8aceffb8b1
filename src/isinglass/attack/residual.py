"""What is left between a guess and the truth, learned from records whose rows are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import chance
from isinglass.attack.knowledge import KeptColumns, Knowledge, KnownPairs, OtherReleases
from isinglass.attack.known_input import KnownInputAttack
from isinglass.errors import AttackError

Array = NDArray[Any]

_FOLDS = 5
_COMPANY = 500


def guess_and_spread(
    released: Array, known: Knowledge, random_state: chance.RandomState = None
) -> tuple[Array, Array]:
    """Guess every record from known pairs, and the covariance of the guess's error.

    The error is measured on pairs the guess did not learn from: each of five parts in turn is
    guessed from the other four. With few pairs that makes it look larger than it is.
    """
    pairs = known.need(KnownPairs)
    n, d = pairs.records.shape
    if n < 2:
        raise AttackError(f"linking needs at least 2 known pairs to see its error, got {n}")
    rng = chance.generator(random_state)
    attack = KnownInputAttack(random_state=rng)
    guess = attack.guess(released, known)
    errors = np.empty((n, d))
    order = rng.permutation(n)
    # The error of the pairs is all that is wanted: their rows, and a few more for company.
    others = rng.permutation(len(released))[:_COMPANY]
    seen = np.concatenate([pairs.rows, np.setdiff1d(others, pairs.rows)])
    known, shown = _only(known, seen), released[seen]
    for part in np.array_split(order, min(_FOLDS, n)):
        rest = np.setdiff1d(order, part)
        fewer = known | KnownPairs(rest, pairs.records[rest])
        errors[part] = attack.guess(shown, fewer)[part] - pairs.records[part]
    square = errors.T @ errors / n
    # Few errors give a covariance that is too sure of itself: draw it towards its diagonal.
    trust = n / (n + d)
    return guess, trust * square + (1 - trust) * np.diag(np.diag(square))


def _only(known: Knowledge, rows: NDArray[np.intp]) -> Knowledge:
    """The same knowledge about some rows of a release."""
    others, kept = known.find(OtherReleases), known.find(KeptColumns)
    if others is not None:
        known |= OtherReleases(tuple(table[rows] for table in others.tables))
    if kept is not None:
        known |= KeptColumns(kept.values[rows])
    return known


def whitening(covariance: Array, deviation: Array) -> Array:
    """W with W' W the inverse of the covariance, no direction surer than a millionth of a column.

    Columns that do not vary are left out, with a weight of 0: they tell no two records apart.
    """
    varies = deviation > 0
    unit = np.where(varies, deviation, 1.0)
    inner = covariance / unit / unit[:, np.newaxis]
    inner[~varies] = inner[:, ~varies] = 0
    values, vectors = np.linalg.eigh(inner)
    root = (vectors / np.sqrt(np.maximum(values, 1e-12))).T / unit
    root[:, ~varies] = 0
    return np.asarray(root)
