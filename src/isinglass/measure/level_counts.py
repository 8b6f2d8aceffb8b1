"""Counting of randomization levels in cache-sized tiles."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.kernels import gaussian_tiles, uniform_boxes
from isinglass.messages import warn
from isinglass.threads import one_thread, spread

Array = NDArray[np.float64]
Levels = NDArray[np.int64]

# A tile of products stays in the cache until it is counted: 1 MiB of float32, or of float64.
_TILE_ROWS, _TILE_COLUMNS = 256, 1024
_TILE64 = 256
# Released rows a call, and candidates at a time, where boxes are counted.
_BOX_ROWS, _BOX_RECORDS = 256, 1 << 14


class CountTask(NamedTuple):
    """Two tables and the noise between them, columns that tell nothing left out."""

    X: Array
    Z: Array
    scales: Array
    eps: float  # of the numbers as they were given: what storing them may have rounded


def take(
    original: ArrayLike,
    released: ArrayLike,
    scale: ArrayLike,
    distribution: str,
    *,
    paired: bool = True,
) -> CountTask:
    """Check two tables and their noise, and keep the columns that tell records apart."""
    if distribution not in ("gaussian", "uniform"):
        raise ValueError(f"distribution must be 'gaussian' or 'uniform', got {distribution!r}")
    given: tuple[NDArray[Any], NDArray[Any]] = (np.asarray(original), np.asarray(released))
    before, after = given
    if before.ndim != 2 or after.ndim != 2 or before.shape[1] != after.shape[1]:
        raise ValueError(
            "both tables must have one record a row and the same columns, "
            f"got shapes {before.shape} and {after.shape}"
        )
    if not len(before) or (paired and len(before) != len(after)):
        raise ValueError(
            "the release must have a row for each record, and there must be one, "
            f"got {len(before)} records and {len(after)} released rows"
        )
    eps = max(np.finfo(t.dtype).eps if t.dtype.kind == "f" else 0.0 for t in given)
    X, Z = (np.ascontiguousarray(t, dtype=np.float64) for t in given)
    if not (np.isfinite(X).all() and np.isfinite(Z).all()):
        raise ValueError("tables must hold finite numbers only")
    scales = np.asarray(scale, dtype=np.float64)
    if scales.shape not in ((), X.shape[1:]):
        raise ValueError(
            f"scale must be one number, or one for each of the {X.shape[1]} columns, "
            f"got an array of shape {scales.shape}"
        )
    if not (np.isfinite(scales).all() and (scales >= 0).all()):
        raise ValueError("scale must be >= 0 and finite")
    scales = np.broadcast_to(scales, X.shape[1:])
    varies = (X != X[0]).any(axis=0)
    bare = int((varies & (scales == 0)).sum())
    if bare:
        warn(
            f"{bare} of {len(scales)} columns vary and have no noise: they are left out of the "
            "level, and yet they tell records apart",
        )
    live = varies & (scales > 0)
    if not live.all():
        X, Z = np.ascontiguousarray(X[:, live]), np.ascontiguousarray(Z[:, live])
    return CountTask(X, Z, scales[live].copy(), max(float(eps), 2.0**-52))


def half_widths(Z: Array, scales: Array, eps: float) -> Array:
    """How far a record may be from a released row; x + y, once rounded, may be a little farther."""
    return np.asarray(math.sqrt(3) * scales * (1 + gaussian_tiles.TIE) + 4 * eps * np.abs(Z))


def gaussian_levels(task: CountTask) -> Levels:
    """How many records are at least as near to each released row, in units of the noise."""
    X, Z, scales, _ = task
    n, width = X.shape
    center, inverse = X.mean(axis=0), 1 / scales
    U, V = (X - center) * inverse, (Z - center) * inverse
    squares = np.einsum("ij,ij->i", U, U)
    own = squares - 2 * np.einsum("ij,ij->i", U, V)
    far, size = np.sqrt(np.einsum("ij,ij->i", V, V)), np.sqrt(squares)
    # By length, so that the longest of a tile, which sets its margin, is not much the longest.
    order = np.argsort(squares, kind="stable")
    with np.errstate(over="ignore"):  # what does not fit is decided by subtraction
        right = U[order].astype(np.float32)
        left = (-2 * V).astype(np.float32)
        length = squares[order].astype(np.float32)
    found = np.zeros(n, dtype=np.int64)
    terms = width + 8

    def count(start: int, stop: int) -> None:
        rows = np.arange(start, stop)
        buffer = np.empty((stop - start) * _TILE_COLUMNS, dtype=np.float32)
        for first in range(0, n, _TILE_COLUMNS):
            there = slice(first, min(first + _TILE_COLUMNS, n))
            longest = size[order[there.stop - 1]]
            products = buffer[: (stop - start) * (there.stop - first)].reshape(len(rows), -1)
            with np.errstate(over="ignore", invalid="ignore"):  # each thread has a state of its own
                np.matmul(left[start:stop], right[there].T, out=products)
            # All that float32 may have rounded in |x'|² - 2 z.x', and float64 in the rest.
            reach = far[start:stop] + longest
            margin = terms * 2.0**-23 * reach * longest
            margin += terms * 2.0**-50 * (reach + size[start:stop]) ** 2
            margin += 2.0**-22 * np.abs(own[start:stop]) + terms * 2.0**-120 * (1 + reach)
            margin[reach > 1e18] = np.inf
            with np.errstate(over="ignore"):
                certain = (own[start:stop] - margin).astype(np.float32)
                possible = (own[start:stop] + margin).astype(np.float32)
            sizes, candidates = length[there], order[there]
            gaussian_tiles.count_tile(
                products, sizes, certain, possible, rows, X, Z, inverse, candidates, found
            )

    with one_thread():
        spread(count, n, n_jobs=None, step=_TILE_ROWS)
    return found


def uniform_levels(task: CountTask) -> Levels:
    """How many records lie in the box around each released row."""
    X, Z, scales, eps = task
    n, width = X.shape
    half = half_widths(Z, scales, eps)
    found = np.zeros(n, dtype=np.int64)
    for first in range(0, n, _BOX_RECORDS):
        part = np.ascontiguousarray(X[first : first + _BOX_RECORDS])
        ascending = np.sort(part, axis=0)
        # The smallest value, quantiles between, and just above the largest: set 1 is empty, and
        # the last but one has all records.
        place = np.linspace(0, len(part) - 1, uniform_boxes.SETS - 1).astype(np.intp)
        edges = ascending[place].T.copy()
        edges[:, -1] = np.nextafter(ascending[-1], np.inf)
        sets = np.zeros((width, uniform_boxes.SETS + 1, -(-len(part) // 64)), dtype=np.uint64)
        uniform_boxes.make_sets(part, edges, sets)

        def count(start: int, stop: int, part: Array = part, edges: Array = edges,
                  sets: NDArray[np.uint64] = sets) -> None:  # fmt: skip
            uniform_boxes.count_boxes(Z, half, start, stop, part, edges, sets, found)

        spread(count, n, n_jobs=None, step=_BOX_ROWS)
    outside = (np.abs(Z - X) > half).any(axis=1)
    if outside.any():
        warn(
            f"{int(outside.sum())} of {n} released rows lie farther from their records than "
            "uniform noise of this scale can take them; they count as fitting nobody, level N",
        )
        found[outside] = n
    return found


def expected_levels(task: CountTask, *, gaussian: bool) -> Array:
    """One plus, for each record, the chances of all others to fit its release as well."""
    X, scales = task.X, task.scales
    n, width = X.shape
    unit = scales if gaussian else math.sqrt(12) * scales
    U = np.ascontiguousarray((X - X.mean(axis=0)) / unit)
    squares = np.einsum("ij,ij->i", U, U)
    blur, table = (width + 8) * 2.0**-52, gaussian_tiles.tail_table()
    # A pair is met once and adds to two records. Each part has sums of its own, which are added
    # in the same order whoever was faster: the result has the same bytes on any number of cores.
    step = max(_TILE64, -(-n // 64))
    rows, columns = np.zeros(n), np.zeros((-(-n // step), n))

    def add(start: int, stop: int) -> None:
        mine = columns[start // step]
        for first in range(start, stop, _TILE64):
            last = min(first + _TILE64, stop)
            for second in range(first, n, _TILE64):
                there = U[second : second + _TILE64]
                if gaussian:
                    products = U[first:last] @ there.T
                    gaussian_tiles.add_tails(
                        products, U, first, second, squares, blur, table, rows, mine
                    )
                else:
                    turned = np.ascontiguousarray(there.T)
                    uniform_boxes.add_overlaps(U, turned, first, last, second, rows, mine)

    with one_thread():
        spread(add, n, n_jobs=None, step=step)
    return np.asarray(1.0 + rows + columns.sum(axis=0))
