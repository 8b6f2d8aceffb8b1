"""What an attack recovered in several draws: the median, and how far the draws are apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Share:
    """A share of the variance, or a squared correlation, one for each draw."""

    draws: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(median(self.draws))

    @property
    def low(self) -> float:
        return min(self.draws)

    @property
    def high(self) -> float:
        return max(self.draws)

    @property
    def percent(self) -> str:
        """The median, and the ends where there are any."""
        ends = f" ({100 * self.low:.0f}-{100 * self.high:.0f})" if len(self.draws) > 1 else ""
        return f"{100 * self.median:.0f}{ends}"

    @property
    def fraction(self) -> str:
        ends = f" ({self.low:.2f}-{self.high:.2f})" if len(self.draws) > 1 else ""
        return f"{self.median:.2f}{ends}"


def once(value: float) -> Share:
    """Of one draw."""
    return Share((float(value),))


def together(shares: Iterable[Share]) -> Share:
    """The draws of all of them."""
    return Share(tuple(value for share in shares for value in share.draws))
