"""Log-likelihood of the difference between every public record and every released row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isinglass.threads import one_thread, spread

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Bytes of log fits held at once by whoever reads them block by block.
BLOCK = 64 << 20
#: A record whose fit is lower by this adds less than 1e-13 of the best to the posterior's sum.
_NEGLIGIBLE = 30.0
_LOG_2PI = float(np.log(2 * np.pi))


class PairFit(Protocol):
    """Log fits of all pairs, never held all at once."""

    @property
    def n_released(self) -> int: ...

    @property
    def n_public(self) -> int: ...

    def block(self, rows: slice) -> Array:
        """Log fits of some released rows with all public records, (n, M)."""
        ...

    def best(self) -> tuple[Rows, Array]:
        """For every released row the record that fits best, and its posterior; 0 if none fits."""
        ...


def blocks(fit: PairFit) -> Iterator[tuple[slice, Array]]:
    """All log fits, in order, a few released rows at a time."""
    step = max(1, BLOCK // (8 * fit.n_public))
    for start in range(0, fit.n_released, step):
        rows = slice(start, min(start + step, fit.n_released))
        yield rows, fit.block(rows)


def best_of(fit: PairFit) -> tuple[Rows, Array]:
    """The record that fits each row best, and its share of all that fit as well."""
    where, share = np.zeros(fit.n_released, dtype=np.intp), np.zeros(fit.n_released)
    for rows, fits in blocks(fit):
        where[rows] = fits.argmax(axis=1)
        share[rows] = 1 / (fits >= fits.max(axis=1, keepdims=True)).sum(axis=1)
    return where, share


@dataclass(frozen=True, slots=True)
class GaussianFit:
    """Fits that are quadratic in the released row: one matrix product gives them all.

    `left` has a row for each released row, `right` one for each public record; the log fit is
    their inner product. Products are float64, since they decide which record fits best; only the
    exponentials of the posterior, which is a sum over all records, are float32.
    """

    left: Array = field(repr=False)
    right: Array = field(repr=False)

    @property
    def n_released(self) -> int:
        return len(self.left)

    @property
    def n_public(self) -> int:
        return len(self.right)

    def block(self, rows: slice) -> Array:
        with one_thread():
            return np.asarray(self.left[rows] @ self.right.T)

    def part(self, rows: Rows, records: Rows) -> GaussianFit:
        """The fits of some released rows with some public records."""
        return GaussianFit(self.left[rows], self.right[records])

    def best(self) -> tuple[Rows, Array]:
        n, tile = self.n_released, 1024
        where, share = np.zeros(n, dtype=np.intp), np.zeros(n)
        parts = []
        for start in range(0, self.n_public, tile):
            part = self.right[start : start + tile].T
            parts.append((start, np.vstack([part, np.ones(part.shape[1])])))

        def work(start: int, stop: int) -> None:
            # Tile by tile, in the processor's cache. Fits count from `base`, which is near the
            # best so far and taken off by the product itself: one pass over the tile less.
            left = np.column_stack([self.left[start:stop], np.zeros(stop - start)])
            number = np.arange(stop - start)
            base = (left @ parts[0][1]).max(axis=1)
            left[:, -1] = -base
            top, total = np.full(stop - start, -np.inf), np.zeros(stop - start)
            fits = np.empty((stop - start, tile))
            for begin, right in parts:
                fits = np.matmul(left, right, out=fits[:, : right.shape[1]])
                here = fits.argmax(axis=1)
                peak = fits[number, here]
                higher = peak > top
                where[start:stop][higher] = begin + here[higher]
                np.maximum(top, peak, out=top)
                if (peak < top - _NEGLIGIBLE).all():
                    continue
                if (top > _NEGLIGIBLE).any():
                    fits -= top[:, np.newaxis]
                    left[:, -1] -= top
                    total *= np.exp(-top)
                    top[:] = 0
                weights = fits.astype(np.float32)
                # Numbers too small for float32 are many times slower than 1e-35, and no nearer 0.
                np.maximum(weights, np.float32(-80), out=weights)
                np.exp(weights, out=weights)
                total += weights.sum(axis=1, dtype=np.float64)
            share[start:stop] = np.exp(top) / total

        with one_thread():
            spread(work, n, n_jobs=None, step=256)
        return where, share


def gaussian(Z: Array, P: Array, scale: Array) -> GaussianFit:
    r"""$F = -\frac d2 \log 2\pi - \sum_j \log \sigma_j - \sum_j (z_j - x'_j)^2 / 2\sigma_j^2$.

    Aggarwal's equation 4, with the square root of 2 pi where the print has none. The differences
    are expanded into products about the public table's mean, where they lose least.
    """
    center = P.mean(axis=0)
    z, x = (Z - center) / scale, (P - center) / scale
    constant = -Z.shape[1] / 2 * _LOG_2PI - np.log(scale).sum()
    ones = np.ones((len(z), 1)), np.ones((len(x), 1))
    left = np.hstack([z, ones[0], constant - _half_square(z)])
    return GaussianFit(left, np.hstack([x, -_half_square(x), ones[1]]))


def per_record(Z: Array, P: Array, units: Array, sigmas: Array) -> GaussianFit:
    r"""$F(z, x') = -d \log \sigma(x') - |z - x'|^2 / 2\sigma(x')^2$, in the given units.

    For noise whose size depends on the record by a rule that the attacker knows.
    """
    center, d = P.mean(axis=0), P.shape[1]
    z, x = (Z - center) / units, (P - center) / units
    precision = 1 / np.square(sigmas)[:, np.newaxis]
    own = -_half_square(x) * precision - d * np.log(sigmas)[:, np.newaxis] - d / 2 * _LOG_2PI
    own -= np.log(units).sum()
    left = np.hstack([z, _half_square(z), np.ones((len(z), 1))])
    return GaussianFit(left, np.hstack([x * precision, -precision, own]))


def _half_square(X: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", X, X)[:, np.newaxis] / 2)
