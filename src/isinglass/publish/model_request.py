"""Request for a model: its settings, and the digests by which a ledger finds it again.

Nothing here is read from the table, so a request that was paid for is found without opening it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from isinglass.detect.private.detector import PrivateDetector
from isinglass.detect.private.document import column_facts, read_document
from isinglass.detect.private.layout import Layout
from isinglass.documents import canonical_json
from isinglass.epsilon import femto, micro
from isinglass.publish.declared import Declared
from isinglass.table.columns import names_to_drop

#: what a ledger calls a request: name, price, digest and, where it was for fresh noise, a token
_REQUEST_ID = re.compile(
    r"model (?P<name>.+) (?P<costs>\d+/\d+/\d+) (?P<digest>[0-9a-f]{32})"
    r"(?: (?P<token>[0-9a-f]{16}))?"
)


@dataclass(frozen=True, slots=True)
class RequestId:
    """The parts of what a ledger calls a request."""

    name: str
    costs: str
    digest: str
    token: str | None = None

    def __str__(self) -> str:
        words = ["model", self.name, self.costs, self.digest]
        return " ".join(words if self.token is None else [*words, self.token])

    @classmethod
    def read(cls, text: str) -> RequestId | None:
        """The parts; None of what another caller of the ledger called a request."""
        found = _REQUEST_ID.fullmatch(text)
        return None if found is None else cls(**found.groupdict())


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Settings of a model as its owner gave them; `drop` may hold patterns.

    `records_per_person` is None where the owner did not say how many there are; `priced_for` then
    is what the ledger's contract says.
    """

    name: str
    declared: Declared
    epsilon: Any
    delta: Any
    drop: Sequence[str] = ()
    person: str | None = None
    records_per_person: int | None = None
    threshold_share: float | None = None
    rounds: int = 2
    priced_for: int = 1

    def detector(self, names: Sequence[str], n_jobs: int | None = None) -> PrivateDetector:
        """What counts a table of these columns; all of them must be declared."""
        given = self.declared.only(names)
        return PrivateDetector(
            self.epsilon,
            self.delta,
            given.bounds,
            given.categories or None,
            steps=given.steps or None,
            log=given.log,
            records_per_person=self.records,
            threshold_share=self.threshold_share,
            rounds=self.rounds,
            n_jobs=n_jobs,
        )

    @property
    def costs(self) -> str:
        """The price, as a request's name has it. Other settings make another request."""
        return f"{self.micro}/{self.femto}/{self.records}"

    @property
    def micro(self) -> int:
        """Epsilon in millionths."""
        return micro(self.epsilon)

    @property
    def femto(self) -> int:
        """Delta in parts of 1e-15."""
        return femto(self.delta)

    def digest(self, layout: Layout) -> bytes:
        """A digest of all that makes the request, but for its price, once its columns are known."""
        facts = [
            self.name,
            self.person,
            [column_facts(column) for column in layout.columns],
            layout.rounds,
            self.threshold_share,
        ]
        return hashlib.sha256(canonical_json(facts)).digest()

    def as_given(self) -> str:
        """A digest of all settings as they were given, which needs no columns."""
        given = self.declared
        facts = [
            self.name,
            self.person,
            self.costs,
            sorted(self.drop),
            given.bounds,
            given.categories,
            given.steps,
            sorted(given.log),
            self.rounds,
            self.threshold_share,
        ]
        return hashlib.sha256(canonical_json(facts)).hexdigest()

    def person_was_named(self, document: bytes, digest: str) -> bool:
        """Whether a stored document of this name was made of no more records of anybody than said.

        A digest holds the column that said whose a record is, which the document does not.
        """
        read = read_document(document)
        nobody = replace(self, person=None, threshold_share=read.threshold_share)
        return not nobody.digest(read.model.layout).hex().startswith(digest)

    def made(self, document: bytes, digest: str) -> bool:
        """Whether this request made a stored document, by the columns that the document names.

        Only where all declared columns that are not dropped were in the table: else nobody can tell
        without the table.
        """
        names = [column.name for column in read_document(document).model.layout.columns]
        declared = [*self.given_columns, *([] if self.person is None else [self.person])]
        out = {*names_to_drop(self.drop, declared), self.person}
        if set(names) != set(self.given_columns) - out:
            return False
        layout, _ = self.detector(names).priced(names)
        return self.digest(layout).hex().startswith(digest)

    @property
    def given_columns(self) -> list[str]:
        """The columns that are declared."""
        return [*self.declared.bounds, *self.declared.categories]

    @property
    def records(self) -> int:
        """The most records of one person that are counted."""
        return self.priced_for if self.records_per_person is None else self.records_per_person
