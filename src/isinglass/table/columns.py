"""Column roles: perturbed, one-hot encoded, kept or dropped; and frames an estimator refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from isinglass.errors import TableError
from isinglass.messages import spell

if TYPE_CHECKING:
    from isinglass.table.read import Table


@dataclass(frozen=True, slots=True)
class Columns:
    """A role for every column of a table."""

    numeric: tuple[str, ...]
    one_hot: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    #: read as whole numbers that stand for their values, by first appearance
    coded: tuple[str, ...] = ()


def choose_columns(
    table: Table,
    *,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    one_hot: Sequence[str] = (),
    advice: str | None = None,
) -> Columns:
    """Give every column a role; columns that are not numbers must be given one by hand.

    `advice` says how to whoever did not, where it is not by `keep` and `drop`.
    """
    names = table.schema.names
    asked = Counter([*keep, *drop, *one_hot])
    refuse_unknown(table, sorted(asked))
    twice = sorted(name for name, times in asked.items() if times > 1)
    if twice:
        raise TableError(f"column {listed(twice)} is asked for twice among keep, drop and one-hot")
    rest = [name for name in names if name not in asked]
    if advice is None:
        advice = (
            f"leave them out with {spell('drop')}, encode those with few values as 0/1 columns "
            f"with {spell('one_hot')}, or disclose them: {spell('keep')} writes their values into "
            "the release as they are"
        )
    refuse_text(table, rest, advice)
    if not rest and not one_hot:
        raise TableError(f"{table.name} has no numeric column left to perturb")
    return Columns(tuple(rest), tuple(one_hot), tuple(keep), tuple(drop))


def refuse_unknown(table: Table, names: Sequence[str]) -> None:
    """Raise TableError if the table lacks columns that were named."""
    there = table.schema.names
    known = set(there)
    if unknown := [name for name in dict.fromkeys(names) if name not in known]:
        raise TableError(
            f"{table.name} has no column named {listed(unknown)}; it has {listed(there)}"
        )


def refuse_text(
    table: Table,
    names: Sequence[str],
    advice: str,
    *,
    where: str = "",
    error: type[Exception] = TableError,
) -> None:
    """Raise an error that names those of a table's columns that are not numbers.

    `where` says which columns should be numbers, `advice` what to do.
    """
    schema = table.schema
    text = [name for name in names if not is_numeric(schema.field(name).type)]
    if text:
        raise not_numbers(table.name, text, advice, where=where, error=error)


def not_numbers(
    table: str,
    text: Sequence[str],
    advice: str,
    *,
    where: str = "",
    error: type[Exception] = TableError,
) -> Exception:
    """The error about columns that are not numbers, the same in every command."""
    return error(f"{table} has columns that are not numbers{where}: {listed(text)}; {advice}")


def is_numeric(kind: pa.DataType) -> bool:
    """Numbers a perturbation can work on; an all-empty column counts, and shows up as missing."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    )


def as_float64(column: Any) -> Any:
    """An Arrow column of a kind that `is_numeric` as float64; what is missing stays missing.

    The only place that says how a kind becomes numbers. Each number is the float64 nearest to the
    value, whatever the kind: Arrow's own cast of a decimal depends on the column's scale, which
    follows from the longest value in it.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())
    return column.cast(pa.float64(), safe=False)


def number_type(table: Table, columns: Columns) -> type[np.floating]:
    """float32 where no column holds more digits than that, else float64."""
    narrow = (
        pa.float16(), pa.float32(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.bool_(),
    )  # fmt: skip
    kinds = [table.schema.field(name).type for name in columns.numeric]
    some = any(pa.types.is_floating(kind) for kind in kinds)
    return np.float32 if some and all(kind in narrow for kind in kinds) else np.float64


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names for a message: the first few, the others counted."""
    shown = ", ".join(names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def quoted(names: Sequence[str]) -> list[str]:
    """Names for a message, in which one that is empty can be seen."""
    return [name if name else "''" for name in names]


def refuse_columns(X: Any, what: str = "X", error: type[Exception] = ValueError) -> None:
    """Raise an error that names columns of a frame that are not numbers, or share a name.

    The same columns are numbers as in a file: text, categories and dates are not, though some of
    them could be turned into numbers silently.
    """
    if isinstance(X, np.ndarray | list | tuple) or not hasattr(X, "columns"):
        return
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        schema = nw.from_native(X, eager_only=True).schema
    except DuplicateError:
        names = [str(name) for name in X.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise error(
            f"{what} must not have several columns of one name: {listed(twice)}; rename them"
        ) from None
    except TypeError:  # not a frame after all
        return
    wrong = [
        str(name)
        for name, kind in schema.items()
        # What kind of values an object column has shows when they are turned into numbers.
        if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object, nw.Unknown))
    ]
    if wrong:
        raise error(
            f"{what} must hold numbers only; these columns hold something else: {listed(wrong)}; "
            "leave them out or turn them into numbers"
        )


def split_names(given: Sequence[str], names: Collection[str]) -> list[str]:
    """`a,b` means two columns, unless the table has one of that very name."""
    parts = []
    for item in given:
        parts += [item] if item in names else [p for p in item.split(",") if p]
    return parts


def names_to_drop(given: Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns that names and shell-style patterns mean, in the order given.

    A name that the table lacks stays, for whoever knows what to say of it; so does a pattern that
    fits nothing. Upper and lower case are told apart.
    """
    found: list[str] = []
    for item in split_names(given, names):
        fit = [] if item in names else [n for n in names if fnmatchcase(n, item)]
        found += [n for n in fit if n not in found] if fit else [item]
    return found


def needs_names(given: Sequence[str]) -> bool:
    """Whether what was given can be understood only with the table's columns at hand."""
    return any(sign in item for item in given for sign in ",*?[")
