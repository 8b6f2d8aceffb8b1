"""Version of a model, the version it takes the place of, and its last day: public settings.

The version is one more than the models of that name that were paid for before, and the last day is
the owner's word, so neither says anything of a table. No other day is written.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any

from isinglass import field_checks
from isinglass.documents import read_json

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOST_VERSIONS = 10**9
_MOST_VALUES = 600_000  # as of a model


@dataclass(frozen=True, slots=True)
class Validity:
    """Which version a model is, counted from 1 in its ledger, and the last day of its use."""

    version: int | None = None
    expires: datetime.date | None = None

    @property
    def supersedes(self) -> int | None:
        """The version that this one takes the place of; None where there is none."""
        return None if self.version is None or self.version == 1 else self.version - 1

    def to_json(self) -> dict[str, Any]:
        """As the card says it."""
        return {
            "version": self.version,
            "supersedes": self.supersedes,
            "expires": None if self.expires is None else self.expires.isoformat(),
        }

    @classmethod
    def of_card(cls, card: bytes) -> Validity:
        """What a card says, of which older ones say nothing; a ValueError where it is no card."""
        facts = read_card(card)
        version, expires = facts.get("version"), facts.get("expires")
        return cls(
            None
            if version is None
            else field_checks.whole(version, "version", least=1, most=_MOST_VERSIONS),
            None if expires is None else read_day(expires),
        )

    def doubts(self, name: str, *, today: datetime.date, newest: int) -> list[str]:
        """Why a reader who has seen version `newest` should not use this one any more."""
        found = []
        if self.expires is not None and today > self.expires:
            found.append(
                f"{name} expired: its owner meant it to be used until {self.expires.isoformat()}"
            )
        if self.version is not None and newest > self.version:
            found.append(
                f"{name} is version {self.version}, and version {newest} was used here before: it "
                "takes the place of this one"
            )
        return found


def read_card(card: bytes) -> dict[str, Any]:
    """What a card says; a ValueError where it is no card."""
    return field_checks.section(read_json(card, most_values=_MOST_VALUES), "the card")


def read_day(text: Any, name: str = "expires") -> datetime.date:
    """The day that is written as 2027-03-31 is."""
    if isinstance(text, str) and _DAY.fullmatch(text):
        try:
            return datetime.date.fromisoformat(text)
        except ValueError:
            pass
    raise ValueError(f"{name} must be a day written as 2027-03-31 is, got {str(text)[:40]}")
