"""One record's cells depend on it alone, whatever kind of column one record more makes."""

from __future__ import annotations

import io
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import isinglass as ig
from isinglass.detect.private.categories import category_key
from isinglass.detect.private.columns import CategoryColumn, NumberColumn
from isinglass.detect.private.records import records_of
from isinglass.detect.private.table_records import prepare, table_records
from isinglass.errors import TableError
from isinglass.publish.declared import Declared
from isinglass.publish.model import write_model
from isinglass.table import batches
from isinglass.table.columns import as_float64
from isinglass.table.number_text import number_in, numbers_in
from isinglass.table.read import open_table

BIG = 2**53 + 1  # the first whole number that float64 lacks
RNG = np.random.default_rng(0)

# A table's values, and the values of one record more, each of which may change the column's kind.
WHOLE = [1, 2, 7, BIG, -3]
TABLES = {
    "whole numbers": (WHOLE, [2.5, None, 2**63, 1.0, "x", True]),
    "fractions": ([1.5, 2.0, 0.1, -0.0], [3, None, np.float32(0.1), "unknown", 1e300]),
    "decimals": (
        [Decimal("1.1"), Decimal("2"), Decimal("5.3248")],
        [Decimal("0." + "1" * 25), Decimal("1E+3"), None, 0.5, 7],
    ),
    "single precision": ([np.float32(0.1), np.float32(2)], [0.1, None, 2.5]),
    "truths": ([True, False, True], [None, 3, 0.5, "yes"]),
    "texts": (["a", "1.10", "007", " 2", "true", "NA"], [None, "", "1e400", "\u0661"]),
}
VALUES = (1, "2", 2.5, "1.1", BIG, "a", "0.1", False, 7, "NA", 5.3248)
COLUMNS = (CategoryColumn("c", VALUES),)


def as_parquet(values, path):
    pq.write_table(pa.table({"c": pa.array(values, from_pandas=True)}), path / "t.parquet")
    return path / "t.parquet"


def as_pandas_parquet(values, path):
    pd.DataFrame({"c": values}).to_parquet(path / "p.parquet")
    return path / "p.parquet"


def as_arrow(values, path):
    feather.write_feather(
        pa.table({"c": pa.array(values, from_pandas=True)}), str(path / "t.feather")
    )
    return path / "t.feather"


def as_csv(values, path):
    (path / "t.csv").write_text(csv_of(values))
    return path / "t.csv"


def as_read_by_pandas(values, path):
    """Whose reader makes texts of numbers where there is a text."""
    return pd.read_csv(io.StringIO(csv_of(values)), na_values=[""], keep_default_na=False)


def csv_of(values):
    # Single precision is written as what it is: 0.1 would be another number.
    texts = [float(v) if isinstance(v, np.float32) else v for v in values]
    return "c,other\n" + "".join(f"{'' if v is None else v},0\n" for v in texts)


def as_polars(values, _):
    """Polars rounds all numbers to the kind of the first, before anybody else sees them."""
    if any(isinstance(v, np.float32) for v in values):
        raise TypeError
    return pl.DataFrame({"c": values}, strict=False)


CONTAINERS = {
    "parquet": as_parquet,
    "pandas parquet": as_pandas_parquet,
    "arrow": as_arrow,
    "csv": as_csv,
    "table": lambda values, _: pa.table({"c": pa.array(values, from_pandas=True)}),
    "dictionary": lambda values, _: pa.table(
        {"c": pa.array(values, from_pandas=True).dictionary_encode()}
    ),
    "pandas": lambda values, _: pd.DataFrame({"c": values}),
    "objects": lambda values, _: pd.DataFrame({"c": pd.Series(values, dtype=object)}),
    "polars": as_polars,
    "read by pandas": as_read_by_pandas,
}


def in_dictionary(column):
    return pa.DictionaryArray.from_arrays(pa.array(range(len(column))), column)


def parts_of(source, columns):
    (part,) = table_records(open_table(source), columns)
    return part


