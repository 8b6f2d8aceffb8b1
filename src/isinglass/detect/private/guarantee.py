"""Guarantee of a private model, which does not depend on the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

from isinglass.detect.private.noise import ModelPrice
from isinglass.epsilon import FEMTO, as_float, text


@dataclass(frozen=True, slots=True)
class ModelGuarantee:
    """What a private model promises to everybody whose records were in the table, or were not.

    Every field is a setting. `str` says it in sentences.
    """

    price: ModelPrice
    unit: str = "person"
    neighbors: str = "tables that differ by all records of one person, added or removed"

    @property
    def epsilon(self) -> float:
        return as_float(self.price.micro)

    @property
    def delta(self) -> float:
        return self.price.femto / FEMTO

    @property
    def records_per_person(self) -> int:
        return self.price.records

    def epsilon_for(self, records: int) -> float:
        """The epsilon, at the same delta, of a person with so many records in the table."""
        if records < 1:
            raise ValueError(f"records must be >= 1, got {records}")
        return self.price.epsilon_for(records)

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """Say it to a person."""
        k, e = self.records_per_person, text(self.price.micro)
        kind = "pure differential" if self.price.pure else "differential"
        small = "" if self.price.pure else f", delta {self.delta:g}"
        more = 3 * k
        grown = self.epsilon_for(more)
        up = Context(prec=4, rounding=ROUND_CEILING)
        other = f"at most {up.create_decimal(grown)}" if math.isfinite(grown) else "without a bound"
        return (
            f"Guaranteed: epsilon {e}{small} of {kind} privacy for every {self.unit} with at most "
            f"{k} record{'s' * (k > 1)}, between {self.neighbors}. It covers the model and "
            "whatever is computed from it, scores of other records without limit; not scores of "
            "the table's own records, nor how long the fit took. Replacing a person is a removal "
            f"and an addition. With {more} records, epsilon is {other}, at the same delta. A "
            "setting that was chosen after a look at the table is not covered."
        )

    def to_json(self) -> dict[str, Any]:
        """The settings and the sentence, for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "unit": self.unit,
            "neighbours": self.neighbors,
            "records_per_person": self.records_per_person,
            "sentence": self.sentence(),
        }


def price_line(micro: int, femto: int, records_per_person: int) -> str:
    """The price in a line, from settings alone, so that nothing need be computed."""
    small = f", delta {femto / FEMTO:g}" if femto else ""
    k = records_per_person
    return f"epsilon {text(micro)}{small} for every person with at most {k:,} record{'s' * (k > 1)}"
