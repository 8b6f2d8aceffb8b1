"""Bounds are read, checked and applied; messages show counts and no values."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.errors import TableError
from isinglass.table.scale import (
    Scaling,
    bounds_for,
    declared_scaling,
    outside_message,
    per_column,
    read_bounds,
)


def scaled(X, scaling):
    low, factor = scaling.factors(X.dtype)
    return (X - low) * factor


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_go_to_zero_and_one(dtype):
    scaling = declared_scaling(([0, -5, 3], [10, 5, 3]), 3)
    X = np.array([[0, -5, 3], [10, 5, 3], [5, 0, 3]], dtype=dtype)
    found = scaled(X, scaling)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, [[0, 0, 0], [1, 1, 0], [0.5, 0.5, 0]])


def test_a_span_too_small_to_divide_by_counts_as_none():
    tiny = np.array([[0.0], [1e-42]], dtype=np.float32)
    scaling = Scaling(tiny[0].astype(float), tiny[1].astype(float), declared=False)
    np.testing.assert_array_equal(scaled(tiny, scaling), [[0], [0]])


def test_values_outside_are_counted_by_column():
    scaling = declared_scaling("scaled", 2)
    X = np.array([[0, 2], [1, 98765.4321], [-0.1, 0.5]])
    assert scaling.outside(X).tolist() == [1, 2]
    text = outside_message(scaling.outside(X), ["a", "b"], "clip")
    assert text == "values outside the bounds: a (1), b (2); clip"
    # 0.1 in single precision is above 0.1, and still inside.
    narrow = declared_scaling((0.0, 0.1), 1)
    assert narrow.outside(np.array([[0.1]], dtype=np.float32)).tolist() == [0]
    assert per_column([1] * 10, list("abcdefghij")).endswith("h (1) and 2 more columns")


def test_bounds_never_print():
    assert "98765" not in repr(declared_scaling((0, 98765.4321), 2))


@pytest.mark.parametrize(
    "bounds", ["other", 3, (0,), (0, 1, 2), ([0, 0], 1), (1, 0), (0, np.inf), (0, np.nan), ("a", 1)]
)
def test_bad_declarations(bounds):
    with pytest.raises(ValueError, match="bounds must be"):
        declared_scaling(bounds, 3)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [0, 1], "b,c": [-2.5, 3]}',
        'column,low,high\na,0,1\n"b,c",-2.5,3\n',
        "# from the manual\n\na , 0, 1\nb,c,-2.5,3",
        "\ufeffa,0,1\nb,c,-2.5,3",
    ],
)
def test_bounds_files(text, tmp_path):
    path = tmp_path / "bounds"
    path.write_text(text, encoding="utf-8")
    assert read_bounds(path) == {"a": (0, 1), "b,c": (-2.5, 3)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no column"),
        ("{}", "names no column"),
        ('{"a": [0, 1]', "not JSON: line 1"),
        ('{"a": "12"}', "bounds, a: expected two numbers"),
        ('{"a": {"low": 0, "high": 1}}', "expected two numbers"),
        ('{"a": [0, 1], "a": [0, 2]}', "more than once"),
        ("a,0,1\na,0,2", "more than once"),
        ("a,0\n", "line 1: expected two numbers"),
        ("a,0,1\nb,x,1\n", "line 2: expected two numbers"),
        ("a,2,1\n", "low must be <= high"),
        ("a,0,inf\n", "both finite"),
    ],
)
def test_bad_bounds_files(text, said, tmp_path):
    path = tmp_path / "bounds"
    path.write_text(text)
    with pytest.raises(TableError, match=said):
        read_bounds(path)


def test_unreadable_bounds_files(tmp_path):
    with pytest.raises(TableError, match="No such file"):
        read_bounds(tmp_path / "none")
    (tmp_path / "latin").write_bytes(b"\xe9,0,1")
    with pytest.raises(TableError, match="not UTF-8"):
        read_bounds(tmp_path / "latin")


def test_every_column_must_be_declared():
    low, high = bounds_for(["b", "a"], {"a": (0, 1), "b": (2, 3), "c": (4, 5)})
    assert (low.tolist(), high.tolist()) == ([2, 0], [3, 1])
    with pytest.raises(TableError, match="do not name z; declare"):
        bounds_for(["a", "z"], {"a": (0, 1)})
    with pytest.raises(TableError, match="and 2 more columns"):
        bounds_for(list("abcdefghij"), {})
