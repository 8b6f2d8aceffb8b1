"""The loader reads what the data folder has, and says what is there when asked for more."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from isinglass import datasets
from isinglass.errors import TableError

needs_data = pytest.mark.skipif(
    not os.environ.get("ISINGLASS_DATA"), reason="ISINGLASS_DATA is not set: no real data here"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ISINGLASS_DATA", str(tmp_path))
    return tmp_path


def _write(path, **columns):
    pq.write_table(pa.table(columns), path)


def test_label_and_meta_columns_are_no_features(folder):
    _write(
        folder / "tiny.parquet",
        speed=pa.array([1.5, 2.5], pa.float32()),
        meta_unit=pa.array([7, 8], pa.int32()),
        label=pa.array([1, 0], pa.int8()),
        height=pa.array([3.0, 4.0], pa.float32()),
    )
    made = datasets.load("tiny")
    assert made.column_names == ("speed", "height")
    assert made.X.dtype == np.float32
    assert made.X.flags.c_contiguous
    assert made.X.tolist() == [[1.5, 3.0], [2.5, 4.0]]
    assert made.labels.tolist() == [1, 0]
    assert made.is_outlier is None


def test_other_numbers_become_float64_and_a_missing_label_stays_missing(folder):
    _write(folder / "tiny.parquet", a=pa.array([2**24 + 1], pa.int32()), b=pa.array([0.1]))
    made = datasets.load("tiny")
    assert made.X.dtype == np.float64
    assert made.X.tolist() == [[2**24 + 1, 0.1]]
    assert made.labels is None


def test_available_names_the_parquet_files_in_order(folder):
    for name in ("b.parquet", "a.parquet"):
        _write(folder / name, x=[1.0])
    (folder / "notes.txt").write_text("not data")
    assert datasets.available() == ("a", "b")


@pytest.mark.parametrize("name", ["c", "../a", "a.parquet"])
def test_an_unknown_name_is_answered_with_the_known_ones(folder, name):
    _write(folder / "a.parquet", x=[1.0])
    with pytest.raises(TableError, match=r"ISINGLASS_DATA; it has a$"):
        datasets.load(name)


def test_an_empty_folder_is_said_to_be_empty(folder):
    with pytest.raises(TableError, match=r"it has no Parquet file$"):
        datasets.load("a")


@pytest.mark.parametrize("value", [None, ""])
@pytest.mark.parametrize("call", [datasets.available, lambda: datasets.load("iris")])
def test_without_the_variable_the_error_names_it(monkeypatch, value, call):
    monkeypatch.delenv("ISINGLASS_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("ISINGLASS_DATA", value)
    with pytest.raises(TableError, match="ISINGLASS_DATA is not set"):
        call()


def test_a_folder_that_is_not_there_is_an_error(folder, monkeypatch):
    monkeypatch.setenv("ISINGLASS_DATA", str(folder / "nowhere"))
    with pytest.raises(TableError, match="does not name a folder"):
        datasets.available()


def test_a_damaged_file_and_a_text_column_are_named_without_their_contents(folder):
    (folder / "broken.parquet").write_bytes(b"secret")
    with pytest.raises(TableError, match=r"^broken\.parquet .* cannot be read$"):
        datasets.load("broken")
    _write(folder / "words.parquet", city=["secret"])
    with pytest.raises(TableError, match=r"^column 'city' of words\.parquet is string"):
        datasets.load("words")


@needs_data
@pytest.mark.parametrize(
    ("name", "shape", "n_outliers"),
    [("mammography", (11_183, 6), 260), ("credit_fraud", (25_576, 28), 473)],
)
def test_outlier_benchmarks_mark_the_known_number_of_outliers(name, shape, n_outliers):
    made = datasets.load(name)
    assert made.X.shape == shape
    assert made.is_outlier.sum() == n_outliers
    assert np.isfinite(made.X).all()


@needs_data
def test_a_class_label_is_not_taken_for_an_outlier():
    made = datasets.load("iris")
    assert made.X.shape == (150, 4)
    assert np.bincount(made.labels).tolist() == [50, 50, 50]
    assert made.is_outlier is None


@needs_data
def test_engine_recordings_have_features_and_no_label():
    made = datasets.load("cmapss_fd001_train")
    assert made.X.shape == (20_631, 24)
    assert made.labels is None
    assert made.column_names[0] == "op_setting_1"
