"""What the owner of a table should know about a release, and what the release says in public."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from isinglass.errors import PrivacyWarning
from isinglass.messages import spell, spell_call
from isinglass.publish.first_pass import FirstPass
from isinglass.table.columns import listed
from isinglass.table.prepare import Source


class Concern(Enum):
    """What makes a release tell more than its owner may think."""

    KEPT = auto()
    CONSTANT = auto()
    TRENDING = auto()
    ALIKE = auto()
    AGAIN = auto()
    COUNTED = auto()
    SEEDED = auto()
    SINGLE = auto()


@dataclass(frozen=True, slots=True)
class ReleaseNote:
    """A concern, and the columns it is about: their names are for the owner unless they leave."""

    concern: Concern
    columns: tuple[str, ...] = ()

    @property
    def owner(self) -> str:
        """The sentence for the owner."""
        shown = (
            ", ".join(self.columns)
            if self.concern is Concern.KEPT
            else listed(self.columns, most=8)
        )
        amend = spell_call("Ledger.amend", also_released=True, reason=...)
        advice = _ADVICE.get(self.concern, "").format(amend=amend)
        if self.concern in _SHUFFLED:
            advice = f"; consider {spell('shuffle', True)}"
        return f"{_SENTENCES[self.concern]}{shown}{advice}"

    @property
    def public(self) -> str:
        """The sentence in the release: how many columns, and which only where they are in it."""
        if self.concern in _ADVICE:
            return _SENTENCES[self.concern]
        if self.concern is Concern.KEPT or not self.columns:
            return self.owner
        return f"{_SENTENCES[self.concern]}{len(self.columns)}"


@dataclass(frozen=True, slots=True)
class WarningNote:
    """What a perturbation or a key warned of, in its own words for either reader."""

    owner: str
    public: str

    @classmethod
    def of(cls, warning: PrivacyWarning) -> WarningNote:
        return cls(str(warning), warning.public)


_SENTENCES = {
    Concern.KEPT: "kept columns leave as they are and help every attack on the others: ",
    Concern.CONSTANT: "columns that hold one value only: ",
    Concern.TRENDING: (
        "columns that rise or fall with the row number, so that a record's place tells its value: "
    ),
    Concern.ALIKE: (
        "columns in which neighboring rows are alike, so that noise can be smoothed away: "
    ),
    Concern.AGAIN: ("these rows were released before; the releases can be combined against them"),
    Concern.SINGLE: (
        "this is a release of one record: whoever knows whose it is knows that all of it is about "
        "that one, and it can hide among no others"
    ),
    Concern.COUNTED: (
        "a guaranteed model was made from this table, and its guarantee does not cover this release"
    ),
    Concern.SEEDED: (
        "random_state was given, so anyone who guesses it has the key; leave it out for a release "
        "that matters"
    ),
}
_ADVICE = {
    Concern.COUNTED: (
        ": say so in its ledger with {amend}, then make "
        "its card anew by the command that made the model, which charges nothing a second time"
    ),
}
#: Concerns that a release in a secret order does not raise.
_SHUFFLED = (Concern.TRENDING, Concern.ALIKE)


def notes_on(look: FirstPass, source: Source, *, again: bool, shuffle: bool) -> list[ReleaseNote]:
    """What the owner should know about this table."""
    found = {
        Concern.KEPT: tuple(source.columns.kept),
        Concern.CONSTANT: tuple(source.labels[j] for j in look.survey.constant()),
        Concern.TRENDING: () if shuffle else look.trending,
        Concern.ALIKE: () if shuffle else look.alike,
    }
    notes = [ReleaseNote(concern, columns) for concern, columns in found.items() if columns]
    if look.survey.n_rows == 1:
        notes.append(ReleaseNote(Concern.SINGLE))
    return [*notes, ReleaseNote(Concern.AGAIN)] if again else notes
