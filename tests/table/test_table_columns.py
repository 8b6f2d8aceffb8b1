"""Every column gets a role, and text only by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import isinglass
from isinglass.errors import TableError
from isinglass.table.columns import Columns, choose_columns, is_numeric, number_type
from isinglass.table.read import open_table

FRAME = pa.table({"a": [1.0], "b": [2], "c": ["SECRET"], "d": [True]})


def test_columns_keep_the_tables_order_and_the_askers():
    table = open_table(FRAME)
    assert choose_columns(table, drop=["c"]) == Columns(("a", "b", "d"), dropped=("c",))
    found = choose_columns(table, keep=["d", "a"], one_hot=["c"])
    assert found == Columns(("b",), one_hot=("c",), kept=("d", "a"))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "not numbers: c; .*`drop`.*`one_hot`.*disclose.*`keep`"),
        ({"keep": ["z"]}, "no column named z; it has a, b, c, d"),
        ({"keep": ["c"], "drop": ["c"]}, "column c is asked for twice"),
        ({"keep": ["c", "c"]}, "column c is asked for twice"),
        ({"drop": ["a", "b", "c", "d"]}, "no numeric column left"),
    ],
)
def test_what_cannot_be_asked(asked, said):
    with pytest.raises(TableError, match=said) as caught:
        choose_columns(open_table(FRAME), **asked)
    assert "SECRET" not in str(caught.value)


def test_thousands_of_columns_can_be_named_quickly():
    table = open_table(pa.table({f"c{i}": [i] for i in range(10_000)}))
    half = [f"c{i}" for i in range(5000)]
    assert choose_columns(table, keep=half).numeric == tuple(f"c{i}" for i in range(5000, 10_000))
    with pytest.raises(TableError, match=r"and 4988 more; it has"):
        choose_columns(table, keep=[f"z{i}" for i in range(5000)])


def test_one_place_says_how_a_kind_of_column_becomes_numbers():
    # Text that may be numbers, codes and plain floats are told apart before these casts.
    allowed = {"table/columns.py": 1, "table/csv_file.py": 1, "table/value_codes.py": 2}
    allowed |= {"table/number_text.py": 1, "table/number_format.py": 3, "table/roles/facts.py": 1}
    package = Path(isinglass.__file__).parent
    found = {
        path.relative_to(package).as_posix(): path.read_text().count("cast(pa.float64()")
        for path in package.rglob("*.py")
    }
    assert {name: n for name, n in found.items() if n} == allowed


def test_which_kinds_are_numbers():
    numeric = [pa.int8(), pa.uint64(), pa.float16(), pa.bool_(), pa.decimal128(9, 2), pa.null()]
    assert all(map(is_numeric, numeric))
    assert not any(map(is_numeric, [pa.string(), pa.timestamp("s"), pa.date32(), pa.binary()]))


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([pa.float32()], np.float32),
        ([pa.float32(), pa.int16(), pa.bool_(), pa.float16()], np.float32),
        ([pa.float32(), pa.float64()], np.float64),
        ([pa.float32(), pa.int32()], np.float64),
        ([pa.float32(), pa.null()], np.float64),
        ([pa.int8(), pa.bool_()], np.float64),
    ],
)
def test_single_precision_only_where_no_digit_is_lost(kinds, expected):
    names = [f"c{i}" for i in range(len(kinds))]
    schema = pa.schema([*zip(names, kinds, strict=True), ("k", pa.float64())])
    table = open_table(schema.empty_table())
    assert number_type(table, choose_columns(table, keep=["k"])) is expected
