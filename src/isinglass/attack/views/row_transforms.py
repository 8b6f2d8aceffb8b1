"""Fixed orthogonal transforms along all rows of a file, undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import ColumnStatistics

Array = NDArray[Any]
Turn = Callable[[Array, ColumnStatistics], Array]
Along = Callable[[Array], Array]


def row_transforms(n_rows: int) -> Iterator[tuple[str, Turn]]:
    """Transforms that exist for so many rows; of each that is not its own inverse, both.

    Each turns every column by itself, and whoever has the file can try all of them.
    """
    for name, along in _WAVES.items():
        yield name, _turn(along)
    if is_power_of_two(n_rows) and n_rows > 1:
        for name, along in _SIGNS.items():
            yield name, _turn(along)


def is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


def signs(Z: Array) -> Array:
    """The Walsh-Hadamard transform of each column, rows in their natural order; its own inverse.

    The number of rows must be a power of two.
    """
    found = np.array(Z, dtype=np.float64)
    half = 1
    while half < len(found):
        pairs = found.reshape(-1, 2, half, found.shape[1])
        sums, differences = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        found = np.stack([sums, differences], axis=1).reshape(found.shape)
        half *= 2
    return np.asarray(found / np.sqrt(len(found)))


def from_frequencies(real: Array, imaginary: Array, n_rows: int) -> Array:
    """Columns of so many rows from the real and the imaginary parts of their frequencies."""
    from scipy.fft import irfft

    return np.asarray(irfft(real + 1j * imaginary, n_rows, axis=0))


def _turn(along: Along) -> Turn:
    return lambda Z, known: along(np.asarray(Z, dtype=np.float64))


def _cosines(kind: int) -> Along:
    def along(Z: Array) -> Array:
        from scipy.fft import dct

        return np.asarray(dct(Z, type=kind, axis=0, norm="ortho"))

    return along


def _sines(kind: int) -> Along:
    def along(Z: Array) -> Array:
        from scipy.fft import dst

        return np.asarray(dst(Z, type=kind, axis=0, norm="ortho"))

    return along


def _hartley(Z: Array) -> Array:
    """Sums of the real and the imaginary part of Fourier's transform; its own inverse."""
    from scipy.fft import fft

    found = fft(Z, axis=0, norm="ortho")
    return np.asarray(found.real - found.imag)


def _packed_frequencies(Z: Array) -> Array:
    """From real and imaginary parts by turns, as FFTPACK writes them."""
    from scipy.fftpack import irfft

    return np.asarray(irfft(Z, axis=0))


def _bits_reversed(n: int) -> NDArray[np.intp]:
    found, size = np.zeros(n, dtype=np.intp), n.bit_length() - 1
    for bit in range(size):
        found |= ((np.arange(n) >> bit) & 1) << (size - 1 - bit)
    return found


def _signs_dyadic(Z: Array) -> Array:
    """Rows in Paley's order."""
    return signs(Z)[_bits_reversed(len(Z))]


def _signs_by_changes(Z: Array) -> Array:
    """Rows in the order of how often the sign changes along them, which is Walsh's."""
    gray = np.arange(len(Z)) ^ (np.arange(len(Z)) >> 1)
    return np.asarray(signs(Z)[_bits_reversed(len(Z))[gray]])


_WAVES: dict[str, Along] = {
    "waves along the rows": _cosines(2),
    "waves along the rows undone": _cosines(3),
    "waves along the rows, of the fourth type": _cosines(4),
    "sine waves along the rows": _sines(2),
    "sine waves along the rows undone": _sines(3),
    "sine waves along the rows, of the first type": _sines(1),
    "sine waves along the rows, of the fourth type": _sines(4),
    "Hartley's waves along the rows": _hartley,
    "frequencies along the rows undone": _packed_frequencies,
}
_SIGNS: dict[str, Along] = {
    "signs along the rows": signs,
    "signs along the rows in Paley's order": _signs_dyadic,
    "signs along the rows in the order of their changes": _signs_by_changes,
}
