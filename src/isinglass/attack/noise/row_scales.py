"""Normal law of rows that have a size each, fitted to a noisy release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.noise.gains import direction_gains

Array = NDArray[Any]

#: Sizes that a row may have, the smallest but nothing, and the steps of the fit of their shares.
_SIZES, _LEAST_SIZE, _STEPS = 40, 1e-3, 300
#: Rows that laws are fitted to and chosen by, either half by how likely the other's make it.
_MOST_ROWS, _LEAST_ROWS = 20_000, 50
#: Sizes tried between the neighbors of the likeliest, if all rows have one.
_FINER = 25
#: By so much more must sizes explain the rows left out, as a logarithm. If rows had one size, one
#: fitted law would pass by chance once in exp(6) = 400 times.
_SURE = 6.0
#: The covariance of long rows counts so much; the rest is that of independent columns.
_TRUSTS = (0.1, 0.4, 0.7, 0.95)
#: In more columns a covariance takes long to turn, and long rows are too few to tell it.
_MOST_COLUMNS = 400
#: Cells, times sizes, held at once; places at which the law of a cell is tabulated.
_BLOCK, _PLACES = 1 << 22, 400


class RowLaw(ABC):
    """Rows x of law N(0, c S) under noise, c being each row's own."""

    @abstractmethod
    def fits(self, rows: Array, sizes: Array) -> Array:
        """The log-likelihood of each row (down) for each size (across)."""

    @abstractmethod
    def means(self, rows: Array, sizes: Array, chances: Array) -> Array:
        """E[x | row], where sizes are as likely as told, row by row."""


@dataclass(frozen=True, slots=True)
class NormalRows(RowLaw):
    """Noise is normal, of variance one in each column; S has these axes and variances."""

    variances: Array = field(repr=False)
    axes: Array | None = field(default=None, repr=False)  # None: the columns

    @classmethod
    def of(cls, covariance: Array) -> NormalRows:
        values, vectors = np.linalg.eigh(covariance)
        return cls(np.maximum(values, 0.0), vectors)

    def fits(self, rows: Array, sizes: Array) -> Array:
        total = 1 + np.multiply.outer(sizes, self.variances)
        places = rows if self.axes is None else rows @ self.axes
        squares = np.square(places) @ (1 / total).T
        return np.asarray(-0.5 * (squares + np.log(2 * np.pi * total).sum(axis=1)))

    def means(self, rows: Array, sizes: Array, chances: Array) -> Array:
        # Given c, the mean in an axis of variance v is y c v / (c v + 1).
        wide = np.multiply.outer(sizes, self.variances)
        kept = chances @ (wide / (1 + wide))
        if self.axes is None:
            return np.asarray(rows * kept)
        return np.asarray((rows @ self.axes * kept) @ self.axes.T)


@dataclass(frozen=True, slots=True)
class BoundedCells(RowLaw):
    """Noise is uniform, of variance one; columns are independent. A cell is within its reach."""

    variances: Array = field(repr=False)

    def fits(self, rows: Array, sizes: Array) -> Array:
        found = np.zeros((len(rows), len(sizes)))
        for _, likely, _ in self._cells(rows, sizes):
            found += likely
        return found

    def means(self, rows: Array, sizes: Array, chances: Array) -> Array:
        found = np.zeros_like(rows)
        for j, _, mean in self._cells(rows, sizes):
            found[:, j] = np.sign(rows[:, j]) * (chances * mean).sum(axis=1)
        return found

    def _cells(self, rows: Array, sizes: Array) -> Iterator[tuple[int, Array, Array]]:
        """Column by column, log-likelihood and mean of each cell (down) for each size (across)."""
        places = np.linspace(0.0, max(float(np.abs(rows).max()), 1e-9), _PLACES)
        table, last = None, None
        for j, variance in enumerate(self.variances):
            if table is None or variance != last:  # often as large in all columns
                table, last = (
                    _cut_normal(places[:, np.newaxis], np.sqrt(sizes * variance)),
                    variance,
                )
            at = np.abs(rows[:, j]) / places[1]
            first = np.minimum(at.astype(np.intp), _PLACES - 2)
            part = (at - first)[:, np.newaxis]
            likely, mean = (t[first] * (1 - part) + t[first + 1] * part for t in table)
            yield j, likely, mean


def _cut_normal(z: Array, deviation: Array) -> tuple[Array, Array]:
    """For released values >= 0: log-likelihood, and mean of a normal value within reach of z."""
    from scipy.special import log_ndtr

    reach = np.sqrt(3.0)
    deviation = np.maximum(deviation, 1e-3)
    # Both ends in deviations, mirrored: the law is precise in the lower tail.
    near, far = (reach - z) / deviation, (-reach - z) / deviation
    top, bottom = log_ndtr(near), log_ndtr(far)
    inside = top + np.log1p(-np.exp(np.minimum(bottom - top, -1e-12)))
    half = 0.5 * np.log(2 * np.pi)
    ends = np.exp(-0.5 * near**2 - half - inside) - np.exp(-0.5 * far**2 - half - inside)
    return inside - np.log(2 * reach), np.clip(deviation * ends, z - reach, z + reach)


