"""Scripts against files of other tools: units, blocks, codes, means, signs, factors, halves."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from tests.redteam.harness import Known, nearest

LEVELS = np.linspace(0.02, 0.98, 49)


def _shape(X: np.ndarray) -> np.ndarray:
    """Quantiles of each column, free of its unit."""
    q = np.quantile(X, LEVELS, axis=0)
    return ((q - q.mean(0)) / (q.std(0) + 1e-12)).T


def columns_then_rows(k: Known) -> np.ndarray:
    """Columns match by their quantiles, turned over or not; with the units known, rows match."""
    X, Z = k.values("public"), k.Z
    straight, turned = cdist(_shape(Z), _shape(X)), cdist(_shape(-Z), _shape(X))
    here, there = linear_sum_assignment(np.minimum(straight, turned))
    sign = np.where(straight[here, there] <= turned[here, there], 1, -1)
    Z, X = Z[:, here] * sign, X[:, there]
    return nearest((Z - Z.mean(0)) / Z.std(0), (X - X.mean(0)) / X.std(0))


def within_blocks(k: Known) -> np.ndarray:
    """One noise row for a whole block: find where the release jumps, put each block on its mean."""
    Z = k.Z / k.sd
    steps = np.abs(np.diff(Z, axis=0)).sum(axis=1)
    usual = [np.median(steps[length - 1 :: length]) / np.median(steps) for length in range(2, 200)]
    length = 2 + int(np.argmax(np.array(usual) > 0.8 * max(usual)))  # the first; multiples follow
    block = np.arange(len(Z)) // length
    return (k.Z - pd.DataFrame(k.Z).groupby(block).transform("mean").to_numpy()) + k.mean


def differences_in_blocks(k: Known) -> np.ndarray:
    """Differences of neighbors lost their noise: find the public pair that has the same one."""
    X, Z = k.values("public"), k.Z
    level = k.values("records") - Z[k.rows]  # a recognized row gives its block's noise away
    tree, guess = cKDTree(X / k.sd), np.zeros(len(Z), int)
    centered = within_blocks(k)
    block = np.cumsum(np.r_[0, np.abs(np.diff(Z - centered, axis=0)).sum(1) > 1e-6])
    for b in np.unique(block):
        rows = np.flatnonzero(block == b)
        shifts = level[np.isin(k.rows, rows)]
        if not len(shifts):  # nobody known in it: any record might be the first row
            shifts = X - Z[rows[0]]
        fits = [tree.query((Z[rows[:4]] + s) / k.sd)[0].sum() for s in shifts]
        guess[rows] = tree.query((Z[rows] + shifts[int(np.argmin(fits))]) / k.sd)[1]
    return guess


def codes(k: Known) -> np.ndarray:
    """Pseudonyms: pairs open a code book, frequencies the rest; links found open more of it."""
    X, Z = k.values("public"), k.Z
    hits = np.zeros((len(Z), len(X)))
    rows, found = k.rows, k.values("records")
    for _ in range(6):
        hits[:] = 0
        for j in range(X.shape[1]):
            book = pd.Series(found[:, j]).groupby(Z[rows, j]).agg(lambda v: v.mode()[0])
            read = pd.Series(Z[:, j]).map(book).to_numpy()
            often = pd.Series(Z[:, j]).map(pd.Series(Z[:, j]).value_counts()).to_numpy()
            count = pd.Series(X[:, j]).map(pd.Series(X[:, j]).value_counts()).to_numpy()
            opened = ~np.isnan(read)
            rare = np.log(len(X) / count)  # a rare value that fits says more
            hits[opened] += np.where(read[opened, None] == X[:, j], rare, -2.0)
            closed = (often[~opened, None] == count) & ~np.isin(X[:, j], book.to_numpy())
            hits[~opened] += np.where(closed, rare, -2.0)
        top = np.sort(hits, axis=1)[:, -2:]
        sure = np.flatnonzero(top[:, 1] - top[:, 0] > 0.5)
        rows = np.r_[k.rows, sure]
        found = np.vstack([k.values("records"), X[hits[sure].argmax(axis=1)]])
    return hits.argmax(axis=1)


def members_of_means(k: Known) -> np.ndarray:
    """A mean of five: pairs and triples of near records whose sum is five times the mean."""
    X, Z = k.values("public") / k.sd, k.Z / k.sd
    distinct, group = np.unique(Z.round(9), axis=0, return_inverse=True)
    pairs = np.array(list(combinations(range(24), 2)))
    triples = np.array(list(combinations(range(24), 3)))
    guess = np.zeros(len(Z), int)
    for g, near in enumerate(cKDTree(X).query(distinct, k=24)[1]):
        tree = cKDTree(X[near[triples]].sum(axis=1))
        gap, triple = tree.query(5 * distinct[g] - X[near[pairs]].sum(axis=1))
        best = int(np.argmin(gap))
        found = near[np.r_[pairs[best], triples[triple[best]]]]
        rows = np.flatnonzero(group.ravel() == g)
        guess[rows] = np.resize(found, len(rows))
    return guess


def up_to_sign(k: Known) -> np.ndarray:
    """A random sign a row: the record and its opposite are the only two candidates."""
    tree = cKDTree(k.values("public") / k.sd)
    plus, minus = tree.query(k.Z / k.sd), tree.query(-k.Z / k.sd)
    return np.where(plus[0] <= minus[0], plus[1], minus[1])


def up_to_factor(k: Known) -> np.ndarray:
    """A random factor a row: the direction is left as it was."""
    X, Z = k.values("public") / k.sd, k.Z / k.sd
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    return nearest(Z, X)


def size_from_direction(k: Known) -> np.ndarray:
    """A random factor a row: a sample tells how long records of that direction are."""
    clean = np.vstack([k.values("sample"), k.values("records")]) / k.sd
    Z = k.Z / k.sd
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    size = np.linalg.norm(clean, axis=1)
    near = cKDTree(clean / size[:, None]).query(Z, k=8)[1]
    return Z * np.median(size[near], axis=1)[:, None] * k.sd


def exact_rows(k: Known) -> np.ndarray:
    """The nearest public record; an exact copy is at distance 0."""
    return nearest(k.Z / k.sd, k.values("public") / k.sd)
