"""Values and derivatives of a network z = B + Q f(A + W x)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Step of a central difference, in units of what f sees; errors of both kinds are about 1e-10.
_STEP = 1e-5


@dataclass(frozen=True, slots=True)
class Network:
    """Layers of one function f, then a linear map; weights never print, as they may be a key.

    `derivative` is that of f; None takes central differences, which serve any f with few kinks.
    """

    layers: tuple[tuple[Array, Array], ...] = field(repr=False)  # (W, A) of every layer
    last: Array = field(repr=False)  # Q
    offset: Array = field(repr=False)  # B
    function: Callable[[Array], Array] = field(repr=False)
    derivative: Callable[[Array], Array] | None = field(default=None, repr=False)

    @property
    def n_in(self) -> int:
        return int(self.layers[0][0].shape[1])

    @property
    def n_out(self) -> int:
        return int(self.last.shape[0])

    @property
    def work(self) -> float:
        """Multiplications that the derivatives of one record take."""
        shapes = [*(w.shape for w, _ in self.layers), self.last.shape]
        return float(sum(m * n for m, n in shapes) * self.n_in)

    def values(self, X: Array) -> Array:
        """z for every row of X."""
        hidden = X
        for weights, shift in self.layers:
            hidden = self.function(hidden @ weights.T + shift)
        return np.asarray(hidden @ self.last.T + self.offset)

    def linearized(self, X: Array) -> tuple[Array, Array]:
        """z for every row of X, and dz/dx as an array of shape (rows, outputs, inputs)."""
        hidden, chain = X, None
        for weights, shift in self.layers:
            inner = hidden @ weights.T + shift
            hidden = self.function(inner)
            slope = self._slope(inner)[:, :, np.newaxis]
            chain = slope * (weights if chain is None else weights @ chain)
        return np.asarray(hidden @ self.last.T + self.offset), np.asarray(self.last @ chain)

    def _slope(self, inner: Array) -> Array:
        if self.derivative is not None:
            return np.asarray(self.derivative(inner))
        ahead, behind = self.function(inner + _STEP), self.function(inner - _STEP)
        return np.asarray((ahead - behind) / (2 * _STEP))

    def compressed(self, tolerance: float = 1e-12) -> tuple[Network, Array]:
        """The same network with as few outputs as Q has rank, and U with z_new = (z - B) U.

        U is orthonormal, so that distances between releases of this network stay what they were.
        """
        left, sizes, right = np.linalg.svd(self.last, full_matrices=False)
        rank = max(1, int((sizes > tolerance * sizes[0]).sum()))
        last = sizes[:rank, np.newaxis] * right[:rank]
        smaller = Network(self.layers, last, np.zeros(rank), self.function, self.derivative)
        return smaller, np.asarray(left[:, :rank])
