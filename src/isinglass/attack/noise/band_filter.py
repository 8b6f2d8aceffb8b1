"""Noise filter for ordered rows: optimal shrinkage in frequency bands along the rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: An estimate of the rows without noise, and the mean of its product with them.
Estimate = tuple[Array, float]

#: Uniform bands of a cosine transform, before neighbors are joined; low ones are split further.
BANDS, LOWEST = 48, 8
#: Haar wavelets are blind between their grid points, so that the grid is shifted so often; of
#: many rows the mean is good with fewer.
SHIFTS, MANY_ROWS = 8, 20_000
#: Noise passes its edge by this many units of Tracy and Widom's law less than once in 10,000.
MARGIN = 5.0
#: So many deviations above 1 a band's mean energy is no longer chance.
CLEAR = 4.0


def filter_rows(white: Array, *, basis: Array | None = None, ordered: bool = True) -> Array:
    r"""Estimate S from Z = S + V, rows in order, V of variance one and independent everywhere.

    An orthonormal transform along the rows leaves V as it is and gathers what changes slowly (or
    swings, or jumps) in few coefficients. In each band of them the singular values of the
    coefficients are shrunk as in `attack.spectral`, so that directions and times are found
    together. Cosines suit waves, Haar wavelets jumps; one band for all rows is the filter that
    knows no order. Their weighted sum is taken. Rows without order, and noise, come out as with
    that last filter alone.

    `basis` has orthonormal columns: directions in which S is known to lie, or nearly.
    """
    estimates = [_one_band(white)]
    for rows, back in _views(white, basis):
        if rows is not white:
            estimates.append(_mapped(_one_band(rows), back))
        if ordered and len(rows) >= 4:
            estimates.append(_mapped(_cosine(rows), back))
            estimates.append(_mapped(_haar(rows), back))
    return weighted_sum(estimates)


def weighted_sum(estimates: list[Estimate]) -> Array:
    r"""The combination $\sum_i a_i \hat S_i$, a >= 0, nearest to S.

    It needs <S_i, S_k>, which are seen, and <S_i, S>, which come with the estimates: for an
    optimal shrinkage <S_i, S> = <S_i, S_i>, as for every conditional mean.
    """
    from scipy.optimize import nnls

    flat = [estimate.ravel() for estimate, _ in estimates]
    products = np.array([[a @ b for b in flat] for a in flat]) / max(len(flat[0]), 1)
    total = float(np.trace(products))
    if total <= 0:
        return np.zeros_like(estimates[0][0])
    # Estimates that hardly differ share the weight.
    products += (1e-3 / len(flat)) * total * np.eye(len(flat))
    root = np.linalg.cholesky(products)
    gains = np.array([gain for _, gain in estimates])
    weights, _ = nnls(root.T, np.linalg.solve(root, gains))
    return np.asarray(sum(w * e for w, (e, _) in zip(weights, estimates, strict=True)))


def shrinkage(energies: Array, n_rows: int) -> Array:
    """How much of each principal direction of noisy rows is kept, from its sum of squares.

    `energies` are all eigenvalues of Z'Z, also those that are 0. Directions above what noise
    reaches are shrunk by Gavish and Donoho's rule (IEEE Trans. Inf. Theory, 2017, eq. 7). If what
    is left still has more than the energy of noise, S fills all directions a little; this level
    is part of the noise for those above, and shrunk like a single number.
    """
    d = len(energies)
    large, small = max(n_rows, d), min(n_rows, d)
    ratio = small / large
    root = np.sqrt(ratio)
    edge = (1 + root) ** 2 + MARGIN * large ** (-2 / 3) * (1 + root) * (1 + 1 / root) ** (1 / 3)
    widths = energies / large
    level = 1.0
    for _ in range(2):
        rest = widths[widths <= level * edge]
        above = d - len(rest)
        cells = max((n_rows - above) * (d - above), 1)
        mean = float(rest.sum()) * large / cells
        level = mean if mean > 1 + CLEAR * np.sqrt(2 / cells) else 1.0
    relative = widths / level
    inner = np.square(relative - ratio - 1) - 4 * ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        spike = np.where(relative > edge, np.sqrt(np.maximum(inner, 0.0)) / relative, 0.0)
    return np.asarray(spike + (1 - spike) * (1 - 1 / level))


def _one_band(rows: Array) -> Estimate:
    whole = rows.T @ rows
    estimate = _shrunk(rows, whole)
    return estimate, float(np.square(estimate).mean())


def _views(white: Array, basis: Array | None) -> list[tuple[Array, Callable[[Array], Array]]]:
    """The rows themselves, and in the directions of the basis."""
    views: list[tuple[Array, Callable[[Array], Array]]] = [(white, lambda rows: rows)]
    if basis is not None and 0 < basis.shape[1] < white.shape[1]:
        views.append((white @ basis, lambda rows: np.asarray(rows @ basis.T)))
    return views


def _mapped(estimate: Estimate, back: Callable[[Array], Array]) -> Estimate:
    rows, gain = estimate
    full = back(rows)
    return full, gain * rows.shape[1] / full.shape[1]


def _cosine(rows: Array) -> Estimate:
    from scipy.fft import dct, idct

    coefficients = dct(rows, axis=0, norm="ortho")
    edges = _frequency_edges(len(rows))
    kept = _filter_bands(coefficients, edges)
    return idct(kept, axis=0, norm="ortho"), float(np.square(kept).mean())


def _haar(rows: Array) -> Estimate:
    n, total, gain = len(rows), np.zeros_like(rows), 0.0
    count = SHIFTS if n <= MANY_ROWS else SHIFTS // 2
    shifts = np.unique((np.arange(count) * n) // count + np.arange(count)) % n
    for shift in shifts:
        coefficients, lengths = _haar_transform(np.roll(rows, shift, axis=0))
        edges = np.cumsum([0, *lengths])
        kept = _filter_bands(coefficients, edges)
        total += np.roll(_haar_inverse(kept, lengths), -shift, axis=0)
        gain += float(np.square(kept).mean())
    return total / len(shifts), gain / len(shifts)


def _frequency_edges(n_rows: int) -> NDArray[np.intp]:
    uniform = np.linspace(0, n_rows, min(BANDS, max(n_rows // LOWEST, 1)) + 1).round()
    edges, low = set(uniform.astype(int).tolist()), LOWEST
    while low < n_rows / BANDS:
        edges.add(low)
        low = int(1.5 * low)
    return np.array(sorted(edges))


def _filter_bands(coefficients: Array, edges: NDArray[np.intp]) -> Array:
    """Shrink in bands joined so that most energy is kept, which is when the estimate is best."""
    n_bands, d = len(edges) - 1, coefficients.shape[1]
    sums = np.zeros((n_bands + 1, d, d))
    for i in range(n_bands):
        band = coefficients[edges[i] : edges[i + 1]]
        sums[i + 1] = sums[i] + band.T @ band
    best, start = np.zeros(n_bands + 1), np.zeros(n_bands + 1, dtype=np.intp)
    for j in range(1, n_bands + 1):
        energies = np.maximum(np.linalg.eigvalsh(sums[j] - sums[:j]), 0.0)
        kept = [
            best[i] + float((e * shrinkage(e, int(edges[j] - edges[i])) ** 2).sum())
            for i, e in enumerate(energies)
        ]
        start[j] = int(np.argmax(kept))
        best[j] = kept[start[j]]
    filtered, j = np.empty_like(coefficients), n_bands
    while j > 0:
        i = int(start[j])
        part = slice(edges[i], edges[j])
        filtered[part] = _shrunk(coefficients[part], sums[j] - sums[i])
        j = i
    return filtered


def _shrunk(rows: Array, squares: Array) -> Array:
    energies, directions = np.linalg.eigh(squares)
    gains = shrinkage(np.maximum(energies, 0.0), len(rows))
    if not gains.any():
        return np.zeros_like(rows)
    return np.asarray(rows @ ((directions * gains) @ directions.T))


def _haar_transform(rows: Array) -> tuple[Array, list[int]]:
    """Coefficients from coarse to fine, and how many there are of each scale.

    The last of an odd number of rows goes on to the next scale as it is, which keeps the
    transform orthonormal without repeating rows.
    """
    details: list[Array] = []
    while len(rows) > LOWEST:
        even = len(rows) // 2 * 2
        first, second, rest = rows[:even:2], rows[1:even:2], rows[even:]
        details.append((first - second) / np.sqrt(2))
        rows = np.concatenate([(first + second) / np.sqrt(2), rest])
    parts = [rows, *details[::-1]]
    return np.concatenate(parts), [len(part) for part in parts]


def _haar_inverse(coefficients: Array, lengths: list[int]) -> Array:
    edges = np.cumsum([0, *lengths])
    rows = coefficients[: edges[1]]
    for start, stop in pairwise(edges[1:]):
        detail = coefficients[start:stop]
        coarse, rest = rows[: len(detail)], rows[len(detail) :]
        rows = np.empty((2 * len(detail) + len(rest), rows.shape[1]))
        rows[: 2 * len(detail) : 2] = (coarse + detail) / np.sqrt(2)
        rows[1 : 2 * len(detail) : 2] = (coarse - detail) / np.sqrt(2)
        rows[2 * len(detail) :] = rest
    return rows
