"""Promise of an output: heuristic, audited, or guaranteed at a price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Promise:
    """A label that travels with every output.

    `heuristic`: nothing is proved. `audited`: the attackers named were tried and did what the
    report says. `guaranteed`: an epsilon holds between the neighbors named, per unit named.

    Examples
    --------
    >>> ig.Promise("heuristic").sentence()
    'Heuristic: nothing is proved about what this release hides.'
    """

    kind: Literal["heuristic", "audited", "guaranteed"]
    attackers: tuple[str, ...] = ()
    epsilon: float | None = None
    neighbors: str | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        priced = (self.epsilon, self.neighbors, self.unit)
        if self.kind == "guaranteed" and None in priced:
            raise ValueError("a guarantee must name its epsilon, its neighbors and its unit")
        if self.kind != "guaranteed" and priced != (None, None, None):
            raise ValueError(f"a promise of kind {self.kind!r} must not carry an epsilon")
        if (self.kind == "audited") != bool(self.attackers):
            raise ValueError("an audited promise, and no other, names the attackers tried")

    def sentence(self) -> str:
        """The promise as a sentence."""
        if self.kind == "heuristic":
            return "Heuristic: nothing is proved about what this release hides."
        if self.kind == "audited":
            return (
                f"Audited: attacked by {', '.join(self.attackers)}; the report says what each got."
            )
        return f"Guaranteed: epsilon {self.epsilon:g} between {self.neighbors}, per {self.unit}."

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Promise:
        """Read what `to_json` wrote; a ValueError says what is wrong with it."""
        kind, attackers = facts.get("kind"), facts.get("attackers", ())
        if kind not in ("heuristic", "audited", "guaranteed"):
            raise ValueError("the promise must be heuristic, audited or guaranteed")
        if not isinstance(attackers, list | tuple) or not all(
            isinstance(a, str) for a in attackers
        ):
            raise ValueError("the attackers of a promise must be a list of names")
        epsilon, words = facts.get("epsilon"), (facts.get("neighbours"), facts.get("unit"))
        if epsilon is not None and (
            isinstance(epsilon, bool) or not isinstance(epsilon, int | float)
        ):
            raise ValueError("the epsilon of a promise must be a number")
        if not all(w is None or isinstance(w, str) for w in words):
            raise ValueError("the neighbors and the unit of a promise must be words")
        return cls(kind, tuple(attackers), epsilon, *words)

    def to_json(self) -> dict[str, Any]:
        """The fields that are set, for metadata."""
        facts: dict[str, Any] = {"kind": self.kind}
        if self.attackers:
            facts["attackers"] = list(self.attackers)
        if self.kind == "guaranteed":
            facts |= {"epsilon": self.epsilon, "neighbours": self.neighbors, "unit": self.unit}
        return facts


HEURISTIC = Promise("heuristic")
