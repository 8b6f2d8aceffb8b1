"""Effort limits of one evaluation in a search."""

from __future__ import annotations

from dataclasses import dataclass

from isinglass.auditing.attackers import INSIDER
from isinglass.auditing.findings import ATTACKERS, holds
from isinglass.auditing.scene import Step

#: Attacks that decide most settings, cheapest first. A setting is screened with these alone,
#: however many attacks an audit has; all of them run before a setting is shown.
DECISIVE = (
    "naive", "spectral", "posterior", "sample", "known_input", "linkage", "row_order",
)  # fmt: skip
#: A setting whose attacker got this much is lost: further attacks would only confirm it.
LOST = 0.95
#: An attack this much below an attacker's best may overtake it under another key.
_CLOSE = 0.1
_MOST_CONTENDERS = 3  # attacks of one attacker that are run again under another key


@dataclass(frozen=True, slots=True)
class Effort:
    """Which attacks one measurement runs.

    `stop`: only attacks of the attacker who counts, and no further one after one that got nearly
    everything. `screen`: of each decisive attack only the step with most knowledge. `only`: the
    steps named, by `name_of`.
    """

    name: str
    attacker: str = INSIDER  # whose gain counts
    screen: bool = False
    stop: bool = False
    only: tuple[str, ...] | None = None

    @property
    def whole(self) -> bool:
        """Whether everything is run that an audit without the key runs."""
        return not (self.stop or self.screen) and self.only is None

    def steps(self, planned: list[Step]) -> list[Step]:
        """The steps to run, in the order to run them."""
        most = self.attacker if self.stop else INSIDER
        steps = [s for s in planned if not s.with_key and holds(most, s.attacker)]
        if self.only is not None:
            return [s for s in steps if name_of(s) in self.only]
        if self.screen:
            best: dict[str, Step] = {}
            for step in steps:
                name = step.attack.name
                if name not in best or _knowledge(step) > _knowledge(best[name]):
                    best[name] = step
            # Attacks of the caller's own are all there is where none of ours was asked for.
            steps = [best[n] for n in DECISIVE if n in best] or list(best.values())
        if self.stop:
            order = {name: i for i, name in enumerate(DECISIVE)}
            steps.sort(key=_knowledge, reverse=True)
            steps.sort(key=lambda s: order.get(s.attack.name, len(order)))
        return steps


def name_of(step: Step) -> str:
    """A step's name, the same for every key."""
    return f"{step.attack.name} {step.attacker} {step.n_pairs or 0} {step.how}".rstrip()


def contenders(found: list[tuple[str, str, float]]) -> tuple[str, ...]:
    """Steps that may be some attacker's best under another key: (name, attacker, gain) of each."""
    names: dict[str, None] = {}
    for attacker in ATTACKERS[:-1]:
        held = sorted((f for f in found if holds(attacker, f[1])), key=lambda f: -f[2])
        for name, _, gain in held[:_MOST_CONTENDERS]:
            if gain >= held[0][2] - _CLOSE:
                names[name] = None
    return tuple(names)


def _knowledge(step: Step) -> tuple[int, int]:
    return ATTACKERS.index(step.attacker), step.n_pairs or 0
