"""Missing values are settled over the whole table, categories encoded, kept columns aligned."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.errors import TableError
from isinglass.table import read
from isinglass.table.columns import choose_columns
from isinglass.table.prepare import Source
from isinglass.table.read import open_table

FRAME = pa.table(
    {
        "a": [1.0, None, 3.0, np.inf, 5.0, 7.0],
        "b": pa.array([1, 2, 3, None, 5, 6]),
        "k": ["r0", "r1", "r2", "r3", "r4", "r5"],
    }
)


@pytest.fixture(params=[1, 2, 100])
def rows(request, monkeypatch):
    """However the table is batched."""
    monkeypatch.setattr(read, "batch_rows", lambda width: request.param)


def source(frame, *, keep=(), one_hot=(), **settings):
    table = open_table(frame)
    return Source(table, choose_columns(table, keep=keep, one_hot=one_hot), **settings)


def whole(found):
    blocks = list(found.blocks())
    assert all(len(block.X) == block.kept.num_rows for block in blocks if block.kept.num_columns)
    return np.concatenate([b.X for b in blocks]), pa.Table.from_batches([b.kept for b in blocks])


@pytest.mark.usefixtures("rows")
def test_missing_values_are_counted_over_the_whole_table():
    with pytest.raises(TableError, match=r"a \(2\), b \(1\); .*missing='drop' .*missing='median'"):
        whole(source(FRAME, keep=["k"]))
    with pytest.raises(TableError, match=r"^row 1 \(from 0\) of the table .*; ask somebody$"):
        whole(source(FRAME, keep=["k"], advice="ask somebody"))


@pytest.mark.usefixtures("rows")
def test_kept_columns_stay_with_their_rows_when_rows_are_dropped():
    X, kept = whole(source(FRAME, keep=["k"], missing="drop"))
    np.testing.assert_array_equal(X, [[1, 1], [3, 3], [5, 5], [7, 6]])
    assert kept["k"].to_pylist() == ["r0", "r2", "r4", "r5"]
    assert list(source(FRAME.slice(1, 1), keep=["k"], missing="drop").blocks()) == []


@pytest.mark.usefixtures("rows")
def test_medians_fill_in():
    X, kept = whole(source(FRAME, keep=["k"], missing="median"))
    np.testing.assert_array_equal(X, [[1, 1], [4, 2], [3, 3], [4, 3], [5, 5], [7, 6]])
    assert kept.num_rows == 6
    with pytest.raises(TableError, match=r"without a single value: z; .*`drop`"):
        source(FRAME.append_column("z", pa.nulls(6)), keep=["k"], missing="median")


@given(
    st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=1, max_size=40).filter(any),
    st.integers(1, 40),
)
@settings(max_examples=40)
def test_the_median_filled_in_is_exact(values, cut):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "batch_rows", lambda width: cut)
        X, _ = whole(source(pa.table({"a": pa.array(values, pa.float64())}), missing="median"))
    known = [value for value in values if value is not None]
    expected = [np.median(known) if value is None else value for value in values]
    np.testing.assert_array_equal(X[:, 0], expected)


def test_an_unknown_way_with_missing_values():
    with pytest.raises(ValueError, match="missing must be one of error, drop, median, got 'mean'"):
        source(FRAME, keep=["k"], missing="mean")


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("column", "known", "expected"),
    [
        (pa.array(["u", "v", "u"]), ["u", "v"], [[1, 0], [0, 1], [1, 0]]),
        (pa.array(["u", "v", "u"]).dictionary_encode(), ["u", "v"], [[1, 0], [0, 1], [1, 0]]),
        (pa.array([3, 1, 3]), [1.0, 3.0], [[0, 1], [1, 0], [0, 1]]),
        (pa.array([3, 1, 3]).dictionary_encode(), [1.0, 3.0], [[0, 1], [1, 0], [0, 1]]),
        (pa.array([2**53 + 1, 0, 0]), [0.0, 2.0**53], [[0, 1], [1, 0], [1, 0]]),
        (pa.array([True, False, True]), ["false", "true"], [[0, 1], [1, 0], [0, 1]]),
    ],
)
def test_one_hot_encoding(column, known, expected):
    frame = pa.table({"k": column, "a": pa.array([5, 6, 7], pa.float32())})
    found = source(frame, one_hot=["k"])
    assert found.categories == {"k": known}
    assert found.names == ["a", "k#0", "k#1"]
    assert list(found.one_hot_positions()) == [1, 2]
    X, _ = whole(found)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, np.column_stack([[5, 6, 7], expected]))


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    "column", [pa.array(["u", None, "v", ""]), pa.array([1.0, np.nan, 2.0, None])]
)
def test_a_missing_category_is_a_missing_value(column):
    frame = pa.table({"k": column, "a": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(TableError, match=r"values: k \(2\); leave"):
        whole(source(frame, one_hot=["k"]))
    X, _ = whole(source(frame, one_hot=["k"], missing="drop"))
    np.testing.assert_array_equal(X, [[1, 1, 0], [3, 0, 1]])
    X, _ = whole(source(frame, one_hot=["k"], missing="median"))
    np.testing.assert_array_equal(X[1], [2, 0, 0])


def test_categories_that_come_with_a_key():
    frame = pa.table({"k": ["u", "SECRET", "u"], "a": [1.0, 2.0, 3.0]})
    X, _ = whole(source(frame, one_hot=["k"], categories={"k": ["SECRET", "t", "u"]}))
    np.testing.assert_array_equal(X[:, 1:], [[0, 0, 1], [1, 0, 0], [0, 0, 1]])
    for known, strange in ((["u", "v"], 1), ([1.0, 2.0], 3)):
        with pytest.raises(
            TableError, match=rf"column k: {strange} values are not among the 2"
        ) as e:
            whole(source(frame, one_hot=["k"], categories={"k": known}))
        assert "SECRET" not in str(e.value)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([str(i) for i in range(257)]), "more than 256 different values"),
        (pa.nulls(257, pa.string()), "without a single value: k"),
        (pa.array([[1]] * 257), "cannot be one-hot encoded"),
    ],
)
def test_columns_that_cannot_be_encoded(column, said):
    with pytest.raises(TableError, match=said):
        source(pa.table({"k": column, "a": np.arange(257.0)}), one_hot=["k"])
