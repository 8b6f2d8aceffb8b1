"""Columns file: the role, unit, bounds, categories and number format of every column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isinglass import field_checks
from isinglass.documents import DocumentError, read_toml
from isinglass.errors import TableError
from isinglass.formats import shorten
from isinglass.table.columns import listed
from isinglass.table.number_format import MARKS, NumberFormat
from isinglass.table.prepare import MISSING
from isinglass.table.roles.proposals import ROLES

#: What stands for bounds or categories until their owner has typed some.
DECLARE = "declare"
USES = ("drop", "keep")
MOST_BYTES = 2 << 20
_SETTINGS = {"missing", "missing_words", "decimal", "delimiter", "encoding"}
_ENTRIES = {
    "role", "use", "unit", "bounds", "categories", "step", "log", "decimal", "one_hot",
}  # fmt: skip

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class ColumnEntry:
    """What an owner says of one column."""

    name: str
    role: str
    use: str | None = None
    unit: str | None = None
    bounds: tuple[float, float] | None = None
    categories: tuple[Value, ...] | None = None
    step: float | None = None
    log: bool = False
    decimal: str | None = None
    one_hot: bool = True
    undeclared: bool = False  # "declare" still stands where bounds or categories should

    @property
    def is_number(self) -> bool:
        """Whether it is perturbed, compared and counted as a number."""
        return self.use is None and self.role == "number"

    @property
    def is_counted(self) -> bool:
        """Whether a guaranteed model counts it; a constant too, until its owner drops it.

        That a column holds one value only is a fact of the table, and must not decide.
        """
        return self.use is None and self.role in ("number", "category", "constant")

    @property
    def is_category(self) -> bool:
        return self.use is None and self.role == "category"


@dataclass(frozen=True, slots=True)
class ColumnsFile:
    """What an owner says of a table's columns; nothing in it was learned from the table."""

    name: str
    columns: tuple[ColumnEntry, ...]
    missing: str = "error"
    missing_words: tuple[str, ...] = ()
    decimal: str | None = None
    delimiter: str | None = None
    encoding: str = "utf8"
    by_name: Mapping[str, ColumnEntry] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {c.name: c for c in self.columns})

    def named(self, role: str) -> list[str]:
        """The columns of a role whose use follows from it."""
        return [c.name for c in self.columns if c.role == role and c.use is None]

    @property
    def number_format(self) -> NumberFormat | None:
        """How the columns of numbers are written, if any is not as a program writes it."""
        marks = {
            c.name: c.decimal or self.decimal
            for c in self.columns
            if c.is_number and (c.decimal or self.decimal)
        }
        if not marks and not self.missing_words:
            return None
        if self.missing_words:
            marks |= {c.name: "." for c in self.columns if c.is_number and c.name not in marks}
        return NumberFormat(None, {n: m for n, m in marks.items() if m}, self.missing_words)


