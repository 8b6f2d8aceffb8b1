"""Adaptive noise: as much for each record as makes it one of k."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from isinglass import chance
from isinglass.errors import ReleaseError
from isinglass.kernels.likelihoods import drawn_levels
from isinglass.messages import warn
from isinglass.perturb.key import KeyFile
from isinglass.perturb.noise import row_chunks
from isinglass.perturb.registry import Strength, Variant
from isinglass.perturb.rounding import RoundedNoise, noise_grid, round_to_grid
from isinglass.table.survey import Survey
from isinglass.threads import one_thread, spread

Array = NDArray[Any]

# Scales are powers of a common step, so that neighbors have equal ones: a candidate whose scale
# differs by a factor r costs d (log r)² in log-likelihood, and would soon not be one.
_STEP = 1.25
_LEAST = 0.01
_MOST_ROUNDS = 200
# So many times k records share the scale of one that stands alone: with fewer it would have to
# be larger, with more there would be more of them.
_PEERS = 5
# Tables up to this size are searched whole; in larger ones the nearest records are candidates.
_ALL_UP_TO = 2048
_GROUP = 1024  # records of one scale, however far, that are candidates as well


@dataclass(frozen=True, slots=True)
class AdaptiveNoiseKey:
    """The pad and its size per row; its contents never print, so they never reach a log."""

    stream: NDArray[np.uint64] = field(repr=False)  # key of the row-indexed stream
    scales: Array = field(repr=False)  # deviation of every row's noise, in units
    units: Array = field(repr=False)  # deviation of every column


class AdaptiveNoise(RoundedNoise):
    r"""Release $z_i = x_i + s_i u \cdot y_i$: gaussian noise whose size s is the record's own.

    u are the columns' standard deviations. s grows with the distance to a record's neighbors
    until its expected randomization level reaches k: on average over the noise, k records fit
    the released row at least as well as the true one does. The attacker against whom this is
    measured has the whole table and knows the rule, so that the size at every record x' is his
    too: a candidate fits by -d log s(x') - |z - x'|² / (2 s(x')²). A lone outlier with strong
    noise among neighbors with weak noise would be known by that noise; so 5 k records near to
    it get as much as it has.

    Guarantee: none; heuristic. Levels are estimated from `n_draws` draws of the noise, with two
    standard errors to spare, and hold on average over the noise: the one draw that leaves may
    turn out worse, and is not drawn again until it passes. Nothing is claimed against somebody
    with other knowledge, such as two releases.

    Utility: columns keep their names, units and means. Dense regions get little noise, far less
    than noise of one size that protects outliers as well. Outliers, and some of the records
    nearest to them, get much: a detector finds fewer of them again.

    Weakness: copies of one record hide each other and get next to no noise, so that their values
    can be read off. Correlated columns let noise be filtered. Two releases of one table average
    the noise out. A constant column leaves as it is, with a PrivacyWarning. Sizes belong to the
    rows of the table `fit` saw: new records need a key of their own.

    `fit` takes time in proportion to N² (d + `n_draws`) for up to 2,048 records. In larger tables
    only the 256 (or 8 k) nearest records, and up to 1,024 of the same scale, count as candidates,
    which makes levels too low rather than too high. Finding the nearest takes N² d at most, each
    of some twenty rounds N (d + `n_draws`) times the number of candidates.

    Parameters
    ----------
    k : int, default=10
        The expected level of every record, at least 2. No noise gets it much above N / 2 where
        all records differ; a k that is not reached is an error.
    n_draws : int, default=200
        Draws of the noise from which levels are estimated, at least 200 and at most 2,000.
    random_state : int, Generator or None
        None draws the key from the operating system. Anything else is for experiments.

    References
    ----------
    C. C. Aggarwal: On randomization, public information and the curse of dimensionality.
    ICDE 2007, whose closing section asks for noise that depends on the local density.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> veil = ig.AdaptiveNoise(k=10, random_state=0)
    >>> veil.fit_transform(X).shape
    (200, 3)
    """

    method = "adaptive_noise"
    key_type = AdaptiveNoiseKey
    variants: ClassVar = {"adaptive": Variant({}, Strength("k", (3, 10, 30), whole=True))}
    draws_noise = True
    keeps_columns = True
    needs_table = True
    needs_deviation = True

    #: The lowest expected level over all records, as last estimated by `fit`.
    level_: float
    _n_rows: int
    _table: Array  # only while `fit` runs

    def __init__(
        self, k: int = 10, *, n_draws: int = 200, random_state: chance.RandomState = None
    ) -> None:
        self.k = k
        self.n_draws = n_draws
        self.random_state = random_state

    def key_bytes(self, n_columns: int) -> int:
        """How much memory the key takes apart from its rows; see `table_bytes` for those."""
        return 32 + 8 * n_columns

    def table_bytes(self, n_rows: int, n_columns: int) -> int:
        """How much memory `fit_transform` takes, the table and the key's rows included."""
        # The table, its copy in units and the release; for each candidate its row, its distance
        # and a copy of either while they are sorted; for each row and draw one number.
        others = _n_candidates(n_rows, int(self.k))
        return 8 * n_rows * (4 * n_columns + 4 * others + int(self.n_draws) + 8)

    def key_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"stream": (4,), "scales": (self._n_rows,), "units": (self.n_features_in_,)}

    def key_scales(self) -> tuple[Array, Array]:
        """Each row's size of noise, and the columns' units it counts in: part of the key."""
        check_is_fitted(self, "_key")
        return self._key.scales.copy(), self._key.units.copy()

    def known_scales(self) -> dict[str, Array]:
        sigmas, units = self.key_scales()
        return {"sigmas": sigmas, "units": units}

    def key_file(self) -> KeyFile:
        stored = super().key_file()
        stored.facts["n_rows"] = self._n_rows
        return stored

    def _restore(self, stored: KeyFile) -> None:
        super()._restore(stored)
        self._n_rows = int(stored.facts["n_rows"])

    def _invert(
        self, Z: Array, first_row: int, sample: ArrayLike | None, start: ArrayLike | None
    ) -> Array:
        self._refuse_new(first_row, len(Z))
        out = np.empty_like(Z)
        for rows in row_chunks(*Z.shape):
            out[rows] = Z[rows] - self._noise(first_row, rows)
        return out

    def _fit(self, facts: Survey, X: Array | None) -> Self:
        assert X is not None  # `needs_table` says so
        self._table = X
        try:
            return super()._fit(facts, X)
        finally:
            del self._table

    def _draw(self, facts: Survey, rng: np.random.Generator) -> AdaptiveNoiseKey:
        if int(self.k) != self.k or self.k < 2:
            raise ValueError(f"k must be a whole number >= 2, got {self.k}")
        if int(self.n_draws) != self.n_draws or self.n_draws < 200:
            raise ValueError(f"n_draws must be a whole number >= 200, got {self.n_draws}")
        k, n = int(self.k), facts.n_rows
        if n < k:
            raise ValueError(f"k={k} needs at least {k} records, got n_samples={n}")
        units = np.asarray(facts.deviation, dtype=np.float64)
        live = units > 0
        if not live.all():
            warn(
                f"{int((~live).sum())} of {len(units)} columns get no noise and leave as they "
                "are: they are constant",
            )
        scales, lowest = np.full(n, _LEAST), float(n)
        if live.any():
            U = self._table[:, live].astype(np.float64)
            U = np.ascontiguousarray((U - U.mean(axis=0)) / units[live])
            scales, lowest = grow_scales(U, k, int(self.n_draws), rng)
        # Noise much smaller than the gap between neighboring numbers is rounded away.
        gap = np.spacing(np.maximum(np.abs(facts.low), np.abs(facts.high)).astype(facts.dtype))
        lost = int((live & (scales.min() * units < 16 * gap)).sum())
        if lost:
            warn(
                f"{lost} of {len(units)} columns get noise that is, in some rows, too small for "
                "the precision of their numbers; give them as float64, or from a nearer origin",
            )
        self._n_rows, self.level_ = n, round(lowest, 1)
        return AdaptiveNoiseKey(stream=chance.stream_key(rng), scales=scales, units=units)

    def _perturb(self, X: Array, first_row: int) -> Array:
        self._refuse_new(first_row, len(X))
        out = np.empty_like(X)
        # One grid for all rows, since that of a row would tell the size of its noise.
        grid = noise_grid(self._key.scales.min() * self._key.units)
        for rows in row_chunks(*X.shape):
            noise = self._noise(first_row, rows)
            noise += X[rows]
            if self.rounds_noise:
                round_to_grid(noise, grid)
            out[rows] = noise
        return out

    def _noise(self, first_row: int, rows: slice) -> Array:
        key, start, stop = self._key, first_row + rows.start, first_row + rows.stop
        noise = chance.Stream(key.stream).normal(start, stop - start, len(key.units))
        noise *= key.scales[start:stop, np.newaxis]
        noise *= key.units
        return noise

    def _refuse_new(self, first_row: int, n_rows: int) -> None:
        if first_row + n_rows > self._n_rows:
            raise ReleaseError(
                f"this AdaptiveNoise has a size of noise for each of the {self._n_rows} rows it "
                f"was fitted on, and none for rows {max(first_row, self._n_rows)} to "
                f"{first_row + n_rows - 1}: new records, or a second call of transform. Fit again "
                "for new records; transform_rows gives the same rows again"
            )


def _n_candidates(n_rows: int, k: int) -> int:
    """How many other records may count toward a record's level."""
    return n_rows - 1 if n_rows <= _ALL_UP_TO else min(n_rows - 1, max(256, 8 * k))


def grow_scales(U: Array, k: int, n_draws: int, rng: np.random.Generator) -> tuple[Array, float]:
    """A scale for every record at which its expected level is k, and the lowest level reached.

    Scales only grow, and with them the share of records that have the same; were all alike and
    without limit, every level would be (N + 1) / 2.
    """
    from sklearn.neighbors import NearestNeighbors

    n = len(U)
    search = NearestNeighbors(n_neighbors=_n_candidates(n, k)).fit(U)
    distances, found = search.kneighbors()
    near, kth = found.astype(np.int32), distances[:, min(k, n - 1) - 1].copy()
    del distances, found
    # At the distance of the k-th neighbor a fair share of k would fit; grow from a quarter of it.
    start = np.log(np.maximum(kth / 4, _LEAST) / _LEAST) / np.log(_STEP)
    power = np.ceil(start).astype(np.int64)
    everyone, rows = np.arange(n), np.arange(n)
    draws = rng.normal(size=(n_draws, U.shape[1]))
    for _ in range(_MOST_ROUNDS):
        means, errors = estimate_levels(U, _LEAST * _STEP**power, draws, near, rows)
        # Two standard errors to spare: who just passes has not passed by luck.
        below = rows[means - 2 * errors < k]
        if len(below):
            grown = power.copy()
            grown[below] += 1
            # A record noisier than those around it is known by its noise, however strong: some
            # of them must have the same.
            around = np.median(power[near[below, :k]], axis=1)
            alone = grown[below] >= around + 2
            alone |= _LEAST * _STEP ** grown[below] > 2 * kth[below]
            for i in below[alone]:
                _recruit(U, grown, i, min(_PEERS * k, n - 1))
            rows, power = np.union1d(below, np.flatnonzero(grown > power)), grown
        elif len(rows) == n:
            return _LEAST * _STEP**power, float(means.min())
        else:
            # Growing one record's scale changes what others look like: all are asked again,
            # with draws to which nothing was fitted.
            rows, draws = everyone, rng.normal(size=draws.shape)
    raise ReleaseError(
        f"AdaptiveNoise did not bring every record to the level k={k} in {_MOST_ROUNDS} rounds: "
        f"{len(below)} of {n} stay below it; choose a smaller k"
    )


def _recruit(U: Array, power: NDArray[np.int64], i: int, wanted: int) -> None:
    """See to it that so many records near to i have its scale; those that have it come first."""
    square = ((U - U[i]) ** 2).sum(axis=1)
    square[i] = np.inf
    reach = max(2.25 * np.partition(square, wanted - 1)[wanted - 1],
                (2 * _LEAST * _STEP ** power[i]) ** 2)  # fmt: skip
    lacking = wanted - int(((power == power[i]) & (square <= reach)).sum())
    lower = np.flatnonzero(power < power[i])
    if lacking > 0 and len(lower):
        lacking = min(lacking, len(lower))
        power[lower[np.argpartition(square[lower], lacking - 1)[:lacking]]] = power[i]


def estimate_levels(
    U: Array, scales: Array, draws: Array, near: NDArray[np.int32], rows: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Expected levels of some rows, from common draws, and the standard errors of them."""
    with one_thread():  # one seed gives one key, on any number of cores
        shadows = U @ draws.T
    lengths = np.einsum("ij,ij->i", draws, draws)
    means, errors = np.empty(len(rows)), np.empty(len(rows))
    # Who shares a rare scale may be far away, and yet a candidate.
    members = np.empty(0, dtype=np.int32)
    if near.shape[1] < len(U) - 1:
        _, group, size = np.unique(scales, return_inverse=True, return_counts=True)
        members = np.flatnonzero(size[group] <= _GROUP).astype(np.int32)

    def work(begin: int, end: int) -> None:
        drawn_levels(U, shadows, lengths, scales, rows, begin, end, near, members, means, errors)

    spread(work, len(rows), n_jobs=None, step=32)
    return means, errors
