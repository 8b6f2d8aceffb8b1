"""Mean and deviation of training errors that arrive in parts, without keeping the errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RunningErrors:
    """Count, mean and sum of squared deviations of the training errors seen so far."""

    count: float = 0.0
    mean: float = 0.0
    squares: float = 0.0

    def fade(self, share: float) -> RunningErrors:
        """The same errors, each counting only so much."""
        return RunningErrors(self.count * share, self.mean, self.squares * share)

    def merge(self, errors: NDArray[np.float64]) -> RunningErrors:
        """With another part's errors (Chan, Golub and LeVeque 1983)."""
        mean = float(errors.mean())
        count = self.count + len(errors)
        step = mean - self.mean
        squares = float(((errors - mean) ** 2).sum()) + self.squares
        squares += step**2 * self.count * len(errors) / count
        return RunningErrors(count, self.mean + step * len(errors) / count, squares)

    @property
    def threshold(self) -> float:
        """The mean plus three deviations."""
        return self.mean + 3 * math.sqrt(self.squares / self.count)
