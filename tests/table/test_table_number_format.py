"""Numbers as people write them, read one by one."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.table.messy import german

from isinglass.errors import TableError
from isinglass.table.number_format import NumberFormat, numbers_written
from isinglass.table.read import open_table
from isinglass.table.text_numbers import TextNumbers

NO = math.nan
READ = [
    (",", "1.234,50", 1234.5), (",", "€ 1,10", 1.1), (",", "-12", -12.0), (",", "12,5 %", 0.125),
    (",", "(1.000,00)", -1000.0), (",", "1.5", NO), (",", "abc", NO), (",", "", None),
    (",", "n.a.", None), (",", "-", None), (",", "-3,5 EUR", -3.5), (",", "\u22122,1", -2.1),
    (",", "1 234,5", 1234.5), (",", "1\u202f234", 1234.0), (",", "1'234,5", 1234.5),
    (",", "1,5e3", 1500.0), (",", ",5", 0.5), (",", "5,", 5.0), (",", "12e3 %", NO),
    (",", "--5", NO), (",", "$", NO), (",", " 7 ", 7.0), (",", "1,234.5", NO),
    (",", "inf", math.inf),
    (".", "1,234.50", 1234.5), (".", "$1.10", 1.1), (".", "-$12", -12.0), (".", "$-12", -12.0),
    (".", "-$-12", NO), (".", "12.5%", 0.125), (".", "(1,000.00", NO), (".", "1,5", NO),
    (".", "1,23,456", NO), (".", "EUR 5", 5.0), (".", "5 eur", NO), (".", "0.1", 0.1),
    (".", "NULL", None), (".", "#DIV/0!", None), (".", "1_000", NO), (".", "0x10", NO),
]  # fmt: skip


@pytest.mark.parametrize(("mark", "text", "number"), READ)
@pytest.mark.parametrize("beside", [[], ["1"], ["€ 9"], ["x"]])
def test_a_number_is_read_alike_whatever_stands_beside_it(mark, text, number, beside):
    texts = pa.array([*beside, text, *beside], pa.large_string())
    found = numbers_written(texts, mark).to_pylist()[len(beside)]
    assert found == number or (found != found and number != number)


@given(st.floats(-1e12, 1e12, allow_nan=False).map(lambda v: round(v, 2)))
@settings(max_examples=200, deadline=None)
def test_an_amount_written_in_german_is_that_amount(value):
    assert numbers_written(pa.array([german(value), "x"]), ",").to_pylist()[0] == value


def table(path, texts, name="a"):
    path.write_text("\n".join([f"{name};b", *(f"{t};{i}.5" for i, t in enumerate(texts))]) + "\n")
    return path


def numbers(opened, names):
    parts = [np.column_stack([c.to_numpy(zero_copy_only=False) for c in b.columns])
             for b in opened.batches(names)]  # fmt: skip
    return np.concatenate(parts)


@pytest.mark.parametrize("late", [3, 400_000])
def test_a_column_is_numbers_by_all_of_its_rows_and_not_the_first(tmp_path, late):
    texts = ["1"] * late + ["2,5", "n.a.", "1.000,25"]
    opened = open_table(table(tmp_path / "t.csv", texts), decimal=",")
    assert opened.schema.field("a").type == pa.float64()
    found = numbers(opened, ["a", "b"])
    assert found[-3, 0] == 2.5
    assert np.isnan(found[-2, 0])
    assert found[-1].tolist() == [1000.25, len(texts) - 0.5]
    assert (found[:late, 0] == 1).all()
    spoiled = open_table(table(tmp_path / "s.csv", [*texts, "see above"]), decimal=",")
    assert spoiled.schema.field("a").type != pa.float64()


def test_identifiers_in_digits_stay_what_they_are(tmp_path):
    opened = open_table(table(tmp_path / "t.csv", ["007", "012"] * 5), decimal=",")
    kept = [b.column(0).to_pylist() for b in opened.batches([], ["a"])]
    assert kept == [["007", "012"] * 5]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_value_that_cannot_be_read_is_named_by_its_row_alone(tmp_path, kind):
    texts = ["1,5", "2,5", "secret", "3,5"]
    path = table(tmp_path / "t.csv", texts)
    if kind == "parquet":
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"a": texts, "b": [1.5] * 4}), path)
    opened = open_table(path, decimal=NumberFormat(columns={"a": ","}))
    row = {"csv": r"row 4 \(the header is row 1\)", "parquet": r"row 2 \(from 0\)"}[kind]
    with pytest.raises(TableError, match=f"column a: {row}") as caught:
        numbers(opened, ["a"])
    assert "secret" not in str(caught.value)


def test_a_late_surprise_without_a_mark_is_named_by_its_row_and_the_option(tmp_path):
    path = table(tmp_path / "t.csv", ["1"] * 300_000 + ["2,5"])
    with pytest.raises(TableError, match=r"row 300002 .*`decimal`") as caught:
        numbers(open_table(path), ["a"])
    assert "2,5" not in str(caught.value)


def test_words_for_a_missing_number_are_no_text(tmp_path):
    opened = open_table(table(tmp_path / "t.csv", ["1.5", "n.a.", "-", "k.A.", "3"]))
    found = numbers(opened, ["a"])[:, 0]
    assert np.isnan(found).tolist() == [False, True, True, True, False]
    kept = [b.column(0).to_pylist() for b in opened.batches([], ["a"])]
    assert kept == [["1.5", "n.a.", "-", "k.A.", "3"]]  # what is passed on


def test_own_words_for_a_missing_number(tmp_path):
    form = NumberFormat(columns={"a": "."}, words=("unbek.",))
    opened = open_table(table(tmp_path / "t.csv", ["1.5", "unbek."]), decimal=form)
    assert np.isnan(numbers(opened, ["a"])[1, 0])


def test_a_parquet_file_keeps_its_numbers_and_reads_its_texts(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["1,5", None], "b": [1, 2], "c": ["x", "1,0"]}), path)
    opened = open_table(path, decimal=",")
    assert isinstance(opened, TextNumbers)
    assert [str(f.type) for f in opened.schema] == ["double", "int64", "string"]
    batch = next(opened.batches(["b", "a"], ["c"]))
    assert batch.schema.names == ["b", "a", "c"]
    assert batch.column(1).to_pylist() == [1.5, None]


@pytest.mark.parametrize("mark", ["", ";", ".,", 7])
def test_other_marks_are_refused(mark, tmp_path):
    with pytest.raises(ValueError, match="decimal must be"):
        open_table(table(tmp_path / "t.csv", ["1"]), decimal=mark)
