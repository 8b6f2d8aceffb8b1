"""Declared columns: what an owner says that the columns of a model can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isinglass import field_checks
from isinglass.documents import DocumentError, read_json
from isinglass.errors import ModelError, TableError
from isinglass.messages import spell
from isinglass.table.columns import listed, quoted
from isinglass.table.roles.columns_file import ColumnEntry, ColumnsFile
from isinglass.table.roles.names import is_index_name
from isinglass.table.scale import read_bounds


@dataclass(frozen=True, slots=True)
class Declared:
    """Bounds or categories of columns by their names, from outside the table."""

    bounds: dict[str, tuple[float, float]]
    categories: dict[str, list[Any]] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)
    log: tuple[str, ...] = ()

    def only(self, names: Sequence[str]) -> Declared:
        """What is declared of these columns; all of them must be."""
        known = {*self.bounds, *self.categories}
        if missing := [n for n in names if n not in known]:
            index = [n for n in missing if is_index_name(n)]
            saved = f"; {listed(quoted(index))}: an index that was saved with the table? drop it"
            raise ModelError(
                f"columns without a declaration: {listed(quoted(missing))}"
                f"{saved if index else ''}; say in {spell('bounds')} what "
                "they can hold, from a manual or a regulation and not from this table, or leave "
                f"them out with {spell('drop')}"
            )
        return Declared(
            {n: self.bounds[n] for n in names if n in self.bounds},
            {n: self.categories[n] for n in names if n in self.categories},
            {n: self.steps[n] for n in names if n in self.steps},
            tuple(n for n in names if n in self.log),
        )

    def joined(self, other: Declared) -> Declared:
        """Both declarations; they are of different columns."""
        return Declared(
            self.bounds | other.bounds,
            self.categories | other.categories,
            self.steps | other.steps,
            (*self.log, *other.log),
        )


def declared_in(file: ColumnsFile, columns: Sequence[ColumnEntry]) -> Declared:
    """What a columns file declares of some of its columns; refused where one is not declared."""
    if missing := [c.name for c in columns if c.undeclared]:
        raise ModelError(
            f"columns without a declaration in {file.name}: {listed(quoted(missing))}; where "
            '"declare" stands, type bounds = [low, high] or categories = [...] from a manual or a '
            'regulation and not from this table, or leave the column out with use = "drop"'
        )
    return Declared(
        {c.name: c.bounds for c in columns if c.bounds is not None},
        {c.name: list(c.categories) for c in columns if c.categories is not None},
        {c.name: c.step for c in columns if c.step is not None},
        tuple(c.name for c in columns if c.log),
    )


def read_declared(path: str | Path) -> Declared:
    """Read what is declared of columns, from lines of `column,low,high` or from JSON.

    In JSON a column is `[low, high]`, `{"low", "high", "step", "log"}`, or `{"categories": [...]}`.
    """
    path = Path(path)
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        found = field_checks.section(read_json(data), "")
        once = len(found) == len(read_json(data, as_pairs=True))
    except OSError as error:
        raise TableError(f"bounds file {path} cannot be read: {error.strerror}") from None
    except DocumentError as error:
        if path.suffix.lower() == ".json":
            raise TableError(f"bounds file {path} cannot be used: {error}") from None
        return Declared(dict(read_bounds(path)))
    except ValueError:
        raise TableError(f"bounds file {path} must name columns and their bounds") from None
    if not found:
        raise TableError(f"bounds file {path} names no column")
    if not once:
        raise TableError(f"bounds file {path} names a column more than once")
    made = Declared({})
    log = []
    for name, value in found.items():
        facts = {"low": value[0], "high": value[1]} if _is_pair(value) else value
        where = f"bounds file {path}, {name}"
        if not isinstance(facts, dict):
            raise TableError(f"{where}: expected two numbers, or categories")
        if set(facts) == {"categories"}:
            values = facts["categories"]
            if not isinstance(values, list) or not all(map(_is_value, values)):
                raise TableError(f"{where}: expected a list of texts, numbers, true or false")
            made.categories[name] = facts["categories"]
            continue
        if not {"low", "high"} <= set(facts) <= {"low", "high", "step", "log"}:
            raise TableError(f"{where}: expected low and high, or categories, and nothing else")
        numbers = [facts[part] for part in ("low", "high", "step") if part in facts]
        if (
            not all(map(field_checks.is_number, numbers))
            or type(facts.get("log", True)) is not bool
        ):
            raise TableError(f"{where}: expected finite numbers, and true or false for log")
        made.bounds[name] = float(facts["low"]), float(facts["high"])
        if "step" in facts:
            made.steps[name] = float(facts["step"])
        if facts.get("log"):
            log.append(name)
    return Declared(made.bounds, made.categories, made.steps, tuple(log))


def _is_value(value: Any) -> bool:
    return isinstance(value, str | bool) or field_checks.is_number(value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2
