"""All randomness: generators keyed by the operating system, and noise indexed by row number."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from randomgen import ChaCha

from isinglass.threads import one_thread

RandomState = int | np.random.Generator | np.random.RandomState | None


def generator(random_state: RandomState = None) -> np.random.Generator:
    """A generator keyed by the operating system, or a repeatable one for experiments.

    `None` draws a fresh 256-bit ChaCha20 key from `os.urandom`, so nobody can predict or replay
    it. A whole number, a `Generator` or a `RandomState` gives repeatable draws, which no real
    release should use: whoever guesses the number has the key.
    """
    if random_state is None:
        return np.random.Generator(ChaCha(key=np.frombuffer(os.urandom(32), dtype=np.uint64)))
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        words = random_state.randint(0, 2**32, size=8, dtype=np.uint64)
        return np.random.Generator(ChaCha(key=words[::2] << np.uint64(32) | words[1::2]))
    if isinstance(random_state, int | np.integer) and int(random_state) >= 0:
        return np.random.Generator(ChaCha(seed=int(random_state)))
    raise ValueError(
        "random_state must be None, a whole number >= 0, a numpy Generator or a RandomState, "
        f"got {type(random_state).__name__}"
    )


def stream_key(rng: np.random.Generator) -> NDArray[np.uint64]:
    """Draw the 256-bit key of a `Stream`."""
    return rng.integers(0, 2**64, size=4, dtype=np.uint64)


def haar(rng: np.random.Generator, size: int, n_rows: int | None = None) -> NDArray[np.float64]:
    """A uniformly distributed orthogonal matrix, or so many of its rows, at their own cost."""
    normal = rng.normal(size=(size, size if n_rows is None else n_rows))
    with one_thread():
        q, r = np.linalg.qr(normal)
    # QR alone does not draw q uniformly (Mezzadri 2007).
    return np.ascontiguousarray((q * np.copysign(1.0, np.diag(r))).T)


@dataclass(frozen=True, slots=True)
class Stream:
    """A ChaCha20 key stream in which row i owns the words [i * width, (i + 1) * width).

    What a row gets depends on the key, its number and the width, and on nothing else: neither
    on how rows were batched, nor on the order or the process in which they were drawn. Every
    entry takes exactly one 64-bit word, so distributions are drawn by inversion.
    """

    key: NDArray[np.uint64] = field(repr=False)

    def words(self, first_row: int, n_rows: int, width: int = 1) -> NDArray[np.uint64]:
        """The raw 64-bit words of `n_rows` rows from `first_row` on."""
        # The generator counts 32-bit words.
        source: Any = ChaCha(key=self.key, counter=2 * first_row * width)
        words = np.asarray(source.random_raw(n_rows * width), dtype=np.uint64)
        return words.reshape(n_rows, width)

    def uniform(self, first_row: int, n_rows: int, width: int = 1) -> NDArray[np.float64]:
        """Uniform on the open interval (0, 1): midpoints of 2**52 equal cells.

        With 2**53 cells the last midpoint would round to 1, whose normal quantile is infinite.
        """
        cells = self.words(first_row, n_rows, width) >> np.uint64(12)
        return (cells.astype(np.float64) + 0.5) * 2.0**-52

    def normal(self, first_row: int, n_rows: int, width: int = 1) -> NDArray[np.float64]:
        """Standard normal, by inversion of `uniform`; |value| stays below 8.21."""
        from scipy.special import ndtri

        return np.asarray(ndtri(self.uniform(first_row, n_rows, width)))
