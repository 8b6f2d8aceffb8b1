"""Plan of guaranteed models: how many a budget buys, and how many records each needs.

Everything follows from settings, from what a ledger says is spent, and from public data; no table
is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.ledger.model_spend import ModelSpend, ModelTotals
from isinglass.detect.private.columns import NumberColumn
from isinglass.detect.private.detector import (
    UNRELIABLE_BELOW,
    VARYING_BELOW,
    PrivateDetector,
)
from isinglass.detect.private.document import MOST_COLUMNS
from isinglass.detect.private.noise import ModelPrice
from isinglass.detect.private.public_data import public_data
from isinglass.epsilon import FEMTO, MICRO, delta_text, text

#: records of one person that a plan compares
_RECORDS = (1, 2, 5, 10)
_MOST_TOGETHER = 10_000  # models of which the losses are added up one by one


@dataclass(frozen=True, slots=True)
class Budget:
    """What models of one table may cost in all, and what they and answers cost already.

    Epsilon is in millionths, delta in parts of 1e-15.
    """

    cap: int
    delta_cap: int
    left: int
    delta_left: int
    earlier: ModelTotals

    @classmethod
    def new(cls, cap: int, delta_cap: int) -> Budget:
        """Where nothing is spent."""
        return cls(cap, delta_cap, cap, delta_cap, ModelTotals())

    @classmethod
    def of_ledger(cls, ledger: Ledger) -> Budget:
        """What a ledger leaves for models."""
        room = ledger.everywhere_budget()
        return cls(room.cap, room.delta_cap, room.left, room.delta_left, ledger.models)


@dataclass(frozen=True, slots=True)
class RecordsNeeded:
    """What a number of records of one person does to a model of a fixed price.

    `noise` is the deviation of the noise on each count of a column. A table of fewer records than
    `reliable` drowns in it; from `settled` on, scores hardly vary with it.
    """

    records_per_person: int
    noise: float
    reliable: int
    settled: int


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """How many models fit, what all of them cost a person, and the records that each needs."""

    micro: int
    femto: int
    n_columns: int
    budget: Budget
    models: int
    epsilon_together: float | None
    needed: RecordsNeeded
    others: tuple[RecordsNeeded, ...]

    @property
    def n_together(self) -> int:
        """How many models there are once the budget is spent."""
        return len(self.budget.earlier.spends) + self.models

    @property
    def micro_together(self) -> int:
        """What all of them are charged with."""
        return self.budget.earlier.micro + self.models * self.micro

    @property
    def femto_together(self) -> int:
        """The delta of all of them."""
        return self.budget.earlier.femto + self.models * self.femto

    @property
    def on_public_data(self) -> dict[str, Any]:
        """How well models of this kind did on public data; those of a plan take two rounds."""
        return public_data(2, pure=self.femto == 0)

    def sentence(self) -> str:
        """How many fit, for a person."""
        what = "model" if self.models == 1 else "models"
        small = "" if self.femto == 0 else f", delta {delta_text(self.femto)}"
        more = "more " if self.budget.earlier.spends else ""
        said = f"{self.models:,} {more}{what} at epsilon {text(self.micro)}{small} fit"
        if self.models == 1:
            said += "s"
        under = f" under a budget of {text(self.budget.cap)}"
        if self.budget.left < self.budget.cap:
            under += f", of which {text(self.budget.left)} is left"
        month = "" if self.models < 2 else f": one a month lasts {self.models:,} months"
        return said + under + month + "."

    def together_sentence(self) -> str:
        """What somebody loses whose records were in the table every time."""
        if not self.n_together:
            return "There is no model, and so nothing to add up."
        if self.femto_together >= FEMTO:
            return "All of them together promise nothing, since delta adds up to 1 or more."
        small = f" and delta {delta_text(self.femto_together)}" if self.femto_together else ""
        said = f"Whoever is in the table each time is promised epsilon {text(self.micro_together)}"
        if self.n_together == 1:
            return f"{said}{small}."
        what = "both add" if small else "it adds"
        said += f"{small} for all {self.n_together:,} together: {what} up."
        exact = self.epsilon_together
        if exact is not None and exact < self.micro_together / MICRO * (1 - 1e-9):
            said += f" Added up more closely, epsilon is at most {_up(exact)} at that delta."
        return said

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        budget = self.budget
        return {
            "models": self.models,
            "epsilon": self.micro / MICRO,
            "delta": self.femto / FEMTO,
            "budget": budget.cap / MICRO,
            "left": budget.left / MICRO,
            "delta_cap": budget.delta_cap / FEMTO,
            "delta_left": budget.delta_left / FEMTO,
            "together": {
                "models": self.n_together,
                "epsilon": self.micro_together / MICRO,
                "delta": self.femto_together / FEMTO,
                "epsilon_added_up_closely": self.epsilon_together,
            },
            "columns": self.n_columns,
            **asdict(self.needed),
            "by_records_per_person": [asdict(needed) for needed in self.others],
            "on_public_data": self.on_public_data,
            "sentence": self.sentence(),
        }


def plan_models(
    budget: Budget,
    *,
    epsilon: Any,
    delta: Any = 1e-6,
    n_columns: int = 10,
    records_per_person: int = 1,
    threshold_share: float | None = None,
) -> ModelPlan:
    """How many models of this price fit into a budget, and what a table of them must have."""
    if isinstance(n_columns, bool) or not 1 <= n_columns <= MOST_COLUMNS:
        raise ValueError(f"n_columns must be >= 1 and <= {MOST_COLUMNS:,}, got {n_columns}")

    def priced(records: int) -> ModelPrice:
        names = [str(j) for j in range(n_columns)]
        bounds = {column.name: (column.low, column.high) for column in map(_unit, names)}
        detector = PrivateDetector(
            epsilon, delta, bounds, records_per_person=records, threshold_share=threshold_share
        )
        return detector.priced(names)[1]

    price = priced(records_per_person)
    fits = budget.left // price.micro
    if price.femto:
        fits = min(fits, budget.delta_left // price.femto)
    spend = ModelSpend(price.micro, price.femto, price.rho, records_per_person)
    return ModelPlan(
        price.micro,
        price.femto,
        n_columns,
        budget,
        fits,
        _together(budget.earlier, spend, fits),
        _needed(price),
        tuple(_needed(priced(k)) for k in sorted({*_RECORDS, records_per_person})),
    )


def _unit(name: str) -> NumberColumn:
    """A column of numbers; which bounds it has changes no price."""
    return NumberColumn(name, 0.0, 1.0)


def _needed(price: ModelPrice) -> RecordsNeeded:
    noise = price.rounds[0].deviation
    return RecordsNeeded(
        price.records,
        noise,
        math.ceil(UNRELIABLE_BELOW * noise),
        math.ceil(VARYING_BELOW * noise),
    )


def _together(earlier: ModelTotals, spend: ModelSpend, more: int) -> float | None:
    """What all models cost a person, at the sum of delta; None where that is not to be computed."""
    spends: Sequence[ModelSpend] = earlier.spends
    if len(spends) + more > _MOST_TOGETHER:
        return None
    totals = ModelTotals((*spends, *[spend] * more))
    if totals.femto >= FEMTO:
        return None
    return totals.epsilon_for(spend.records_per_person)


def _up(value: float) -> str:
    """Four digits, never less than the value."""
    step = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.ceil(value / step) * step:.4g}"
