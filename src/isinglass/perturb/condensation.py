"""Condensation: groups of records replaced by new records with the same moments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from isinglass import chance
from isinglass.perturb.base import Perturbation
from isinglass.perturb.noise import row_chunks
from isinglass.perturb.registry import Variant
from isinglass.table.survey import Survey, survey

Array = NDArray[Any]
Labels = NDArray[np.intp]

#: Moments that differ by this share are those of another table; sums of many records round by less.
_SAME = 1e-7


@dataclass(frozen=True, slots=True)
class CondensationKey:
    """The groups' moments; its contents never print, so they never reach a log."""

    stream: NDArray[np.uint64] = field(repr=False)  # key of the row-indexed draws
    order: NDArray[np.uint64] = field(repr=False)  # key of the order in which groups emit
    low: Array = field(repr=False)  # smallest value of every column
    span: Array = field(repr=False)  # range of every column; groups live in these units
    sizes: NDArray[np.int64] = field(repr=False)  # members of every group
    means: Array = field(repr=False)  # groups x d
    axes: Array = field(repr=False)  # groups x directions x d; each reaches sqrt(3) deviations
    #: How far each group's draws reach in every direction; None in keys of earlier versions.
    floor: Array | None = field(default=None, repr=False)


class Condensation(Perturbation):
    r"""Release new records, drawn group by group from the mean and covariance of k or more.

    `fit` forms groups: a random record and its k - 1 nearest of those that remain, until fewer
    than k remain, which join the groups with the nearest mean. It takes time in proportion to
    N² d / k. A new record is the group's mean plus, along each eigenvector of the group's
    covariance, a uniform number with the eigenvalue as its variance.

    Members of a group that are not more than the columns span a flat, and draws along it alone
    would lie in it exactly: whoever holds a record then sees for certain whether it was among
    them. In such a group at least half of the variance goes equally into all columns that vary;
    `fill=False` is the method as published.

    `fit_transform` is the method as published: every group emits as many new records as it has
    members, in a random order, so that a row of the release belongs to no row of the table.
    `transform` must serve tables it has not seen: each record gives a new record of the group
    with the nearest mean, in the order of the records. The two differ on purpose.

    Guarantee: none; heuristic. Groups have k members, yet this is not k-anonymity: the new
    records of a group may all lie close to one of them.

    Utility: means and covariances within groups are kept on average, and with them those of the
    table. Columns keep their names and units. A record stranger than its group is drawn toward
    it, so single outliers fade as k grows.

    Weakness: new records lie near old ones; the fewer records a group has, the better somebody
    who holds a record can tell whether it was among them. On Iris with k = 10 the nearest original
    is within a deviation of 0.04 of a column's range. Columns that are constant in a group show
    their value. `transform` and `transform_rows` keep the order of the rows, and with it the link
    between a record and its group.

    Parameters
    ----------
    k : int, default=10
        Members of a group, at least 2; the table needs k records or more.
    fill : bool, default=True
        Whether draws of a group with no more members than columns leave its flat.
    random_state : int, Generator or None
        None draws the key from the operating system. Anything else is for experiments.

    References
    ----------
    C. C. Aggarwal, P. S. Yu: A condensation approach to privacy preserving data mining.
    EDBT 2004.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> ig.Condensation(k=10, random_state=0).fit_transform(X).shape
    (200, 3)
    """

    method = "condensation"
    key_type = CondensationKey
    variants: ClassVar = {"condensation": Variant()}
    draws_noise = True
    keeps_columns = True
    keeps_rows = False
    needs_table = True

    _table: Array  # only while `fit` runs

    def __init__(
        self, k: int = 10, *, fill: bool = True, random_state: chance.RandomState = None
    ) -> None:
        self.k = k
        self.fill = fill
        self.random_state = random_state

    def key_bytes(self, n_columns: int) -> int:
        """How much memory the key takes apart from its groups; see `table_bytes` for those."""
        return 64 + 16 * n_columns

    def table_bytes(self, n_rows: int, n_columns: int) -> int:
        """How much memory `fit_transform` takes, the table and the key's groups included."""
        groups = max(1, n_rows // int(self.k))
        directions = min(n_columns, 2 * int(self.k) - 2)
        # The table, the same scaled, what remains of it, the release; a few numbers a record.
        return 8 * (n_rows * (4 * n_columns + 6) + groups * n_columns * (1 + directions))

    def fit_transform(self, X: ArrayLike, y: Any = None, **fit_params: Any) -> Array:
        """Form groups and emit as many new records of each as it has members, shuffled."""
        X = self._validated(X, reset=True)
        self._fit(survey(X), X)
        return self._emit(self._shuffled_groups(), self._claim(len(X)), X.dtype)

    def emit_again(self, dtype: Any) -> Array:
        """The release that `fit_transform` made, once more; the key alone determines it."""
        return self._emit(self._shuffled_groups(), 0, dtype)

    def drawn_from(self, table: Array) -> bool:
        """Whether the key's groups are of this table: they add up to its moments, to rounding.

        Sizes, range, means and all second moments: that of a column says how far members are from
        their group's mean and how far the groups' means are apart, and that is all there is.
        """
        key, n = self._key, int(self._key.sizes.sum())
        X = np.asarray(table, dtype=np.float64)
        if X.shape != (n, self.n_features_in_):
            return False
        low, span = X.min(axis=0), np.ptp(X, axis=0)
        size = np.maximum(np.abs(low), span)
        if (np.abs(low - key.low) > _SAME * size).any() or (
            np.abs(span - key.span) > _SAME * size
        ).any():
            return False
        scaled = _to_units(X, key.low, key.span)
        weight = key.sizes[:, np.newaxis]
        if not np.allclose((weight * key.means).sum(axis=0) / n, scaled.mean(axis=0), atol=_SAME):
            return False
        n_varying = max(1, int((key.span > 0).sum()))
        evened = key.floor is not None and bool(key.floor.any())
        shares = [_evened_share(int(s), n_varying) if evened else 0.0 for s in key.sizes]
        left = np.sqrt(key.sizes / (3 * (1 - np.array(shares))))[:, np.newaxis, np.newaxis]
        within = (key.axes * left).reshape(-1, X.shape[1])
        between = np.sqrt(weight) * key.means
        held = (within.T @ within + between.T @ between) / n
        return bool(np.allclose(held, scaled.T @ scaled / n, rtol=_SAME, atol=_SAME))

    def _shuffled_groups(self) -> Labels:
        """The group of each released row."""
        groups = np.repeat(np.arange(len(self._key.sizes)), self._key.sizes)
        return groups[np.argsort(chance.Stream(self._key.order).words(0, len(groups))[:, 0])]

    def key_shapes(self) -> dict[str, tuple[int, ...]]:
        d = self.n_features_in_
        return {"stream": (4,), "order": (4,), "low": (d,), "span": (d,)}

    def _fit(self, facts: Survey, X: Array | None) -> Self:
        assert X is not None  # `needs_table` says so
        self._table = X
        try:
            return super()._fit(facts, X)
        finally:
            del self._table

    def _draw(self, facts: Survey, rng: np.random.Generator) -> CondensationKey:
        if int(self.k) != self.k or self.k < 2:
            raise ValueError(f"k must be a whole number >= 2, got {self.k}")
        k = int(self.k)
        if facts.n_rows < k:
            raise ValueError(f"k={k} needs at least {k} records, got n_samples={facts.n_rows}")
        span = facts.high - facts.low
        scaled = _to_units(self._table, facts.low, span)
        groups = group_records(scaled, k, rng)
        means, axes, floor = _moments(scaled, groups, fill=bool(self.fill))
        return CondensationKey(
            stream=chance.stream_key(rng),
            order=chance.stream_key(rng),
            low=facts.low,
            span=span,
            sizes=np.bincount(groups),
            means=means,
            axes=axes,
            floor=floor,
        )

    def _perturb(self, X: Array, first_row: int) -> Array:
        key = self._key
        tree = cKDTree(key.means)
        groups = np.empty(len(X), dtype=np.intp)
        for rows in row_chunks(len(X), X.shape[1]):
            groups[rows] = tree.query(_to_units(X[rows], key.low, key.span))[1]
        return self._emit(groups, first_row, X.dtype)

    def _emit(self, groups: Labels, first_row: int, dtype: Any) -> Array:
        """A new record of each group named, drawn from the rows numbered `first_row` on."""
        key, stream = self._key, chance.Stream(self._key.stream)
        directions, width = key.axes.shape[1:]
        filled = key.floor is not None and bool(key.floor.any())
        n_draws = directions + (width if filled else 0)
        out = np.empty((len(groups), width), dtype=dtype)
        for rows in row_chunks(len(groups), width):
            group = groups[rows]
            reach = 2 * stream.uniform(first_row + rows.start, len(group), n_draws) - 1
            new = key.means[group]
            # One direction after the other: a product of arrays could round by batch size.
            for e in range(directions):
                new += reach[:, e, np.newaxis] * key.axes[group, e]
            if filled:
                assert key.floor is not None
                new += reach[:, directions:] * key.floor[group, np.newaxis]
            new *= key.span
            new += key.low
            out[rows] = new
        return out


def _to_units(X: Array, low: Array, span: Array) -> Array:
    """Columns as shares of their range; a constant column is 0."""
    # A span so small that its inverse is no number counts as constant.
    factor = np.divide(1.0, span, out=np.zeros_like(span), where=span > 2.0**-1020)
    return np.asarray((X - low) * factor)


def group_records(X: Array, k: int, rng: np.random.Generator) -> Labels:
    """Number the group of every record: random records with their k - 1 nearest that remain."""
    n_rows = len(X)
    labels = np.full(n_rows, -1, dtype=np.intp)
    # What remains, and what each record's place among it is; cut down now and then.
    rows, points, place = np.arange(n_rows), X, np.arange(n_rows)
    norms = np.einsum("ij,ij->i", X, X)
    group, left = 0, n_rows
    # Going through a random order and skipping who is taken picks at random from who remains.
    for pick in rng.permutation(n_rows):
        if left < k:
            break
        if labels[pick] >= 0:
            continue
        # |x|² - 2 x.p orders records by their distance from p.
        distance = norms - 2 * (points @ X[pick])
        distance[place[pick]] = -np.inf
        nearest = np.argpartition(distance, k - 1)[:k]
        labels[rows[nearest]] = group
        norms[nearest] = np.inf
        group, left = group + 1, left - k
        if left < 0.7 * len(rows):
            stays = norms < np.inf
            rows, points, norms = rows[stays], points[stays], norms[stays]
            place[rows] = np.arange(len(rows))
    over = np.flatnonzero(labels < 0)
    if len(over):
        counts = np.bincount(labels[labels >= 0])
        sums = np.zeros((group, X.shape[1]))
        np.add.at(sums, labels[labels >= 0], X[labels >= 0])
        labels[over] = cKDTree(sums / counts[:, np.newaxis]).query(X[over])[1]
    return labels


def _moments(X: Array, groups: Labels, *, fill: bool) -> tuple[Array, Array, Array]:
    """The groups' means, eigenvectors times sqrt(3 eigenvalue) padded with zeros, and floors."""
    sizes = np.bincount(groups)
    width = X.shape[1]
    # Columns that never vary have a span of 0, and draws in them come to nothing.
    n_varying = max(1, int((np.ptp(X, axis=0) > 0).sum()))
    # s records span at most s - 1 directions.
    directions = min(width, int(sizes.max()) - 1)
    means = np.empty((len(sizes), width))
    axes = np.zeros((len(sizes), directions, width))
    floor = np.zeros(len(sizes))
    order = np.argsort(groups, kind="stable")
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        share = _evened_share(int(size), n_varying) if fill else 0.0
        for part in row_chunks(len(alike), size * width):
            chosen = alike[part]
            members = X[order[starts[chosen, np.newaxis] + np.arange(size)]]
            means[chosen] = members.mean(axis=1)
            members -= means[chosen, np.newaxis]
            # Singular values of the centered members are sqrt(size eigenvalue of the covariance).
            _, singular, vectors = np.linalg.svd(members, full_matrices=False)
            reach = singular[:, :directions] * np.sqrt(3 * (1 - share) / size)
            axes[chosen, : reach.shape[1]] = reach[:, :, np.newaxis] * vectors[:, :directions]
            total = np.square(singular).sum(axis=1) / size
            floor[chosen] = np.sqrt(3 * share * total / n_varying)
    return means, axes, floor


def _evened_share(size: int, n_columns: int) -> float:
    """The share of a group's variance that goes equally into all columns.

    None where members outnumber the columns; else a half, and more the fewer members there are.
    """
    return 0.0 if size > n_columns else 1.0 - 0.5 * size / (n_columns + 1)
