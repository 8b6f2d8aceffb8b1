"""Random multiparty perturbation: a private matrix near a public one (Erfani et al.)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_is_fitted

from isinglass import chance
from isinglass.activations import BEST_CURVATURE, double_logistic, double_logistic_inverse
from isinglass.messages import spell, warn
from isinglass.perturb.estimate import behind
from isinglass.perturb.key import KeyFile
from isinglass.perturb.public_matrix import PublicMatrix, public_matrix
from isinglass.perturb.registry import Strength, Variant
from isinglass.perturb.scaled import ScaledPerturbation, mix_scaled
from isinglass.table.scale import Scaling, declared_scaling
from isinglass.table.survey import Survey

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class MultipartyKey:
    """One participant's secret; its contents never print, so they never reach a log."""

    shift: Array = field(repr=False)  # Delta, w x n


class MultipartyPerturbation(ScaledPerturbation):
    r"""Release $z = (T + \Delta) f(x)$: public $T$, private $\Delta$, double logistic $f$.

    Guarantee: none; heuristic. With the published settings (`preset="paper"`, `alpha` of 0.01)
    anyone who holds the public matrix recovers most of the variance of a table, 85 to 98 % on
    data like the paper's. f does not prevent it: it is strictly monotone, so to know f(x) is to
    know x, and the best linear estimate needs no normal data.

    Utility: all participants stay close to T, so their releases can be pooled, and end users
    transform their own records with T alone; see `public_transform`. What T itself loses,
    n - w dimensions, every detector loses.

    Weakness: the private shift protects little. The best guess of T + Delta is T, off by
    `alpha` / 2 in the median. With w of n rows a share of at least w / n of the variance can be
    recovered where columns are independent and alike, much more where they are correlated. Two
    releases of one table under different matrices are worse than one: at w = n / 2 they raised
    the recovered variance from 0.50 to 0.97 (8 independent columns, 4 released, alpha = 0.01).

    Parameters
    ----------
    public_matrix : PublicMatrix or None, default=None
        The study's matrix; see the function `public_matrix`. None makes a fresh one at `fit`,
        kept in `public_matrix_`, for a study of one.
    alpha : float
        Entries of Delta are uniform on (-alpha, alpha). Must be given, above 0 and below 1.
    curvature : float, default=None
        b of f(x) = sgn(x) (1 - exp(-b x²)); None means the one that is closest to the identity
        on [0, 1], about 2.8124. A study must agree on it.
    bounds, clip
        See `ScaledPerturbation`. A study must agree on public bounds; values beyond them are
        moved to the nearest by default.
    random_state : int, Generator or None
        None draws the key from the operating system. Anything else is for experiments.

    References
    ----------
    S. M. Erfani, Y. W. Law, S. Karunasekera, C. A. Leckie, M. Palaniswami: Privacy-preserving
    collaborative anomaly detection for participatory sensing. PAKDD 2014.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> matrix = ig.public_matrix(3, 2, seed='c0ffee' * 6)
    >>> veil = ig.MultipartyPerturbation(matrix, alpha=0.1, bounds="scaled", random_state=0)
    >>> veil.fit_transform(X).shape
    (200, 2)
    """

    method = "multiparty"
    key_type = MultipartyKey
    variants: ClassVar = {
        "multiparty": Variant({}, Strength("alpha", (0.01, 0.05, 0.1, 0.2, 0.4, 0.8)))
    }
    least_columns = 2
    public_matrix_: PublicMatrix

    def __init__(
        self,
        public_matrix: PublicMatrix | None = None,
        *,
        alpha: float | None = None,
        curvature: float | None = None,
        bounds: Any = None,
        clip: bool = True,
        random_state: chance.RandomState = None,
    ) -> None:
        self.public_matrix = public_matrix
        self.alpha = alpha
        self.curvature = curvature
        self.bounds = bounds
        self.clip = clip
        self.random_state = random_state

    @property
    def _n_features_out(self) -> int:
        return self.public_matrix_.n_components

    def key_bytes(self, n_columns: int) -> int:
        """How much memory the key of a table this wide takes."""
        matrix = self.public_matrix
        width = (n_columns + 1) // 2 if matrix is None else matrix.n_components
        return 8 * width * n_columns

    @property
    def makes_public_file(self) -> bool:
        return self.public_matrix is None

    def public_file(self) -> str | None:
        """The public matrix as a file, where `fit` made it and nobody else has it yet."""
        check_is_fitted(self, "_key")
        return None if self.public_matrix is not None else self.public_matrix_.to_text()

    def known_matrix(self) -> Array | None:
        public = getattr(self, "public_matrix_", self.public_matrix)
        return None if public is None else public.matrix

    def public_parameters(self) -> dict[str, Any]:
        parameters = super().public_parameters()
        if hasattr(self, "public_matrix_"):
            parameters["public_matrix"] = self.public_matrix_.to_json()
        return parameters

    def public_transform(self, X: ArrayLike) -> Array:
        """What an end user of the same study gets for `X`: T alone, without the private shift."""
        check_is_fitted(self, "_key")
        X = self._within_bounds(self._validated(X, reset=False))
        return _released(X, self._scaling, self.public_matrix_.matrix, self.curvature)

    def key_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"shift": (self._n_features_out, self.n_features_in_)}

    def _draw(self, facts: Survey, rng: np.random.Generator) -> MultipartyKey:
        if self.alpha is None:
            raise ValueError(
                f"alpha must be given, above 0 and below 1, as in {spell('alpha', 0.1)}"
            )
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha must be > 0 and < 1, got {self.alpha}")
        _check_curvature(self.curvature)
        n = facts.n_columns
        matrix = self.public_matrix
        if matrix is None:
            # From the same source as the key, so that a seeded experiment repeats as a whole.
            matrix = public_matrix(n, seed=rng.bytes(32).hex())
        if not isinstance(matrix, PublicMatrix):
            raise ValueError(
                f"public_matrix must be a PublicMatrix or None, got {type(matrix).__name__}"
            )
        if matrix.n_features != n:
            raise ValueError(f"public_matrix is for {matrix.n_features} columns, the table has {n}")
        if matrix.n_components > (n + 1) // 2:
            warn(
                f"the public matrix has {matrix.n_components} rows for {n} columns: anyone who "
                f"holds it recovers most of the variance; {(n + 1) // 2} is the default",
            )
        self.public_matrix_ = matrix
        shape = (matrix.n_components, n)
        return MultipartyKey(shift=rng.uniform(-self.alpha, self.alpha, size=shape))

    def _perturb(self, X: Array, first_row: int) -> Array:
        weights = self.public_matrix_.matrix + self._key.shift
        return _released(self._within_bounds(X), self._scaling, weights, self.curvature)

    def _invert(
        self, Z: Array, first_row: int, sample: ArrayLike | None, start: ArrayLike | None
    ) -> Array:
        # Equation 5 on f(x), then the inverse of f. Without a sample of records like those
        # released every record is presumed to lie near the middle of the bounds.
        weights = self.public_matrix_.matrix + self._key.shift
        b = BEST_CURVATURE if self.curvature is None else float(self.curvature)
        seen = None if sample is None else double_logistic(self._rescaled(sample), b)
        middle = double_logistic(np.full(weights.shape[1], 0.5), b)
        found = behind(weights, Z, middle, seen)
        top = float(double_logistic(np.ones(1), b)[0])
        return self._unscaled(double_logistic_inverse(np.clip(found, 0, top), b))

    def key_file(self) -> KeyFile:
        stored = super().key_file()
        stored.facts["parameters"]["public_matrix"] = self.public_matrix_.to_json()
        return stored

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Self:
        facts = parameters.get("public_matrix")
        matrix = None if facts is None else PublicMatrix.from_json(facts)
        return cls(**{**parameters, "public_matrix": matrix})

    def _restore(self, stored: KeyFile) -> None:
        super()._restore(stored)
        if self.public_matrix is None:  # `key_file` always stores it
            raise ValueError("public_matrix must be stated")
        self.public_matrix_ = self.public_matrix


