"""Lattice of row differences, which gives away whole numbers under a linear mixture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Beyond this many columns, differences of doubles do not settle a lattice any more.
MOST_COLUMNS = 20
#: Rows that are compared in pairs, differences that are kept, rows on which a lattice is checked.
PAIRED_ROWS, DIFFERENCES, CHECKED_ROWS = 600, 600, 2_000
#: How much shorter a vector has to get for two to change places.
DELTA = 0.99
#: Lattices of 20 columns that are found at all take fewer than 100; without one, it never ends.
MOST_SWEEPS = 400


def lattice_maps(released: Array) -> Iterator[Array]:
    """Yield matrices that may take a release of whole numbers in a mixture apart, column by column.

    If every column of the table stands on a grid (answers, counts, prices in steps of 0.05),
    differences of rows of `W x + b` are whole multiples of a few vectors, the columns of `W` times
    the steps. They are found as the shortest basis of all differences, and the multiples are the
    table. Which basis is shortest depends on the measure: a rotation leaves the grid square, and
    other matrices leave it nearly so once the release is whitened. Both are yielded; nothing is
    where there is no lattice.
    """
    rows = _spaced(released, CHECKED_ROWS)
    white = _whitening(rows)
    if white is None:
        return
    basis = find_lattice(rows @ white)
    if basis is None:  # single precision, a few digits or a trace of noise
        basis = find_lattice(rows @ white, coarse=True)
    if basis is None:
        return
    unmix = white @ np.linalg.inv(basis)
    yield unmix
    # The same lattice in the release's own measure: what a step of each coordinate is there.
    centered = rows - rows.mean(axis=0)
    steps = np.linalg.lstsq(centered @ unmix, centered, rcond=None)[0]
    plain = reduce_basis(steps, 0.0, 0.0)
    if plain is not None:
        yield np.linalg.pinv(plain)


def find_lattice(rows: Array, *, coarse: bool = False) -> Array | None:
    """Return the reduced basis of the lattice of row differences; None where there is none.

    `rows` are whitened, with as many columns as rank. `coarse` allows for errors of 1e-6 in them.
    """
    d = rows.shape[1]
    same = 1e-4 if coarse else 1e-8
    few = _distinct(_spaced(rows, PAIRED_ROWS), same)
    if len(few) < d + 5:
        return None
    # Short ones are easy to reduce, and a few of any length span every direction.
    steps = np.vstack([_short_differences(few, same), _spaced(few[1:], 100) - few[0]])
    size = float(np.median(np.linalg.norm(steps, axis=1)))
    # What is nothing but rounding, and what is too short for a step yet more than that.
    zero, floor = (1e-3 * size, 2e-2 * size) if coarse else (1e-6 * size, 2e-4 * size)
    near = 2e-2 if coarse else 1e-3
    basis = reduce_basis(_first_independent(steps), zero, floor)
    # Every round divides the volume of a cell by two at least.
    for _ in range(60):
        if basis is None or len(basis) != d:
            return None
        coordinates = steps @ np.linalg.inv(basis)
        off = coordinates - np.round(coordinates)
        wrong = np.flatnonzero(np.abs(off).max(axis=1) > near)
        if len(wrong):
            basis = reduce_basis(np.vstack([basis, off[wrong[:1]] @ basis]), zero, floor)
            basis = None if basis is None else _refitted(basis, steps, near)
            continue
        others = rows - rows[0]
        coordinates = others @ np.linalg.inv(basis)
        missed = np.abs(coordinates - np.round(coordinates)).max(axis=1) > near
        if not missed.any():
            return _refitted(basis, others, near)
        steps = np.vstack([steps, others[missed][:50]])
    return None


def _whitening(rows: Array) -> Array | None:
    """The matrix that whitens the release, one column for each rank; None where it is too wide."""
    if len(rows) < 2 or rows.shape[1] > 8 * MOST_COLUMNS:
        return None
    _, sizes, directions = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    precision = 1e-6 if _is_single(rows) else 1e-14
    rank = int((sizes > precision * np.abs(rows).max() * np.sqrt(rows.size)).sum())
    if not 1 <= rank <= MOST_COLUMNS:
        return None
    return np.asarray(directions[:rank].T * (np.sqrt(len(rows) - 1) / sizes[:rank]))


def _is_single(rows: Array) -> bool:
    return bool((rows.astype(np.float32) == rows).all())


def _spaced(rows: Array, most: int) -> Array:
    """At most `most` rows at even distances; no chance, so that the search is always the same."""
    if len(rows) <= most:
        return rows
    return np.asarray(rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)])


def _distinct(rows: Array, same: float) -> Array:
    """Rows without repeats, told by a weighted sum in which two of them hardly ever agree."""
    sums = rows @ np.sqrt(np.arange(2.0, rows.shape[1] + 2))
    order = np.argsort(sums, kind="stable")
    return np.asarray(rows[order[np.diff(sums[order], prepend=-np.inf) > same]])


def _short_differences(rows: Array, same: float) -> Array:
    """The shortest differences of two rows, and their shorter differences in turn."""
    first, second = np.triu_indices(len(rows), 1)
    squares = (rows**2).sum(axis=1)
    lengths = squares[first] + squares[second] - 2.0 * (rows @ rows.T)[first, second]
    # On a coarse grid most of the shortest are repeats, so more are taken than are kept.
    wanted = min(10 * DIFFERENCES, len(lengths) - 1)
    kept = np.argpartition(lengths, wanted)[:wanted]
    steps = _shortest(rows[first[kept]] - rows[second[kept]], same)
    for _ in range(4 if len(steps) else 0):  # all may be nothing but rounding
        products = steps @ steps.T
        squares = products.diagonal()
        gain = 2.0 * np.abs(products) - squares  # by which a sum with that one is shorter
        np.fill_diagonal(gain, -np.inf)
        best = gain.argmax(axis=1)
        at = np.arange(len(steps))
        shorter = gain[at, best] > 1e-9 * squares
        if not shorter.any():
            break
        sign = np.sign(products[at, best])[:, np.newaxis]
        steps = _shortest(np.vstack([steps, (steps - sign * steps[best])[shorter]]), same)
    return steps


def _shortest(steps: Array, same: float) -> Array:
    """The shortest differences that are not nothing, each once whatever its sign."""
    sums = steps @ np.sqrt(np.arange(2.0, steps.shape[1] + 2))
    steps = _distinct(steps * np.where(sums < 0, -1.0, 1.0)[:, np.newaxis], same)
    lengths = np.linalg.norm(steps, axis=1)
    order = np.argsort(lengths, kind="stable")
    return np.asarray(steps[order[lengths[order] > same]][:DIFFERENCES])


def _first_independent(steps: Array) -> Array:
    """The shortest differences that are independent, greedily."""
    taken: list[int] = []
    rest = steps.copy()
    lengths = np.linalg.norm(steps, axis=1)
    for _ in range(steps.shape[1]):
        left = np.linalg.norm(rest, axis=1) > 0.05 * lengths
        left &= lengths > 0
        if not left.any():
            break
        taken.append(int(np.flatnonzero(left)[np.argmin(lengths[left])]))
        direction = rest[taken[-1]] / np.linalg.norm(rest[taken[-1]])
        rest = rest - np.outer(rest @ direction, direction)
    return np.asarray(steps[taken])


def _refitted(basis: Array, steps: Array, near: float) -> Array:
    """The basis by least squares on all differences that are on it: rounding averages out."""
    coordinates = steps @ np.linalg.inv(basis)
    whole = np.round(coordinates)
    fits = np.abs(coordinates - whole).max(axis=1) < near
    better, _, rank, _ = np.linalg.lstsq(whole[fits], steps[fits], rcond=None)
    return np.asarray(better) if rank == len(basis) else basis


def reduce_basis(vectors: Array, zero: float, floor: float) -> Array | None:
    """Return a basis of short vectors of the lattice that the rows of `vectors` span.

    One row more than the dimension is allowed: it is worked in, until a vector of a length below
    `zero` falls out (Pohst 1987). None where a vector gets shorter than `floor` without being
    zero, as happens sooner or later if there is no lattice, or after `MOST_SWEEPS`.

    Each sweep starts from a fresh QR decomposition, so that rounding does not build up in it.
    """
    B = np.array(vectors, dtype=np.float64)
    for _ in range(MOST_SWEEPS):
        R = np.asarray(np.linalg.qr(B.T, mode="r"))
        diagonal = np.zeros(len(B))
        diagonal[: len(R)] = np.abs(R.diagonal())
        flat = np.flatnonzero(diagonal <= zero)
        dependent = len(flat) > 0
        # Vectors behind a dependent one wait: their part of R is rounding.
        last = int(flat[0]) if dependent else len(B) - 1
        if dependent and last == 0:
            B = B[1:]
            continue
        if diagonal[:last].min(initial=np.inf) < floor:
            return None
        _subtract_multiples(B, R, last)
        swaps = _find_swaps(R, diagonal, last, dependent=dependent)
        if not swaps:
            return None if dependent else B
        for k in swaps:
            B[[k, k + 1]] = B[[k + 1, k]]
    return None


def _subtract_multiples(B: Array, R: Array, last: int) -> None:
    """Bring each vector as near to being orthogonal to those before it as whole multiples can."""
    for i in range(min(last, len(R)) - 1, -1, -1):
        times = np.round(R[i, i + 1 :] / R[i, i])
        if times.any():
            B[i + 1 :] -= np.outer(times, B[i])
            R[:, i + 1 :] -= np.outer(R[:, i], times)


def _find_swaps(R: Array, diagonal: Array, last: int, *, dependent: bool) -> list[int]:
    """Neighbors that stand in the wrong order, none of them twice."""
    k = np.arange(last)
    length = diagonal[1 : last + 1] ** 2 + R[k, k + 1] ** 2
    wrong = np.flatnonzero(length < DELTA * diagonal[:last] ** 2)
    swaps: list[int] = []
    for at in wrong:
        # The dependent vector comes last: let in early, it would make its neighbors tiny.
        late = dependent and at == last - 1 and len(wrong) > 1
        if not late and (not swaps or at > swaps[-1] + 1):
            swaps.append(int(at))
    return swaps
