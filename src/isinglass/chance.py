"""Random numbers: secure generators, noise indexed by row number, exact coins."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from randomgen import ChaCha

from isinglass.threads import one_thread

RandomState = int | np.random.Generator | np.random.RandomState | None
Interval = tuple[int, int]
Factors = tuple[int, list[int], list[int]]
# Bits of a coin's word, bits that absorb the rounding of its products, bits of a digit of m.
_WORD, _GUARD, _DIGIT = 256, 64, 6
_MASK = (1 << _DIGIT) - 1


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


class Coin:
    r"""Heads with chance exp(-unit * m) / (1 + exp(-base)), exactly, by whole numbers alone.

    With `base` None the chance is exp(-unit * m). A flip compares one 256-bit word with the
    chance's binary digits, of which integer intervals give a floor and a ceiling. The word lies
    between the two about once in 2**255 flips; more words and more digits decide it then, so the
    chance is not rounded anywhere.

    exp(-unit * m) is a product of one factor for every base-64 digit of m, zeros included. How
    many there are follows from `most`, the largest m ever asked, so a flip draws as many bytes
    and multiplies as often whatever m is and whichever way it falls.

    With unit = base = 1/b this is the chance that discrete Laplace noise of scale b reaches m,
    for m >= 1: P(Z = z) = (1 - q) / (1 + q) * q^|z| with q = exp(-1/b) sums to q^m / (1 + q).
    """

    __slots__ = ("_factors", "_n_digits", "base", "most", "unit")

    def __init__(self, unit: Fraction, base: Fraction | None = None, *, most: int) -> None:
        if not unit > 0:
            raise ValueError(f"unit must be > 0, got {unit}")
        if base is not None and base < 0:
            raise ValueError(f"base must be >= 0 or None, got {base}")
        if most < 0:
            raise ValueError(f"most must be >= 0, got {most}")
        self.unit, self.base, self.most = Fraction(unit), base, int(most)
        self._n_digits = max(1, -(-self.most.bit_length() // _DIGIT))
        self._factors = self._tabulate(_WORD)

    def flip(self, m: int, *, draw: Callable[[int], bytes] = secrets.token_bytes) -> bool:
        """Heads or tails; `draw` gives so many random bytes, the operating system's by default."""
        word = int.from_bytes(draw(_WORD // 8), "big")
        low, high = self._product(self._factors, m)
        heads, tails = word < low >> _GUARD, word >= -(-high >> _GUARD)
        return heads if heads is not tails else self._refined(m, word, draw)

    def _refined(self, m: int, word: int, draw: Callable[[int], bytes]) -> bool:
        bits = _WORD
        while True:
            bits += _WORD
            word = word << _WORD | int.from_bytes(draw(_WORD // 8), "big")
            low, high = self.bounds(m, bits)
            if word < low:
                return True
            if word >= high:
                return False

    def bounds(self, m: int, bits: int) -> tuple[int, int]:
        """Whole numbers at most 2 apart with the chance of heads times 2**bits between them."""
        factors = self._factors if bits == _WORD else self._tabulate(bits)
        low, high = self._product(factors, m)
        return low >> _GUARD, -(-high >> _GUARD)

    def probability(self, m: int) -> float:
        """The chance of heads, to float64's precision."""
        exponent = self.unit * int(m)
        if exponent > 800:  # below the smallest float64
            return 0.0
        # 128 digits beyond the first that is not zero
        bits = _WORD if exponent < 88 else _WORD + 2 * int(exponent)
        low, high = self.bounds(m, bits)
        return (low + high) / (1 << bits + 1)

    def _product(self, factors: Factors, m: int) -> Interval:
        if not 0 <= m <= self.most:  # m may come from a private table: the text does not show it
            raise ValueError(f"m must be between 0 and {self.most}")
        shift, lows, highs = factors
        low = high = 1 << shift
        for digit in range(self._n_digits):
            at = (digit << _DIGIT) + (m & _MASK)
            low = low * lows[at] >> shift
            high = -(-high * highs[at] >> shift)
            m >>= _DIGIT
        return low, high

    def _tabulate(self, bits: int) -> Factors:
        """The factor of every digit at every position; the first carries 1 / (1 + exp(-base))."""
        shift = bits + _GUARD
        one = 1 << shift
        lows, highs = [], []
        low = high = one
        if self.base is not None:
            least, largest = _exp_minus(self.base, shift)
            low, high = (one << shift) // (one + largest), -(-(one << shift) // (one + least))
        for position in range(self._n_digits):
            step_low, step_high = _exp_minus(self.unit * (1 << position * _DIGIT), shift)
            for _ in range(1 << _DIGIT):
                lows.append(low)
                highs.append(high)
                low, high = low * step_low >> shift, -(-high * step_high >> shift)
            low = high = one
        return shift, lows, highs


def _exp_minus(x: Fraction, bits: int) -> Interval:
    """Floor and ceiling, nearly, of exp(-x) * 2**bits for x >= 0: Taylor's series, then squares.

    The series alternates and its terms fall from the first on, so what is left out is less than
    the first term left out. Terms are rounded down for one sum and up for the other.
    """
    if x >= bits:  # less than 2**-bits
        return 0, 1
    halvings = max(0, int(x).bit_length() + 8)
    shift = bits + halvings + _GUARD
    top, bottom = x.numerator, x.denominator << halvings
    term_low = term_high = low = high = 1 << shift
    k = 0
    while term_high > 1:
        k += 1
        term_low = term_low * top // (bottom * k)
        term_high = -(-term_high * top // (bottom * k))
        low, high = (
            (low - term_high, high - term_low) if k % 2 else (low + term_low, high + term_high)
        )
    low, high = low - term_high, high + term_high
    for _ in range(halvings):
        low, high = low * low >> shift, -(-high * high >> shift)
    extra = shift - bits
    return low >> extra, -(-high >> extra)
