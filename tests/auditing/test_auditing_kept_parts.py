"""Parts of kept columns reach the attacks of an audit, and nothing else of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import isinglass as ig
from isinglass.attack.knowledge import KeptColumns
from isinglass.auditing.files.align import Loaded, as_kept, other_spellings
from isinglass.auditing.files.release_file import ColumnsBeside
from isinglass.auditing.report.sentences import sentence

WORDS = np.array(["asthma", "flu", "gout", "lupus", "mumps"])


def visits(rows=900, seed=0):
    """Records that follow the weekday of their date and the words of a list."""
    rng = np.random.default_rng(seed)
    day = rng.integers(0, 300, rows)
    has = np.array([rng.permutation(5) < 2 for _ in range(rows)])
    X = rng.normal(size=(7, 4))[day % 7] + has @ rng.normal(size=(5, 4))
    X = X + 0.2 * rng.normal(size=(rows, 4))
    dates = (np.datetime64("2024-05-01") + day).astype(str)
    return X, pa.table({"date": dates, "found": [";".join(WORDS[row]) for row in has]})


def beside(X, Z, kept):
    left = ColumnsBeside()
    left.add(Loaded("release", Z, kept), Loaded("table", X, kept), ["date", "found"])
    return left


def test_the_report_names_parts_and_no_value():
    X, kept = visits()
    Z = X + 6 * X.std(axis=0) * np.random.default_rng(1).normal(size=X.shape)
    left = beside(X, Z, kept)
    known = left.known(X, Z)
    assert known is not None
    fact = left.note(known)
    assert fact is not None
    note = sentence(fact)
    assert note.startswith("Kept columns were also read by their parts: ")
    assert "weekday of date" in note
    assert "single words of found" in note
    assert not any(word in note for word in WORDS)


def test_parts_change_neither_joins_nor_columns():
    X, kept = visits()
    left = beside(X, X, kept)
    known = left.known(X, X)
    assert known is not None
    assert known.parts
    assert known.values.shape == left.own().shape == (len(X), 2)
    assert known.describe() == "2 kept columns"
    some = known.take(np.arange(10))
    assert some.values.shape == (10, 2)
    assert some.parts == known.parts


def test_whole_values_that_say_it_all_need_no_note():
    rng = np.random.default_rng(2)
    city = rng.integers(0, 6, 600)
    X = rng.normal(size=(6, 3))[city] + 0.2 * rng.normal(size=(600, 3))
    names = np.array(["Ulm", "Bonn", "Kiel", "Hof", "Trier", "Jena"])
    kept = pa.table({"date": names[city], "found": names[rng.integers(0, 6, 600)]})
    left = beside(X, X, kept)
    known = left.known(X, X)
    assert known is not None
    assert left.note(known) is None


@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        (pa.date32(), "D"), (pa.timestamp("us"), "us"), (pa.timestamp("s", "UTC"), "s"),
        (pa.int64(), None),
    ],
)  # fmt: skip
def test_the_unit_of_a_time_is_known(kind, unit):
    column = pa.chunked_array([pa.array([5, 7], pa.int32() if unit == "D" else pa.int64())])
    column = column.cast(kind)
    found = as_kept(column, column)
    assert found is not None
    assert found.meaning == unit


def test_an_audit_of_arrays_reads_parts_too():
    rng = np.random.default_rng(3)
    moments = 1_700_000_000.0 + 3600 * rng.integers(0, 2000, 900)
    hour = (moments // 3600 % 24).astype(int) // 4
    X = rng.normal(size=(6, 4))[hour] + 0.2 * rng.normal(size=(900, 4))
    Z = X + 5 * X.std(axis=0) * rng.normal(size=X.shape)
    kept = KeptColumns(moments[:, np.newaxis])
    found = []
    settings = {"attacks": ["kept_columns"], "most_pairs": 0, "random_state": 0}
    for known in (kept, replace(kept, parts=())):
        report = ig.audit(X, Z, kept=known, **settings)
        alone = next(a for a in report.findings.attackers if a.name == "outsider")
        found.append(alone.r2)
    assert found[0] > 0.4
    assert found[1] < 0.2


def test_a_meaning_must_be_there_for_each_column():
    with pytest.raises(ValueError, match="meanings must be one for each of the 1 columns"):
        KeptColumns(np.zeros((3, 1)), meanings=("s", None))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, None, 3, 2], [0, 1, 0, 0]),  # a missing value is read as the mean, 2
        (["1", "01", "1.0", "2"], [1, 0, 2, 0]),
        ([2**53, 2**53 + 1, 5], [0, 1, 0]),
        (["a", None, "", "b"], [0, 1, 0, 0]),
        ([1.5, 2.5, 1.5], None),
    ],
    ids=["missing", "written", "large", "empty", "plain"],
)
def test_values_that_are_read_as_one_are_told_apart_by_how_they_are_written(values, expected):
    column = pa.chunked_array([values])
    found = other_spellings(column, column, as_kept(column, column))
    assert (None if found is None else found.released.tolist()) == expected
