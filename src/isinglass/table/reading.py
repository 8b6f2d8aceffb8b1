"""How a table is read: its text, its numbers, its missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isinglass import field_checks
from isinglass.table.number_format import NumberFormat
from isinglass.table.prepare import MISSING

_WORDS = ("encoding", "delimiter", "missing", "label", "person")


@dataclass(frozen=True, slots=True)
class TableReading:
    """How a file is read, and what is done about missing values."""

    encoding: str = "utf8"
    delimiter: str | None = None
    decimal: str | NumberFormat | None = None
    missing: str = "error"

    @property
    def file(self) -> dict[str, Any]:
        """What opening a file takes."""
        return {
            "encoding": self.encoding, "delimiter": self.delimiter, "decimal": self.decimal
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class RememberedReading:
    """What a key knows of how its table was read, and of columns that an audit will want."""

    reading: TableReading = TableReading()
    label: str | None = None
    person: str | None = None

    def to_json(self) -> dict[str, Any]:
        """What is not as usual."""
        written = NumberFormat.of(self.reading.decimal)
        found: dict[str, Any] = {
            "encoding": None if self.reading.encoding == "utf8" else self.reading.encoding,
            "delimiter": self.reading.delimiter,
            "missing": None if self.reading.missing == "error" else self.reading.missing,
            "label": self.label,
            "person": self.person,
            "decimal": written.mark,
            "decimals": dict(written.columns),
            "missing_words": list(written.words),
        }
        return {name: value for name, value in found.items() if value}

    @classmethod
    def from_json(cls, stored: Any) -> RememberedReading:
        """What was stored; ValueError where it is of another kind."""
        found = field_checks.section(stored, "reading")
        words = {n: field_checks.word(found[n], n, longest=1 << 16) for n in _WORDS if n in found}
        if words.get("missing", "error") not in MISSING:
            raise ValueError(f"missing must be one of {', '.join(MISSING)}")
        marks = field_checks.section(found.get("decimals", {}), "decimals")
        decimal = NumberFormat(
            found.get("decimal"), marks, field_checks.names(found.get("missing_words", []), "words")
        )
        plain = decimal == NumberFormat()
        reading = TableReading(
            words.get("encoding", "utf8"),
            words.get("delimiter"),
            None if plain else decimal,
            words.get("missing", "error"),
        )
        return cls(reading, words.get("label"), words.get("person"))
