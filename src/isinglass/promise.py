"""What an output promises: nothing proved, what an audit showed, or a guarantee with its price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Promise:
    """A label that travels with every output.

    `heuristic`: nothing is proved. `audited`: the attackers named were tried and did what the
    report says. `guaranteed`: an epsilon holds between the neighbours named, per unit named.
    """

    kind: Literal["heuristic", "audited", "guaranteed"]
    attackers: tuple[str, ...] = ()
    epsilon: float | None = None
    neighbours: str | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        priced = (self.epsilon, self.neighbours, self.unit)
        if self.kind == "guaranteed" and None in priced:
            raise ValueError("a guarantee must name its epsilon, its neighbours and its unit")
        if self.kind != "guaranteed" and priced != (None, None, None):
            raise ValueError(f"a promise of kind {self.kind!r} must not carry an epsilon")
        if (self.kind == "audited") != bool(self.attackers):
            raise ValueError("an audited promise, and no other, names the attackers tried")

    def sentence(self) -> str:
        """Say it to a person."""
        if self.kind == "heuristic":
            return "Heuristic: nothing is proved about what this release hides."
        if self.kind == "audited":
            return (
                f"Audited: attacked by {', '.join(self.attackers)}; the report says what each got."
            )
        return f"Guaranteed: epsilon {self.epsilon:g} between {self.neighbours}, per {self.unit}."

    def to_json(self) -> dict[str, Any]:
        """The fields that are set, for metadata."""
        facts: dict[str, Any] = {"kind": self.kind}
        if self.attackers:
            facts["attackers"] = list(self.attackers)
        if self.kind == "guaranteed":
            facts |= {"epsilon": self.epsilon, "neighbours": self.neighbours, "unit": self.unit}
        return facts


HEURISTIC = Promise("heuristic")
