"""Tables with the same marginals and none of the records, as a reference for chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[Any]


def shuffled_columns(table: Array, rng: np.random.Generator) -> Array:
    """Each column in an order of its own: as many values, and no records."""
    return np.column_stack([rng.permutation(column) for column in table.T])


def fresh_copy(table: Array, rng: np.random.Generator) -> Array:
    """Fresh draws with the same values in each column, and columns that go together as they did.

    Normal draws with the correlations of the columns' ranks, each then replaced by the value of
    its rank (a gaussian copula). So they may hit a record where records are made of a few values
    that go together, and by chance alone.
    """
    n = len(table)
    scores = np.column_stack([_normal_scores(column) for column in table.T])
    _, values, axes = np.linalg.svd(scores, full_matrices=False)
    drawn = rng.normal(size=(n, len(values))) @ (values[:, np.newaxis] * axes) / np.sqrt(n)
    size = drawn.std(axis=0)
    share = ndtr(drawn / np.where(size > 0, size, 1.0))
    places = np.minimum((share * n).astype(np.intp), n - 1)
    return np.asarray(np.take_along_axis(np.sort(table, axis=0), places, axis=0))


def _normal_scores(values: Array) -> Array:
    """The normal quantile of each value's rank; equal values share a rank."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    share = (counts.cumsum() - counts / 2) / len(values)
    return np.asarray(ndtri(share)[where.reshape(-1)])


def share_of_copies(table: Array) -> float:
    """Share of records that stand in another row, too: a further record may well be one of them.

    That is Good and Turing's estimate, taken at its upper limit; at most nine tenths, so that a
    copy of a table whose records all stand twice is still a copy.
    """
    _, counts = np.unique(table, axis=0, return_counts=True)
    share = float(counts[counts > 1].sum() / len(table))
    return min(share + 2.0 * float(np.sqrt(share * (1.0 - share) / len(table))), 0.9)
