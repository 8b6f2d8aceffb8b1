"""What a column is proposed to be, and why; nothing said holds a value."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.table.messy import ROLES, as_csv, as_table, bank

from isinglass.errors import TableError
from isinglass.table.read import open_table
from isinglass.table.roles import names
from isinglass.table.roles.columns_file import read_columns
from isinglass.table.roles.columns_text import columns_text
from isinglass.table.roles.look import look_at_table
from isinglass.table.roles.value_counts import ValueCounts, hash_numbers, hash_texts


@pytest.fixture(scope="module")
def look(tmp_path_factory):
    path = tmp_path_factory.mktemp("bank") / "bank.csv"
    path.write_text(as_csv(bank()), encoding="utf-8")
    return look_at_table(open_table(path))


def proposed(columns, **options):
    found = look_at_table(open_table(pa.table(columns)), **options)
    return {c.name: c.proposed for c in found.columns}


def only(values, name="x", **options):
    return look_at_table(open_table(pa.table({name: values})), **options).columns[0]


def test_every_role_of_a_bank_s_table(look):
    assert {c.name: c.proposed for c in look.columns} == ROLES


def test_kinds_counts_and_gaps(look):
    found = {c.name: c for c in look.columns}
    assert look.rows == 600
    assert (found["amount"].type, found["score"].type) == ("number as text", "number")
    assert (found["age"].type, found["is_fraud"].distinct) == ("whole number", 2)
    gaps = {name: found[name].missing for name in ("age", "balance", "nothing", "mcc")}
    assert gaps == {"age": 7, "balance": 12, "nothing": 600, "mcc": 0}
    assert (found["mcc"].distinct, found["country"].distinct) == (4, 3)
    assert {c.name for c in look.columns if c.decimal == ","} == {"amount", "balance", "rate"}
    assert "booked_at" in [c.name for c in look.columns if c.ordered]
    assert found["score"].ordered is False


def test_text_columns_of_a_frame_are_told_as_those_of_a_file():
    found = {c.name: c.proposed for c in look_at_table(open_table(as_table(bank()))).columns}
    assert found == ROLES


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64()])
def test_a_row_number_is_one_whatever_it_is_called(kind):
    assert proposed({"x": pa.array(range(7, 300), kind)}) == {"x": "identifier"}
    assert proposed({"x": pa.array([1, 2, 4], kind)}) == {"x": "number"}  # by chance, perhaps


def test_measurements_are_numbers_though_all_differ():
    rng = np.random.default_rng(0)
    found = proposed({"x": rng.normal(size=300), "id": rng.normal(size=300)})
    assert found == {"x": "number", "id": "number"}


def test_a_flag_is_a_label_by_its_name_alone():
    flags = [0, 1] * 40
    four = [0, 1, 2, 3] * 20
    found = proposed({"is_fraud": flags, "Outlier": flags, "smoker": flags, "class": four})
    assert (found["is_fraud"], found["Outlier"], found["smoker"]) == ("label", "label", "number")
    assert found["class"] != "label"


def test_one_person_and_the_widest_of_them():
    account = np.arange(240) // 2
    found = proposed({"account_id": account, "customer_id": account // 3, "x": account / 7})
    assert found == {"account_id": "identifier", "customer_id": "person", "x": "number"}


@pytest.mark.parametrize(
    ("texts", "mark", "first_unread"),
    [
        (["1.234,50", "2,5", "7"] * 5, ",", None),
        (["1,234.50", "2.5", "7"] * 5, ".", None),
        (["$1,200.00", "$3.10", "-$7.00"] * 5, ".", None),
        (["12,5 %", "3 %", "n.a."] * 5, ",", None),
        (["1,5", "2,5", "3,5", "4,5", "see below", "6,5"] * 2, ",", 4),
    ],
)
def test_numbers_in_text_by_the_mark_that_reads_them(texts, mark, first_unread):
    found = only(texts)
    assert (found.proposed, found.decimal, found.first_unread) == ("number", mark, first_unread)


@pytest.mark.parametrize(("word", "mark"), [("n.a.", None), ("#DIV/0!", "."), ("", None)])
def test_what_inspect_takes_for_missing_is_read_as_missing(tmp_path, word, mark):
    (tmp_path / "t.csv").write_text(f"a,b\n1.5,x\n{word},y\n2.5,x\n3,y\n" * 1)
    found = look_at_table(open_table(tmp_path / "t.csv")).columns[0]
    assert (found.proposed, found.missing, found.decimal) == ("number", 1, mark)
    opened = open_table(tmp_path / "t.csv", decimal=mark)
    assert [len(batch) for batch in opened.batches(["a"])] == [4]


def test_what_could_be_read_both_ways_is_decided_by_the_others_or_by_the_owner():
    both = ["1,234", "2,500"] * 10
    assert only(both).decimal == "."
    assert only(both, decimal=",").decimal == ","
    beside = look_at_table(open_table(pa.table({"x": both, "y": ["1,5", "2,75"] * 10})))
    assert [c.decimal for c in beside.columns] == [",", ","]


def test_amounts_in_two_currencies_are_not_one_number():
    assert only(["€ 1,50", "$ 2,50", "€ 3,10"] * 9).proposed != "number"


def test_rows_that_repeat_are_counted_apart_from_their_row_number():
    found = look_at_table(open_table(pa.table({"id": range(6), "x": [1.5, 2, 1.5, 4, 1.5, 6]})))
    assert (found.repeated_rows, found.exact) == (2, True)


@pytest.mark.parametrize("n", [100, 40_000])
def test_different_values_are_exact_up_to_a_limit_and_then_near(n):
    rng = np.random.default_rng(1)
    counts = ValueCounts(1000)
    values = rng.permutation(np.repeat(np.arange(n), 3))
    for part in np.array_split(values, 7):
        counts.add(hash_numbers(part))
    assert counts.exact is (n <= 1000)
    assert counts.different == n if counts.exact else abs(counts.different / n - 1) < 0.15
    assert counts.share_repeated == 1.0


@given(st.lists(st.text(), max_size=40), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_equal_texts_have_equal_hashes_wherever_they_stand(texts, skip):
    try:
        whole = pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        return
    hashes = hash_texts(whole)
    assert len(set(hashes.tolist())) == len(set(texts))
    assert hash_texts(whole.slice(skip)).tolist() == hashes[skip:].tolist()


def test_nothing_said_of_identifiers_and_texts_holds_a_value(look):
    columns = bank()
    said = [str(dataclasses.replace(c, name="")) for c in look.columns]
    written = columns_text(look, _settings())
    for name, role in ROLES.items():
        if role in ("identifier", "person", "text", "date"):
            for value in {v for v in columns[name] if len(v) > 3}:
                assert value not in written
                assert not any(value in line for line in said)


def test_what_was_seen_stands_in_comments_only(look, tmp_path):
    path = tmp_path / "columns.toml"
    path.write_text(columns_text(look, _settings()), encoding="utf-8")
    found = read_columns(path)
    assert {c.name: c.role for c in found.columns} == ROLES
    assert all(c.bounds is None and c.categories is None and c.step is None for c in found.columns)
    declared = {c.name for c in found.columns if c.undeclared}
    assert declared == {n for n, r in ROLES.items() if r in ("number", "category", "constant")}


@pytest.mark.parametrize("value", ['"\nrole = "number"', "a\x00b", "\u2028x", 'x"] \n[columns.y]'])
def test_a_name_or_a_value_cannot_write_an_entry(value, tmp_path):
    look = look_at_table(open_table(pa.table({value: ["a", value] * 20, "b": [1.0, 2.5] * 20})))
    path = tmp_path / "columns.toml"
    path.write_text(columns_text(look, _settings()), encoding="utf-8")
    found = read_columns(path)
    assert [c.name for c in found.columns] == [value, "b"]


def test_a_file_without_rows_is_said_to_have_none(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(TableError, match="no rows"):
        look_at_table(open_table(tmp_path / "t.csv"))


@pytest.mark.parametrize(
    ("name", "asked", "answer"),
    [
        ("customerId", names.names_identifier, True), ("orderNumber", names.names_identifier, True),
        ("valid", names.names_identifier, False), ("paid", names.names_identifier, False),
        ("humidity", names.names_identifier, False), ("idle", names.names_identifier, False),
        ("grid", names.names_identifier, False), ("Unnamed: 0", names.is_index_name, True),
        ("is_fraud", names.names_label, True), ("class_size", names.names_label, False),
        ("tail_number", names.names_person, True), ("unit_price", names.names_person, False),
        ("zip_code", names.names_code, True), ("barcode", names.names_code, False),
    ],
)  # fmt: skip
def test_names_are_read_by_their_words(name, asked, answer):
    assert asked(name) is answer


def _settings():
    from isinglass.table.roles.columns_file import ColumnsFile

    return ColumnsFile("columns.toml", ())
