"""Synthetic data sets of the papers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from isinglass import chance
from isinglass.datasets.dataset import Dataset

# Five clusters (Aggarwal, ICDE 2007); a cluster's sd along each axis is uniform on [0, 0.1].
_N_CLUSTERS = 5
_LARGEST_RADIUS = 0.1

_ARC_CENTERS = 20


def helical_coil(
    n_rows: int = 1000,
    *,
    turns: float = 4.0,
    noise: float = 0.01,
    random_state: chance.RandomState = None,
) -> Dataset:
    """A helical coil in three dimensions and two outliers, which are the last two rows.

    The picture of Bhaduri, Stefanski and Srivastava (Fig. 4), who give no formula. Our choice:
    radius 1, height 2, evenly spaced rows with gaussian noise on every coordinate, and the
    outliers one radius outside the coil, on opposite sides, at a quarter and three quarters of
    its height.

    Examples
    --------
    >>> ig.datasets.helical_coil(100, random_state=0).X.shape
    (100, 3)
    """
    _at_least("n_rows", n_rows, 3)
    _at_least("turns", turns, 0)
    _at_least("noise", noise, 0)
    rng = chance.generator(random_state)
    height = np.linspace(0.0, 2.0, n_rows - 2)
    angle = np.pi * turns * height
    coil = np.column_stack([np.cos(angle), np.sin(angle), height])
    coil += rng.normal(scale=noise, size=coil.shape)
    outliers = np.array([[2.0, 0.0, 0.5], [-2.0, 0.0, 1.5]])
    is_outlier = np.arange(n_rows) >= n_rows - 2
    return Dataset(np.vstack([coil, outliers]), is_outlier, ("x", "y", "z"))


def uni_dis(
    n_rows: int = 10_000, *, n_features: int = 75, random_state: chance.RandomState = None
) -> Dataset:
    """UniDis of Aggarwal (ICDE 2007): uniform in the unit cube, every column divided by its sd.

    Examples
    --------
    >>> ig.datasets.uni_dis(100, random_state=0).X.shape
    (100, 75)
    """
    _check_shape(n_rows, n_features)
    cube = chance.generator(random_state).random((n_rows, n_features))
    return Dataset(_unit_variance(cube), None, _numbered(n_features))


def e_gau_dis(
    n_rows: int = 10_000, *, n_features: int = 75, random_state: chance.RandomState = None
) -> Dataset:
    """EGauDis of Aggarwal (ICDE 2007): five gaussian clusters of equal size.

    Centers are uniform in the unit cube, each cluster has along each axis its own sd, uniform on
    [0, 0.1], and every column is then divided by its sd. `labels` holds the cluster. The same as
    `v_gau_dis(0)`. Our choices: rows come in random order, and rows left over when `n_rows` does
    not divide by five go to the first cluster.

    Examples
    --------
    >>> ig.datasets.e_gau_dis(100, random_state=0).X.shape
    (100, 75)
    """
    return v_gau_dis(0.0, n_rows=n_rows, n_features=n_features, random_state=random_state)


def v_gau_dis(
    theta: float = 1.0,
    *,
    n_rows: int = 10_000,
    n_features: int = 75,
    random_state: chance.RandomState = None,
) -> Dataset:
    """VGauDis(theta) of Aggarwal (ICDE 2007): as EGauDis, cluster i of a size like i^-theta.

    Sizes are rounded down and the remainder goes to the first cluster. `labels` holds the
    cluster, counted from 0.

    Examples
    --------
    >>> ig.datasets.v_gau_dis(1.0, n_rows=100, random_state=0).X.shape
    (100, 75)
    """
    _at_least("theta", theta, 0)
    _check_shape(n_rows, n_features)
    rng = chance.generator(random_state)
    weights = np.arange(1, _N_CLUSTERS + 1) ** -float(theta)
    sizes = np.floor(n_rows * weights / weights.sum()).astype(int)
    sizes[0] += n_rows - sizes.sum()
    X, labels = _clusters(sizes.tolist(), 0, n_features, rng)
    return Dataset(X, None, _numbered(n_features), labels)


def o_gau_dis(
    f: float = 0.1,
    *,
    n_rows: int = 10_000,
    n_features: int = 75,
    random_state: chance.RandomState = None,
) -> Dataset:
    """OGauDis(f) of Aggarwal (ICDE 2007): as EGauDis, a share `f` of the rows are outliers.

    Outliers are uniform in the unit cube; their number is `f * n_rows`, rounded. `labels` holds
    the cluster, -1 for outliers.

    Examples
    --------
    >>> ig.datasets.o_gau_dis(0.1, n_rows=100, random_state=0).X.shape
    (100, 75)
    """
    if not 0 <= f <= 1:
        raise ValueError(f"f must lie in [0, 1], got {f}")
    _check_shape(n_rows, n_features)
    rng = chance.generator(random_state)
    n_outliers = round(f * n_rows)
    sizes = [(n_rows - n_outliers) // _N_CLUSTERS] * _N_CLUSTERS
    sizes[0] += n_rows - n_outliers - sum(sizes)
    X, labels = _clusters(sizes, n_outliers, n_features, rng)
    return Dataset(X, labels < 0, _numbered(n_features), labels)


def banana(
    n_rows: int = 1000,
    *,
    n_features: int = 8,
    noise: float = 0.1,
    random_state: chance.RandomState = None,
) -> Dataset:
    """Two interlocking bananas, seen in any two of the columns; `labels` says which banana.

    A stand-in: Erfani et al. (2014) only say that the set is "a mixture of overlapping Gaussians
    to resemble a pair of bananas in any two dimensions". Ours has twenty centers evenly spaced on
    each of two half circles in a plane. Every column reads that plane from another angle and adds
    gaussian noise of its own, so that any two columns show the pair, more or less slanted.
    Columns are not scaled.

    Examples
    --------
    >>> ig.datasets.banana(100, random_state=0).X.shape
    (100, 8)
    """
    _at_least("n_rows", n_rows, 1)
    _at_least("n_features", n_features, 2)
    _at_least("noise", noise, 0)
    rng = chance.generator(random_state)
    which = rng.integers(0, 2, size=n_rows)
    arc = np.pi * rng.integers(0, _ARC_CENTERS, size=n_rows) / (_ARC_CENTERS - 1)
    # The second half circle is the first one turned about the point (1/2, 1/4).
    side = 1.0 - 2.0 * which
    plane = np.column_stack([which + side * np.cos(arc), which / 2 + side * np.sin(arc)])
    view = np.pi * np.arange(n_features) / n_features
    X = plane @ np.vstack([np.cos(view), np.sin(view)])
    X += rng.normal(scale=noise, size=X.shape)
    return Dataset(X, None, _numbered(n_features), which)


def mixed_gaussian(
    n_rows: int = 20_000,
    *,
    n_features: int = 200,
    rho: float = 0.01,
    n_directions: int = 5,
    sigma: float = 0.1,
    random_state: chance.RandomState = None,
) -> Dataset:
    r"""The mixed gaussian set of Asif, Papakonstantinou and Vaidya (CCS 2019), after Dong et al.

    With probability $1 - \rho$ a row is $N(0, I)$; otherwise it lies near
    $\pm\sqrt{d/\rho}\,e$ for one of `n_directions` standard basis vectors $e$, with noise
    $N(0, \sigma^2 I)$, and counts as an outlier. The number of outliers is therefore random.
    The paper uses `rho=0.01` and five directions; of sigma it only says that it is far below 1.

    Examples
    --------
    >>> ig.datasets.mixed_gaussian(100, random_state=0).X.shape
    (100, 200)
    """
    _at_least("n_rows", n_rows, 1)
    if not 0 < rho < 1:
        raise ValueError(f"rho must lie strictly between 0 and 1, got {rho}")
    if not 1 <= n_directions <= n_features:
        raise ValueError(
            f"n_directions must lie between 1 and n_features = {n_features}, got {n_directions}"
        )
    _at_least("sigma", sigma, 0)
    rng = chance.generator(random_state)
    directions = rng.choice(n_features, size=n_directions, replace=False)
    X = rng.normal(size=(n_rows, n_features))
    is_outlier = rng.random(n_rows) < rho
    planted = np.flatnonzero(is_outlier)
    X[planted] *= sigma
    signs = rng.choice([-1.0, 1.0], size=planted.size)
    X[planted, rng.choice(directions, size=planted.size)] += signs * np.sqrt(n_features / rho)
    return Dataset(X, is_outlier, _numbered(n_features))


def _clusters(
    sizes: Sequence[int], n_outliers: int, n_features: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Gaussian clusters and uniform outliers, columns of unit variance, rows in random order."""
    centers = rng.random((len(sizes), n_features))
    radii = rng.uniform(0.0, _LARGEST_RADIUS, size=centers.shape)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    points = centers[labels] + radii[labels] * rng.normal(size=(labels.size, n_features))
    points = np.vstack([points, rng.random((n_outliers, n_features))])
    labels = np.concatenate([labels, np.full(n_outliers, -1)])
    order = rng.permutation(labels.size)
    return _unit_variance(points[order]), labels[order]


def _unit_variance(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(X / X.std(axis=0))


def _numbered(n_features: int) -> tuple[str, ...]:
    return tuple(f"x{number}" for number in range(1, n_features + 1))


def _check_shape(n_rows: int, n_features: int) -> None:
    _at_least("n_rows", n_rows, 2)  # one row has no spread to divide by
    _at_least("n_features", n_features, 1)


def _at_least(name: str, value: float, least: float) -> None:
    if not value >= least:
        raise ValueError(f"{name} must be >= {least}, got {value}")