def read_columns(path: str | Path) -> ColumnsFile:
    """Read a columns file; what is wrong is said of the file, the column and the entry."""
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        found = read_toml(text, most_bytes=MOST_BYTES)
    except OSError as error:
        raise TableError(f"columns file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TableError(f"columns file {path} cannot be read: it is not UTF-8 text") from None
    except DocumentError as error:
        raise TableError(f"columns file {path} cannot be used: {error}") from None
    _refuse_strange(found, {"table", "columns"}, f"columns file {path}")
    settings = _section(found.get("table", {}), f"columns file {path}, [table]")
    _refuse_strange(settings, _SETTINGS, f"columns file {path}, [table]")
    columns = _section(found.get("columns", {}), f"columns file {path}, [columns]")
    if not columns:
        raise TableError(
            f"columns file {path} names no column; `isinglass inspect TABLE -o FILE` writes one"
        )
    entries = tuple(_entry(name, given, path) for name, given in columns.items())
    made = ColumnsFile(str(path), entries, **_settings(settings, path))
    for role in ("person", "label"):
        if len(several := made.named(role)) > 1:
            raise TableError(
                f"columns file {path}: columns {listed(several)} all have the role {role}; leave "
                'it to one, and give the others use = "drop"'
            )
    return made


def _settings(given: dict[str, Any], path: Path) -> dict[str, Any]:
    where = f"columns file {path}, [table]"
    found: dict[str, Any] = {}
    if "missing" in given:
        found["missing"] = _one_of(given["missing"], MISSING, where, "missing")
    if "decimal" in given:
        found["decimal"] = _one_of(given["decimal"], tuple(MARKS), where, "decimal")
    for key in ("delimiter", "encoding"):
        if key in given:
            found[key] = _word(given[key], where, key)
    words = given.get("missing_words", [])
    if not isinstance(words, list) or not all(isinstance(w, str) and len(w) <= 100 for w in words):
        raise TableError(f"{where}: missing_words must be a list of short texts")
    return found | {"missing_words": tuple(words)}


def _entry(name: str, given: Any, path: Path) -> ColumnEntry:
    where = f"columns file {path}, column {shorten(name, 80) or repr(name)}"
    entry = _section(given, where)
    _refuse_strange(entry, _ENTRIES, where)
    if "role" not in entry:
        raise TableError(f"{where}: role is missing; it is one of {', '.join(ROLES)}")
    role = _one_of(entry["role"], ROLES, where, "role")
    use = _one_of(entry["use"], USES, where, "use") if "use" in entry else None
    kinds = {"number": ("bounds", "step", "log", "decimal"), "category": ("categories", "one_hot"),
             "constant": ("bounds", "categories")}  # fmt: skip
    other = [k for k in entry if k not in ("role", "use", "unit", *kinds.get(role, ()))]
    if other:
        raise TableError(f"{where}: {', '.join(other)} does not go with the role {role}")
    bounds, categories = entry.get("bounds"), entry.get("categories")
    undeclared = use is None and (DECLARE in (bounds, categories) or _lacks(role, entry))
    try:
        return ColumnEntry(
            name, role, use,
            unit=None if "unit" not in entry else _word(entry["unit"], where, "unit"),
            bounds=None if bounds in (None, DECLARE) else field_checks.pair(bounds, "bounds"),
            categories=None if categories in (None, DECLARE) else _values(categories),
            step=None if "step" not in entry else field_checks.number(entry["step"], "step"),
            log=field_checks.flag(entry.get("log", False), "log"),
            decimal=None
            if "decimal" not in entry
            else _one_of(entry["decimal"], tuple(MARKS), where, "decimal"),
            one_hot=field_checks.flag(entry.get("one_hot", True), "one_hot"),
            undeclared=undeclared,
        )  # fmt: skip
    except ValueError as error:
        raise TableError(f"{where}: {error}") from None


def _lacks(role: str, entry: dict[str, Any]) -> bool:
    """Whether a model could not be made, because nothing is declared at all."""
    needed = {"number": ("bounds",), "category": ("categories",)}.get(role)
    if role == "constant":
        return "bounds" not in entry and "categories" not in entry
    return needed is not None and not any(key in entry for key in needed)


def _values(given: Any) -> tuple[Value, ...]:
    whole = isinstance(given, list) and given
    if not whole or not all(isinstance(v, str | bool) or field_checks.is_number(v) for v in given):
        raise ValueError('categories must be "declare" or a list of texts, numbers, true or false')
    return tuple(given)


def _section(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise TableError(f'{where}: expected entries such as role = "number"')
    return given


def _one_of(given: Any, known: tuple[str, ...], where: str, key: str) -> str:
    if not isinstance(given, str) or given not in known:
        said = f", got {shorten(given, 40)}" if isinstance(given, str) else ""
        raise TableError(f"{where}: {key} must be one of {', '.join(known)}{said}")
    return given


def _word(given: Any, where: str, key: str) -> str:
    if not isinstance(given, str) or not given or len(given) > 100:
        raise TableError(f"{where}: {key} must be a text of at most 100 characters")
    return given


def _refuse_strange(given: dict[str, Any], known: set[str], where: str) -> None:
    if strange := [shorten(key, 40) for key in given if key not in known]:
        raise TableError(
            f"{where} has entries not known here: {listed(strange)}; known are "
            f"{', '.join(sorted(known))}"
        )
