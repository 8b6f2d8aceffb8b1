"""Randomization level: how many records fit a released row as well as the true one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.threads import spread

Array = NDArray[np.float64]
Levels = NDArray[np.int64]

#: Angles by which an average over a cube is integrated.
_NODES = 128


def randomization_level(
    original: ArrayLike,
    released: ArrayLike,
    *,
    scale: ArrayLike,
    distribution: str = "gaussian",
) -> Levels:
    """For each released row, how many original records are at least as likely as its own.

    The row's own record counts, and so do ties: the level is 1 or more, and given this release
    and equal priors the posterior of the truth is at most 1 / level. It describes this table and
    this draw of the noise; it bounds nothing else.

    Parameters
    ----------
    original, released : (N, d)
        The table and its release, row for row.
    scale : float or (d,)
        Standard deviation of the noise. Columns that have none, or are constant, do not count.
    distribution : {"gaussian", "uniform"}
        Uniform noise of deviation `scale` spans ± sqrt(3) `scale`. A row whose own record lies
        outside of that has the level N, with a PrivacyWarning: it was released in another way.

    References
    ----------
    C. C. Aggarwal: On randomization, public information and the curse of dimensionality.
    ICDE 2007. Definition 2.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> Z = X + np.random.default_rng(1).normal(scale=0.1, size=X.shape)
    >>> levels = ig.metrics.randomization_level(X, Z, scale=[0.1, 0.1, 0.1])
    >>> levels.shape
    (200,)
    """
    from isinglass.measure.level_counts import gaussian_levels, take, uniform_levels

    task = take(original, released, scale, distribution)
    n = len(task.X)
    if not task.X.shape[1]:
        return np.full(n, n)
    return gaussian_levels(task) if distribution == "gaussian" else uniform_levels(task)


def expected_randomization_level(
    original: ArrayLike, *, scale: ArrayLike, distribution: str = "gaussian"
) -> Array:
    """What `randomization_level` is on average over the noise, for each record, in closed form.

    One plus the sum, over all other records, of the chance that one fits as well: with gaussian
    noise Phi(-|x - x'| / 2) in units of the noise, which is exact in any number of columns; with
    uniform noise of width a the product of max(0, 1 - |x_j - x'_j| / a_j). Parameters are those
    of `randomization_level`.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> ig.metrics.expected_randomization_level(X, scale=[0.1, 0.1, 0.1]).shape
    (200,)
    """
    from isinglass.measure.level_counts import expected_levels, take

    task = take(original, original, scale, distribution)
    n = len(task.X)
    if not task.X.shape[1]:
        return np.full(n, float(n))
    return expected_levels(task, gaussian=distribution == "gaussian")


def average_level(randomization: ArrayLike) -> float:
    """The mean level over records: AR."""
    return float(np.mean(_not_empty(randomization)))


def worst_level(randomization: ArrayLike, quantile: float = 0.01) -> float:
    """The level that a share of `quantile` of the records do not exceed: WR.

    Of N levels in ascending order, number ceil(quantile N).
    """
    if not 0 < quantile <= 1:
        raise ValueError(f"quantile must be > 0 and <= 1, got {quantile}")
    found = _not_empty(randomization)
    # 0.07 * 100 is a little more than 7.
    place = max(1, math.ceil(quantile * len(found) * (1 - 1e-12)))
    return float(np.partition(found, place - 1)[place - 1])


def noise_for_average(
    original: ArrayLike | Callable[[float], float],
    wanted: float,
    *,
    distribution: str = "gaussian",
    tolerance: float = 1e-4,
) -> float:
    """The smallest noise, in deviations of the columns, with the average expected level wanted.

    `original` is a table, or a function from the noise ratio to the average expected level, such
    as `lambda ratio: uniform_cube_average(10_000, 75, ratio)`. On a table of N records each of
    some twenty steps takes time in proportion to N² d: a sample of 10,000 rows of a larger table
    needs the same ratio for the same share wanted / N. The result is right to a share of
    `tolerance` and never too small.
    """
    if callable(original):
        level = original
    else:
        table = np.asarray(original, dtype=np.float64)
        deviation = table.std(axis=0)

        def level(ratio: float) -> float:
            scale = ratio * deviation
            return average_level(
                expected_randomization_level(table, scale=scale, distribution=distribution)
            )

    low, high = 2.0**-20, 1.0
    if level(low) >= wanted:
        return 0.0  # copies of one another hide each other without noise
    while level(high) < wanted:
        low, high = high, 2 * high
        if high > 2.0**20:
            raise ValueError(
                f"wanted must be a level that noise can reach, got {wanted}: the average nears "
                f"{level(high):.6g} however strong the noise"
            )
    while high / low > 1 + tolerance:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if level(middle) >= wanted else (middle, high)
    return high


def uniform_cube_average(
    n_records: int, n_columns: int, ratio: float, distribution: str = "gaussian"
) -> float:
    """Average expected level of records that are uniform in a cube.

    `ratio` is the noise's standard deviation over the columns'. An average over tables as well
    as over noise: Aggarwal's UniDis.
    """
    if n_records < 1 or n_columns < 1 or not ratio > 0:
        raise ValueError(
            "n_records and n_columns must be >= 1 and ratio > 0, "
            f"got {n_records}, {n_columns} and {ratio}"
        )
    if distribution == "uniform":
        # t = |u - u'| has density 2 (1 - t) on [0, 1]; the mean of max(0, 1 - t / C).
        one = 1 - 1 / (3 * ratio) if ratio >= 1 else ratio - ratio**2 / 3
        return 1 + (n_records - 1) * one**n_columns
    if distribution != "gaussian":
        raise ValueError(f"distribution must be 'gaussian' or 'uniform', got {distribution!r}")
    # Craig's form, Phi(-x) = 1/pi times the integral of exp(-x² / (2 sin² a)) over [0, pi/2],
    # makes the mean over S a power: S = 12 sum t² / C² and x² = S / 4.
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    angle = (nodes + 1) * math.pi / 4
    b = 1.5 / (ratio * np.sin(angle)) ** 2
    return float(1 + (n_records - 1) * (weights @ _mean_exp(b) ** n_columns) / 4)


def _mean_exp(b: Array) -> Array:
    """Mean of exp(-b t²) for t = |u - u'|, both uniform on [0, 1]."""
    from scipy.special import erf

    root = np.sqrt(b)
    return np.asarray(math.sqrt(math.pi) * erf(root) / root + np.expm1(-b) / b)


def largest_dimension(
    wanted: float, n_records: int, ratio: float, distribution: str = "gaussian"
) -> int:
    """The most columns a noise of this ratio can serve: the largest d with the average wanted.

    For records uniform in a cube (Aggarwal's figure 4); 0 where one column is too much.
    """
    if not wanted > 1:
        raise ValueError(f"wanted must be > 1, got {wanted}: any number of columns gives 1")

    def serves(d: int) -> bool:
        return uniform_cube_average(n_records, d, ratio, distribution) >= wanted

    if not serves(1):
        return 0
    high = 2
    while serves(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if serves(middle) else (low, middle)
    return low


def potential_fit(
    released: ArrayLike,
    public: ArrayLike,
    *,
    scale: ArrayLike,
    distribution: str = "gaussian",
) -> Array:
    """Log-likelihood of each released row, were it made from each record of a public table.

    (n, M); -inf where uniform noise could not have led from the record to the row. Columns
    without noise, or constant in the public table, do not count.
    """
    from isinglass.kernels import likelihoods
    from isinglass.measure.level_counts import half_widths, take

    X, Z, scales, eps = take(public, released, scale, distribution, paired=False)
    found = np.empty((len(Z), len(X)))
    if distribution == "gaussian":
        constant = -0.5 * len(scales) * math.log(2 * math.pi) - float(np.log(scales).sum())

        def work(start: int, stop: int) -> None:
            likelihoods.gaussian_fits(Z, start, stop, X, 1 / scales, constant, found)
    else:
        half = half_widths(Z, scales, eps)
        constant = -float(np.log(math.sqrt(12) * scales).sum())

        def work(start: int, stop: int) -> None:
            likelihoods.uniform_fits(Z, half, start, stop, X, constant, found)

    spread(work, len(Z), n_jobs=None, step=64)
    return found


def posterior(
    released: ArrayLike,
    public: ArrayLike,
    *,
    scale: ArrayLike,
    distribution: str = "gaussian",
) -> tuple[Array, NDArray[np.bool_]]:
    """Chance of each public record to be behind each released row, all alike beforehand.

    (n, M), and for each row whether it is defined: no record of the table may fit a row under
    uniform noise, if its own is not in the table. Such a row is all zeros.
    """
    found = potential_fit(released, public, scale=scale, distribution=distribution)
    best = found.max(axis=1, keepdims=True, initial=-np.inf)
    defined = np.isfinite(best[:, 0])
    found -= np.where(np.isfinite(best), best, 0.0)
    np.exp(found, out=found)
    total = found.sum(axis=1, keepdims=True)
    found /= np.where(total > 0, total, 1.0)
    return found, defined


def levels_from_fits(fits: ArrayLike, truth: ArrayLike) -> Levels:
    """For each row of fits, how many are at least that of the true record, itself included.

    Fits that differ by less than 1e-12 of their size are ties, and ties count.
    """
    found, rows = np.asarray(fits, dtype=np.float64), np.asarray(truth, dtype=np.intp)
    if found.ndim != 2 or rows.shape != (len(found),):
        raise ValueError(
            "fits must be (n, M) and truth one column number a row, "
            f"got shapes {found.shape} and {rows.shape}"
        )
    if len(rows) and not (0 <= rows.min() and rows.max() < found.shape[1]):
        raise ValueError(f"truth must hold column numbers below {found.shape[1]}")
    own = np.take_along_axis(found, rows[:, np.newaxis], axis=1)
    from isinglass.kernels.gaussian_tiles import TIE  # few need levels from fits

    slack = TIE * np.abs(np.where(np.isfinite(own), own, 0.0))
    return np.asarray((found >= own - slack).sum(axis=1), dtype=np.int64)


def adaptive_level(
    original: ArrayLike, released: ArrayLike, sigmas: ArrayLike, units: ArrayLike
) -> Levels:
    """The level where each record has gaussian noise of a size of its own: `AdaptiveNoise`.

    The attacker knows the rule, and so the size at every record x': a candidate's fit is
    -d log s(x') - |z - x'|² / (2 s(x')²), columns in `units`. Columns of unit 0 do not count.
    """
    from isinglass.kernels import likelihoods
    from isinglass.measure.level_counts import take

    scales = np.asarray(sigmas, dtype=np.float64)
    X, Z, unit, _ = take(original, released, units, "gaussian")
    if scales.shape != (len(X),) or not ((scales > 0) & np.isfinite(scales)).all():
        raise ValueError(
            f"sigmas must be one finite number > 0 for each of the {len(X)} records, "
            f"got an array of shape {scales.shape}"
        )
    center = X.mean(axis=0)
    U, V = (np.ascontiguousarray((table - center) / unit) for table in (X, Z))
    found = np.zeros(len(U), dtype=np.int64)

    def work(start: int, stop: int) -> None:
        likelihoods.own_scale_levels(U, V, scales, start, stop, found)

    spread(work, len(U), n_jobs=None, step=64)
    return found


def _not_empty(randomization: ArrayLike) -> NDArray[Any]:
    found = np.asarray(randomization)
    if found.ndim != 1 or not len(found):
        raise ValueError(f"levels must be one number a record, got shape {found.shape}")
    return found
