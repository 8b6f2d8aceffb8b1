"""Search for a few points among many, up to rotation and shift, by their distances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.threads import one_thread

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Rows that are compared with one another, the outermost; the rest can only be found later.
_MOST_ROWS = 16_000
#: Pairs of rows that are tried as images of the two known records farthest apart.
_MOST_PAIRS = 20_000
#: Differences of numbers taken in one search before it gives up: about a second.
_WORK = 2.5e8
#: At each known record so many rows are followed up, those that fit best.
_BRANCHES = 6
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Constellation:
    """Known points and the distances between them, most telling first."""

    points: Array = field(repr=False)  # m x d, in the order in which they were given
    order: Rows = field(repr=False)  # the two farthest apart, then whoever is farthest from those
    distances: Array = field(repr=False)  # m x m, as the release should show them
    radius: Array | None = field(repr=False)  # from the table's mean, where that is known
    longest: float


def constellation(
    points: Array, center: Array | None, *, noise: float = 0.0, n_out: int = 0
) -> Constellation:
    """Measure known points; noise of this deviation lengthens squares by 2 p noise² on average."""
    gaps = points[:, np.newaxis] - points
    distances = np.sqrt(np.square(gaps).sum(axis=2) + 2 * n_out * noise**2)
    np.fill_diagonal(distances, 0)
    first, second = np.unravel_index(int(distances.argmax()), distances.shape)
    order = [int(first), int(second)]
    nearest = np.minimum(distances[first], distances[second])
    while len(order) < len(points):
        nearest[order] = -1
        order.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, distances[order[-1]])
    radius = None
    if center is not None:
        radius = np.sqrt(np.square(points - center).sum(axis=1) + n_out * noise**2)
    longest = float(distances[first, second])
    return Constellation(points, np.array(order, dtype=np.intp), distances, radius, longest)


def search(
    Z: Array,
    stars: Constellation,
    factor: float,
    tolerance: float,
    rng: np.random.Generator,
    *,
    window: float = 0.0,
) -> Rows | None:
    """The row of each known point, -1 where none fits; None where the constellation is not there.

    Distances in `Z` are `factor` times the known ones, give or take `tolerance` of the longest.
    With a `window` the factor is known only so well, and each pair of rows brings its own.
    """
    Z = Z - Z.mean(axis=0)
    radius = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    room = tolerance * factor * stars.longest
    # The mean of the rows stands for the table's, whose rows these may be a sample of.
    drift = 4 * float(np.sqrt(np.square(radius).mean() / len(Z)))
    outer = np.sort(np.argsort(-radius, kind="stable")[:_MOST_ROWS])
    fits = _radius_test(stars, radius, factor, room + drift, window)
    pairs = _pairs(Z, outer, stars.longest * factor, max(room, window * factor * stars.longest))
    first, second = stars.order[:2]
    pairs = np.vstack([pairs, pairs[:, ::-1]])
    pairs = pairs[fits(first, pairs[:, 0]) & fits(second, pairs[:, 1])]
    if len(pairs) > _MOST_PAIRS:
        pairs = pairs[rng.choice(len(pairs), _MOST_PAIRS, replace=False)]
    # All pairs of a row together, the rows at random: the search may end before the last.
    turn = rng.permutation(len(Z))
    pairs = pairs[np.argsort(turn[pairs[:, 0]], kind="stable")]
    work = _Work(_WORK)
    everyone = np.arange(len(Z))
    eligible = [everyone[fits(k, everyone)] for k in range(len(stars.points))]
    last, reach = -1, radius
    for a, b in pairs:
        if a != last:
            last, reach = int(a), np.sqrt(np.square(Z - Z[a]).sum(axis=1))
            work.left -= Z.size
        own = float(reach[b]) / stars.longest if window else factor
        for rows in _follow(Z, stars, (int(a), int(b)), reach, eligible, own, room, work):
            work.left -= 4 * len(stars.points) * Z.size
            found = _settle(Z, stars, rows, tolerance)
            if found is not None:
                return found
        if work.left < 0:
            break
    return None


@dataclass(slots=True)
class _Work:
    left: float


def _radius_test(
    stars: Constellation, radius: Array, factor: float, room: float, window: float
) -> Any:
    def fits(point: int, rows: Rows) -> NDArray[np.bool_]:
        if stars.radius is None:
            return np.ones(len(rows), dtype=np.bool_)
        wanted = factor * stars.radius[point]
        return np.asarray(np.abs(radius[rows] - wanted) <= room + window * wanted)

    return fits


def _pairs(Z: Array, rows: Rows, length: float, room: float) -> Rows:
    """Pairs of rows whose distance is `length`, give or take `room`."""
    Y = Z[rows]
    squares = np.einsum("ij,ij->i", Y, Y)[:, np.newaxis]
    low, high = max(length - room, 0.0) ** 2, (length + room) ** 2
    middle, half = (low + high) / 2, (high - low) / 2
    ones = np.ones_like(squares)
    # |y - y'|² - middle as one product.
    left, right = np.hstack([-2 * Y, ones, squares - middle]), np.hstack([Y, squares, ones]).T
    half += 1e-12 * (middle + float(squares.max()))
    found = []
    with one_thread():
        for start in range(0, len(Y), _BLOCK):
            off = left[start : start + _BLOCK] @ right[:, start:]
            np.abs(off, out=off)
            a, b = np.nonzero(off <= half)
            later = b > a
            found.append(np.column_stack([a[later] + start, b[later] + start]))
    return np.asarray(rows[np.vstack(found)], dtype=np.intp)


def _follow(
    Z: Array,
    stars: Constellation,
    pair: tuple[int, int],
    reach: Array,
    eligible: list[Rows],
    factor: float,
    room: float,
    work: _Work,
) -> Iterator[Rows]:
    """Rows of the first points of the order, given those of the first two, by depth first."""
    order, wanted = stars.order, stars.distances * factor
    depth = min(len(order), stars.points.shape[1] + 3)
    near = {}
    for place in range(2, depth):
        k = order[place]
        rows = eligible[k]
        rows = rows[np.abs(reach[rows] - wanted[order[0], k]) <= room]
        # A call to numpy counts as some thousand numbers.
        work.left -= 3 * len(eligible[k]) + rows.size * Z.shape[1] + 10_000
        if len(rows):
            gaps = np.sqrt(np.square(Z[rows] - Z[pair[1]]).sum(axis=1)) - wanted[order[1], k]
            rows = rows[np.abs(gaps) <= room]
        if not len(rows):
            return  # a point that has no row at all: these two are not the right ones
        near[place] = rows

    budget = 60
    stack = [(2, list(pair))]
    while stack and budget > 0 and work.left > 0:
        place, placed = stack.pop()
        if place == depth:
            yield np.array(placed, dtype=np.intp)
            budget -= 5
            continue
        budget -= 1
        rows = near[place]
        work.left -= 2 * rows.size * place * Z.shape[1] + 10_000
        gaps = np.sqrt(np.square(Z[rows][:, np.newaxis] - Z[placed]).sum(axis=2))
        off = np.abs(gaps - wanted[order[place], order[:place]]).max(axis=1)
        best = np.argsort(off, kind="stable")[:_BRANCHES]
        for r in best[::-1]:
            if off[r] <= room and rows[r] not in placed:
                stack.append((place + 1, [*placed, int(rows[r])]))


def _settle(Z: Array, stars: Constellation, rows: Rows, tolerance: float) -> Rows | None:
    """Move all points as the placed ones say, take the nearest rows, and judge the outcome."""
    m, d = stars.points.shape
    known = stars.order[: len(rows)]
    for _ in range(3):
        image = _moved(stars.points[known], Z[rows], stars.points)
        nearest, off = _nearest(Z, image)
        if len(rows) <= d:
            break  # too few to say where the others are
        known, rows = np.arange(m), nearest
    located = np.full(m, -1, dtype=np.intp)
    located[known] = rows
    exact = tolerance <= 1e-4
    gaps = np.sqrt(np.square(Z[rows][:, np.newaxis] - Z[rows]).sum(axis=2))
    if exact:
        wanted = stars.distances[np.ix_(known, known)]
        factor = float((gaps * wanted).sum() / max(float(np.square(wanted).sum()), 1e-300))
        wrong = np.abs(gaps - factor * wanted) > 2 * tolerance * factor * stars.longest
        agree = wrong.mean(axis=1) < 0.5
        if agree.sum() < max(3, 0.5 * m):
            return None
        located[known[~agree]] = -1
        return located
    # A turn and a shift have so many free numbers; what is left must be well inside the gaps
    # between rows, or any turn of any cloud this dense would do.
    free = min(d, Z.shape[1]) * (min(d, Z.shape[1]) + 1) // 2
    if m * d <= 3 * free:
        return None
    left = np.sqrt(np.square(off).mean() * m * d / (m * d - free))
    if left > 0.5 * _typical_gap(Z, nearest):
        return None
    return located


def _moved(points: Array, images: Array, all_points: Array) -> Array:
    """All points under the turn, shift and factor that bring some onto their images."""
    a, b = points.mean(axis=0), images.mean(axis=0)  # orthogonal Procrustes
    left, values, right = np.linalg.svd((points - a).T @ (images - b), full_matrices=False)
    factor = values.sum() / max(float(np.square(points - a).sum()), 1e-300)
    return np.asarray(b + factor * (all_points - a) @ (left @ right))


def _nearest(Z: Array, images: Array) -> tuple[Rows, Array]:
    squares = np.square(Z).sum(axis=1) - 2 * images @ Z.T
    rows = squares.argmin(axis=1)
    return rows, np.sqrt(np.square(Z[rows] - images).sum(axis=1))


def _typical_gap(Z: Array, rows: Rows) -> float:
    """How far the nearest other row is from these rows, in the median."""
    gaps = np.array([np.sort(np.square(Z - Z[row]).sum(axis=1))[1] for row in rows])
    return float(np.sqrt(np.median(gaps)))
