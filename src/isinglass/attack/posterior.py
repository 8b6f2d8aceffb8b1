"""Posterior attack: the mean of a record given its noisy row, the noise and a prior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, ReleaseFacts, rows_of
from isinglass.attack.columns.marginals import clipped, divisors
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    Knowledge,
    KnownPairs,
    PopulationSample,
    PublicParameters,
    PublicTable,
)
from isinglass.attack.linking.bounded_fit import NoiseFit, likely_means
from isinglass.attack.linking.record_fit import gaussian
from isinglass.attack.noise.fit import fit_by_parameters, in_own_units
from isinglass.attack.noise.law import AdditiveLaw, Factors, additive_law, method_of
from isinglass.attack.noise.size import others_sorted
from isinglass.attack.spectral import filter_gain
from isinglass.errors import AttackError

if TYPE_CHECKING:
    from isinglass.attack.noise.box_posterior import CellLaw

Array = NDArray[Any]

#: Widths of the prior around each record of the sample, in deviations of the population: 0 is the
#: sample itself, 1 is one wide bell for all.
WIDTHS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
MOST_RECORDS = 2_000
#: Records of the sample that are left out, given noise, and guessed, to choose a width by.
TRIED = 400
_BLOCK = 1 << 22  # weights held at once
#: Below this scale factors are cut where hardly any are: their law tells no more than its size.
_LEAST_CUT = 0.4
#: A law that makes more rows impossible is not that of the noise.
_MOST_POSSIBLE = 0.9
#: How far off its own record a row may be under uniform noise, in deviations; for rounding.
_EXACT = 0.02
#: Releases whose columns vary alike to this share have noise of the same size.
_ALIKE = 0.2
#: By this much more of the variance must columns explain together than alone.
_BETTER = 0.01


class PosteriorAttack(Attack):
    r"""Average over all records that noise may have turned into the row, likelier ones more.

    How likely is a matter of the noise's law, not of its variance alone. Under normal noise of
    covariance $N$ the prior is a bell of covariance $h^2 C$ around each record $s$ of a sample,
    $C$ that of the population, and the posterior mean is

    $$\sum_s w_s \, [s + h^2 C (h^2 C + N)^{-1} (z - s)], \quad w_s \propto
    \phi(z - s; h^2 C + N).$$

    With h = 1 this is nearly the best linear estimate, with h = 0 an average of the sample. The
    attacker adds like noise to records of the sample that he leaves out, guesses them, and keeps
    the width that does best. Under uniform noise a cell says for certain how far off its value
    can be, and the cells of correlated columns say it together: candidates are drawn near the
    sample's records and averaged by how far they are outside. Records of known pairs join the
    sample. Of a public table the records themselves are the candidates.

    Without any records the prior is by column statistics: a law of each column that has its
    bounds, mean, deviation and skewness. Far values of heavy tails show in it, and values at the
    edge of uniform noise. What cells tell one by one shows which columns go together.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> veil = ig.AdditiveNoise(scale=0.5, random_state=0).fit(X)
    >>> said = ig.attacks.PublicParameters('additive_noise', veil.public_parameters())
    >>> known = said | ig.attacks.ColumnStatistics.of(X)
    >>> Z = veil.transform(X)
    >>> guess = ig.attacks.PosteriorAttack(random_state=0).guess(Z, known)
    >>> bool(np.square(guess - X).mean() < np.square(Z - X).mean())
    True
    """

    name: ClassVar[str] = "posterior"
    story = "averages over all records that noise of this law may have turned into the row"

    def __init__(self, *, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        if release.same_width:
            return None
        return "it filters noise that was added to the columns, and here their number differs"

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        known = Knowledge.of(knowledge)
        Z, rng = rows_of(released), chance.generator(self.random_state)
        public, sample = known.find(PublicTable), known.find(PopulationSample)
        prior = sample if public is None else public
        if prior is None:
            return clipped(_by_all_releases(Z, known, rng), known)
        records, pairs = prior.records, known.find(KnownPairs)
        if public is None and pairs is not None and pairs.records.shape[1] == records.shape[1]:
            records = np.vstack([records, pairs.records])
        if Z.shape[1] != records.shape[1]:
            raise AttackError(
                f"the release has {Z.shape[1]} columns and the sample {records.shape[1]}: noise "
                "would leave them as they are"
            )
        if len(records) < 4 or not np.isfinite(records).all():
            raise AttackError("the sample must hold at least 4 records, all of them finite")
        if public is not None and public.complete:
            told = _among_all(Z, records, known)
            if told is not None:
                return clipped(told, known)
        center, unit = records.mean(axis=0), divisors(records.std(axis=0))
        S = ((records - center) / unit)[rng.permutation(len(records))[:MOST_RECORDS]]
        whole = public is not None and public.complete and len(S) == len(records)
        law, z = _law(Z, known), (Z - center) / unit
        cells = _cell_law(known, law, center, unit)
        if cells is not None:
            found = _by_candidates(z, S, cells, rng, whole=whole)
        else:
            variance = law.variance / unit**2
            width = 0.0 if whole else _best_width(S, variance, rng)
            found = _posterior_mean(z, S, variance, width)
        return clipped(center + unit * found, known)


def alone_is_worth_it(Z: Array, known: Knowledge) -> bool:
    """Whether the release and column statistics tell more than a filter by variances gets."""
    try:
        if method_of(known) == "multiplicative_noise":
            return _cut_factors(known) is not None
        from isinglass.attack.noise.cell_law import law_matters  # only where noise has a law

        return law_matters(additive_law(Z, known), known.need(ColumnStatistics))
    except (AttackError, TypeError, ValueError):  # what a file claims need not make sense
        return False


def _law(Z: Array, known: Knowledge) -> AdditiveLaw:
    """The noise, column by column; factors are noise in proportion to values."""
    if method_of(known) != "multiplicative_noise":
        return additive_law(Z, known)
    said = known.need(PublicParameters).parameters.get("scale")
    share = Factors.of(float(said) if isinstance(said, int | float) else 0.1).variance
    return AdditiveLaw(np.square(Z).mean(axis=0) * share / (1 + share))


def _among_all(Z: Array, records: Array, known: Knowledge) -> Array | None:
    """The mean of all records of the table, by the law that was declared, or by the noise's size.

    None where the noise is only known to end somewhere, and where no record fits as was declared.
    """
    public = known.find(PublicParameters)
    fit: NoiseFit | None = None
    if public is not None:
        statistics = known.find(ColumnStatistics)
        fit = fit_by_parameters(Z, records, in_own_units(public, statistics))
    if fit is None and (law := _law(Z, known)).reach is None:
        least = np.maximum(law.variance, 1e-6 * np.square(divisors(records.std(axis=0))))
        fit = gaussian(Z, records, np.sqrt(least))
    if fit is None:
        return None
    found, possible = likely_means(fit, records)
    return found if possible.mean() >= _MOST_POSSIBLE else None


def _cut_factors(known: Knowledge) -> Factors | None:
    """The law of factors whose cuts tell something; None for other noise, and where they do not."""
    if method_of(known) != "multiplicative_noise":
        return None
    said = known.need(PublicParameters).parameters.get("scale")
    if not isinstance(said, int | float) or not _LEAST_CUT <= said <= 1:
        return None
    return Factors.of(float(said))


def _cell_law(known: Knowledge, law: AdditiveLaw, center: Array, unit: Array) -> CellLaw | None:
    """The law of noise that ends somewhere, for columns of deviation 1; None for other noise."""
    factors = _cut_factors(known)
    if factors is None and law.reach is None:
        return None
    from isinglass.attack.noise.box_posterior import Box, CutFactors

    if factors is not None:
        scale = float(known.need(PublicParameters).parameters["scale"])
        return CutFactors(center / unit, scale, factors.half_width)
    return None if law.reach is None else Box(law.reach / unit)


def _by_candidates(
    z: Array, S: Array, law: CellLaw, rng: np.random.Generator, *, whole: bool
) -> Array:
    """The estimate under such noise; `whole` where the records behind the rows are in S."""
    from isinglass.attack.noise.box_posterior import (
        candidate_count,
        candidate_means,
        smoothed_sample,
    )

    varies = np.ptp(S, axis=0) > 0
    found = np.tile(S[0], (len(z), 1))
    if not varies.any():
        return found
    U, S, law = z[:, varies], S[:, varies], law.of(varies)
    if whole:
        rest = np.full(U.shape[1], _EXACT)
        found[:, varies] = candidate_means(U, S, law, rest, learn=False)
        return found
    candidates, rest = smoothed_sample(S, candidate_count(*U.shape), rng)
    found[:, varies] = law.refined(U, candidate_means(U, candidates, law, rest), rest)
    return found


def _by_all_releases(Z: Array, known: Knowledge, rng: np.random.Generator) -> Array:
    """The estimate from all releases with noise of this size: their cells stand side by side."""
    spread = Z.var(axis=0)
    alike = [
        table
        for table, same in others_sorted(Z, known)
        if same and (np.abs(table.var(axis=0) - spread) <= _ALIKE * spread).all()
    ]
    if not alike:
        return posterior_by_statistics(Z, known, rng)
    from isinglass.attack.order.row_blocks import known_of_blocks

    several = 1 + len(alike)
    found = posterior_by_statistics(
        np.hstack([Z, *alike]), known_of_blocks(known, several), rng
    )  # fmt: skip
    return np.asarray(found.reshape(len(Z), several, Z.shape[1]).mean(axis=1))


def posterior_by_statistics(Z: Array, known: Knowledge, rng: np.random.Generator) -> Array:
    """The estimate from the release and column statistics alone."""
    from isinglass.attack.noise.cell_law import told_by_cells

    statistics, law = known.need(ColumnStatistics), _law(Z, known)
    told = told_by_cells(Z, law, statistics)
    found = told.guess
    varies = (statistics.deviation > 0) & (law.variance > 0)
    if varies.sum() < 2 or len(Z) < 3:
        return found
    unit = statistics.deviation[varies]
    told_values, variance = (part[..., varies] for part in told.as_linear(statistics))
    cells = _cell_law(known, law, statistics.mean, divisors(statistics.deviation))
    if cells is None:
        together = told_values @ filter_gain(told_values, variance)
    else:
        from isinglass.attack.noise.box_posterior import by_factors

        U = (Z - statistics.mean)[:, varies] / unit
        by_all = by_factors(U, told_values / unit, variance / unit**2, cells.of(varies), rng)
        if by_all is None:
            return found
        together = by_all * unit
    # A posterior mean varies by as much as it explains, so the wider one knows more.
    share = together.var(axis=0) / unit**2
    better = share > told.share[varies] + _BETTER
    found[:, varies] = np.where(better, statistics.mean[varies] + together, found[:, varies])
    return found


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
    # The covariance of few records underestimates the variance, so it is shrunk toward the
    # diagonal.
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
