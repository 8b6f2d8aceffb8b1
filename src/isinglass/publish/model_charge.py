"""Payment of a model from a ledger, before anything of it leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isinglass.curate.ledger.ledger import Ledger
from isinglass.detect.private.noise import ModelPrice
from isinglass.epsilon import MICRO


@dataclass(slots=True)
class ModelCharge:
    """Charges a model to a ledger, under the terms given where that is the ledger's first use.

    The same request, under the same name and with the same settings, is paid once: asked again, it
    returns what was stored then, whatever the table holds by now. `again` asks for fresh noise, at
    its price. `drawn` says afterwards which it was, `left` what may still be spent everywhere.
    """

    ledger: Ledger
    name: str
    cap: int | None = None
    delta_cap: int | None = None
    also_released: bool | None = None
    again: str | None = None
    drawn: bool = False
    left: int = 0

    def __call__(self, price: ModelPrice, request: bytes, draw: Callable[[], bytes]) -> bytes:
        """Pay, and give the document that was drawn now or the first time."""
        self.ledger.sign_models(
            cap=self.cap,
            delta_cap=self._delta_cap(price),
            records_per_person=price.records,
            also_released=self.also_released,
        )

        def counted() -> bytes:
            self.drawn = True
            return draw()

        # Other settings make another request, so they are never taken for this one.
        costs = f"{price.micro}/{price.femto}/{price.records}"
        words = [self.name, costs, request.hex()[:32], *([self.again] if self.again else [])]
        document = self.ledger.charge_model(
            counted,
            micro=price.micro,
            femto=price.femto,
            rho=price.rho,
            records_per_person=price.records,
            request_id=f"model {' '.join(words)}",
            digest=request,
        )
        self.left = self.ledger.everywhere_budget().left
        return document

    def _delta_cap(self, price: ModelPrice) -> int | None:
        """In a new contract, as much delta as the models have that the budget allows."""
        if self.delta_cap is not None or self.cap is None or self.ledger.signed:
            return self.delta_cap
        return price.femto * (self.cap // price.micro)

    @property
    def left_epsilon(self) -> float:
        """What is left, as a number to show."""
        return self.left / MICRO
