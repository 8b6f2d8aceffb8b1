"""How much of a table a guess gets right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def explained(guess: NDArray[Any], truth: NDArray[Any]) -> float:
    """The share of the variance of all columns together that a guess explains."""
    spread = np.square(truth - truth.mean(axis=0)).sum()
    return float(1 - np.square(guess - truth).sum() / spread)
