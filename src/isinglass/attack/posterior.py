"""Posterior mean: what a record is on average, given its noisy row and a sample as prior."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, rows_of
from isinglass.attack.knowledge import Fact, Knowledge, PopulationSample
from isinglass.attack.marginals import clipped
from isinglass.attack.noise_law import Factors, additive_law, method_of
from isinglass.errors import AttackError

Array = NDArray[Any]

#: Widths of the prior around each record of the sample, in deviations of the population: 0 is the
#: sample itself, 1 is one wide bell for all.
WIDTHS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
MOST_RECORDS = 2_000
#: Records of the sample that are left out, given noise, and guessed, to choose a width by.
TRIED = 400
_BLOCK = 1 << 22  # weights held at once


class PosteriorAttack(Attack):
    r"""Average over all records that noise may have turned into the row, likelier ones more.

    The prior is a bell of covariance $h^2 C$ around each record $s$ of a sample, $C$ that of the
    population. Under noise of covariance $N$ the posterior mean is

    $$\sum_s w_s \, [s + h^2 C (h^2 C + N)^{-1} (z - s)], \quad w_s \propto
    \phi(z - s; h^2 C + N).$$

    With h = 1 this is nearly the best linear estimate, with h = 0 an average of the sample. The
    attacker adds like noise to records of the sample that he leaves out, guesses them, and keeps
    the width that does best.
    """

    name: ClassVar[str] = "posterior"
    needs = (PopulationSample,)

    def __init__(self, *, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        known = Knowledge.of(knowledge)
        Z, sample = rows_of(released), known.need(PopulationSample).records
        if Z.shape[1] != sample.shape[1]:
            raise AttackError(
                f"the release has {Z.shape[1]} columns and the sample {sample.shape[1]}: noise "
                "would leave them as they are"
            )
        if len(sample) < 4 or not np.isfinite(sample).all():
            raise AttackError("the sample must hold at least 4 records, all of them finite")
        rng = chance.generator(self.random_state)
        unit = sample.std(axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        center = sample.mean(axis=0)
        S = ((sample - center) / unit)[rng.permutation(len(sample))[:MOST_RECORDS]]
        z = (Z - center) / unit
        variance = self._variance(Z, known) / unit**2
        width = _best_width(S, variance, rng)
        return clipped(center + unit * _posterior_mean(z, S, variance, width), known)

    def _variance(self, Z: Array, known: Knowledge) -> Array:
        """The noise's variance, column by column; factors are noise in proportion to values."""
        if method_of(known) == "multiplicative_noise":
            from isinglass.attack.knowledge import PublicParameters

            said = known.need(PublicParameters).parameters.get("scale")
            scale = float(said) if isinstance(said, int | float) else 0.1
            share = Factors.of(scale).variance
            return np.asarray(np.square(Z).mean(axis=0) * share / (1 + share))
        return np.asarray(additive_law(Z, known).variance)


def _best_width(S: Array, variance: Array, rng: np.random.Generator) -> float:
    """The width that guesses records best which were left out of the prior."""
    n = min(TRIED, len(S) // 4)
    left_out, prior = S[:n], S[n:]
    noisy = left_out + rng.normal(size=left_out.shape) * np.sqrt(variance)
    errors = [
        float(np.square(_posterior_mean(noisy, prior, variance, w) - left_out).mean())
        for w in WIDTHS
    ]
    return WIDTHS[int(np.argmin(errors))]


def _posterior_mean(z: Array, S: Array, variance: Array, width: float) -> Array:
    d = S.shape[1]
    covariance = np.cov(S, rowvar=False).reshape(d, d)
    # Few records give a covariance that is too sure of itself: draw it towards its diagonal.
    trust = len(S) / (len(S) + d)
    covariance = trust * covariance + (1 - trust) * np.diag(np.diag(covariance))
    inner = width**2 * covariance
    total = inner + np.diag(np.maximum(variance, 1e-6))
    values, vectors = np.linalg.eigh(total)
    white = vectors / np.sqrt(np.maximum(values, 1e-12))
    gain = np.linalg.solve(total, inner)  # transposed: rows are records
    guess = np.empty_like(z)
    a, b = z @ white, S @ white
    half = 0.5 * np.square(b).sum(axis=1)
    step = max(1, _BLOCK // len(S))
    for start in range(0, len(z), step):
        rows = slice(start, start + step)
        fits = a[rows] @ b.T - half
        fits -= fits.max(axis=1, keepdims=True)
        weights = np.exp(fits)
        weights /= weights.sum(axis=1, keepdims=True)
        means = weights @ S
        guess[rows] = means + (z[rows] - means) @ gain
    return guess
