"""Tables that are awkward for an index: ties, tails, copies, order, many columns or one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
ROWS, WIDE_ROWS = 50_000, 20_000


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def line() -> Array:
    """One column."""
    return _rng().normal(size=(ROWS, 1))


def plane() -> Array:
    """Two columns, evenly filled."""
    return _rng().random((ROWS, 2))


def climbs() -> Array:
    """A sensor log in the order of time: one long climb and descent that all columns follow."""
    rng, x = _rng(), np.arange(ROWS)
    height = np.minimum(x, x[::-1])[:, None] / ROWS
    return height * rng.uniform(0.5, 2, 8) + rng.normal(scale=1e-3, size=(ROWS, 8))


def walk() -> Array:
    """A random walk: neighbors in time are neighbors in space."""
    return np.cumsum(_rng().normal(size=(ROWS, 6)), axis=0)


def tails() -> Array:
    """Heavy tails: the furthest row is ten thousand times as far out as the middle one."""
    return _rng().standard_cauchy((ROWS, 8))


def scales() -> Array:
    """Values over many orders of magnitude in every column."""
    return np.exp(_rng().normal(scale=3, size=(ROWS, 10)))


def clusters() -> Array:
    """Five thousand clusters of ten rows: a leaf holds several."""
    rng = _rng()
    centers = rng.normal(size=(ROWS // 10, 16))
    return np.repeat(centers, 10, axis=0)[rng.permutation(ROWS)] + rng.normal(
        scale=0.01, size=(ROWS, 16)
    )


def grid() -> Array:
    """Whole numbers: 4,096 places for 50,000 rows, ties everywhere."""
    return _rng().integers(0, 4, (ROWS, 6)).astype(float)


def one_hot() -> Array:
    """Ten categories of eight values each, as 80 columns of zeros and ones."""
    values = _rng().integers(0, 8, (ROWS, 10))
    return np.eye(8)[values].reshape(ROWS, 80)


def copies() -> Array:
    """Five hundred records, a hundred times each."""
    rng = _rng()
    return rng.normal(size=(500, 10))[rng.permutation(ROWS) % 500]


def sparse() -> Array:
    """Counts, nineteen in twenty of them zero."""
    rng = _rng()
    return np.ceil(np.exp(rng.normal(size=(ROWS, 50)))) * (rng.random((ROWS, 50)) < 0.05)


def manifold() -> Array:
    """Forty columns that three hidden numbers decide."""
    rng = _rng()
    hidden = np.tanh(rng.normal(size=(ROWS, 3)) @ rng.normal(size=(3, 20)))
    return hidden @ rng.normal(size=(20, 40))


def sphere() -> Array:
    """On the surface of a ball in 20 columns: every row is as far out as every other."""
    X = _rng().normal(size=(ROWS, 20))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def offset() -> Array:
    """Small differences of large numbers."""
    return _rng().normal(size=(ROWS, 8)) + 1e4


def wide() -> Array:
    """Three hundred columns of noise."""
    return _rng().normal(size=(WIDE_ROWS, 300))


_MAKERS: tuple[Callable[[], Array], ...] = (
    line, plane, climbs, walk, tails, scales, clusters, grid, one_hot, copies, sparse, manifold,
    sphere, offset,
)  # fmt: skip
ALL = {make.__name__: (ROWS, make) for make in _MAKERS} | {"wide": (WIDE_ROWS, wide)}