@pytest.mark.parametrize("container", CONTAINERS)
def test_categories_are_the_same_whatever_one_record_makes_of_the_column(container, tmp_path):
    make, compared = CONTAINERS[container], 0
    for values, more in TABLES.values():
        try:
            before = parts_of(make(values, tmp_path), COLUMNS).codes
        except (TypeError, pa.ArrowException, TableError):
            continue  # the container takes no such values
        for one in more:
            for place in (0, len(values)):
                mixed = [*values[:place], one, *values[place:]]
                try:
                    after = parts_of(make(mixed, tmp_path), COLUMNS).codes
                except (TypeError, ValueError, OverflowError, pa.ArrowException, TableError):
                    continue  # nor a mix of those: nothing is counted
                np.testing.assert_array_equal(np.delete(after, place, axis=0), before, str(mixed))
                compared += 1
    assert compared >= 10


@pytest.mark.parametrize("container", CONTAINERS)
def test_numbers_are_the_same_whatever_one_record_makes_of_the_column(container, tmp_path):
    make, columns, compared = CONTAINERS[container], [NumberColumn("c", 0.0, 10.0)], 0
    for kind, (values, more) in TABLES.items():
        if kind == "texts" or container == "dictionary":
            continue
        try:
            before = parts_of(make(values, tmp_path), columns).numbers
        except TypeError:
            continue
        np.testing.assert_array_equal(before[:, 0], [float(v) for v in values])
        for one in more:
            for place in (0, len(values)):
                mixed = [*values[:place], one, *values[place:]]
                try:
                    after = parts_of(make(mixed, tmp_path), columns).numbers
                except (TypeError, ValueError, OverflowError, pa.ArrowException, TableError):
                    assert container != "csv"
                    continue
                np.testing.assert_array_equal(np.delete(after, place, axis=0), before, str(mixed))
                compared += 1
    assert compared >= 10 or container == "dictionary"


KINDS = [
    pa.int8(), pa.int16(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
    pa.decimal32(5, 2), pa.decimal64(12, 0), pa.decimal128(38, 30), pa.decimal256(70, 9),
    pa.decimal128(9, 4),
]  # fmt: skip


def test_equal_numbers_of_every_kind_and_their_texts_are_one_category():
    places = [1, 2, 2, 0]
    for kind in KINDS:
        column = pa.array([1, 2, None, 0], pa.int64()).cast(pa.string()).cast(pa.float64())
        table = pa.table({"c": column.cast(pa.int64()).cast(pa.decimal128(38, 0)).cast(kind)
                          if pa.types.is_decimal(kind) else column.cast(kind)})  # fmt: skip
        for given in (table, pa.table({"c": in_dictionary(table["c"].combine_chunks())})):
            part = parts_of(given, [CategoryColumn("c", ("0", "1"))])
            assert part.codes[:, 0].tolist() == places, kind
    for text in (pa.string(), pa.large_string(), pa.string_view()):
        table = pa.table({"c": pa.array(["1.00", " 2", None, "false"], text)})
        assert parts_of(table, [CategoryColumn("c", (0, 1))]).codes[:, 0].tolist() == places
    frame = pd.DataFrame({"c": ["1.00", 2, None, np.False_]})
    found = records_of(frame, [CategoryColumn("c", (0, 1))], ig.PrivateDetector(), reset=True)
    assert found.codes[:, 0].tolist() == places


def test_categories_that_are_one_are_refused():
    for values in ((1, "1.0"), ("true", 1), (BIG, BIG - 1), ("007", 7), (0, False), ()):
        with pytest.raises(ValueError, match="categories must be different values"):
            CategoryColumn("c", values)
    assert [category_key(v) for v in (True, "1e2", Decimal("1.10"), "x", 10**400, "nan")] == [
        1.0, 100.0, 1.1, "x", np.inf, "nan"
    ]  # fmt: skip
    assert [category_key(v) for v in (None, float("nan"), b"1", [1], pd.NA, 1j)] == [None] * 6


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("s"), pa.time32("s"), pa.duration("s"), pa.binary(),
             pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.map_(pa.int8(), pa.int8())]
)  # fmt: skip
def test_a_kind_of_column_that_is_no_category_is_refused_before_it_is_paid(kind, tmp_path):
    def pay(*_):
        raise AssertionError("paid")

    pay.stored = lambda request: None
    table = pa.table({"c": pa.nulls(3, kind)})
    with pytest.raises(TableError, match="a kind that cannot be categories: c"):
        write_model(
            table, tmp_path / "m.zip", declared=Declared({}, {"c": ["a"]}), epsilon=1, pay=pay,
            records_per_person=1,
        )  # fmt: skip


# Decimals and texts are rounded once.


