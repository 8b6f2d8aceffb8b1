"""Text of a columns file: roles as proposed, and what was seen as comments only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from isinglass.table.roles.columns_file import DECLARE, ColumnEntry, ColumnsFile
from isinglass.table.roles.look import TableLook
from isinglass.table.roles.proposals import Proposal

_HEAD = """\
# What each column is, as `isinglass inspect` proposes it. Every command takes this file with
# --columns. Change a role where it is wrong:
#   number      perturbed, compared, counted     category  one 0/1 column for each of its values
#   person      says whose record a row is       label     1 for known anomalies, else 0
#   identifier, date, text, constant             left out
# use = "drop" leaves any column out; use = "keep" lets it leave as it is, which discloses it.
# Comments say what stands in this table: keep this file to yourself. Where "declare" stands, type
# bounds = [low, high] or categories = [...] from a manual or a regulation, not from the comment;
# guaranteed models need them.
"""
_WORDS = re.compile(r"^[A-Za-z0-9_-]+$")


def columns_text(look: TableLook, settings: ColumnsFile) -> str:
    """The file that an owner edits; `settings` say how the table is read."""
    lines = [_HEAD, *_table(settings)]
    gaps = look.incomplete
    if gaps and settings.missing == "error":
        lines.append(
            '# columns miss values: missing = "drop" leaves those rows out, "median" fills them in'
        )
    labels = 0
    for column in look.columns:
        labels += column.proposed == "label"
        lines += ["", *_column(column, again=labels > 1 and column.proposed == "label")]
    return "\n".join(lines) + "\n"


def written(columns: ColumnsFile) -> str:
    """A columns file as text, which reads as the same."""
    lines = _table(columns)
    for c in columns.columns:
        lines += ["", f"[columns.{key(c.name)}]", *_entries(c)]
    return "\n".join(lines) + "\n"


def key(name: str) -> str:
    """A column's name as a key of TOML."""
    return name if _WORDS.match(name) else quoted(name)


def quoted(text: str) -> str:
    """A text of TOML; JSON's escapes are understood there, but for halves of pairs."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _table(settings: ColumnsFile) -> list[str]:
    lines = ["[table]", f"missing = {quoted(settings.missing)}"]
    if settings.missing_words:
        lines.append(f"missing_words = [{', '.join(map(quoted, settings.missing_words))}]")
    for name in ("decimal", "delimiter"):
        value = getattr(settings, name)
        if value is not None:
            lines.append(f"{name} = {quoted(value)}")
    if settings.encoding != "utf8":
        lines.append(f"encoding = {quoted(settings.encoding)}")
    return lines


def _column(c: Proposal, *, again: bool) -> Iterator[str]:
    yield f"[columns.{key(c.name)}]"
    yield f"role = {quoted(c.proposed)}  # {_comment(c.why)}"
    if again:
        yield 'use = "drop"  # one label is enough'
    if c.proposed == "number":
        yield f"bounds = {quoted(DECLARE)}{_range(c)}"
    if c.proposed == "category":
        yield f"categories = {quoted(DECLARE)}{_values(c)}"
        if not c.one_hot:
            yield "one_hot = false  # too many values for a column each: left out of releases"
    if c.proposed == "constant":
        yield f"bounds = {quoted(DECLARE)}  # or categories; it is left out of releases"
    if c.decimal is not None:
        yield f"decimal = {quoted(c.decimal)}"


def _range(c: Proposal) -> str:
    if c.low is None or c.high is None:
        return ""
    whole = ", all whole: step = 1" if c.step else ""
    return f"  # seen: {_short(c.low)} to {_short(c.high)}{whole}"


def _short(number: float) -> str:
    return repr(number).removesuffix(".0")


def _values(c: Proposal) -> str:
    if not c.seen:
        return f"  # seen: {c.distinct:,} different values"
    return f"  # seen: {', '.join(json.dumps(_cut(v)) for v in c.seen)}"


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _comment(text: str) -> str:
    return json.dumps(text)[1:-1]


def _entries(c: ColumnEntry) -> Iterator[str]:
    yield f"role = {quoted(c.role)}"
    for name in ("use", "unit", "decimal"):
        value = getattr(c, name)
        if value is not None:
            yield f"{name} = {quoted(value)}"
    if c.bounds is not None:
        yield f"bounds = [{c.bounds[0]!r}, {c.bounds[1]!r}]"
    if c.categories is not None:
        yield f"categories = [{', '.join(map(_value, c.categories))}]"
    if c.undeclared and c.role in ("number", "category", "constant"):
        yield f"{'categories' if c.role == 'category' else 'bounds'} = {quoted(DECLARE)}"
    if c.step is not None:
        yield f"step = {c.step!r}"
    if c.log:
        yield "log = true"
    if not c.one_hot:
        yield "one_hot = false"


def _value(value: str | int | float | bool) -> str:
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(value)
