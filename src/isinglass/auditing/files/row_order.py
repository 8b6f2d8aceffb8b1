"""Search for the row order of a file whose rows were moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from isinglass import chance
from isinglass.auditing.chance_tables import fresh_copy, shuffled_columns
from isinglass.auditing.files.dependence import dependence

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Rows and columns of which orders are looked for; the more take too long.
_MOST_ROWS, _MOST_COLUMNS, _MOST_ASSIGNED = 200_000, 64, 2_000
_MOST_FITTED = 4_000
_MOST_NUMBERS = 1 << 23  # of a transform
_FEWEST_ROWS = 20
#: By how many deviations of all lags the best must be ahead of them.
_AHEAD = 8.0
#: Share of variance that records in the order found must explain of rows not used to find how,
#: over what they do when each is taken for one that is hardly different.
_EXPLAINED = 0.2
#: So much nearer a released row must be to its record than chance, or the next best, would be.
_NEARER = 0.2
_SHIFTS = (-3, -2, -1, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class Standing:
    """A release's numbers in the table's order, and how they were found to stand.

    `places` are its rows in that order; None where columns were moved one by one.
    """

    numbers: Array = field(repr=False)
    places: Rows | None = field(repr=False)
    how: str
    shows: bool = False  # neighbors in the file are neighbors in the table


def find_order(table: Array, released: Array) -> Standing | None:
    """The order in which released rows depend on records; None where none is found.

    Every order is tried on rows that were not used to find it.
    """
    n = len(table)
    if len(released) != n or not _FEWEST_ROWS <= n <= _MOST_ROWS:
        return None
    X, Z = (np.asarray(m, dtype=np.float64) for m in (table, released))
    for found in _reshaped(X, Z):
        if dependence(X, found.numbers) >= 1.0:
            return found
    return _rolled_columns(X, Z) or _rolled(X, Z) or _by_features(X, Z)


def _reshaped(X: Array, Z: Array) -> Iterator[Standing]:
    """Numbers written column by column and read row by row, or the other way around."""
    yield Standing(Z[::-1], np.arange(len(Z))[::-1], "from the last row to the first", shows=True)
    if X.size == Z.size and X.shape[1] > 1:
        for numbers in reshapes(X.shape, Z):
            yield Standing(numbers, None, "column by column, read as rows", shows=True)


def reshapes(shape: tuple[int, ...], Z: Array) -> Iterator[Array]:
    """A table's numbers in other shapes: written by column and read by row, and so on."""
    n, d = shape
    for flat in (Z.ravel(), Z.T.ravel()):
        yield flat.reshape(d, n).T
        yield flat.reshape(n, d)


def _scores(m: Array) -> Array:
    """Standardized ranks of columns that vary, and of their distances from the middle."""
    m = m[:, np.ptp(m, axis=0) > 0][:, :_MOST_COLUMNS]
    ranks = rankdata(m, axis=0)
    ranks = ranks - ranks.mean(axis=0)
    far = np.abs(ranks)
    both = np.column_stack([ranks, far - far.mean(axis=0)])
    size = both.std(axis=0)
    return np.asarray(both[:, size > 0] / size[size > 0])


def _correlations(A: Array, B: Array, *, used: Array) -> Array:
    """Of all columns of A with all of B, where row i of A is beside row i + lag of B.

    Only rows of B that are `used` count. Shape: lags, columns of A, columns of B.
    """
    n = len(A)
    fa = np.fft.rfft(A, axis=0)
    fb = np.fft.rfft(np.where(used[:, np.newaxis], B, 0.0), axis=0)
    product = np.conj(fa)[:, :, np.newaxis] * fb[:, np.newaxis, :]
    return np.asarray(np.fft.irfft(product, n, axis=0) / used.sum())


def _half(n: int) -> Array:
    return np.asarray(chance.generator(0).permutation(n) < n / 2)


def _rolled(X: Array, Z: Array) -> Standing | None:
    """All rows moved on by as many places, from the end to the beginning; or backwards."""
    n, used = len(X), _half(len(X))
    A = _scores(X)
    for back in (False, True):
        rows = np.arange(n)[::-1] if back else np.arange(n)
        B = _scores(Z[rows])
        if not A.size or not B.size:
            return None
        most = int(np.sqrt(_MOST_NUMBERS / n)) + 1
        A, B = A[:, :most], B[:, :most]
        total = np.square(_correlations(A, B, used=used)).sum(axis=(1, 2))
        lag = int(total.argmax())
        rest = np.delete(total, lag)
        if not lag or total[lag] < rest.mean() + _AHEAD * max(float(rest.std()), 1e-12):
            continue
        places = np.roll(rows, -lag)
        unused = np.roll(~used, -lag)
        if dependence(X[unused], Z[places][unused]) >= 1.0:
            return Standing(Z[places], places, f"moved on by {lag:,} rows", shows=True)
    return None


