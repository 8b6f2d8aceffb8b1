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
from isinglass.table.columns import listed
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
            raise ModelError(
                f"columns without a declaration: {listed(missing)}; say in {spell('bounds')} what "
                "they can hold, from a manual or a regulation and not from this table, or leave "
                f"them out with {spell('drop')}"
            )
        return Declared(
            {n: self.bounds[n] for n in names if n in self.bounds},
            {n: self.categories[n] for n in names if n in self.categories},
            {n: self.steps[n] for n in names if n in self.steps},
            tuple(n for n in names if n in self.log),
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