def public_transform(
    X: ArrayLike, matrix: PublicMatrix, *, bounds: Any, curvature: float | None = None
) -> Array:
    """Transform an end user's records with the public matrix alone, ready for a study's model.

    `bounds` are the study's declared `(low, high)`, or `"scaled"`; values beyond them are moved
    to the nearest. There is no secret in this map: what it returns hides little.
    """
    X = np.asarray(check_array(X, dtype=[np.float64, np.float32]))
    if X.shape[1] != matrix.n_features:
        raise ValueError(
            f"the public matrix is for {matrix.n_features} columns, the records have {X.shape[1]}"
        )
    if isinstance(bounds, str) and bounds != "scaled":
        raise ValueError(f"bounds must be 'scaled' or (low, high), got {bounds!r}")
    _check_curvature(curvature)
    scaling = declared_scaling((0.0, 1.0) if isinstance(bounds, str) else bounds, X.shape[1])
    low, high = scaling.low.astype(X.dtype), scaling.high.astype(X.dtype)
    return _released(np.clip(X, low, high), scaling, matrix.matrix, curvature)


def _check_curvature(curvature: float | None) -> None:
    if curvature is not None and not 0 < curvature < np.inf:
        raise ValueError(f"curvature must be None or > 0 and finite, got {curvature}")


def _released(X: Array, scaling: Scaling, weights: Array, curvature: float | None) -> Array:
    """Records within bounds to weights f(x), tile by tile."""
    weights = weights.astype(X.dtype)
    b = BEST_CURVATURE if curvature is None else float(curvature)
    return mix_scaled(X, scaling, lambda x: weights @ double_logistic(x, b), len(weights))
