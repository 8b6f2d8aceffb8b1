"""Geometric perturbation: rotation, shift and noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.perturb.noise import row_chunks
from isinglass.perturb.registry import Strength, Variant
from isinglass.perturb.rounding import RoundedNoise, noise_grid, round_to_grid
from isinglass.perturb.scaled import ScaledPerturbation
from isinglass.table.survey import Survey

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class GeometricKey:
    """The motion and the pad; its contents never print, so they never reach a log."""

    rotation: Array = field(repr=False)  # R, d x d
    translation: Array = field(repr=False)  # t, d
    stream: NDArray[np.uint64] = field(repr=False)  # key of the row-indexed noise


class GeometricPerturbation(RoundedNoise, ScaledPerturbation):
    r"""Release $z = R x + t + e$ for a secret rotation, a secret shift and noise per record.

    Guarantee: none; heuristic.

    Utility: without noise all Euclidean distances survive, up to rounding. With it squared
    distances grow by 2 d `noise`² on average, all alike, so neighbors farther apart than the
    noise keep their order.

    Weakness: the shift hides nothing, every difference of records cancels it. d + 1 recognized
    records give rotation and shift up to the noise, more records average it away; what stays
    hidden of every other value is then the noise alone. Who knows the covariance of the table
    needs no record at all, and independent component analysis little more.

    Parameters
    ----------
    noise : float, default=0.05
        Standard deviation of the gaussian noise, in units of the columns scaled to [0, 1].
    bounds, clip
        See `ScaledPerturbation`.
    random_state : int, Generator or None
        None draws the key from the operating system. Anything else is for experiments.

    References
    ----------
    K. Chen, L. Liu: Geometric data perturbation for privacy preserving outsourced data mining.
    Knowledge and Information Systems 29(3), 2011.
    K. Chen, L. Liu: Privacy preserving data classification with rotation perturbation. ICDM 2005.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> veil = ig.GeometricPerturbation(0.01, bounds="scaled", random_state=0)
    >>> Z = veil.fit_transform(X)
    >>> bool(np.allclose(veil.inverse_transform(Z), X))  # for whoever has the key
    True
    """

    method = "geometric"
    key_type = GeometricKey
    variants: ClassVar = {"geometric": Variant({}, Strength("noise", (0.01, 0.03, 0.1, 0.3)))}

    def __init__(
        self,
        noise: float = 0.05,
        *,
        bounds: Any = None,
        clip: bool = False,
        random_state: chance.RandomState = None,
    ) -> None:
        self.noise = noise
        self.bounds = bounds
        self.clip = clip
        self.random_state = random_state

    @property
    def draws_noise(self) -> bool:  # type: ignore[override]
        """Without noise the key is no pad: it may serve other records, in any order."""
        return self.noise > 0

    def key_bytes(self, n_columns: int) -> int:
        """How much memory the key of a table this wide takes."""
        return 8 * n_columns * (n_columns + 1) + 32

    def key_shapes(self) -> dict[str, tuple[int, ...]]:
        d = self.n_features_in_
        return {"rotation": (d, d), "translation": (d,), "stream": (4,)}

    def _draw(self, facts: Survey, rng: np.random.Generator) -> GeometricKey:
        if not 0 <= self.noise < np.inf:
            raise ValueError(f"noise must be >= 0 and finite, got {self.noise}")
        return GeometricKey(
            rotation=chance.haar(rng, facts.n_columns),
            translation=rng.random(facts.n_columns),
            stream=chance.stream_key(rng),
        )

    def _invert(
        self, Z: Array, first_row: int, sample: ArrayLike | None, start: ArrayLike | None
    ) -> Array:
        moved = Z.copy()
        if self.draws_noise:
            self._add_noise(moved, first_row, -self.noise)
        moved -= self._key.translation
        return self._unscaled(moved @ self._key.rotation)

    def _mixer(self, dtype: Any) -> Callable[[Array], Array]:
        rotation = self._key.rotation.astype(dtype)
        translation = self._key.translation.astype(dtype)[:, np.newaxis]

        def mix(columns: Array) -> Array:
            moved = rotation @ columns
            moved += translation
            return np.asarray(moved)

        return mix

    def _perturb(self, X: Array, first_row: int) -> Array:
        moved = super()._perturb(X, first_row)
        if not self.draws_noise:
            return moved
        self._add_noise(moved, first_row, self.noise)
        return moved

    def _add_noise(self, moved: Array, first_row: int, size: float) -> None:
        stream, width = chance.Stream(self._key.stream), moved.shape[1]
        grid = noise_grid(np.full(width, abs(size)))
        for rows in row_chunks(len(moved), width):
            noise = stream.normal(first_row + rows.start, rows.stop - rows.start, width)
            noise *= size
            noise += moved[rows]
            if size > 0 and self.rounds_noise:
                round_to_grid(noise, grid)
            moved[rows] = noise
