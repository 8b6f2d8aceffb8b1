"""The columns file: what is written reads as the same, and what is wrong is said in a sentence."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.errors import TableError
from isinglass.table.number_format import NumberFormat
from isinglass.table.roles.columns_file import ColumnEntry, ColumnsFile, read_columns
from isinglass.table.roles.columns_text import written
from isinglass.table.roles.proposals import ROLES

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False)
NAMES = st.text(st.characters(codec="utf-8"), max_size=12)


@st.composite
def entries(draw):
    name, role = draw(NAMES), draw(st.sampled_from(ROLES))
    use = draw(st.sampled_from([None, None, "drop", "keep"]))
    entry = ColumnEntry(name, role, use, unit=draw(st.sampled_from([None, "EUR", "m/s"])))
    declared = draw(st.booleans())
    made = {"undeclared": role in ("number", "category", "constant") and not declared and not use}
    if role == "number":
        low, high = sorted(draw(st.tuples(NUMBERS, NUMBERS)))
        made |= {"bounds": (low, high) if declared else None, "log": draw(st.booleans())}
        made |= {"decimal": draw(st.sampled_from([None, ".", ","]))}
        made |= {"step": draw(st.sampled_from([None, 1.0, 0.25]))}
    values = st.lists(st.one_of(NAMES, st.integers(-99, 99), st.booleans()), min_size=1, max_size=4)
    if role == "category":
        made |= {"categories": tuple(draw(values)) if declared else None}
        made |= {"one_hot": draw(st.booleans())}
    if role == "constant" and declared:
        made |= {"bounds": (0.0, 1.0)}
    return ColumnEntry(entry.name, role, use, unit=entry.unit, **made)


@given(st.lists(entries(), min_size=1, max_size=5, unique_by=lambda e: e.name), st.data())
@settings(max_examples=80, deadline=None)
def test_what_is_written_reads_as_the_same(tmp_path_factory, columns, data):
    once = {"person": 0, "label": 0}
    for c in columns:
        if c.use is None and c.role in once:
            once[c.role] += 1
    if max(once.values()) > 1:
        return
    path = tmp_path_factory.mktemp("file") / "columns.toml"
    made = ColumnsFile(
        str(path), tuple(columns), missing=data.draw(st.sampled_from(["error", "drop", "median"])),
        missing_words=tuple(data.draw(st.lists(NAMES, max_size=2))),
        decimal=data.draw(st.sampled_from([None, ",", "."])),
        delimiter=data.draw(st.sampled_from([None, ";", "\t"])), encoding="latin-1",
    )  # fmt: skip
    path.write_text(written(made), encoding="utf-8")
    assert read_columns(path) == made


def test_the_marks_of_numbers_follow_from_the_columns(tmp_path):
    found = of(tmp_path, """
        [table]
        decimal = ","
        missing_words = ["unbek."]
        [columns.a]
        role = "number"
        [columns.b]
        role = "number"
        decimal = "."
        [columns.c]
        role = "text"
    """)  # fmt: skip
    assert found.number_format == NumberFormat(None, {"a": ",", "b": "."}, ("unbek.",))
    plain = of(tmp_path, '[columns.a]\nrole = "number"')
    assert plain.number_format is None  # and nothing is read otherwise than before


A = '[columns.a]\nrole = "number"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no column; `isinglass inspect"),
        ("[columns.a]\n", "column a: role is missing"),
        ('[columns.a]\nrole = "nummer"', "column a: role must be one of number, .*, got nummer"),
        ("[columns.a]\nrole = 7", "column a: role must be one of"),
        (A + "bounds = [1]", "column a: bounds must be two numbers"),
        (A + "bounds = [2, 1]", "column a: bounds must be two numbers"),
        (A + "bounds = [nan, 1]", "column a: bounds must be a finite number"),
        (A + "bounds = [-inf, inf]", "column a: bounds must be a finite number"),
        (A + 'bounds = "what I saw"', "column a: bounds must be two numbers"),
        (A + "categories = [1]", "column a: categories does not go with the role number"),
        (A + 'decimal = ";"', "column a: decimal must be one of"),
        (A + "limits = [1, 2]", "column a has entries not known here: limits"),
        (A + 'use = "perturb"', "column a: use must be one of drop, keep"),
        (A + A, "cannot be used: it is not TOML"),
        ("columns = 3", r"\[columns\]: expected entries"),
        ("[columns]\na = 3", "column a: expected entries"),
        ("[table]\nmissing = 3\n" + A, r"\[table\]: missing must be one of error, drop, median"),
        ("[table]\nrows = 3\n" + A, "has entries not known here: rows"),
        ('[columns.a]\nrole = "category"\ncategories = []', "column a: categories must be"),
        ('[columns.a]\nrole = "category"\ncategories = [[1]]', "column a: categories must be"),
        ('[columns.a]\nrole = "label"\n[columns.b]\nrole = "label"', "columns a, b all have"),
        ("[columns.a]\nrole = " + "[" * 100_000, "cannot be used"),
        ("x = " + "9" * 5000, "whole number of more than"),
        (".".join("a" * 5000), "nested more than"),
        ("# " + "x" * (3 << 20), "longer than"),
        ("\ufffd\x00", "cannot be used"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, text, said):
    start = time.process_time()
    with pytest.raises(TableError, match=said) as caught:
        of(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "c.toml") in str(caught.value)
    assert time.process_time() - start < 30  # a hostile file costs no time to speak of


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    with pytest.raises(TableError, match="cannot be read"):
        read_columns(tmp_path / "none.toml")
    (tmp_path / "c.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TableError, match="not UTF-8"):
        read_columns(tmp_path / "c.toml")


def of(folder, text):
    path = folder / "c.toml"
    path.write_text("\n".join(line.strip() for line in text.splitlines()), encoding="utf-8")
    return read_columns(path)
