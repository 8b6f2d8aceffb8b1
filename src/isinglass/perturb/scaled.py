"""Base class of perturbations that mix columns, scaled to [0, 1] first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.messages import warn
from isinglass.perturb.base import Perturbation
from isinglass.perturb.key import KeyFile
from isinglass.table.scale import Scaling, declared_scaling, outside_message
from isinglass.table.survey import Survey
from isinglass.threads import one_thread

Array = NDArray[Any]

LEARNED_BOUNDS = (
    "bounds were learned from the table: the smallest and largest record of every column sit on "
    "the edge of the scaled range; declare public bounds where you can"
)


def mix_scaled(X: Array, scaling: Scaling, mix: Callable[[Array], Array], n_out: int) -> Array:
    """Bring the columns of records within bounds to [0, 1], then mix them, tile by tile."""
    low, factor = (v[:, np.newaxis] for v in scaling.factors(X.dtype))

    def scaled_then_mixed(columns: Array) -> Array:
        np.subtract(columns, low, out=columns)
        np.multiply(columns, factor, out=columns)
        return np.asarray(mix(columns))

    return map_tiles(X, scaled_then_mixed, n_out)


class ScaledPerturbation(Perturbation):
    """A perturbation that mixes columns, and so brings each to [0, 1] first.

    `bounds` are `None` (learned from the table, with a PrivacyWarning), `(low, high)`, declared
    in public, or `"scaled"` (the columns lie in [0, 1] already). Values outside declared bounds
    are an error that counts them, or are moved to the nearest bound with `clip=True`. Values
    outside learned bounds, of records that `fit` has not seen, are moved with a warning.
    """

    bounds: Any
    clip: bool
    _scaling: Scaling

    def _mixer(self, dtype: Any) -> Any:
        """A function from scaled columns (d, tile) to released columns (p, tile)."""
        raise NotImplementedError

    def _prepare(self, facts: Survey) -> None:
        if self.bounds is None:
            warn(LEARNED_BOUNDS)
            self._scaling = Scaling(facts.low, facts.high, declared=False)
        else:
            self._scaling = declared_scaling(self.bounds, facts.n_columns)

    def _perturb(self, X: Array, first_row: int) -> Array:
        X = self._within_bounds(X)
        return mix_scaled(X, self._scaling, self._mixer(X.dtype), self._n_features_out)

    def _scaled(self, X: Array) -> Array:
        """The whole table in [0, 1], for methods that search on it."""
        low, factor = self._scaling.factors(X.dtype)
        return np.asarray((self._within_bounds(X) - low) * factor)

    def _within_bounds(self, X: Array) -> Array:
        low, high = self._scaling.low.astype(X.dtype), self._scaling.high.astype(X.dtype)
        if not len(X) or ((X.min(axis=0) >= low).all() and (X.max(axis=0) <= high).all()):
            return X
        if not self.clip:
            # Nobody who let the bounds be learned can be blamed for records beyond them.
            learned = not self._scaling.declared
            unnamed = [f"column {i}" for i in range(X.shape[1])]
            names = [str(n) for n in getattr(self, "feature_names_in_", unnamed)]
            message = outside_message(
                self._scaling.outside(X),
                names,
                "they were learned by fit, and these values were moved to them; declare bounds "
                "wide enough for all records where that matters"
                if learned
                else "widen them or pass clip=True",
            )
            if not learned:
                raise ValueError(message)
            warn(message)
        return np.clip(X, low, high)

    def key_bounds(self) -> tuple[Array, Array]:
        """The bounds in use, declared or learned; learned ones are part of the key."""
        return self._scaling.low.copy(), self._scaling.high.copy()

    def _rescaled(self, records: ArrayLike) -> Array:
        """An attacker's records in [0, 1], those beyond the bounds moved to the nearest."""
        X = np.asarray(records, dtype=np.float64)
        low, factor = self._scaling.factors(X.dtype)
        return np.asarray(np.clip((X - low) * factor, 0, 1))

    def _unscaled(self, values: Array) -> Array:
        """From [0, 1] back to the columns' own units."""
        low, high = self._scaling.low, self._scaling.high
        return np.asarray(values * (high - low) + low)

    def key_file(self) -> KeyFile:
        stored = super().key_file()
        stored.facts["declared_bounds"] = self._scaling.declared
        stored.facts["parameters"].pop("bounds")
        stored.arrays.update(bounds_low=self._scaling.low, bounds_high=self._scaling.high)
        return stored

    def _restore(self, stored: KeyFile) -> None:
        super()._restore(stored)
        low, high = stored.arrays["bounds_low"], stored.arrays["bounds_high"]
        self._scaling = Scaling(low, high, declared=bool(stored.facts["declared_bounds"]))
        # Parameters print; learned bounds must not.
        self.bounds = self.declared_bounds()

    def declared_bounds(self) -> tuple[list[float], list[float]] | None:
        """The bounds, where they were declared in public; None where they were learned."""
        if not self._scaling.declared:
            return None
        return self._scaling.low.tolist(), self._scaling.high.tolist()


def tile_rows(n_columns: int) -> int:
    """Rows per tile: a power of two that keeps a tile near 2**15 numbers, from 64 to 1024."""
    rows = (1 << 15) // max(n_columns, 1)
    return min(1024, max(64, 1 << max(rows.bit_length() - 1, 0)))


def map_tiles(X: Array, mix: Callable[[Array], Array], n_out: int) -> Array:
    """Apply `mix` to tiles of `X` laid out column by column; it turns (d, tile) into (n_out, tile).

    A matrix product may round a row differently when it is called with more or fewer rows,
    because libraries pick another inner loop, or on more threads. Every call here has the same
    shape, the last tile filled up with copies of its last row, and runs in one thread, so equal
    records give equal bytes in any batch.
    """
    n_rows, n_columns = X.shape
    tile = tile_rows(max(n_columns, n_out))
    buffer = np.empty((n_columns, tile), dtype=X.dtype)
    # Laid out like X: a table read by columns leaves by columns, without a transposing copy.
    by_columns = X.flags.f_contiguous and not X.flags.c_contiguous
    out: Array = np.empty((n_rows, n_out), dtype=X.dtype, order="F" if by_columns else "C")
    with one_thread():
        for start in range(0, n_rows, tile):
            rows = X[start : start + tile]
            buffer[:, : len(rows)] = rows.T
            buffer[:, len(rows) :] = rows[-1][:, np.newaxis]
            out[start : start + tile] = mix(buffer)[:, : len(rows)].T
    return out