def means_of_scaled_rows(
    white: Array,
    variances: Array,
    rng: np.random.Generator,
    *,
    uniform: bool = False,
    sample: Array | None = None,
) -> Array | None:
    """The mean of each row, for rows under noise of variance one; None if sizes tell nothing.

    `variances` are those of the columns without noise. The law is chosen among some by how likely
    it makes rows that it was not fitted to, and must beat all of them with rows of one size.
    A clean `sample`, in the same units and centered alike, tells which columns go together.
    """
    some = white[rng.permutation(len(white))[:_MOST_ROWS]]
    variances = np.maximum(variances, 1e-9)
    if len(some) < _LEAST_ROWS or not np.isfinite(white).all():
        return None
    sizes = _sizes(white, variances)
    half = len(some) // 2
    shape = (variances, sizes, uniform, sample)
    one, other = (
        _unseen(some[:half], some[half:], *shape),
        _unseen(some[half:], some[:half], *shape),
    )
    plain, scaled = one[0] + other[0], one[1] + other[1]
    best = int(scaled.argmax())
    if scaled[best] <= plain.max() + _SURE:
        return None
    law = _laws(some, *shape)[best]
    shares = _shares(law.fits(some, sizes))
    used = shares > 1e-9
    return row_means(law, white, sizes[used], shares[used])


def row_means(law: RowLaw, rows: Array, sizes: Array, shares: Array) -> Array:
    """E[x | row], where the sizes have these shares among all rows."""
    step = max(1, _BLOCK // max(len(sizes), rows.shape[1]))
    blocks = (rows[start : start + step] for start in range(0, len(rows), step))
    return np.vstack(
        [law.means(some, sizes, _chances(law.fits(some, sizes), shares)) for some in blocks]
    )


def _sizes(white: Array, variances: Array) -> Array:
    longest = float(np.square(white).mean(axis=1).max()) / float(variances.mean())
    return np.concatenate([[0.0], np.geomspace(_LEAST_SIZE, max(10.0, longest), _SIZES)])


def _unseen(
    rows: Array,
    left_out: Array,
    variances: Array,
    sizes: Array,
    uniform: bool,
    sample: Array | None,
) -> tuple[Array, Array]:
    """How likely laws fitted to rows make others: with one size, and with a size a row."""
    plain, scaled = [], []
    for law in _laws(rows, variances, sizes, uniform, sample):
        fits, unseen = law.fits(rows, sizes), law.fits(left_out, sizes)
        # One size between two of the grid must not pass for some rows of either.
        at = int(fits.sum(axis=0).argmax())
        near = np.linspace(sizes[max(at - 1, 0)], sizes[min(at + 1, len(sizes) - 1)], _FINER)
        one_size = near[[law.fits(rows, near).sum(axis=0).argmax()]]
        plain.append(law.fits(left_out, one_size).sum())
        # One row more, of any size: the only huge one may be among those left out.
        shares = (len(rows) * _shares(fits) + 1 / len(sizes)) / (len(rows) + 1)
        scaled.append(_likelihood(unseen, shares))
    return np.array(plain), np.array(scaled)


def _laws(
    rows: Array, variances: Array, sizes: Array, uniform: bool, sample: Array | None
) -> list[RowLaw]:
    """Laws of one shape each: independent columns, the covariance of all rows, of long rows."""
    d = len(variances)
    apart = NormalRows(variances)
    laws: list[RowLaw] = [apart, BoundedCells(variances)] if uniform else [apart]
    if d < 2 or d > _MOST_COLUMNS:
        return laws
    widths, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    gains = np.minimum(direction_gains(np.maximum(widths, 1e-300), len(rows)), 1 - 1e-9)
    together = NormalRows(gains / (1 - gains), axes)
    first, fits, shares = max(
        ((law, fits := law.fits(rows, sizes), _shares(fits)) for law in (apart, together)),
        key=lambda tried: _likelihood(*tried[1:]),
    )
    size = _chances(fits, shares) @ sizes
    # A row of size c tells of S by c / (c v + 1)^2, as least squares weigh its squares.
    weights = size / np.square(size * first.variances.mean() + 1)
    weights /= max(float(weights.sum()), 1e-300)
    laws += [together, *_mixed((rows.T * weights) @ rows - np.eye(d), variances)]
    if sample is not None and len(sample) > 2:
        laws += _mixed(sample.T @ sample / len(sample), variances)
    return laws


def _mixed(covariance: Array, variances: Array) -> list[RowLaw]:
    """A covariance as large as independent columns are, and less of what differs from them."""
    trace = float(np.trace(covariance))
    if trace > 0:
        covariance = covariance * (float(variances.sum()) / trace)
    return [
        NormalRows.of(trust * covariance + (1 - trust) * np.diag(variances))
        for trust in (_TRUSTS if trace > 0 else (0.0,) * len(_TRUSTS))
    ]


def _likelihood(fits: Array, shares: Array) -> float:
    most = fits.max(axis=1, keepdims=True)
    likely = np.maximum(np.exp(fits - most) @ shares, 1e-300)
    return float((np.log(likely) + most[:, 0]).sum())


def _shares(fits: Array) -> Array:
    """How many rows are of each size, by expectation and maximization."""
    likely = np.exp(fits - fits.max(axis=1, keepdims=True))
    shares = np.full(fits.shape[1], 1 / fits.shape[1])
    for _ in range(_STEPS):
        shares = shares * (likely.T @ (1 / (likely @ shares))) / len(fits)
    return np.asarray(shares / shares.sum())


def _chances(fits: Array, shares: Array) -> Array:
    found = np.exp(fits - fits.max(axis=1, keepdims=True)) * shares
    # A row that none of the sizes explains is of the likeliest.
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))