@pytest.mark.parametrize("places", [0, 2, 5, 17])
def test_a_decimal_is_the_nearest_float64_at_every_scale(places):
    whole = RNG.integers(-(10**6), 10**6, 500)
    values = [Decimal(int(v)).scaleb(-min(places, 5)) for v in whole]
    wanted = [float(v) for v in values]
    for kind in (pa.decimal64(18, 8), pa.decimal128(38, places + 13), pa.decimal256(76, 50)):
        column = pa.array(values, kind)
        for given in (column, in_dictionary(column), pa.chunked_array([column])):
            np.testing.assert_array_equal(as_float64(given).to_numpy(), wanted)


def test_a_text_is_the_same_number_alone_and_among_others():
    texts = ["1", " 2\t", "", "NA", "1_0", "0x10", "1,5", "1e400", "-.5e1", "True", "tRUE", "nan",
             "-inf", "1e", "\u0661", *map(repr, RNG.normal(size=50) * 1e20)]  # fmt: skip
    together = numbers_in(pa.array(texts)).to_numpy(zero_copy_only=False)
    alone = np.array([numbers_in(pa.array([t]))[0].as_py() for t in texts], dtype=float)
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together, list(map(number_in, texts)))


# Numbers in CSV files.


@pytest.mark.parametrize(
    ("one", "number"),
    [("unknown", np.nan), ("0x10", np.nan), ('"1,5"', np.nan), ("9" * 400, np.inf), ("1_0", np.nan),
     ("0.5", 0.5), ("true", 1.0), ("FALSE", 0.0), ("2020-01-01", np.nan), ("NA", np.nan)],
)  # fmt: skip
@pytest.mark.parametrize("others", [["1", "0"], ["true", "false"], ["1.5", "-2e3"], ["", "7"]])
def test_what_is_no_number_in_a_csv_file_is_missing_and_moves_no_other(
    tmp_path, one, number, others
):
    path, columns = tmp_path / "t.csv", [NumberColumn("x", 0.0, 1.0)]
    path.write_text("x,y\n" + "".join(f"{v},0\n" for v in others * 3))
    before = parts_of(path, columns).numbers[:, 0]
    np.testing.assert_array_equal(before, [number_in(v) for v in others * 3])
    for place in (0, 3):
        rows = [*(others * 3)[:place], one, *(others * 3)[place:]]
        path.write_text("x,y\n" + "".join(f"{v},0\n" for v in rows))
        after = parts_of(path, columns).numbers[:, 0]
        np.testing.assert_array_equal(after, np.insert(before, place, number))


def test_a_text_in_the_middle_of_a_large_file_is_missing(tmp_path, monkeypatch):
    """Beyond the reader's first block, and between batches that were given out before."""
    monkeypatch.setattr(batches, "MOST_ROWS", 10_000)
    x = np.arange(300_000) / 8
    words = [str(v) for v in x]
    words[250_001] = "unknown"
    path = tmp_path / "t.csv"
    path.write_text("x,c\n" + "".join(f"{word},a\n" for word in words))
    x[250_001] = np.nan
    table, columns = open_table(path), [NumberColumn("x", 0.0, 1.0), CategoryColumn("c", ("a",))]
    for _ in range(2):
        parts = list(table_records(table, columns))
        np.testing.assert_array_equal(np.concatenate([p.numbers[:, 0] for p in parts]), x)
        assert not np.concatenate([p.codes for p in parts]).any()


def test_a_column_without_any_number_is_its_owners_mistake(tmp_path):
    path, columns = tmp_path / "t.csv", [NumberColumn("x", 0.0, 1.0), NumberColumn("y", 0.0, 1.0)]
    path.write_text("x,y\na,\nb,NA\n")
    assert prepare(open_table(path), columns) == ["x"]
    path.write_text("x,y\na,\nb,NA\n3,\n")
    assert prepare(open_table(path), columns) == []


def test_a_file_of_no_rows_gives_a_model_and_no_scores(tmp_path):
    path, declared = tmp_path / "t.csv", Declared({"x": (0.0, 1.0)}, {"c": ["a"]})
    for text in ("x,c\n", "x,c\n0.5,a\n"):
        path.write_text(text)
        write_model(path, tmp_path / "m.zip", declared=declared, epsilon=1, force=True)
    path.write_text("x,c\n")
    with pytest.raises(TableError, match="has a header but no rows"):
        parts_of(path, [NumberColumn("x", 0.0, 1.0)])
