"""Estimates of a private matrix T + D from known pairs and from the release itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.learning.gaussian import RCOND, Moments

Array = NDArray[Any]

_MOST_ROWS = 10_000
_MOST_SAMPLE = 2_000
_MOST_DIRECTIONS = 400
#: Entries of D beyond this many are too many to fit one by one.
MOST_UNKNOWNS = 1_500


@dataclass(frozen=True, slots=True)
class Mixing:
    """A belief about T + D: `matrix` + diag(`half`) E `spread`', E standard normal.

    Entries of D are uniform on ± alpha, variance alpha² / 3; `half` is that deviation, one for
    each row, and `spread` (n x r) spans the directions that are still unknown.
    """

    matrix: Array = field(repr=False)
    half: Array = field(repr=False)
    spread: Array = field(repr=False)
    #: Covariance of E, row-major, where it is no longer the identity.
    covariance: Array | None = field(default=None, repr=False)

    @classmethod
    def public(cls, T: Array, alpha: Array) -> Mixing:
        """The best guess of T + D is T itself: off by alpha / 2 in the median."""
        return cls(T, np.asarray(alpha) / np.sqrt(3), np.eye(T.shape[1]))

    def noise(self, moments: Moments) -> Array:
        """E[(D y)(D y)'], D being what is left unknown; alpha² / 3 E|y|² I before any learning."""
        inner = self.spread.T @ moments.raw @ self.spread
        if self.covariance is None:
            return np.diag(self.half**2 * np.trace(inner))
        w, r = len(self.matrix), self.spread.shape[1]
        left = self.covariance.reshape(w, r, w, r)
        found = np.einsum("ajbk,jk->ab", left, inner, optimize=True)
        return np.asarray(found * np.outer(self.half, self.half))

    def with_pairs(self, Y: Array, Z: Array) -> Mixing:
        """Learn from records whose release is known: z = (T + D) y holds without any noise.

        Bayesian regression with prior N(T, alpha² / 3) on every entry: D moves by the least that
        explains the pairs, and its directions orthogonal to their y stay as unknown as before.
        """
        if not len(Y):
            return self
        _, sizes, directions = np.linalg.svd(Y @ self.spread, full_matrices=True)
        # In a narrower direction the rounding of a float32 release would pass for a part of D.
        rank = int((sizes > 1e-5 * sizes[:1]).sum())
        seen = self.spread @ directions[:rank].T
        change = np.linalg.lstsq(Y @ seen, Z - Y @ self.matrix.T, rcond=RCOND)[0]
        return Mixing(self.matrix + (seen @ change).T, self.half, self.spread @ directions[rank:].T)

    def with_mean(self, Y: Array, Z: Array) -> Mixing:
        """Learn from the means of a sample and of the release: one pair, known up to sampling."""
        mean, off = Y.mean(axis=0), Z.mean(axis=0) - self.matrix @ Y.mean(axis=0)
        along = self.spread.T @ mean
        size = float(along @ along)
        if size == 0.0:
            return self
        sampling = (Z.var(axis=0) * (1 / len(Z) + 1 / len(Y))).mean()
        prior = size * float(np.square(self.half).mean())
        share = prior / (prior + sampling)
        step = np.outer(off, self.spread @ along) * share / size
        shrunk = np.outer(self.spread @ along, along) * (1 - np.sqrt(1 - share)) / size
        return Mixing(self.matrix + step, self.half, self.spread - shrunk)


def fit_moments(
    mixing: Mixing, Z: Array, Y: Array, order: int, rng: np.random.Generator, *, n_iter: int = 8
) -> list[Mixing]:
    """Move T + D until (T + D) y of sampled y is distributed as the release is.

    Both are projected on many random directions u; on each, the means of the Hermite polynomials
    He_1 … He_order must agree as far as sampling allows. Orders 1 and 2 are mean and covariance,
    all that normal y tell; 3 and 4 are the cumulants of independent component analysis, which
    find columns of T + D even where it has fewer rows than columns. Gauss-Newton steps from T,
    with its prior, in the box of width alpha; low orders first, as they are nearly linear in D.
    One belief for each stage: of order 1, up to 2, and up to `order`; of the mean alone where
    D has too many entries.
    """
    w, r = len(mixing.matrix), mixing.spread.shape[1]
    if r == 0 or not mixing.half.any() or min(len(Z), len(Y)) < 3:
        return []
    if w * r > MOST_UNKNOWNS:
        return [mixing.with_mean(Y, Z)]
    Z = Z[rng.permutation(len(Z))[:_MOST_ROWS]]
    Y = Y[rng.permutation(len(Y))[:_MOST_SAMPLE]]
    root = _whitening(Z)
    if not root.size:
        return []
    E, found = np.zeros((w, r)), []
    for upto in sorted({1, 2, order}):
        n_directions = min(_MOST_DIRECTIONS, 12 * w * upto)
        U = root @ _unit(rng.normal(size=(root.shape[1], n_directions)))  # each u'z: variance one
        E, covariance = _Fit(mixing, Z, Y, U, upto, root.shape[1]).search(E, n_iter)
        found.append(Mixing(_at(mixing, E), mixing.half, mixing.spread, covariance))
    return found


def _at(mixing: Mixing, E: Array) -> Array:
    return np.asarray(mixing.matrix + mixing.half[:, np.newaxis] * (E @ mixing.spread.T))


class _Fit:
    """Moments of a release on directions U, and how far those of T + D are from them."""

    def __init__(self, mixing: Mixing, Z: Array, Y: Array, U: Array, order: int, rank: int) -> None:
        self.mixing, self.Y, self.U, self.order = mixing, Y, U, order
        self.rotated = Y @ mixing.spread
        self.center = Z.mean(axis=0)
        self.target, spent = _features(_hermite((Z - self.center) @ U, order))[:2]
        self.spent = spent / len(Z)
        # The u overlap: an order has only so many moments of its own, however many u look at it.
        own = np.cumprod((rank + np.arange(order)) / (1.0 + np.arange(order)))
        self.weight = np.minimum(1.0, own / U.shape[1])[:, np.newaxis]

    def seen(self, E: Array) -> list[Array]:
        return _hermite((self.Y @ _at(self.mixing, E).T - self.center) @ self.U, self.order)

    def search(self, E: Array, n_iter: int) -> tuple[Array, Array]:
        """Gauss-Newton steps, each halved until it helps; D's deviations, and their covariance."""
        boxed = E.shape[1] == len(self.mixing.spread)
        seen = self.seen(E)
        for _ in range(n_iter):
            off, trust, J = self._linear(seen)
            weighted = J * trust.reshape(-1, 1)
            pull = weighted.T @ off.ravel() - E.ravel()
            step = np.linalg.solve(np.eye(E.size) + J.T @ weighted, pull).reshape(E.shape)
            before = float((trust * off**2).sum() + (E**2).sum())
            for share in (1.0, 0.4, 0.1):
                tried = E + share * step
                if boxed:  # ± alpha, in deviations
                    tried = np.clip(tried, -np.sqrt(3.0), np.sqrt(3.0))
                new = self.seen(tried)
                left = self.target - _features(new)[0]
                after = float((trust * left**2).sum() + (tried**2).sum())
                if after < before:
                    break
            if after >= before:
                break
            E, seen = tried, new
            if before - after < 0.01 * before:
                break
        off, trust, J = self._linear(seen)
        # Where the moments cannot be met, they are known less well than sampling alone says.
        misfit = float((trust * off**2).sum() / (self.weight.sum() * self.U.shape[1]))
        precision = np.eye(E.size) + (J.T @ (J * trust.reshape(-1, 1))) / max(1.0, misfit)
        return E, np.linalg.inv(precision)

    def _linear(self, seen: list[Array]) -> tuple[Array, Array, Array]:
        """What is off, the weight of each, and the derivative by the deviations of D."""
        means, sampled, factor = _features(seen)
        trust = self.weight / (self.spent + sampled / len(self.Y))
        # d mean He_p(u' T y) / d (u' T) = p mean He_{p-1} y
        slopes = np.array([(p + 1) * (self.rotated.T @ v) for p, v in enumerate(seen[:-1])])
        slopes *= factor[:, np.newaxis] / len(self.Y)
        scaled = self.U * self.mixing.half[:, np.newaxis]
        J = np.einsum("ik,pjk->pkij", scaled, slopes).reshape(means.size, -1)
        return self.target - means, trust, J


def log_likelihood(mixing: Mixing, Z: Array, moments: Moments) -> float:
    """Mean log density of the release under N(T~ mu, T~ S T~' + noise), up to a constant.

    The paper's eq. 6 leaves the determinant out, and so grows T~ to the edge of its box.
    """
    T = mixing.matrix
    inner = T @ moments.covariance @ T.T + mixing.noise(moments)
    inner += 1e-9 * np.trace(inner) / len(T) * np.eye(len(T))
    off = Z - T @ moments.mean
    second = off.T @ off / len(Z)
    return float(-0.5 * (np.linalg.slogdet(inner)[1] + np.trace(np.linalg.solve(inner, second))))


def _whitening(Z: Array) -> Array:
    values, vectors = np.linalg.eigh(np.cov(Z, rowvar=False).reshape(Z.shape[1], -1))
    keep = values > 1e-10 * values[-1]
    if not keep.any() or values[-1] <= 0:
        return np.empty((Z.shape[1], 0))
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]))


def _unit(columns: Array) -> Array:
    return np.asarray(columns / np.linalg.norm(columns, axis=0))


def _hermite(x: Array, order: int) -> list[Array]:
    """He_0 … He_order; for a normal x all but the first have mean zero."""
    found = [np.ones_like(x), x]
    for p in range(1, order):
        found.append(x * found[p] - p * found[p - 1])
    return found[: order + 1]


def _features(values: list[Array]) -> tuple[Array, Array, Array]:
    """Means of He_1 … He_order, their variance for one record, and a factor for their slopes.

    In place of mean He_2 its root sqrt(1 + mean He_2), the deviation along u: as a function of T
    it is nearly linear far from the answer, where a square would take many steps.
    """
    means = np.array([v.mean(axis=0) for v in values[1:]])
    variances = np.array([v.var(axis=0) for v in values[1:]])
    factor = np.ones_like(means)
    if len(means) > 1:
        means[1] = np.sqrt(np.maximum(1.0 + means[1], 1e-12))
        factor[1] = 0.5 / means[1]
        variances[1] *= factor[1] ** 2
    return means, variances, factor
