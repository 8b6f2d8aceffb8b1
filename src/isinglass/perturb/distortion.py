"""Random nonlinear distortion: B + Q f(A + W x), after Bhaduri, Stefanski and Srivastava."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.activations import Activation
from isinglass.activations import activation as find_activation
from isinglass.perturb.registry import Strength, Variant
from isinglass.perturb.scaled import ScaledPerturbation
from isinglass.table.survey import Survey
from isinglass.theory.moments import distance_preserving_sigma_q

if TYPE_CHECKING:
    from isinglass.theory.network import Network

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class DistortionKey:
    """The random network; its contents never print, so they never reach a log."""

    first: Array = field(repr=False)  # W of the first layer, m x d
    deep: Array | None = field(repr=False)  # W of the further layers, (layers - 1) x m x m
    shifts: Array = field(repr=False)  # A of every layer, layers x m
    last: Array = field(repr=False)  # Q, p x m
    offset: Array = field(repr=False)  # B, p


class Distortion(ScaledPerturbation):
    r"""Release $z = B + Q f(A + W (x - c))$ for a secret random network.

    Guarantee: none; heuristic. Whoever has the key undoes an injective f (identity, tanh,
    sigmoid, erf, double logistic) almost exactly when `n_hidden` and `n_components` are at least
    the number of columns: the papers' claim that tanh cannot be inverted is wrong. With more
    units even the square and relu come back; the last paragraph says what is really lost.

    Utility: distances near the center are kept on average, exactly for the identity with
    orthogonal weights and `n_hidden`, `n_components` multiples of the number of columns; far
    records are pressed together, more so the steeper the slope. Detectors built on distances
    find most of the same outliers; audit the release to see how many.

    Weakness: d + 1 recognized records undo the identity; for tanh with small `sigma_w` a few
    hundred give a good linear estimate. Outliers do not collapse onto one point: a saturated
    record lands on the corner its direction points to. All records share one key.

    `inverse_transform` solves the whole network for x, from several starting points, among
    records within the bounds. For a strictly increasing f (tanh, sigmoid, erf, double logistic)
    every value comes back with no fewer hidden units and released columns than the table has
    columns, or with more released columns than that where there are still more hidden units. For
    square and relu it takes about twice or three times as many units as columns. Really lost is

    - what fewer hidden units or released columns than the table has leave open (rank);
    - what saturates, where a unit's last digits are rounded away (a steep slope);
    - which of several records it was, where f folds and units are few, or where just as many
      columns are released as the table has, of more hidden units.

    There the result is a record that explains the release, the likeliest found; a `sample` of
    records like those released says what is likely, and `start` where to search first. For `sign`
    there is no way back: a step function has no slope to follow. A function of one's own is
    solved by differences, and comes back as far as it is smooth. Tables beyond about a hundred
    columns are solved layer by layer alone.

    Parameters
    ----------
    activation : str or callable, default="tanh"
        `identity`, `tanh`, `sigmoid`, `square`, `sign`, `double_logistic`, `erf`, `relu`, or a
        function of one array that treats each entry alone.
    slope : float, default=1.0
        f(slope z) in place of f(z). `sign` is the infinite slope of tanh.
    n_hidden, n_components : int, default=None
        m hidden units and p released columns; None means as many as the table has columns.
    weights : {"orthogonal", "gaussian"}, default="orthogonal"
        Stacked random rotations, or independent normal entries as in the paper. Both have
        entries of the same deviation; the first disturbs distances less.
    center : float or array, default=0.5
        Public point of the scaled cube that is moved to the origin, where distances survive best.
    sigma_w, sigma_a, sigma_q, sigma_b : float
        Standard deviations of the entries of W, A, Q, B. `sigma_q=None` chooses the one that
        keeps squared distances near the center on average. B cancels in every distance.
    layers : int, default=1
        Hidden layers; each further one is a square random layer of its own, scaled like Q.
    bounds, clip
        See `ScaledPerturbation`.
    random_state : int, Generator or None
        None draws the key from the operating system. Anything else is for experiments.

    References
    ----------
    K. Bhaduri, M. Stefanski, A. Srivastava: Privacy-preserving outlier detection through random
    nonlinear data distortion. IEEE Trans. SMC B 41(1), 2011.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> veil = ig.Distortion("tanh", bounds="scaled", random_state=0)
    >>> Z = veil.fit_transform(X)
    >>> bool(np.allclose(veil.inverse_transform(Z), X))  # for whoever has the key
    True
    """

    method = "distortion"
    searches_inverse = True
    key_type = DistortionKey
    variants: ClassVar = {
        "linear": Variant({"activation": "identity"}),
        "tanh": Variant({"activation": "tanh"}, Strength("slope", (0.1, 0.3, 1, 3, 10))),
        "sigmoid": Variant({"activation": "sigmoid"}, Strength("slope", (0.3, 1, 3, 10))),
        "double_logistic": Variant(
            {"activation": "double_logistic"}, Strength("slope", (0.3, 1, 3))
        ),
        "square": Variant({"activation": "square"}),
        "sign": Variant({"activation": "sign"}),
    }

    def __init__(
        self,
        activation: str | Callable[[Array], Array] = "tanh",
        *,
        slope: float = 1.0,
        n_hidden: int | None = None,
        n_components: int | None = None,
        weights: str = "orthogonal",
        center: float | ArrayLike = 0.5,
        sigma_w: float = 1.0,
        sigma_a: float = 1.0,
        sigma_q: float | None = None,
        sigma_b: float = 0.0,
        layers: int = 1,
        bounds: Any = None,
        clip: bool = False,
        random_state: chance.RandomState = None,
    ) -> None:
        self.activation = activation
        self.slope = slope
        self.n_hidden = n_hidden
        self.n_components = n_components
        self.weights = weights
        self.center = center
        self.sigma_w = sigma_w
        self.sigma_a = sigma_a
        self.sigma_q = sigma_q
        self.sigma_b = sigma_b
        self.layers = layers
        self.bounds = bounds
        self.clip = clip
        self.random_state = random_state

    @property
    def _n_features_out(self) -> int:
        return self.n_features_in_ if self.n_components is None else int(self.n_components)

    def key_bytes(self, n_columns: int) -> int:
        """How much memory the key of a table this wide takes."""
        m = n_columns if self.n_hidden is None else int(self.n_hidden)
        p = n_columns if self.n_components is None else int(self.n_components)
        return 8 * (m * n_columns + (self.layers - 1) * m * m + p * m + self.layers * m + p)

    def key_shapes(self) -> dict[str, tuple[int, ...]]:
        d, p, layers = self.n_features_in_, self._n_features_out, int(self.layers)
        m = d if self.n_hidden is None else int(self.n_hidden)
        deep = {"deep": (layers - 1, m, m)} if layers > 1 else {}
        return {"first": (m, d), **deep, "shifts": (layers, m), "last": (p, m), "offset": (p,)}

    def _draw(self, facts: Survey, rng: np.random.Generator) -> DistortionKey:
        f, d = self._check(facts.n_columns), facts.n_columns
        m = d if self.n_hidden is None else int(self.n_hidden)
        p = self._n_features_out
        layers = int(self.layers)
        sigma_q = self.sigma_q
        if sigma_q is None:
            sigma_q = distance_preserving_sigma_q(
                f, m, p, self.sigma_w, self.sigma_a, slope=self.slope
            )
        draw = self._orthogonal if self.weights == "orthogonal" else self._gaussian
        deep = []
        for _ in range(layers - 1):
            # Entries of deviation 1 / sqrt(m E f'^2): small differences pass at their own size.
            unit = distance_preserving_sigma_q(f, m, 1, 1.0, self.sigma_a, slope=self.slope)
            deep.append(draw(rng, m, m) * unit)
        return DistortionKey(
            first=draw(rng, m, d) * self.sigma_w,
            deep=np.stack(deep) if deep else None,
            shifts=rng.normal(size=(layers, m)) * self.sigma_a,
            last=draw(rng, p, m) * sigma_q,
            offset=rng.normal(size=p) * self.sigma_b,
        )

    @staticmethod
    def _gaussian(rng: np.random.Generator, rows: int, columns: int) -> Array:
        return rng.normal(size=(rows, columns))

    @staticmethod
    def _orthogonal(rng: np.random.Generator, rows: int, columns: int) -> Array:
        """Stacked Haar matrices cut to `rows`, with entries of mean square one."""
        blocks = [
            chance.haar(rng, columns, min(columns, rows - start))
            for start in range(0, rows, columns)
        ]
        return np.asarray(np.vstack(blocks) * np.sqrt(columns))

    def _check(self, n_columns: int) -> Activation:
        for name in ("n_hidden", "n_components"):
            value = getattr(self, name)
            if value is not None and (int(value) != value or value < 1):
                raise ValueError(f"{name} must be None or a whole number >= 1, got {value}")
        if int(self.layers) != self.layers or self.layers < 1:
            raise ValueError(f"layers must be a whole number >= 1, got {self.layers}")
        if self.weights not in ("orthogonal", "gaussian"):
            raise ValueError(f"weights must be 'orthogonal' or 'gaussian', got {self.weights!r}")
        for name in ("slope", "sigma_w"):
            if not 0 < getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be > 0 and finite, got {getattr(self, name)}")
        for name in ("sigma_a", "sigma_b", "sigma_q"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < np.inf:
                raise ValueError(f"{name} must be >= 0 and finite, got {value}")
        center = np.asarray(self.center, dtype=np.float64)
        if center.shape not in ((), (n_columns,)) or not np.isfinite(center).all():
            raise ValueError(
                f"center must be one finite number, or one for each of the {n_columns} columns"
            )
        return find_activation(self.activation)

    def _invert(
        self, Z: Array, first_row: int, sample: ArrayLike | None, start: ArrayLike | None
    ) -> Array:
        from isinglass.theory.inversion import Population, invert, layer_by_layer

        f = find_activation(self.activation)
        if f.name == "sign":
            raise ValueError("no way back is known for activation sign")
        released, n_columns = Z, self.n_features_in_
        network = self._network(f)
        starts = [] if start is None else [self._rescaled(start)]
        n_hidden, n_released = network.layers[0][0].shape[0], len(self._key.last)
        injective = f.inverse is not None and n_columns <= n_hidden <= n_released
        if f.inverse is not None and injective:
            starts.insert(0, layer_by_layer(network, released, f.inverse))
        seen = None if sample is None else self._rescaled(sample)
        compared = 1 if injective or starts else 3
        population = Population.of(seen, n_columns)
        found = invert(network, released, starts, population, n_compared=compared)
        return self._unscaled(found)

    def _network(self, f: Activation) -> Network:
        """The key as a network from scaled records to their release."""
        from isinglass.theory.network import Network

        key = self._key
        deep = [] if key.deep is None else list(key.deep)
        # The slope multiplies what f sees, and the center is subtracted first.
        layers = [
            (weights * self.slope, shift * self.slope)
            for weights, shift in zip([key.first, *deep], key.shifts, strict=True)
        ]
        first, shift = layers[0]
        layers[0] = (first, shift - first @ np.broadcast_to(self.center, self.n_features_in_))
        return Network(tuple(layers), key.last, key.offset, f.function, f.derivative)

    def _mixer(self, dtype: Any) -> Callable[[Array], Array]:
        key, f = self._key, find_activation(self.activation).function
        center = np.broadcast_to(np.asarray(self.center, dtype=np.float64), self.n_features_in_)
        # The slope multiplies what f sees, so it goes into the weights once.
        first = (key.first * self.slope).astype(dtype)
        deep = [] if key.deep is None else list((key.deep * self.slope).astype(dtype))
        shifts = (key.shifts * self.slope).astype(dtype)[:, :, np.newaxis]
        last = key.last.astype(dtype)
        offset = key.offset.astype(dtype)[:, np.newaxis]
        origin = center.astype(dtype)[:, np.newaxis]

        def mix(columns: Array) -> Array:
            columns -= origin
            hidden = first @ columns
            hidden += shifts[0]
            hidden = f(hidden)
            for weights, shift in zip(deep, shifts[1:], strict=True):
                hidden = f(weights @ hidden + shift)
            released = last @ hidden
            released += offset
            return np.asarray(released)

        return mix
