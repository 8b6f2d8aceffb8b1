"""Random rotation of the scaled table (Chen and Liu)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.errors import PrivacyWarning
from isinglass.measure.assignment import (
    best_order_average,
    best_order_minimum,
    some_order_exceeds,
)
from isinglass.measure.separation import MOST_ROWS, Separation, sample_rows, separation_levels
from isinglass.measure.vod import column_weights, placement_levels
from isinglass.messages import warn
from isinglass.perturb.registry import Variant
from isinglass.perturb.scaled import ScaledPerturbation
from isinglass.table.survey import Survey

Array = NDArray[Any]

#: Below this level Chen and Liu themselves call for more than a rotation.
LOW_LEVEL = 0.2


@dataclass(frozen=True, slots=True)
class RotationKey:
    """The motion; its contents never print, so they never reach a log."""

    rotation: Array = field(repr=False)  # R, d x d
    center: Array = field(repr=False)  # t, d


class Rotation(ScaledPerturbation):
    r"""Release $z = R (x - t)$ for a secret orthogonal $R$ and center $t$, `x` scaled to [0, 1].

    Guarantee: none; heuristic. `privacy_level_` is a deviation measured on this table, against two
    attackers: one who takes the released columns as they are and, with `check_ica`, one who
    separates them into independent components. It says nothing about any other attacker: R = -I
    scores twice the columns' deviations, more than most random draws, and hides nothing.

    Utility: distances survive up to rounding, so detectors built on them (nearest neighbors,
    density, radial kernels) rank the release as they rank the scaled table, provided nobody
    rescales the release. Reflections count as rotations.

    Weakness: d + 1 recognized records in general position undo it exactly, `d` of them almost.
    Whoever knows the covariance of the scaled table, from a sample like it say, gets R from the
    eigenvectors without recognizing anyone. Independent component analysis recovers columns that
    are far from normal and nearly independent; the rotation chosen makes no difference to it.
    All records share one key.

    Parameters
    ----------
    n_iter : int, default=50
        Rotations drawn in the search; the one with the highest level is kept.
    optimize : {"minimum", "average", None}, default="minimum"
        What the search raises: the level of the weakest column, or the mean over columns. The
        rows of each rotation are put in their best order, exactly. None draws one rotation
        uniformly and measures nothing; only then may the table be too large to hold.
    weights : array of shape (n_columns,), default=None
        Columns with a larger weight ask for a higher level. Only their ratios matter.
    check_ica : bool, default=True
        Attack the release by independent components and let the level fall to what is left. On
        more than 20,000 records a random sample of them is attacked.
    bounds, clip
        See `ScaledPerturbation`.
    random_state : int, Generator or None
        None draws the key from the operating system. Anything else is for experiments.

    References
    ----------
    K. Chen, L. Liu: A random rotation perturbation approach to privacy preserving data
    classification. ICDM 2005. Their search is Algorithm 1, by swapping rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> veil = ig.Rotation(optimize=None, bounds="scaled", random_state=0)
    >>> Z = veil.fit_transform(X)
    >>> bool(np.isclose(np.linalg.norm(Z[0] - Z[1]), np.linalg.norm(X[0] - X[1])))
    True
    """

    method = "rotation"
    key_type = RotationKey
    variants: ClassVar = {"rotation": Variant()}
    least_columns = 2

    #: The level the search reached, to three digits; None where nothing was measured.
    privacy_level_: float | None = None
    _table: Array | None

    def __init__(
        self,
        n_iter: int = 50,
        *,
        optimize: str | None = "minimum",
        weights: ArrayLike | None = None,
        check_ica: bool = True,
        bounds: Any = None,
        clip: bool = False,
        random_state: chance.RandomState = None,
    ) -> None:
        self.n_iter = n_iter
        self.optimize = optimize
        self.weights = weights
        self.check_ica = check_ica
        self.bounds = bounds
        self.clip = clip
        self.random_state = random_state

    @property
    def needs_table(self) -> bool:  # type: ignore[override]
        """The search measures the table; a single draw needs its width only."""
        return self.optimize is not None

    def key_bytes(self, n_columns: int) -> int:
        """How much memory the key of a table this wide takes."""
        return 8 * (n_columns * n_columns + n_columns)

    def key_shapes(self) -> dict[str, tuple[int, ...]]:
        d = self.n_features_in_
        return {"rotation": (d, d), "center": (d,)}

    def table_bytes(self, n_rows: int, n_columns: int) -> int:
        """How much memory the search takes: the table as float64, and the sample ICA works on."""
        if not self.needs_table:
            return 0
        # Original, release, centered, whitened and FastICA's four of the same size; the search
        # itself holds a few matrices as wide as the table, and a block of rows.
        attacked = 8 * min(n_rows, MOST_ROWS) if self.check_ica else 0
        block = 2 * min(n_rows, 1 + (1 << 18) // n_columns)
        return 8 * n_columns * (n_rows + attacked + block + 8 * n_columns)

    def _fit(self, facts: Survey, X: Array | None) -> Self:
        self.privacy_level_ = None
        self._table = X  # for the search in `_draw`, and no longer
        try:
            return super()._fit(facts, X)
        finally:
            del self._table

    def _check(self, n_columns: int) -> None:
        if int(self.n_iter) != self.n_iter or self.n_iter < 1:
            raise ValueError(f"n_iter must be a whole number >= 1, got {self.n_iter}")
        if self.optimize not in ("minimum", "average", None):
            raise ValueError(
                f"optimize must be 'minimum', 'average' or None, got {self.optimize!r}"
            )
        column_weights(self.weights, n_columns)

    def _draw(self, facts: Survey, rng: np.random.Generator) -> RotationKey:
        d = facts.n_columns
        self._check(d)
        center = np.asarray(rng.random(d))
        if self.optimize is None:
            return RotationKey(chance.haar(rng, d), center)
        assert self._table is not None
        return self._search(self._table, center, rng)

    def _search(self, X: Array, center: Array, rng: np.random.Generator) -> RotationKey:
        """Draw rotations, order the rows of each, keep the one with the highest level."""
        if len(X) < 2:
            raise ValueError(
                f"n_samples={len(X)}: the search measures variances and needs at least 2 records; "
                "pass optimize=None to rotate without a search"
            )
        if not self.clip:
            self._within_bounds(X)  # counts all values outside, where blocks would count their own
        d = X.shape[1]
        covariance = self._scaled_covariance(X)
        minimum = self.optimize == "minimum"
        order_rows = best_order_minimum if minimum else best_order_average
        kept, best, left = np.eye(d), -1.0, np.inf
        converged = True
        for _ in range(int(self.n_iter)):
            rotation = chance.haar(rng, d)
            placements = placement_levels(rotation, covariance, self.weights)
            if minimum and not some_order_exceeds(placements, best):
                continue
            order = order_rows(placements)
            levels = placements[np.arange(d), order]
            level = float(levels.min() if minimum else levels.mean())
            if level <= best:
                continue
            kept, best = rotation[order], level
            if self.check_ica:
                # Algorithm 1 would drop a candidate that ICA gets closer to. But whitening takes
                # any rotation out again: what ICA finds depends on its random start alone, and
                # the candidate it did worst on is the attack's bad day, not a better rotation.
                # So every attack counts against the rotation that is kept.
                attack = self._attack(X, RotationKey(kept, center), rng)
                left = min(left, attack.minimum if minimum else attack.average)
                converged &= attack.converged
        self.privacy_level_ = round(min(best, left), 3)
        self._warn(self.privacy_level_, converged, by_ica=left < best)
        return RotationKey(kept, center)

    def _scaled_covariance(self, X: Array) -> Array:
        """Covariance (ddof=1) of the scaled table, block by block."""
        mean = sum(block.sum(axis=0) for block in self._scaled_blocks(X)) / len(X)
        products = np.zeros((X.shape[1], X.shape[1]))
        for block in self._scaled_blocks(X):
            block -= mean
            products += block.T @ block
        return products / (len(X) - 1)

    def _scaled_blocks(self, X: Array) -> Iterator[Array]:
        step = max(1, (1 << 18) // X.shape[1])
        for start in range(0, len(X), step):
            yield self._scaled(X[start : start + step].astype(np.float64))

    def _attack(self, X: Array, key: RotationKey, rng: np.random.Generator) -> Separation:
        scaled = self._scaled(X[sample_rows(len(X), rng)].astype(np.float64))
        released = (scaled - key.center) @ key.rotation.T
        return separation_levels(scaled, released, rng, weights=self.weights)

    def _warn(self, level: float, converged: bool, *, by_ica: bool) -> None:
        cause = "independent component analysis comes that close" if by_ica else "as released"
        message = None
        if level < LOW_LEVEL:
            nothing = "no rotation drawn hides anything; " if level == 0 else ""
            message = (
                f"the {self.optimize} privacy level is {level:g} ({cause}), below {LOW_LEVEL}; "
                f"{nothing}GeometricPerturbation adds noise against this"
            )
        elif not converged:
            message = (
                "independent component analysis did not converge on this table; the privacy "
                "level is no evidence against an attacker who tries longer"
            )
        if message is not None:
            public = "the search for a rotation gave its owner a warning about the level reached"
            warn(PrivacyWarning(message, public=public))

    def _invert(
        self, Z: Array, first_row: int, sample: ArrayLike | None, start: ArrayLike | None
    ) -> Array:
        key = self._key
        # R is orthogonal: its transpose is its inverse.
        return self._unscaled(Z @ key.rotation + key.center)

    def _mixer(self, dtype: Any) -> Callable[[Array], Array]:
        rotation = self._key.rotation.astype(dtype)
        center = self._key.center.astype(dtype)[:, np.newaxis]

        def mix(columns: Array) -> Array:
            columns -= center
            return np.asarray(rotation @ columns)

        return mix
