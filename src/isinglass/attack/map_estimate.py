"""MAP attack on random multiparty perturbation, by its public matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, ReleaseFacts, rows_of
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    Knowledge,
    KnownPairs,
    OtherReleases,
    PopulationSample,
    PublicParameters,
)
from isinglass.errors import AttackError

if TYPE_CHECKING:
    from isinglass.attack.learning.gaussian import Moments
    from isinglass.attack.learning.mixing import Mixing
    from isinglass.attack.learning.study import Study

Array = NDArray[Any]

PRIORS = ("gaussian", "sample", "laplace")
MATRICES = ("public", "known", "joint", "ica")


class MAPAttack(Attack):
    r"""Estimate $y$ from $z = (T + \Delta) y$, then undo the nonlinearity $y = f(x)$.

    With normal $y$ of mean $\mu$ and covariance $S$ the most likely $y$ is the conditional mean
    $\mu + S T^T (T S T^T + N)^{-1} (z - T \mu)$ (Erfani et al., eq. 5), where $N$ stands for the
    unknown $\Delta y$. For any other $y$ it is still the best linear estimate, which is why a
    nonlinearity does not stop it: f is monotone, and its output has moments like any other.

    It needs the study's public parameters and the moments of $y$: from a `PopulationSample`, or
    from `ColumnStatistics` alone, which makes columns independent, or from `KnownPairs`. Known
    pairs also tell of $T + \Delta$: as many as there are columns tell it all. Other releases
    of the same rows are stacked, where `PublicParameters.matrix` holds their matrices below the
    first one's.

    Parameters
    ----------
    prior : {"gaussian", "sample", "laplace"}, default="gaussian"
        What is believed of $y$: its two moments; its distribution as in the sample; or a Laplace
        law on its whitened coordinates.
    matrix : {"public", "known", "joint", "ica"}, default="public"
        What is taken for $T + \Delta$. "public": T, with $\Delta y$ as noise of variance
        $\alpha^2 / 3 \, E|y|^2$. "known": the given matrix is $T + \Delta$ itself. "joint": T moved
        within $\pm\alpha$ until mean and covariance of the release fit those of the sample (in
        place of eq. 6, see `fit_moments`). "ica": the same with third and fourth moments, an
        over-complete independent component analysis that starts from T. The last two are kept
        only where they make the release more likely than T does.
    n_iter : int, default=8
        Most steps of the search for the matrix, for each order of moments.
    random_state : int, Generator or None
        For the directions and samples of "joint", "ica" and "sample".

    References
    ----------
    S. M. Erfani, Y. W. Law, S. Karunasekera, C. A. Leckie, M. Palaniswami: Privacy-preserving
    collaborative anomaly detection for participatory sensing. PAKDD 2014.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> matrix = ig.public_matrix(3, 2, seed='c0ffee' * 6)
    >>> veil = ig.MultipartyPerturbation(matrix, alpha=0.1, bounds="scaled").fit(X)
    >>> said = ig.attacks.PublicParameters(
    ...     'multiparty', veil.public_parameters(), np.zeros(3), np.ones(3), matrix.matrix
    ... )
    >>> known = said | ig.attacks.PopulationSample(np.random.default_rng(1).random((500, 3)))
    >>> ig.attacks.MAPAttack(random_state=0).guess(veil.transform(X), known).shape
    (200, 3)
    """

    name: ClassVar[str] = "map"
    story = "computes the likeliest record from what is public about the method"
    needs: ClassVar[tuple[type[Fact], ...]] = (PublicParameters,)

    def __init__(
        self,
        prior: str = "gaussian",
        matrix: str = "public",
        *,
        n_iter: int = 8,
        random_state: chance.RandomState = None,
    ) -> None:
        if prior not in PRIORS:
            raise ValueError(f"prior must be one of {', '.join(PRIORS)}, got {prior!r}")
        if matrix not in MATRICES:
            raise ValueError(f"matrix must be one of {', '.join(MATRICES)}, got {matrix!r}")
        if n_iter < 1:
            raise ValueError(f"n_iter must be >= 1, got {n_iter}")
        self.prior = prior
        self.matrix = matrix
        self.n_iter = n_iter
        self.random_state = random_state

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        if release.has_public_matrix:
            return None
        return "it needs a public matrix, which only the multiparty method has"

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        # Few releases have a public matrix, and nothing else needs these.
        from isinglass.attack.learning.gaussian import linear_estimate
        from isinglass.attack.learning.priors import laplace_estimate, sample_estimate
        from isinglass.attack.learning.study import Study

        known = Knowledge.of(knowledge)
        study = Study.of(known)
        Z = _stacked(rows_of(released), study, known)
        rng = chance.generator(self.random_state)
        moments, sample = _prior(study, known, rng)
        mixing = self._mixing(Z, study, known, moments, sample, rng)
        noise = mixing.noise(moments)
        if self.prior == "sample":
            y = sample_estimate(Z, mixing.matrix, moments, noise, sample, rng)
        elif self.prior == "laplace":
            y = laplace_estimate(Z, mixing.matrix, moments, noise)
        else:
            y = linear_estimate(Z, mixing.matrix, moments, noise)
        return study.to_table(y)

    def _mixing(
        self,
        Z: Array,
        study: Study,
        known: Knowledge,
        moments: Moments,
        sample: Array,
        rng: np.random.Generator,
    ) -> Mixing:
        from isinglass.attack.learning.mixing import Mixing, fit_moments, log_likelihood

        if self.matrix == "known":
            return Mixing.public(study.matrix, np.zeros(len(study.matrix)))
        if (study.alpha <= 0).all():
            raise AttackError("this attack needs alpha, a parameter of the study, above 0")
        mixing = Mixing.public(study.matrix, study.alpha)
        pairs = known.find(KnownPairs)
        if pairs is not None and len(pairs.rows):
            if pairs.rows.min() < 0 or pairs.rows.max() >= len(Z):
                raise AttackError(f"known pairs must name rows of the release's {len(Z)}")
            mixing = mixing.with_pairs(study.to_y(pairs.records), Z[pairs.rows])
        if self.matrix == "public":
            return mixing
        # The third and fourth moments can mislead where columns are nearly normal: of the
        # candidates, the one under which the release is most likely.
        order = 2 if self.matrix == "joint" else 4
        beliefs = [mixing, *fit_moments(mixing, Z, sample, order, rng, n_iter=self.n_iter)]
        return max(beliefs, key=lambda belief: log_likelihood(belief, Z, moments))


def _stacked(Z: Array, study: Study, known: Knowledge) -> Array:
    """The release beside the others, where the public matrix speaks of them too."""
    w = len(study.matrix)
    others = known.find(OtherReleases)
    if Z.shape[1] != w and others is not None:
        if any(len(table) != len(Z) for table in others.tables):
            raise AttackError(f"other releases must have the release's {len(Z)} rows")
        Z = np.column_stack([Z, *others.tables])
    if Z.shape[1] != w:
        raise AttackError(f"the public matrix has {w} rows, the release {Z.shape[1]} columns")
    return Z


def _prior(study: Study, known: Knowledge, rng: np.random.Generator) -> tuple[Moments, Array]:
    """The moments of y, and y like those of the table."""
    from isinglass.attack.learning.gaussian import (
        Moments,
        draw_by_statistics,
        moments_by_statistics,
    )

    sample, statistics = known.find(PopulationSample), known.find(ColumnStatistics)
    pairs = known.find(KnownPairs)
    if sample is not None and len(sample.records) > 1:
        y = study.to_y(sample.records)
        return Moments.of(y), y
    if statistics is not None:
        if len(statistics.mean) != study.matrix.shape[1]:
            raise AttackError(
                f"the public matrix is for {study.matrix.shape[1]} columns, "
                f"column statistics for {len(statistics.mean)}"
            )
        return moments_by_statistics(statistics, study), draw_by_statistics(statistics, study, rng)
    if pairs is not None and len(pairs.records) > 1:
        y = study.to_y(pairs.records)
        return Moments.of(y), y
    raise AttackError("this attack needs PopulationSample or ColumnStatistics, neither is known")
