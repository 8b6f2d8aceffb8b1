"""What must be said beside an audit's numbers, as facts: their kind, values and readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isinglass.attack.base import Attack


class Kind(Enum):
    """Every fact that `auditing.report.sentences` has words for."""

    # What was found in the numbers.
    UNCHANGED_ROWS = auto()
    UNCHANGED_CELLS = auto()
    CONSTANT_COLUMNS = auto()
    MEASURED_ON_SAMPLE = auto()
    FEW_RECORDS = auto()
    NOT_ALL_COMPARED = auto()
    ROWS_UNKNOWN = auto()
    ROWS_ARE_NO_RECORDS = auto()
    PERSONS_HELD_OUT = auto()
    FAILED_WITH_KNOWLEDGE = auto()
    UNCLEAR_MEMBERSHIP = auto()
    # What a release says of itself, and is not so.
    COLUMNS_NOT_AS_CLAIMED = auto()
    VALUES_NOT_AS_CLAIMED = auto()
    NOISE_NOT_AS_CLAIMED = auto()
    MOMENTS_NOT_AS_CLAIMED = auto()
    # How two files were brought together.
    TEXT_AS_NUMBERS = auto()
    TEXT_LEFT_OUT = auto()
    ENCODED_COLUMNS = auto()
    HASHES_UNDONE = auto()
    CELLS_MISSING = auto()
    OTHER_NUMBERS = auto()
    KEPT_PARTS = auto()
    KEPT_MANY = auto()
    BESIDE_ATTACKED = auto()
    FILLED_WITH_MEDIANS = auto()
    INCOMPLETE_ROWS = auto()
    ROWS_WITHOUT_PARTNER = auto()
    OTHER_LENGTH = auto()
    TRANSPOSED = auto()
    OTHER_SHAPE = auto()
    ROWS_TRANSFORMED = auto()
    SEVERAL_ROWS_TOGETHER = auto()
    SEVERAL_ROWS_AS_ONE = auto()
    ORDER_CANNOT_BE_TOLD = auto()
    OTHER_ORDER_FOUND = auto()
    SECRET_ORDER_IS_NONE = auto()
    SECRET_ORDER_FOUND = auto()
    SECRET_ORDER_STAYS = auto()
    SEED_GUESSED = auto()
    OTHER_RELEASE_UNMATCHED = auto()
    OTHER_RELEASE_UNKNOWN = auto()
    OTHER_RELEASES_MISSING = auto()
    # What was assumed.
    PARAMETERS_KNOWN = auto()
    NOTHING_KNOWN = auto()
    KNOWLEDGE_DEALT = auto()
    NAMED_AT_BEST = auto()
    PAIRS_LIMITED = auto()
    KEPT_COLUMNS_KNOWN = auto()
    OTHERS_ATTACKED = auto()
    CORRESPONDENCE_UNSAID = auto()
    PERSONS_GIVEN = auto()
    KEYS_DRAWN_ANEW = auto()
    # Why an attack was not run, or not finished.
    NOT_ASKED_FOR = auto()
    KNOWLEDGE_LACKING = auto()
    PAIRS_CANNOT_BE_TOLD = auto()
    ERROR_WHILE_COMPUTING = auto()
    # Of models.
    TORCH_LACKING = auto()
    THRESHOLD_ALONE = auto()
    OTHERS_UNLIKE = auto()
    OTHERS_IN_TABLE = auto()
    DRAWN_AT_RANDOM = auto()
    REPEATS_BADLY = auto()
    FIT_NOT_REACHED = auto()
    TOO_LOW = auto()
    TABLE_IS_TRAINING = auto()
    SHADOWS_ALLOWED = auto()
    MODELS_ALIKE = auto()
    NO_OTHERS = auto()
    OTHERS_NOT_ALIKE = auto()
    # Words of somebody else, and what stands for words that the public may not read.
    QUOTED = auto()
    LEFT_OUT = auto()


@dataclass(frozen=True, slots=True)
class OwnersFile:
    """A file's name that is for its owner alone."""

    name: str


@dataclass(frozen=True, slots=True)
class AuditNote:
    """A fact with its values; the sentence about it is made by `auditing.report.sentences`.

    One that is not `public` is for the owner alone, as is the name in an `OwnersFile` anywhere.
    """

    kind: Kind
    values: Mapping[str, Any] = field(default_factory=dict)
    public: bool = True

    @classmethod
    def of(cls, kind: Kind, **values: Any) -> AuditNote:
        """A fact that everybody may read."""
        return cls(kind, values)

    @classmethod
    def quote(cls, attack: Attack | type[Attack], text: str) -> AuditNote:
        """What an attack says itself; nobody knows what one from elsewhere puts there."""
        kind = attack if isinstance(attack, type) else type(attack)
        return cls(Kind.QUOTED, {"text": text}, public=kind.__module__.startswith("isinglass."))

    def published(self) -> AuditNote:
        """The same for everybody to read, or that something was left out."""
        if not self.public:
            return AuditNote(Kind.LEFT_OUT)
        return replace(self, values={name: _published(v) for name, v in self.values.items()})


def public_notes(notes: Iterable[AuditNote]) -> tuple[AuditNote, ...]:
    """Those that everybody may read, without the names of the owner's files."""
    return tuple(note.published() for note in notes if note.public)


def _published(value: Any) -> Any:
    if isinstance(value, OwnersFile):
        return "the table"
    return value.published() if isinstance(value, AuditNote) else value
