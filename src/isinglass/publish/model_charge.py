"""Payment of a model from a ledger, before anything of it leaves, and its version there."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.ledger.paid_models import PaidModel
from isinglass.detect.private.layout import Layout
from isinglass.detect.private.noise import ModelPrice
from isinglass.detect.private.validity import Validity, read_day
from isinglass.epsilon import MICRO, delta_text, text
from isinglass.errors import BudgetError, CuratorError, ModelError
from isinglass.messages import spell
from isinglass.publish.model_request import ModelRequest, RequestId
from isinglass.publish.pending import PendingRequest
from isinglass.table.columns import listed

#: what the ledger keeps with a model: the digest of its settings as given, its last day, and
#: whether a column said whose each record is
_GIVEN, _EXPIRES, _BY_PERSON = "settings", "expires", "by_person"
_YES, _NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class Version:
    """A paid model of some name, and which one it is, counted from 1."""

    number: int
    request: RequestId
    paid: PaidModel


@dataclass(slots=True)
class ModelCharge:
    """Charges a model to a ledger, under the terms given where that is the ledger's first use.

    The same request, under the same name and with the same settings, is paid once: asked again, it
    returns what was stored, whatever the table holds by now. `again` asks for fresh noise, at its
    price; `renew` does so too, and only where an earlier version of that name was paid for. Either,
    if it was stopped before its model was written, goes on where it was. `drawn` says afterwards
    which it was, `left` what may still be spent everywhere, `validity` which version it is.
    """

    ledger: Ledger
    where: str
    cap: int | None = None
    delta_cap: int | None = None
    also_released: bool | None = None
    again: bool = False
    renew: bool = False
    expires: datetime.date | None = None
    drawn: bool = False
    left: int = 0
    validity: Validity = field(default_factory=Validity)
    _token: str | None = None
    _pending: PendingRequest | None = None

    def stored(self, request: ModelRequest) -> bytes | None:
        """What was stored when this request was paid for, found without a table; else None."""
        if self.ledger.signed:
            self._sign(request.records, request.micro, request.femto)
        known = versions(self.ledger, request.name)
        if self.renew and not known:
            names = list(dict.fromkeys(request.name for request, _ in _requests(self.ledger)))
            raise ModelError(
                f"no model called {request.name} is paid for in this ledger, so there is none to "
                f"renew; {spell('name')} must be one that is ({listed(names) or 'there is none'}), "
                f"and for a first one leave {spell('renew', True)} out"
            )
        if self.renew and request.person is None:
            self._refuse_nobody(known, request)
        self._pending = PendingRequest(self._address, request.as_given())
        if self.again or self.renew:
            self._token = self._pending.token()
            found = [v for v in known if v.request.token == self._token]
        else:
            found = [v for v in known if self._is_of(v, request)]
        if not found:
            return None
        newest = found[-1]
        if not newest.paid.stored:
            self._pending.end()
            raise ModelError(
                f"version {newest.number} of {request.name} was paid for and could not be "
                f"computed; {spell('again', True)} pays once more"
            )
        self._say(newest)
        return self.ledger.noised_counts(newest.paid)

    def __call__(
        self, price: ModelPrice, request: ModelRequest, layout: Layout, draw: Callable[[], bytes]
    ) -> bytes:
        """Pay, and give the document that was drawn now or the first time."""
        self._refuse_unaffordable(price)
        self._sign(price.records, price.micro, price.femto)

        def counted() -> bytes:
            self.drawn = True
            return draw()

        digest = request.digest(layout)
        wanted = RequestId(request.name, request.costs, digest.hex()[:32], self._token)
        about = {_GIVEN: request.as_given(), _BY_PERSON: _NO if request.person is None else _YES}
        try:
            document = self.ledger.charge_model(
                counted,
                micro=price.micro,
                femto=price.femto,
                rho=price.rho,
                records_per_person=price.records,
                request_id=str(wanted),
                digest=digest,
                about=about if self.expires is None else about | {_EXPIRES: str(self.expires)},
            )
        except (
            BudgetError,
            CuratorError,
        ):  # nothing is left to go on with
            self.finish()
            raise
        (paid,) = [v for v in versions(self.ledger, request.name) if v.request == wanted]
        self._say(paid)
        return document

    def _refuse_nobody(self, known: list[Version], request: ModelRequest) -> None:
        """Refuse a renewal that would count all records of people of whom some were left out."""
        for version in reversed(known):
            if self._person_was_named(version, request):
                raise ModelError(
                    f"version {version.number} of {request.name} counted no more than "
                    f"{version.paid.spend.records_per_person:,} of each person's records, by a "
                    f"column that said whose each is; name it in {spell('person')} again"
                )

    def _person_was_named(self, version: Version, request: ModelRequest) -> bool:
        if _BY_PERSON in version.paid.about:
            return version.paid.about[_BY_PERSON] == _YES
        if not version.paid.stored:
            return False
        document = self.ledger.noised_counts(version.paid)
        return request.person_was_named(document, version.request.digest)

    def _refuse_unaffordable(self, price: ModelPrice) -> None:
        """Refuse what no new ledger of these terms could pay, before its contract is written."""
        if self.ledger.signed or self.cap is None:
            return
        if price.micro > self.cap:
            raise BudgetError(
                f"the model costs epsilon {text(price.micro)}, and {spell('budget')} is "
                f"{text(self.cap)}; nothing was spent, and the ledger is not begun",
                asked=price.micro, spent=0, left=self.cap,
            )  # fmt: skip
        if self.delta_cap is not None and price.femto > self.delta_cap:
            raise BudgetError(
                f"the model has delta {delta_text(price.femto)}, and {spell('delta_cap')} is "
                f"{delta_text(self.delta_cap)}; nothing was spent, and the ledger is not begun",
                asked=price.micro, spent=0, left=self.cap,
            )  # fmt: skip

    def finish(self) -> None:
        """Nothing is left to do: the next request for fresh noise is another one."""
        if self._pending is not None:
            self._pending.end()

    def _say(self, version: Version) -> None:
        """Note what is told of a version afterwards."""
        kept = version.paid.about.get(_EXPIRES)
        expires = self.expires or (None if kept is None else read_day(kept))
        self.validity = Validity(version.number, expires)
        self.left = self.ledger.everywhere_budget().left

    def _is_of(self, version: Version, request: ModelRequest) -> bool:
        """Whether a version was paid for by the same request."""
        if version.request.costs != request.costs:
            return False
        if version.paid.about.get(_GIVEN) == request.as_given():
            return True
        if not version.paid.stored:
            return False
        try:
            return request.made(self.ledger.noised_counts(version.paid), version.request.digest)
        except (ValueError, ModelError):  # other settings, or a document of another caller
            return False

    @property
    def _address(self) -> str:
        """Where the ledger is, by which its stopped requests are found again; no password."""
        return repr(self.ledger) if "://" in self.where else os.path.realpath(self.where)

    def _sign(self, records: int, micro: int, femto: int) -> None:
        """Agree to the contract, or write one; then with as much delta as such models will need."""
        delta_cap = self.delta_cap
        if delta_cap is None and self.cap is not None and not self.ledger.signed:
            delta_cap = femto * (self.cap // micro)
        self.ledger.sign_models(
            cap=self.cap,
            delta_cap=delta_cap,
            records_per_person=records,
            also_released=self.also_released,
        )

    @property
    def left_epsilon(self) -> float:
        """What is left, as a number to show."""
        return self.left / MICRO


def versions(ledger: Ledger, name: str) -> list[Version]:
    """The models of a name that were paid for, in their order: this alone makes their numbers."""
    of_name = [found for found in _requests(ledger) if found[0].name == name]
    return [Version(i, request, paid) for i, (request, paid) in enumerate(of_name, start=1)]


def _requests(ledger: Ledger) -> list[tuple[RequestId, PaidModel]]:
    """The models that were paid for here, with the parts of their requests."""
    read = [(RequestId.read(paid.request_id), paid) for paid in ledger.paid_models()]
    return [(request, paid) for request, paid in read if request is not None]
