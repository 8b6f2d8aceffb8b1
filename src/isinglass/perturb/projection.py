"""Random projection to fewer columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.perturb.estimate import behind
from isinglass.perturb.registry import Strength, Variant
from isinglass.perturb.scaled import ScaledPerturbation
from isinglass.table.survey import Survey

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ProjectionKey:
    """The projection; its contents never print, so they never reach a log."""

    projection: Array = field(repr=False)  # P, p x d


class RandomProjection(ScaledPerturbation):
    r"""Release $z = P x$ for a secret random matrix $P$ with fewer rows than columns.

    Guarantee: none; heuristic. With fewer released columns than the table has, even the key
    leaves a whole space of records that fit a released one; the likeliest of them may be close.

    Utility: squared distances are kept on average. Their relative standard deviation is
    sqrt(2/p) for gaussian weights and sqrt(2 (d - p) / (p (d + 2))) for orthogonal ones, so
    orthogonal weights are better everywhere and exact at p = d.

    Weakness: d recognized records in general position give P exactly, and then the best linear
    estimate recovers at least the share of variance that p directions carry: most of it where
    columns are correlated. Independent component analysis needs no record when p = d.

    Parameters
    ----------
    n_components : int, default=None
        Released columns p; None means half of the table's, rounded up. Orthogonal weights allow
        no more than the table has.
    weights : {"gaussian", "orthogonal"}, default="gaussian"
        Independent normal entries of variance 1/p, or rows of a random rotation times sqrt(d/p).
    bounds, clip
        See `ScaledPerturbation`.
    random_state : int, Generator or None
        None draws the key from the operating system. Anything else is for experiments.

    References
    ----------
    K. Liu, H. Kargupta, J. Ryan: Random projection-based multiplicative data perturbation for
    privacy preserving distributed data mining. IEEE Trans. KDE 18(1), 2006.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> ig.RandomProjection(2, bounds="scaled", random_state=0).fit_transform(X).shape
    (200, 2)
    """

    method = "projection"
    key_type = ProjectionKey
    variants: ClassVar = {
        "projection": Variant(
            {}, Strength("n_components", (0.25, 0.5, 0.75), whole=True, of_columns=True)
        )
    }
    least_columns = 2

    def __init__(
        self,
        n_components: int | None = None,
        *,
        weights: str = "gaussian",
        bounds: Any = None,
        clip: bool = False,
        random_state: chance.RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.weights = weights
        self.bounds = bounds
        self.clip = clip
        self.random_state = random_state

    @property
    def _n_features_out(self) -> int:
        return self._width(self.n_features_in_)

    def _width(self, n_columns: int) -> int:
        return (n_columns + 1) // 2 if self.n_components is None else int(self.n_components)

    def key_bytes(self, n_columns: int) -> int:
        """How much memory the key of a table this wide takes."""
        return 8 * self._width(n_columns) * n_columns

    def key_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"projection": (self._n_features_out, self.n_features_in_)}

    def _draw(self, facts: Survey, rng: np.random.Generator) -> ProjectionKey:
        wanted, d = self.n_components, facts.n_columns
        if wanted is not None and (int(wanted) != wanted or wanted < 1):
            raise ValueError(f"n_components must be None or a whole number >= 1, got {wanted}")
        if self.weights not in ("gaussian", "orthogonal"):
            raise ValueError(f"weights must be 'gaussian' or 'orthogonal', got {self.weights!r}")
        p = self._width(d)
        if self.weights == "gaussian":
            return ProjectionKey(rng.normal(size=(p, d)) / np.sqrt(p))
        if p > d:
            raise ValueError(
                f"n_components must be <= the table's {d} columns for orthogonal weights, got {p}"
            )
        return ProjectionKey(chance.haar(rng, d, p) * np.sqrt(d / p))

    def _invert(
        self, Z: Array, first_row: int, sample: ArrayLike | None, start: ArrayLike | None
    ) -> Array:
        # Exact up to rounding with as many released columns as the table has. With fewer, the
        # records nearest to the middle of the bounds that fit the release; with a sample of
        # records like them, the best linear estimate.
        weights = self._key.projection
        seen = None if sample is None else self._rescaled(sample)
        middle = np.full(weights.shape[1], 0.5)
        found = behind(weights, Z, middle, seen)
        # Records lie within the bounds; an estimate need not, until it is told.
        return self._unscaled(np.clip(found, 0, 1))

    def _mixer(self, dtype: Any) -> Callable[[Array], Array]:
        projection = self._key.projection.astype(dtype)

        def mix(columns: Array) -> Array:
            return np.asarray(projection @ columns)

        return mix
