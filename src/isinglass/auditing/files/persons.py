"""Person of each row: stated by the owner, or guessed from a column that repeats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from isinglass.auditing.files.align import Loaded
from isinglass.errors import AuditError
from isinglass.table.columns import as_float64, is_numeric, listed
from isinglass.table.read import Table

Array = NDArray[Any]

#: Fewer persons than this cannot be shared out among those in a release and those held out.
_FEWEST = 5
#: A column of fewer values without a telling name is rather a category than an identifier.
FEWEST_UNNAMED = 20
TELLING_NAMES = re.compile(
    r"(^|[^a-z])(id|ids|nr|number|key|unit|engine|device|account|household)([^a-z]|$)|person|"
    r"patient|subject|participant|user|customer|client|member|owner|driver|student|employee",
    re.IGNORECASE,
)
_TEXTS_AND_BYTES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)
_WHO = (
    "person|patient|subject|participant|user|customer|client|member|owner|driver|student|"
    "employee|household|unit|engine|device|account"
)
#: Names of what identifies somebody, and not of what is said of them, as `patient_age` is.
_IDENTIFIES = re.compile(
    rf"((^|[^a-z])(id|ids|pid|uid|uuid)|({_WHO})s?([^a-z]?(id|ids|nr|no|number|key|code|name))?)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PersonColumn:
    """A column that says whose record each row is, as codes."""

    name: str
    codes: Array = field(repr=False)

    @property
    def identifies(self) -> bool:
        """Whether its name alone says so; a category may repeat as an identifier does."""
        return may_identify(self.name)


def may_identify(name: str) -> bool:
    """Whether a name is that of an identifier: a stranger's value is then a new one."""
    return _IDENTIFIES.search(name) is not None


def person_codes(persons: ArrayLike, n_rows: int, what: str = "persons") -> Array:
    """One whole number for each person; refused where persons are too few to hold some out."""
    values = np.asarray(persons)
    if values.shape != (n_rows,):
        raise AuditError(f"{what} must be one for each of the {n_rows:,} records")
    try:
        different, codes = np.unique(values, return_inverse=True)
    except TypeError:
        raise AuditError(f"{what} must be numbers only, or text only") from None
    if len(different) < _FEWEST:
        raise AuditError(f"{what} must name at least {_FEWEST} persons, got {len(different)}")
    return np.asarray(codes)


def person_column(table: Table, name: str, rows: Loaded) -> PersonColumn:
    """The column that the owner named, for the rows that are left."""
    codes = _codes(table, [name], rows).get(name)
    if codes is None:
        raise AuditError(
            f"column {name} holds numbers that are not whole, so it does not say whose record a "
            "row is"
        )
    return PersonColumn(name, person_codes(codes, len(rows.X), f"column {name}"))


def guess_persons(table: Table, names: Sequence[str], rows: Loaded) -> PersonColumn | None:
    """The column, of some that were not perturbed, whose values repeat as a person's id would."""
    names = [n for n in names if may_name_persons(table.schema.field(n).type)]
    if not names or len(rows.X) < 2 * _FEWEST:
        return None
    found = [
        PersonColumn(name, codes)
        for name, codes in _codes(table, names, rows).items()
        if repeats(codes, _FEWEST if TELLING_NAMES.search(name) else FEWEST_UNNAMED)
    ]
    # The most telling name, then the column that tells most rows apart.
    return max(
        found,
        key=lambda c: (c.identifies, bool(TELLING_NAMES.search(c.name)), len(np.unique(c.codes))),
        default=None,
    )


def refuse_perturbed(person: str, perturbed: Sequence[str], names: Sequence[str]) -> None:
    """Whoever says whose record a row is must not have released it as one of the numbers."""
    if person not in names:
        raise AuditError(f"the table has no column named {person}; it has {listed(list(names))}")
    if person in perturbed:
        raise AuditError(
            f"column {person} was perturbed in the release, so it does not say whose record a row "
            "is; leave such a column out of a release"
        )


def may_name_persons(kind: pa.DataType) -> bool:
    """Whether a column of this kind could say whose record a row is."""
    kind = _plain_kind(kind)
    return is_numeric(kind) or any(is_kind(kind) for is_kind in _TEXTS_AND_BYTES)


def plain_identifiers(column: Any) -> Any:
    """A column of identifiers as Arrow can compare them: no dictionary, extension or view."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(_plain_kind(column.type))


def _plain_kind(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_kind(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _plain_kind(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return pa.decimal128(18, kind.scale)
    return pa.large_binary() if pa.types.is_binary_view(kind) else kind


def repeats(codes: Array, fewest: int) -> bool:
    """Whether most values occur several times, and there are at least `fewest` of them."""
    counts = np.unique(codes, return_counts=True)[1]
    return bool(fewest <= len(counts) <= len(codes) / 2 and (counts > 1).mean() > 0.5)


def _codes(table: Table, names: Sequence[str], rows: Loaded) -> dict[str, Array]:
    """A whole number for each value of some columns; rows without a value are nobody else's.

    Columns of numbers that are not whole are left out.
    """
    whole = pa.Table.from_batches(list(table.batches([], list(names))))
    found: dict[str, Array] = {}
    for name in names:
        column = plain_identifiers(whole.column(name).combine_chunks())
        if is_numeric(column.type) and not pa.types.is_integer(column.type):
            values = as_float64(column)
            if not pc.all(pc.equal(pc.floor(values), values), min_count=0).as_py():
                continue
        codes = column.dictionary_encode().indices.to_numpy(zero_copy_only=False)
        codes = np.asarray(codes, dtype=np.float64)
        missing = np.isnan(codes)
        codes[missing] = len(codes) + np.arange(int(missing.sum()))
        places = np.arange(len(rows.X)) if rows.numbers is None else rows.numbers
        found[name] = codes[places]
    return found
