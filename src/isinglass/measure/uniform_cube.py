"""Closed form of the expected level for records uniform in a cube."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_NODES = 128


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


def _mean_exp(b: NDArray[np.float64]) -> NDArray[np.float64]:
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
