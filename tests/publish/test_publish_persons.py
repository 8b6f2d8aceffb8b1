"""Records of one person: no more than are paid for, whatever the other rows are."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from isinglass.errors import TableError
from isinglass.publish import persons as module
from isinglass.publish.persons import refuse_repeated, rows_to_keep
from isinglass.table.columns import is_numeric
from isinglass.table.read import open_table

KEY = b"k" * 32


def table(persons):
    return open_table(pa.table({"who": persons}))


def kept(persons, most):
    keep, n_more = rows_to_keep(table(persons), "who", most, key=KEY)
    return keep, n_more


def test_nobody_has_more_rows_than_said():
    persons = np.random.default_rng(0).choice(["a", "b", "c", "d"], 300).tolist() + ["e"]
    keep, n_more = kept(persons, 3)
    counts = {p: int(keep[np.array(persons) == p].sum()) for p in "abcde"}
    assert counts == {"a": 3, "b": 3, "c": 3, "d": 3, "e": 1}
    assert n_more == 4


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_choice_among_one_persons_rows_is_no_other_rows_affair(most):
    rng = np.random.default_rng(most)
    persons = rng.choice(["a", "b", "c"], 60).astype(object)
    before, _ = kept(persons.tolist(), most)
    # One person comes, in many rows at any places; then one goes.
    places = rng.integers(0, 60, 25)
    more = np.insert(persons, places, "new")
    after, _ = kept(more.tolist(), most)
    np.testing.assert_array_equal(after[more != "new"], before)
    left = persons != "b"
    alone, _ = kept(persons[left].tolist(), most)
    np.testing.assert_array_equal(alone, before[left])


def test_the_key_is_fresh_every_time():
    persons = ["a"] * 1000
    one, two = (rows_to_keep(table(persons), "who", 20)[0] for _ in range(2))
    assert one.sum() == two.sum() == 20
    assert (one != two).any()


def test_persons_of_a_csv_file_are_told_apart_as_they_are_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("who,x\n007,1\n7,2\n7.0,3\n7,4\n")
    keep, n_more = rows_to_keep(open_table(path), "who", 1, key=KEY)
    assert (keep[[0, 2]].all(), keep.sum(), n_more) == (True, 3, 1)


@pytest.mark.parametrize(
    "persons",
    [
        ["a", None, "b"], ["a", "", "b"], [1, None, 2], [1.0, float("nan"), 2.0], ["a", "NA", "b"],
        ["a", " ", "b"], ["a", "null", "b"], [b"a", b"", b"b"],
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "N/A"])),
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])),
        pa.array(["a", "NaN"], pa.string_view()),
    ],
)  # fmt: skip
def test_a_row_of_nobody_is_refused(persons, tmp_path):
    """Rows without an identifier would count as one person's, whose removal picks another row."""
    with pytest.raises(TableError, match="rows whose column who is empty"):
        kept(persons, 1)
    if isinstance(persons, list) and isinstance(persons[0], str):
        path = tmp_path / "t.csv"
        path.write_text("who,x\n" + "".join(f"{p or ''},1\n" for p in persons))
        with pytest.raises(TableError, match="rows whose column who is empty"):
            rows_to_keep(open_table(path), "who", 1)


IDENTIFIERS = [
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
    pa.binary_view(), pa.binary(2), pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.large_string()), pa.int64(), pa.uint8(), pa.float64(),
    pa.decimal64(9, 2), pa.decimal128(30, 0), pa.dictionary(pa.int8(), pa.int64()), pa.uuid(),
]  # fmt: skip


def identifiers(numbers, kind):
    if isinstance(kind, pa.DictionaryType):
        return identifiers(numbers, kind.value_type).dictionary_encode()
    if kind == pa.uuid():
        return pa.array([b"%016d" % n for n in numbers], kind)
    if is_numeric(kind):
        column = pa.array(numbers, pa.int64())
        return column.cast(pa.decimal128(19, 0)).cast(kind) if "decimal" in str(kind) else (
            column.cast(kind)
        )  # fmt: skip
    return pa.array([b"%02d" % n for n in numbers], pa.binary()).cast(pa.string()).cast(kind)


@pytest.mark.parametrize("kind", IDENTIFIERS, ids=str)
def test_kinds_of_persons(kind):
    keep, n_more = kept(identifiers([11, 12, 11], kind), 1)
    assert (keep.sum(), n_more) == (2, 1)
    repeated = open_table(pa.table({"patient_id": identifiers([i // 3 for i in range(90)], kind)}))
    with pytest.raises(TableError, match="looks like an identifier, and repeats"):
        refuse_repeated(repeated, ["patient_id"], [])


def test_the_rows_of_a_person_are_chosen_alike_in_every_kind_of_numbers():
    numbers = np.random.default_rng(0).integers(10, 20, 200)
    kinds = [k for k in IDENTIFIERS if is_numeric(k)] + [pa.string()]
    first, *rest = (kept(identifiers(numbers.tolist(), k), 3)[0] for k in kinds)
    for other in rest:
        np.testing.assert_array_equal(other, first)


def test_a_missing_column_of_persons_is_named():
    with pytest.raises(TableError, match="no column named whom"):
        rows_to_keep(table(["a"]), "whom", 1)


@pytest.mark.parametrize(
    ("columns", "dropped", "refused"),
    [
        ({"patient_id": [i // 3 for i in range(90)]}, True, True),
        ({"patient_id": [i // 3 for i in range(90)]}, False, True),
        ({"patient_id": list(range(90))}, True, False),
        ({"zip": [f"Z{i // 3}" for i in range(90)]}, True, True),
        ({"ward": [f"W{i % 4}" for i in range(90)]}, True, False),
        ({"age": [i // 3 for i in range(90)]}, False, False),
        ({"day": pa.array([i // 3 for i in range(90)], pa.date32())}, True, False),
    ],
)
def test_an_identifier_that_repeats_is_refused(columns, dropped, refused):
    opened, names = open_table(pa.table(columns)), list(columns)
    given = (names, []) if dropped else ([], names)
    if refused:
        with pytest.raises(TableError, match="looks like an identifier, and repeats"):
            refuse_repeated(opened, *given)
    else:
        refuse_repeated(opened, *given)


def test_the_choice_is_the_same_in_parts_and_whatever_the_batches(tmp_path, monkeypatch):
    names = np.random.default_rng(1).integers(0, 700, 5000)
    whole, more = kept(names.tolist(), 3)
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 64)
    parts, same = kept(names.tolist(), 3)
    np.testing.assert_array_equal(parts, whole)
    assert same == more
    pq.write_table(pa.table({"who": names}), tmp_path / "t.parquet", row_group_size=77)
    cut, _ = rows_to_keep(open_table(tmp_path / "t.parquet"), "who", 3, key=KEY)
    np.testing.assert_array_equal(cut, whole)
    assert np.unique(names[whole], return_counts=True)[1].max() == 3


def test_all_of_a_person_s_rows_are_drawn_alike_often():
    persons = np.repeat(np.arange(4000), 5)
    keep, n_more = kept(persons.tolist(), 2)
    assert n_more == 4000
    by_place = keep.reshape(4000, 5).mean(axis=0)
    assert np.abs(by_place - 0.4).max() < 0.05  # six deviations


def test_rows_without_an_identifier_are_nobody_s_twice():
    """So that a column that is mostly empty does not look like one that repeats."""
    persons = [f"P{i}" for i in range(60)] + [None] * 60
    refuse_repeated(open_table(pa.table({"patient_id": persons})), ["patient_id"], [])
