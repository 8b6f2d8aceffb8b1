"""Selection of the k smallest keys, in linear time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.kernels.jit import kernel

_STEP, _PLUS = np.uint64(6364136223846793005), np.uint64(1442695040888963407)
_32 = np.uint64(32)


@kernel
def select(key: NDArray[Any], index: NDArray[Any], middle: int) -> None:
    """Hoare's selection: the smallest `middle` keys, and their indexes, come to the front.

    The pivot is drawn, not taken from the middle: a column that rises and then falls, as an
    altitude does, has its largest value there, and each round would remove only a few keys. The
    draws are always the same: keys made to defeat them, knowing this file, would still do so.
    """
    left, right = 0, key.shape[0] - 1
    state = np.uint64(key.shape[0])
    while left < right:
        state = state * _STEP + _PLUS
        pivot = key[left + np.int64((state >> _32) * np.uint64(right - left + 1) >> _32)]
        i, j = left, right
        while i <= j:
            while key[i] < pivot:
                i += 1
            while key[j] > pivot:
                j -= 1
            if i <= j:
                key[i], key[j] = key[j], key[i]
                index[i], index[j] = index[j], index[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            return