def _rolled_columns(X: Array, Z: Array) -> Standing | None:
    """Each column moved on by a number of rows of its own, or backwards."""
    n, d = X.shape
    if Z.shape[1] > _MOST_COLUMNS or n * d > _MOST_NUMBERS // 8:
        return None
    used, A = _half(n), _ranks(X)
    numbers, moves = Z.copy(), set()
    for k in range(Z.shape[1]):
        best, move = 0.0, None
        for back in (False, True):
            column = Z[::-1, k] if back else Z[:, k]
            found = np.abs(_correlations(A, _ranks(column[:, np.newaxis]), used=used))[:, :, 0]
            lag, j = (int(i) for i in np.unravel_index(found.argmax(), found.shape))
            rest = found[:, j]
            if found[lag, j] <= max(best, 0.5, rest.mean() + _AHEAD * rest.std()):
                continue
            turned = np.roll(column, -lag)
            unused = np.roll(~used, -lag)
            pair = X[unused][:, [j]], turned[unused][:, np.newaxis]
            if dependence(*pair) >= 1.0:
                best, move, numbers[:, k] = float(found[lag, j]), (lag, back), turned
        moves |= set() if move is None else {move}
    if len(moves) < 2:  # as one
        return None
    return Standing(numbers, None, "with each column moved on by rows of its own")


def _ranks(m: Array) -> Array:
    ranks = rankdata(m, axis=0)
    ranks = ranks - ranks.mean(axis=0)
    size = ranks.std(axis=0)
    return np.asarray(ranks / np.where(size > 0, size, np.inf))


def _by_features(X: Array, Z: Array) -> Standing | None:
    """Rows and records matched one to one by what an affine map keeps, or by sizes of values."""
    mine, theirs = leverage(X), leverage(Z)
    if mine is not None and theirs is not None:
        order, sorted_rows = np.argsort(mine, kind="stable"), np.argsort(theirs, kind="stable")
        shifted = [_paired(order, np.roll(sorted_rows, s)) for s in (0, *_SHIFTS)]
        values = [_explained(X, Z[places]) for places in shifted]
        if values[0] > max(values[1:]) + _EXPLAINED:
            return Standing(Z[shifted[0]], shifted[0], "shuffled, and matched by its leverages")
    return _by_sizes(X, Z)


def _by_sizes(X: Array, Z: Array) -> Standing | None:
    """By how far each value is from its column's mean, or by what grows with that."""
    n, d = X.shape
    if Z.shape[1] != d or d < 2 or n > _MOST_ASSIGNED:
        return None
    mine = rankdata(np.abs(X - X.mean(axis=0)), axis=0)
    for size in (np.abs(Z - Z.mean(axis=0)), Z, -Z):
        theirs, rng = rankdata(size, axis=0), chance.generator(0)
        places, near, second = _assigned(mine, theirs)
        # A row that is hardly nearer than another is anybody's; so is one of a fresh table.
        if np.median(near) >= _NEARER * np.median(second):
            continue
        blinds = (shuffled_columns(theirs, rng), fresh_copy(theirs, rng))
        if all(np.median(near) < _NEARER * np.median(_assigned(mine, b)[1]) for b in blinds):
            return Standing(Z[places], places, "shuffled, and matched by sizes of values")
    return None


def _assigned(mine: Array, theirs: Array) -> tuple[Rows, Array, Array]:
    """Rows given to records one to one, how far each is from its own, and from the next best."""
    far = np.zeros((len(mine), len(theirs)))
    for a, b in zip(mine.T, theirs.T, strict=True):
        far += np.sqrt(np.abs(a[:, np.newaxis] - b))
    own, places = linear_sum_assignment(far)
    near = far[own, places]
    far[own, places] = np.inf
    return np.asarray(places, dtype=np.intp), near, far.min(axis=1)


def _paired(order: Rows, rows: Rows) -> Rows:
    places = np.empty(len(order), dtype=np.intp)
    places[order] = rows
    return places


def leverage(m: Array) -> Array | None:
    """How far out each row is, in a measure that affine maps keep; None where all are alike."""
    centered = m - m.mean(axis=0)
    u, s, _ = np.linalg.svd(
        centered / np.maximum(centered.std(axis=0), 1e-300), full_matrices=False
    )
    u = u[:, s > 1e-9 * s.max(initial=0.0)]
    if not u.shape[1] or u.shape[1] > len(m) / 2:
        return None
    return np.asarray(np.square(u).sum(axis=1))


def _explained(X: Array, Z: Array) -> float:
    """Share of the variance of half of Z's rows that X explains by a line fitted to the others."""
    some = max(_MOST_FITTED, 8 * X.shape[1])
    X, Z = X[:some], Z[:some]
    used = _half(len(X))
    if used.sum() < 2 * X.shape[1] + 2:
        return 0.0
    A = np.column_stack([X - X.mean(axis=0), np.ones(len(X))])
    A /= np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    fit = np.linalg.lstsq(A[used], Z[used], rcond=None)[0]
    left = np.square(Z[~used] - A[~used] @ fit).mean(axis=0)
    spread = Z[~used].var(axis=0)
    share = 1 - left[spread > 0] / spread[spread > 0]
    return float(np.maximum(share, 0.0).mean()) if len(share) else 0.0
