"""Spectral attack: filter noise by the directions in which correlated columns vary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, ReleaseFacts, rows_of
from isinglass.attack.columns.marginals import clipped
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    Knowledge,
    PopulationSample,
    PublicParameters,
)
from isinglass.attack.noise.law import UNSURE, AdditiveLaw, Factors, additive_law, method_of
from isinglass.attack.noise.size import others_sorted
from isinglass.errors import AttackError

Array = NDArray[Any]

#: Noise that differs by no more than this share of its variance was drawn alike.
_ALIKE = 0.2

FILTERS = ("auto", "bounds", "pca", "bayes")
METHODS = (*FILTERS, "kinds", "row_scales", "profile")
#: Columns that may be points of one curve, and over how many of them neighbors may go together.
LEAST_PROFILE = 8
_LENGTHS = (0.7, 1, 1.5, 2, 3, 4, 6, 9, 14, 20)


class SpectralAttack(Attack):
    r"""Filter the noise out of $Z = X + V$ by the directions in which the release is wide.

    Noise is independent from column to column, so once every column is divided by its noise's
    deviation it is equally wide in all directions, 1, and up to $(1 + \sqrt{d / N})^2$ by chance
    (Marchenko and Pastur). Correlated columns stand out of that in a few. Independent columns
    do not, and there is nothing to filter but the overall size.

    It needs the noise's size: from the `PublicParameters` of the release, or, where nobody
    explained it, from `ColumnStatistics` (what the release's columns vary too much). Other
    releases of the same columns are averaged first, those with less noise counting more. Factors
    instead of noise are filtered as logarithms where a column has one sign.

    Parameters
    ----------
    method : {"auto", "bounds", "pca", "bayes", "kinds", "row_scales", "profile"}, default="auto"
        "bounds" projects on directions wider than noise can be (Kargupta et al.). "pca" projects
        on principal directions of cov(Z) - cov(V), those with more table than noise in them
        (Huang et al. take those before the largest gap, which drops independent columns).
        "bayes" is the best linear estimate $\mu + S (S + N)^{-1} (z - \mu)$ with
        $S$ = cov(Z) - N, negative directions cut off (Huang et al.). "auto" is "bayes" with each
        direction shrunk for the error of an estimated covariance (Gavish and Donoho), which is 0
        below the bound of "bounds": in trials never more than 8 % behind the best of the three.
        "kinds" supposes that records are of a few kinds, fits a mixture of them to the release and
        takes each row for the mean of its kind, as surely as it can be told. "row_scales" supposes
        that some records are larger than others in all columns: how long a row is tells how much
        of it is noise. A `PopulationSample` tells it which columns go together. Where sizes do not
        make the release likelier, it is "auto". "profile" supposes that columns are points of a
        curve, in their order (hours of a day, wave lengths), and smooths along it as far as makes
        the release likeliest.
    random_state : int, Generator or None
        Where the mixture's fits begin.

    References
    ----------
    H. Kargupta, S. Datta, Q. Wang, K. Sivakumar: On the privacy preserving properties of random
    data perturbation techniques. ICDM 2003.
    Z. Huang, W. Du, B. Chen: Deriving private information from randomized data. SIGMOD 2005.
    M. Gavish, D. L. Donoho: Optimal shrinkage of singular values. IEEE Trans. Inf. Theory, 2017.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> veil = ig.AdditiveNoise(scale=0.5, random_state=0).fit(X)
    >>> said = ig.attacks.PublicParameters('additive_noise', veil.public_parameters())
    >>> known = said | ig.attacks.ColumnStatistics.of(X)
    >>> ig.attacks.SpectralAttack(random_state=0).guess(veil.transform(X), known).shape
    (200, 3)
    """

    name: ClassVar[str] = "spectral"
    story = "filters the noise out by what columns have in common"
    views = "read"

    def __init__(self, method: str = "auto", *, random_state: chance.RandomState = None) -> None:
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        self.method = method
        self.random_state = random_state

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        if release.same_width:
            return None
        return "it filters noise that was added to the columns, and here their number differs"

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        known = Knowledge.of(knowledge)
        releases = _alike(rows_of(released), known)
        if len(releases[0]) < 2:
            raise AttackError("this attack needs at least 2 released records")
        if method_of(known) == "multiplicative_noise":
            spread = releases[0].var(axis=0)
            drawn_alike = [
                Z for Z in releases if (np.abs(Z.var(axis=0) - spread) <= _ALIKE * spread).all()
            ]
            found = self._undo_factors(drawn_alike, known)
        else:
            found = self._undo_noise(releases, known)
        return clipped(found, known)

    def _undo_noise(self, releases: list[Array], known: Knowledge) -> Array:
        laws = _laws(releases, known)
        spread = releases[0].var(axis=0)
        least = np.maximum(1e-9 * spread, 1e-300)
        told = np.array([1.0 / np.maximum(law.variance, least) for law in laws])
        weights = told / told.sum(axis=0)
        variance = sum(np.square(w) * law.variance for w, law in zip(weights, laws, strict=True))
        mean = np.einsum("tj,tij->ij", weights, np.stack(releases))
        uniform = len(laws) == 1 and laws[0].reach is not None
        found = self._filter(mean, np.asarray(variance), known, uniform=uniform)
        for Z, law in zip(releases, laws, strict=True):
            if law.reach is not None:
                # Uniform noise tells for certain where the truth lies; a little is left for an
                # estimated deviation.
                reach = (1 + UNSURE) * law.reach
                found = np.clip(found, Z - reach, Z + reach)
        return np.asarray(found)

    def _undo_factors(self, releases: list[Array], known: Knowledge) -> Array:
        scale = known.need(PublicParameters).parameters.get("scale")
        if scale is None:
            raise AttackError("this attack needs scale, a parameter of the release")
        law, m = Factors.of(float(scale)), len(releases)
        Z = np.mean(releases, axis=0)
        signed = [
            bool((np.abs(column) > 0).all() and np.ptp(np.sign(column)) == 0) for column in Z.T
        ]
        logged = np.array(signed)
        size = np.where(logged, np.abs(Z), 1.0)
        # log |z| = log |x| + log m; elsewhere m - 1 is noise in proportion to the value.
        logs = np.log(size) - law.log_mean / m
        plain = np.square(Z).mean(axis=0) * law.variance / (1 + law.variance) / m
        variance = np.where(logged, law.log_variance / m, plain)
        found = self._filter(np.where(logged, logs, Z), variance)
        found = np.where(logged, np.sign(Z) * np.exp(np.where(logged, found, 0.0)), found)
        for seen in releases:
            # |z| / (1 + h) <= |x| <= |z| / (1 - h), for certain.
            near = np.abs(seen) / (1 + law.half_width)
            far = np.abs(seen) / max(1 - law.half_width, 1e-3)
            found = np.sign(seen) * np.clip(found * np.sign(seen), near, far)
        return np.asarray(found)

    def _filter(
        self, Z: Array, variance: Array, known: Knowledge | None = None, *, uniform: bool = False
    ) -> Array:
        """The estimate from values with noise; `known` where they are in the table's units."""
        spread = Z.var(axis=0, ddof=1)
        statistics = None if known is None else known.find(ColumnStatistics)
        # Under much noise the mean of the release is off by more than what is known.
        mean = Z.mean(axis=0) if statistics is None else statistics.mean
        found = Z.copy()
        noisy = (variance > 1e-12 * spread) & (spread > 0)
        varies = spread > 0
        if not noisy.any():
            return found
        # A column without noise still tells of the others; its share keeps the algebra finite.
        noise = np.maximum(variance, 1e-6 * spread)[varies]
        centered = (Z - mean)[:, varies]
        if self.method == "kinds":
            from isinglass.attack.noise.kinds import means_of_kinds

            unit = np.sqrt(noise)
            means = means_of_kinds(centered / unit, chance.generator(self.random_state))
            filtered = mean[varies] + (0.0 if means is None else means * unit)
            filtered = np.broadcast_to(filtered, centered.shape)
        elif self.method == "profile":
            unit = np.sqrt(noise)
            filtered = mean[varies] + _smooth_columns(centered / unit) * unit
        elif self.method == "row_scales":
            from isinglass.attack.noise.row_scales import means_of_scaled_rows

            unit = np.sqrt(noise)
            own = spread[varies] - noise
            if statistics is not None:
                own = np.square(statistics.deviation[varies])
            sample = None if known is None else known.find(PopulationSample)
            records = None if sample is None else (sample.records - mean)[:, varies] / unit
            means = means_of_scaled_rows(
                centered / unit, own / noise, chance.generator(self.random_state),
                uniform=uniform, sample=records,
            )  # fmt: skip
            kept = centered @ filter_gain(centered, noise) if means is None else means * unit
            filtered = mean[varies] + kept
        else:
            filtered = mean[varies] + centered @ filter_gain(centered, noise, self.method)
        found[:, varies] = np.where(noisy[varies], filtered, Z[:, varies])
        return found


def filter_gain(centered: Array, noise: Array, method: str = "auto") -> Array:
    """The matrix A of the estimate mean + (z - mean) A."""
    from isinglass.attack.noise.gains import direction_gains  # only where there is noise

    unit = np.sqrt(noise)
    n_rows, d = centered.shape
    white = centered / unit
    widths, directions = np.linalg.eigh(np.cov(white, rowvar=False).reshape(d, d))
    gains = direction_gains(np.maximum(widths, 1e-300), n_rows, method)
    return np.asarray(((directions * gains) @ directions.T) * unit / unit[:, np.newaxis])


def _smooth_columns(white: Array) -> Array:
    """Curves under noise of variance one: neighboring columns go together as a kernel says.

    Its shape and width are those under which the release is likeliest, which takes far fewer rows
    to learn than how every column goes with every other. All columns rise as far above noise.
    """
    d = white.shape[1]
    apart = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    around = np.minimum(apart, d - apart)  # the last column may be the first one's neighbor
    size = max(float(white.var(axis=0).mean()) - 1, 1e-3)
    best, found = -np.inf, np.zeros_like(white)
    covariance = white.T @ white
    for distance in (apart, around):
        for length in _LENGTHS:
            for power in (1, 2):
                kernel = size * np.exp(-((distance / length) ** power))
                values, vectors = np.linalg.eigh(kernel)
                values = np.maximum(values, 0.0)
                seen = np.einsum("ji,jk,ki->i", vectors, covariance, vectors)
                likely = -(seen / (1 + values)).sum() - len(white) * np.log1p(values).sum()
                if likely > best:
                    best = likely
                    found = ((white @ vectors) * (values / (1 + values))) @ vectors.T
    return found


def _laws(releases: list[Array], known: Knowledge) -> list[AdditiveLaw]:
    """The noise of each release: the first as it is said, others so or as they vary too much."""
    first = additive_law(releases[0], known)
    if ColumnStatistics not in known:
        return [first, *(additive_law(Z, known) for Z in releases[1:])]
    laws = [first]
    for Z in releases[1:]:
        law = additive_law(Z, known.without(PublicParameters))
        same = np.abs(law.variance - first.variance) <= _ALIKE * first.variance
        laws.append(replace(law, reach=first.reach) if same.all() else law)
    return laws


def _alike(Z: Array, known: Knowledge) -> list[Array]:
    """The release and all others of the same columns, in which only the noise is another."""
    return [Z, *(table for table, same in others_sorted(Z, known) if same)]
