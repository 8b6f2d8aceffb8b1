"""All measurements of one run, before they are judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from isinglass.auditing.tuning.frontier import Frontier
from isinglass_papers.multiparty.attacks import Attacked
from isinglass_papers.multiparty.detection import SetDetection
from isinglass_papers.multiparty.shares import Share
from isinglass_papers.multiparty.theory import Filter, Guesses, Shape


@dataclass(frozen=True, slots=True)
class Evidence:
    """Detection, attacks, and the analysis in numbers."""

    detected: dict[str, SetDetection]
    attacked: dict[str, Attacked]
    errors: Guesses
    filters: list[Filter]
    shape: Shape
    frontier: Frontier | None

    def some(self, *, wide: bool) -> list[SetDetection]:
        return [one for one in self.detected.values() if one.wide == wide]


def listed(parts: Iterable[tuple[str, str]]) -> str:
    """Names with their values, as a sentence holds them."""
    return ", ".join(f"{name} {value}" for name, value in parts) or "no set for it at hand"


def percent(parts: Iterable[tuple[str, tuple[Share, ...]]]) -> str:
    """The same for shares."""
    return listed((n, " / ".join(v.percent for v in values) + " %") for n, values in parts)


def drawn(some: Iterable[Attacked]) -> str:
    """Over how many draws the medians are, and of which sets."""
    names: dict[int, list[str]] = {}
    for one in some:
        names.setdefault(one.draws, []).append(one.name)
    return "; ".join(
        f"{n} {'draw' if n == 1 else 'draws'} of {', '.join(of)}" for n, of in names.items()
    )
