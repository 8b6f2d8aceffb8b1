"""Rows in the order of the table: cases, and scripts that put a public table in that order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from scipy.spatial import cKDTree

from tests.redteam import making as mk
from tests.redteam import tables as t
from tests.redteam.harness import Case, Known


def sorted_by_two(k: Known) -> np.ndarray:
    """Sort the public table by every two columns; most known rows must agree with one order."""
    P, X = k.values("public"), k.values("records")
    orders = [np.lexsort((P[:, b], P[:, a])) for a, b in permutations(range(P.shape[1]), 2)]
    return max(orders, key=lambda order: (P[order][k.rows] == X).all(axis=1).sum())


def paths_of_neighbors(k: Known) -> np.ndarray:
    """Join records that are among each other's two nearest; known rows say where a path lies."""
    P = k.values("public") / k.values("public").std(axis=0)
    near = cKDTree(P).query(P, 3)[1][:, 1:]
    friends = [[j for j in near[i] if i in near[j]] for i in range(len(P))]
    row_of = dict(zip(map(bytes, np.ascontiguousarray(k.values("records"))), k.rows, strict=True))
    known = {
        i: row_of.get(bytes(p)) for i, p in enumerate(np.ascontiguousarray(k.values("public")))
    }
    named, left = np.zeros(len(k.Z), int), set(range(len(P)))
    for start in sorted(left, key=lambda i: len(friends[i])):  # ends of paths first
        path = []
        while start in left:
            path.append(start)
            left.remove(start)
            start = next((j for j in friends[start] if j in left), start)
        seen = [(at, known[i]) for at, i in enumerate(path) if known[i] is not None]
        if not seen:
            continue
        ways = [(w, row - w * at) for at, row in seen for w in (1, -1)]
        ways.sort(key=lambda way: sum(row == way[1] + way[0] * at for at, row in seen))
        rows = ways[-1][1] + ways[-1][0] * np.arange(len(path))
        inside = (rows >= 0) & (rows < len(named))
        named[rows[inside]] = np.array(path)[inside]
    return named


def _shuffled_log():
    return t.log().sample(frac=1, random_state=3).reset_index(drop=True)


ORDERED = [
    Case("sorted-by-two-columns", "noise of scale 12, sorted by two columns", "insider", "linked",
         mk.ours(t.by_region, "gaussian", "scale=12"), sorted_by_two),
    Case("walk-through-the-table", "noise of scale 12, rows in time order", "insider", "linked",
         mk.ours(t.log, "gaussian", "scale=12"), paths_of_neighbors),
    Case("control-log-shuffled", "noise of scale 12, rows in no order", "insider", "resisted",
         mk.ours(_shuffled_log, "gaussian", "scale=12")),
]  # fmt: skip
