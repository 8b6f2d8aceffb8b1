"""Additive and multiplicative noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from isinglass import chance
from isinglass.messages import warn
from isinglass.perturb.registry import Strength, Variant
from isinglass.perturb.rounding import RoundedNoise, noise_grid, round_factors, round_to_grid
from isinglass.table.survey import Survey

Array = NDArray[Any]

# Numbers of noise held at once, 2 MiB of them: noise is drawn in float64 whatever the table is.
_CHUNK = 1 << 18


def row_chunks(n_rows: int, width: int) -> Iterator[slice]:
    """Cut rows into slices of at most 2**18 numbers, `width` numbers a row."""
    step = max(1, _CHUNK // max(width, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


#: Deviations of additive noise to begin a search with, in those of each column.
_SCALES = Strength("scale", (0.1, 0.25, 0.5, 1, 2, 4))


@dataclass(frozen=True, slots=True)
class AdditiveNoiseKey:
    """The pad and its size per column; its contents never print, so they never reach a log."""

    stream: NDArray[np.uint64] = field(repr=False)  # key of the row-indexed stream
    scales: Array = field(repr=False)  # standard deviation of the noise of every column


class AdditiveNoise(RoundedNoise):
    r"""Release $Z = X + Y$, with noise $Y$ independent in every entry.

    Guarantee: none; heuristic. No bound holds for every table: how many records fit a released
    one as well as the true one does must be measured on the table at hand.

    Utility: columns keep their names, units and means; variances grow by the factor
    1 + `scale`². Distances grow by noise that swamps small differences, so a detector still
    finds records that are strange by more than the noise, and few others.

    Weakness: the more columns, the easier a released record is matched with a public table:
    a constant level of protection needs noise that grows with the square root of the number of
    columns (gaussian) or with that number (uniform). Where columns are correlated, projecting on
    the strong directions filters much of the noise out. Uniform noise also tells, for certain,
    an interval that holds the truth. Two releases of one table average the noise out. A
    constant column gets no relative noise and leaves as it is, with a PrivacyWarning.

    Parameters
    ----------
    distribution : {"gaussian", "uniform"}, default="gaussian"
        The law of the noise; both have mean 0 and standard deviation `scale`, so the uniform one
        spans ± sqrt(3) `scale`.
    scale : float or array, default=1.0
        Standard deviation of the noise: one number, or one for each column.
    relative : bool, default=True
        Whether `scale` counts in standard deviations of each column, learned from the table and
        kept in the key, or in the columns' own units.
    random_state : int, Generator or None
        None draws the key from the operating system. Anything else is for experiments.

    References
    ----------
    C. C. Aggarwal: On randomization, public information and the curse of dimensionality.
    ICDE 2007.
    H. Kargupta, S. Datta, Q. Wang, K. Sivakumar: On the privacy preserving properties of random
    data perturbation techniques. ICDM 2003.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> veil = ig.AdditiveNoise(scale=0.5, random_state=0)
    >>> noise = veil.fit_transform(X) - X
    >>> (noise.std(axis=0) / X.std(axis=0)).round(1)
    array([0.5, 0.5, 0.5])
    """

    method = "additive_noise"
    key_type = AdditiveNoiseKey
    variants: ClassVar = {
        "gaussian": Variant({"distribution": "gaussian"}, _SCALES),
        "uniform": Variant({"distribution": "uniform"}, _SCALES),
    }
    draws_noise = True
    keeps_columns = True
    needs_deviation = True

    def __init__(
        self,
        distribution: str = "gaussian",
        *,
        scale: float | ArrayLike = 1.0,
        relative: bool = True,
        random_state: chance.RandomState = None,
    ) -> None:
        self.distribution = distribution
        self.scale = scale
        self.relative = relative
        self.random_state = random_state

    def key_bytes(self, n_columns: int) -> int:
        """How much memory the key of a table this wide takes."""
        return 32 + 8 * n_columns

    def key_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"stream": (4,), "scales": (self.n_features_in_,)}

    def _draw(self, facts: Survey, rng: np.random.Generator) -> AdditiveNoiseKey:
        if self.distribution not in ("gaussian", "uniform"):
            raise ValueError(
                f"distribution must be 'gaussian' or 'uniform', got {self.distribution!r}"
            )
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.shape not in ((), (facts.n_columns,)):
            raise ValueError(
                f"scale must be one number, or one for each of the {facts.n_columns} columns, "
                f"got an array of shape {scale.shape}"
            )
        if not (np.isfinite(scale).all() and (scale >= 0).all()):
            raise ValueError(f"scale must be >= 0 and finite, got {self.scale!r}")
        unit = facts.deviation if self.relative else np.ones(facts.n_columns)
        scales = scale * unit
        silent = int((scales == 0).sum())
        if silent:
            warn(
                f"{silent} of {len(scales)} columns get no noise and leave as they are: their "
                "scale is 0, or they are constant",
            )
        # Noise much smaller than the gap between neighboring numbers is rounded away.
        gap = np.spacing(np.maximum(np.abs(facts.low), np.abs(facts.high)).astype(facts.dtype))
        lost = int(((scales > 0) & (scales < 16 * gap)).sum())
        if lost:
            warn(
                f"{lost} of {len(scales)} columns get noise too small for the precision of their "
                "numbers, so part of their values leaves as it is; give them as float64, or "
                "counted from a nearer origin",
            )
        return AdditiveNoiseKey(stream=chance.stream_key(rng), scales=scales)

    def _invert(
        self, Z: Array, first_row: int, sample: ArrayLike | None, start: ArrayLike | None
    ) -> Array:
        # The key draws the noise of these rows again; what stays is rounding.
        out = np.empty_like(Z)
        for rows in row_chunks(*Z.shape):
            out[rows] = Z[rows] - self._noise(first_row, rows, Z.shape[1])
        return out

    def _perturb(self, X: Array, first_row: int) -> Array:
        out = np.empty_like(X)
        grid = noise_grid(self._key.scales)
        for rows in row_chunks(*X.shape):
            noise = self._noise(first_row, rows, X.shape[1])
            noise += X[rows]
            if self.rounds_noise:
                round_to_grid(noise, grid)
            out[rows] = noise
        return out

    def _noise(self, first_row: int, rows: slice, width: int) -> Array:
        stream = chance.Stream(self._key.stream)
        where = (first_row + rows.start, rows.stop - rows.start, width)
        if self.distribution == "gaussian":
            noise = stream.normal(*where)
        else:
            # Half-width sqrt(3) gives standard deviation one.
            noise = (2 * stream.uniform(*where) - 1) * np.sqrt(3)
        noise *= self._key.scales
        return noise


@dataclass(frozen=True, slots=True)
class MultiplicativeNoiseKey:
    """The pad; its contents never print, so they never reach a log."""

    stream: NDArray[np.uint64] = field(repr=False)  # key of the row-indexed stream


class MultiplicativeNoise(RoundedNoise):
    r"""Release $Z = X \cdot M$, entry by entry, with random factors $M$ around one.

    Guarantee: none; heuristic.

    Utility: columns keep their names, units, signs and means. Errors are in proportion to the
    value, which suits amounts and counts that span several powers of ten.

    Weakness: a zero stays zero, signs show, and values near zero leave almost as they are; shift
    a column's origin and its protection changes. Logarithms turn the factors into additive
    noise, with all that is known against it. Two releases of one table average the noise out.

    Parameters
    ----------
    scale : float, default=0.1
        Standard deviation of the normal law around one from which factors are drawn, at most 1.
        The law is cut to 1 ± min(1, 3 `scale`), evenly on both sides, so that factors average
        exactly one and never change a sign; up to a `scale` of 1/3 this leaves a deviation of
        0.987 `scale`, and 0.540 at a `scale` of 1.
    random_state : int, Generator or None
        None draws the key from the operating system. Anything else is for experiments.

    References
    ----------
    J. J. Kim, W. E. Winkler: Multiplicative noise for masking continuous data. U.S. Census
    Bureau, Statistics 2003-01.

    Examples
    --------
    >>> veil = ig.MultiplicativeNoise(scale=0.1, random_state=0)
    >>> veil.fit_transform([[100.0, 0.0], [200.0, 5.0]]).round(1)
    array([[ 95.3,   0. ],
           [234.7,   4.4]])
    """

    method = "multiplicative_noise"
    key_type = MultiplicativeNoiseKey
    variants: ClassVar = {"multiplicative": Variant({}, Strength("scale", (0.1, 0.3, 1)))}
    draws_noise = True
    keeps_columns = True

    def __init__(self, scale: float = 0.1, *, random_state: chance.RandomState = None) -> None:
        self.scale = scale
        self.random_state = random_state

    def key_bytes(self, n_columns: int) -> int:
        """How much memory the key of a table this wide takes."""
        return 32

    def key_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"stream": (4,)}

    def _draw(self, facts: Survey, rng: np.random.Generator) -> MultiplicativeNoiseKey:
        if not 0 <= self.scale <= 1:
            raise ValueError(f"scale must be >= 0 and <= 1, got {self.scale}")
        if self.scale == 0:
            warn("scale is 0: the table leaves as it is")
        return MultiplicativeNoiseKey(stream=chance.stream_key(rng))

    def _invert(
        self, Z: Array, first_row: int, sample: ArrayLike | None, start: ArrayLike | None
    ) -> Array:
        out = Z.copy()
        if self.scale == 0:
            return out
        for rows in row_chunks(*out.shape):
            factors = self._factors(first_row, rows, out.shape[1])
            # A factor of 0, which only a scale above 1/3 comes near to, took its value away.
            np.divide(out[rows], factors, out=out[rows], where=factors != 0)
        return out

    def _perturb(self, X: Array, first_row: int) -> Array:
        if self.scale == 0:
            return X.copy()
        out = np.empty_like(X)
        for rows in row_chunks(*X.shape):
            factors = self._factors(first_row, rows, X.shape[1])
            factors *= X[rows]
            if self.rounds_noise:
                round_factors(factors, self.scale)
            out[rows] = factors
        return out

    def _factors(self, first_row: int, rows: slice, width: int) -> Array:
        half_width = min(1.0, 3 * self.scale)
        # A normal cut to [-c, c] is Phi^-1 of a uniform number between Phi(-c) and Phi(c).
        tail = ndtr(-half_width / self.scale)
        stream = chance.Stream(self._key.stream)
        u = stream.uniform(first_row + rows.start, rows.stop - rows.start, width)
        u *= 1 - 2 * tail
        u += tail
        factors = np.asarray(1 + self.scale * ndtri(u))
        # Rounding must not carry a factor over the edge.
        return np.clip(factors, 1 - half_width, 1 + half_width, out=factors)
