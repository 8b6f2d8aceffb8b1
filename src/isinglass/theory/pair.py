"""Normal pair (X, Y) of one hidden unit for two records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Pair:
    """A centered normal pair: standard deviations s and t, covariance c.

    `sine` is sqrt(1 - rho^2) and `gap` is E(X - Y)^2. Both are stored, not derived from c,
    because c has already lost them to rounding when the two records are close.
    """

    s: float
    t: float
    c: float
    sine: float
    gap: float

    @classmethod
    def of_moments(cls, s: float, t: float, c: float, *, slope: float = 1.0) -> Pair:
        """The pair with the given moments, both variables multiplied by `slope`.

        Raises `ValueError` when a moment is not finite, s or t is negative, or |c| > s t (a
        relative excess of 1e-9 passes as rounding).
        """
        check_scale("s", s)
        check_scale("t", t)
        if not abs(c) <= s * t * (1 + 1e-9):
            raise ValueError(f"|c| must be <= s t = {s * t}, got c = {c}")
        check_scale("slope", slope, positive=True)
        s, t, c = slope * s, slope * t, slope * slope * c
        c = min(max(c, -s * t), s * t)
        rho = c / (s * t) if s * t > 0 else 0.0
        sine = float(np.sqrt((1 - rho) * (1 + rho)))
        return cls(s, t, c, sine, (s - t) ** 2 + 2 * (s * t - c))

    @classmethod
    def of_records(
        cls, x: ArrayLike, y: ArrayLike, sigma_w: float, sigma_a: float, *, slope: float = 1.0
    ) -> Pair:
        """A + W.x and A + W.y, times `slope`, for normal W and A of the given scales.

        Raises `ValueError` when the records are not finite vectors of one length.
        """
        first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        if first.ndim != 1 or first.shape != second.shape:
            raise ValueError(
                f"x and y must be vectors of one length, got shapes {first.shape}, {second.shape}"
            )
        if not (np.isfinite(first).all() and np.isfinite(second).all()):
            raise ValueError("x and y must be finite, got a value that is not")
        check_scale("slope", slope, positive=True)
        # The offset A is one more coordinate, on which every record has the value 1.
        first = slope * np.append(sigma_w * first, sigma_a)
        second = slope * np.append(sigma_w * second, sigma_a)
        s, t = float(np.linalg.norm(first)), float(np.linalg.norm(second))
        difference, total = second - first, second + first
        if s * t > 0:
            # The part of `second` that is orthogonal to `first`; the shorter of difference and
            # total has the same part, and fewer digits to lose.
            short = min(difference, total, key=lambda vector: float(np.linalg.norm(vector)))
            direction = first / s
            sine = min(float(np.linalg.norm(short - (short @ direction) * direction)) / t, 1.0)
        else:
            sine = 1.0
        return cls(s, t, float(first @ second), sine, float(difference @ difference))

    @property
    def cosine(self) -> float:
        """The correlation rho, 0 when s or t is."""
        if self.s * self.t == 0:
            return 0.0
        if self.sine < 0.5:
            return float(np.copysign(np.sqrt((1 - self.sine) * (1 + self.sine)), self.c))
        return self.c / (self.s * self.t)

    @property
    def determinant(self) -> float:
        """s^2 t^2 - c^2."""
        return (self.s * self.t * self.sine) ** 2

    def scaled(self, factor: float) -> Pair:
        """The pair with both variables multiplied by `factor` > 0."""
        square = factor * factor
        return Pair(factor * self.s, factor * self.t, square * self.c, self.sine, square * self.gap)


def check_scale(name: str, value: float, *, positive: bool = False) -> None:
    """Raise `ValueError` unless `value` is finite and >= 0, or > 0 where it must be positive."""
    if not np.isfinite(value) or value < 0 or (positive and value == 0):
        raise ValueError(f"{name} must be finite and {'>' if positive else '>='} 0, got {value}")
