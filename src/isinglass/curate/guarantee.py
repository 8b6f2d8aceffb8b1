"""Guarantee of an answer, which does not depend on the table."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from isinglass.curate.ledger.model_spend import FEMTO, ModelTotals, delta_text
from isinglass.epsilon import MICRO, as_float, text


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The promise behind one answer, and behind all answers under one cap.

    Every field is a setting; none is read from the table. `micro` is this answer's price and
    `cap` the most that is ever spent at one place, both in millionths of epsilon; `cap` is None
    where no ledger keeps count. `k_min`, `beta_max` and `r_min`, or a `rule`, are the ledger's
    terms of sensitive privacy: where it has any, all answers together promise something to the
    records that the weakest question covers, whatever this answer promises. `models` are those that
    were paid for from the ledger, and `delta_cap` what all of them may spend of delta, in parts of
    1e-15; `delta_elsewhere` is what another copy of the ledger may have spent of it.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> curator = ig.Curator(X, beta=5, r=0.3, budget=1, ledger="ledger.db", bounds="scaled")
    >>> guarantee = curator.ask([0.5, 0.5, 0.5], epsilon="0.25").guarantee
    >>> guarantee.mode, guarantee.privacy, guarantee.unit
    ('sparse', 'differential', 'record')
    """

    mode: str
    privacy: Literal["differential", "sensitive"]
    micro: int
    cap: int | None
    beta: int
    r: float
    k: int | None = None
    unit: str = "record"
    records_per_person: int = 1
    timing_covered: bool = False
    also_released: bool = False
    k_min: int | None = None
    beta_max: int | None = None
    r_min: float | None = None
    rule: str | None = None
    models: ModelTotals = field(default_factory=ModelTotals)
    delta_cap: int = 0
    delta_elsewhere: int = 0

    @property
    def epsilon(self) -> float:
        """This answer's price."""
        return as_float(self.micro)

    @property
    def neighbors(self) -> str:
        """The pairs of tables that the promise compares."""
        one = "tables that differ by one record, added or removed"
        if self.privacy == "differential":
            return one
        if self.k is None:
            return f"{one}, which the question's own rule calls sensitive"
        return f"{one}, which in the larger of them has {_nearby(self.beta, self.k, self.r)}"

    @property
    def worst_case(self) -> float | None:
        """The most that the holder of the very record asked about can lose, for any table.

        Differential privacy covers that holder too: None. Sensitive privacy does not where the
        record is alone: log((1 + e^eps) e^(eps (beta - k)) - 1), reached with no neighbor at all.
        Infinite for a sensitive question without k, of which nothing is known.
        """
        if self.privacy == "differential":
            return None
        if self.k is None:
            return math.inf
        e = self.epsilon
        # log(e^a - 1) without overflow, with a = log(1 + e^eps) + eps (beta - k)
        a = math.log1p(math.exp(-e)) + e + e * max(0, self.beta - self.k)
        return a + math.log1p(-math.exp(-a))

    def sentence(self) -> str:
        """The guarantee as a sentence."""
        e = text(self.micro)
        kind, whom = "differential", "every record"
        if self.privacy == "sensitive":
            kind, whom = "sensitive", "every sensitive record"
        parts = [
            f"epsilon {e} of {kind} privacy for {whom}: the answer's chances change by at most "
            f"a factor e^{e} between {self.neighbors}; replacing one costs twice"
        ]
        if self.worst_case is not None:
            parts.append(
                "nothing is promised to whoever holds the very record asked about"
                if self.worst_case == math.inf
                else "whoever holds the very record asked about, where it is not sensitive, may "
                f"lose up to {self.worst_case:.3g}, and that adds up over answers about it"
            )
        parts.append(self._people())
        parts.append("timing covered" if self.timing_covered else "timing not covered")
        if self.also_released:
            parts.append("the answers only: the table also left as a release, which is not covered")
        return "; ".join(parts) + "."

    def _people(self) -> str:
        m = self.records_per_person
        person = f"a person with {m} record{'s' * (m > 1)}"
        covered = self.covered
        if covered != _EVERYONE and m > 1:
            # Each is removed after the others: it must be covered then, too.
            person += ", each of them such a record even without the others"
        if self.cap is None:
            return f"{person} may lose {m} time{'s' * (m > 1)} that from this answer"
        if self.models.spends:
            return self._people_with_models(self.cap, person)
        cap, all_of_them = text(self.cap), text(m * self.cap)
        return f"all answers together stay within {cap} for {covered}, {all_of_them} for {person}"

    def _people_with_models(self, cap: int, person: str) -> str:
        """What answers and models cost together: once delta was spent, no multiple of the cap."""
        small = f" and delta {delta_text(self.delta_cap)}" if self.delta_cap else ""
        both = f"all answers and models together stay within {text(cap)}{small} for {self.covered}"
        total = self.person_epsilon
        if total is None:
            return f"{both}; for {person} no bound is known, as models may have been made elsewhere"
        at = " at that delta" if self.delta_cap else ""
        return f"{both}, {total:.12g}{at} for {person}"

    @property
    def person_epsilon(self) -> float | None:
        """The most that a person with `records_per_person` records may lose, at `delta_cap`.

        Models are converted anew (`ModelTotals.epsilon_for`); what is left of the cap may go to
        answers, which cost that person as many times as they have records, or to models for so many
        records, which cost no more. None where nobody knows: no ledger keeps count, or another copy
        of it may have made models for fewer records.
        """
        m = self.records_per_person
        if self.cap is None or (m > 1 and self.delta_elsewhere):
            return None
        if m == 1:
            return as_float(self.cap)
        rest = as_float(m * (self.cap - self.models.micro))
        total = rest + self.models.epsilon_for(m)
        return math.ceil(total * MICRO * (1 - 1e-12)) / MICRO

    @property
    def covered(self) -> str:
        """The records for which all answers together stay within the cap."""
        beta, k, r, rule = self.beta_max, self.k_min, self.r_min, self.rule
        if beta is None and rule is None:  # no contract, or one without sensitive questions
            if self.privacy == "differential":
                return _EVERYONE
            beta, k, r = self.beta, self.k, self.r
        if beta is None or k is None or r is None:
            return f"a record that the rule of {rule or self.mode} calls sensitive"
        return f"a record that has {_nearby(beta, k, r)}"

    def to_json(self) -> dict[str, Any]:
        """The settings and the sentence, for JSON."""
        facts = asdict(self)
        for name in ("models", "delta_cap", "delta_elsewhere"):
            facts.pop(name)
        if self.models.spends:
            facts["models"] = {
                "epsilon": as_float(self.models.micro),
                "delta": self.models.femto / FEMTO,
                "delta_cap": self.delta_cap / FEMTO,
                "person_epsilon": self.person_epsilon,
            }
        facts["epsilon"] = as_float(facts.pop("micro"))
        facts["cap"] = None if self.cap is None else as_float(self.cap)
        worst = None if self.worst_case == math.inf else self.worst_case  # JSON has no infinity
        more = {"neighbours": self.neighbors, "worst_case": worst}
        return facts | more | {"sentence": self.sentence()}


_EVERYONE = "a record"


def _nearby(beta: int, k: int, r: float) -> str:
    """The neighbors a sensitive record must have, in words."""
    least = max(1, beta + 1 - k)
    return f"at least {least} record{'s' * (least > 1)} within {r:g}, itself included"
