"""Declared columns: bounds, steps, logarithms and categories."""

import math
from fractions import Fraction

import numpy as np
import pytest

from isinglass.detect.private.columns import (
    CategoryColumn,
    NumberColumn,
    declared_columns,
)
from isinglass.detect.private.log_edges import LogEdges, log_cells
from isinglass.kernels.grid import CELLS, cell_of

NAMES = ["a", "b", "c"]


def cells(column: NumberColumn, values: list[float]) -> list[int]:
    array = np.array(values)
    found = log_cells(array, column.low, column.high) if column.log else array
    return [cell_of(x, *column.grid) for x in found]


def test_a_cell_is_the_floor_of_the_place_between_the_bounds():
    column = NumberColumn("a", -1.0, 3.0)
    values = [-1.0, 3.0, 1.0, 1.0 - 1e-12, -1e300, 1e300, math.inf, -math.inf]
    assert cells(column, values) == [0, CELLS - 1, 32_768, 32_767, 0, CELLS - 1, CELLS - 1, 0]
    assert cells(column, [math.nan]) == [-1]
    assert cells(NumberColumn("a", 0.0, 1.0), [-0.0, 0.0, 5e-324, -5e-324]) == [0, 0, 0, 0]


def test_the_cell_of_a_value_far_out_does_not_overflow():
    column = NumberColumn("a", -8e307, 8e307)
    assert cells(column, [1.7e308, -1.7e308, 0.0]) == [CELLS - 1, 0, 32_768]


def test_steps_put_values_in_the_middle_of_their_cells():
    column = NumberColumn("a", 0.0, 10.0, step=1.0)
    found = [c / CELLS * 11 for c in cells(column, [0.0, 1.0, 10.0])]
    assert found == pytest.approx([0.5, 1.5, 10.5], abs=1e-3)
    assert column.least_half == pytest.approx(CELLS / 22)
    assert NumberColumn("a", 0.0, 10.0).least_half == 8


def test_logarithmic_cells_are_equal_in_the_logarithm():
    column = NumberColumn("a", 1e-3, 1e5, log=True)
    assert cells(column, [0.0, -3.0, 1e-3, 1e5, 2e9, math.inf]) == [0, 0, 0] + [CELLS - 1] * 3
    assert cells(column, [math.nan]) == [-1]
    x = np.exp(np.random.default_rng(0).uniform(np.log(1e-3), np.log(1e5), 2000))
    expected = np.log(x / 1e-3) / np.log(1e8) * CELLS
    clear = abs(expected - np.rint(expected)) > 1e-6
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(np.array(cells(column, x))[clear], np.floor(expected)[clear])
    narrow = log_cells(x.astype(np.float32), 1e-3, 1e5)
    assert narrow.dtype == np.float32
    assert (narrow % 1 == 0.5).all()


def plain_edges(low, high):
    """The edges as they were first written down: one power after the other."""
    first, bits = Fraction(low), 256
    ratio = Fraction(high) / first
    root = (ratio.numerator << bits) // ratio.denominator
    for _ in range(16):
        root = math.isqrt(root << bits)
    edges, power = [], 1 << bits
    for _ in range(CELLS - 1):
        power = power * root >> bits
        edges.append(first.numerator * power / (first.denominator << bits))
    return np.array(edges)


@pytest.mark.parametrize(
    "bounds", [(1e-3, 1e6), (1.0, 65536.0), (5e-324, 1.7e308), (1.0, math.nextafter(1.0, 2))]
)
def test_edges_are_the_same_however_few_are_asked_for(bounds):
    edges = plain_edges(*bounds)
    lazy, whole = LogEdges(*bounds), LogEdges(*bounds)
    np.testing.assert_array_equal(whole.all, edges)
    at = np.random.default_rng(0).choice(edges, 200)
    beside = [np.nextafter(at, -np.inf), np.nextafter(at, np.inf)]
    odd = [0.0, -0.0, -1.0, math.inf, -math.inf, *bounds]
    values = np.concatenate([at, *beside, odd])
    expected = np.searchsorted(edges, values, side="right")
    np.testing.assert_array_equal(lazy.cells(values), expected)
    assert "all" not in vars(lazy)
    np.testing.assert_array_equal(whole.cells(np.tile(values, 9)), np.tile(expected, 9))
    for _ in range(9):  # many small batches are many values
        np.testing.assert_array_equal(lazy.cells(values), expected)
    assert "all" in vars(lazy)


def test_columns_are_declared_by_name_by_position_or_all_alike():
    scaled = declared_columns(NAMES, "scaled")
    assert scaled == tuple(NumberColumn(n, 0.0, 1.0) for n in NAMES)
    assert declared_columns(NAMES, ([0, 0, 0], [1, 1, 1])) == scaled
    assert declared_columns(NAMES, dict.fromkeys(NAMES, (0, 1))) == scaled
    assert declared_columns(NAMES, {0: (0, 1), "b": (0, 1), 2: (0, 1)}) == scaled
    mixed = declared_columns(
        NAMES, {"a": (0, 9), "c": (1, 2)}, categories={1: ["x", "y"]}, steps={"a": 1}, log=["c"]
    )
    assert mixed == (
        NumberColumn("a", 0.0, 9.0, step=1.0),
        CategoryColumn("b", ("x", "y")),
        NumberColumn("c", 1.0, 2.0, log=True),
    )
    assert mixed[1].n_cells == 3
    assert declared_columns(["a"], None, categories={"a": [1]}) == (CategoryColumn("a", (1,)),)


@pytest.mark.parametrize(
    ("bounds", "more", "message"),
    [
        (None, {}, "bounds must be declared.*learned ones tell about single records"),
        ("learned", {}, "bounds must be None, 'scaled' or"),
        ((0, 0), {}, "low < high"),
        ((0, np.inf), {}, "finite"),
        ((-1e308, 1e308), {}, "finite"),
        ({"a": (0, 1)}, {}, "missing: b, c"),
        ({"a": (0, 1), "b": (0, 1), "c": 7}, {}, "two numbers"),
        ({"a": (0, 1), "b": (0, 1), "d": (0, 1)}, {}, "name columns of the table"),
        ((0, 1), {"categories": {"a": []}}, "different values"),
        ((0, 1), {"categories": {"a": ["x", "x"]}}, "different values"),
        ((0, 1), {"categories": {"a": ["x"]}, "steps": {"a": 1}}, "must not name"),
        ((0, 1), {"steps": {"a": 0}}, "steps must be > 0"),
        ((0, 1), {"steps": {"a": 0.1}, "log": ["a"]}, "low > 0"),
        ((1, 2), {"steps": {"a": 0.1}, "log": ["a"]}, "not of a log column"),
        ((0, 1), {"log": ["a"]}, "low > 0"),
        ((1, 2), {"log": [True]}, "log must name columns"),
        ((1, 2), {"log": [3]}, "log must name columns"),
    ],
)
def test_what_cannot_be_declared_is_refused(bounds, more, message):
    with pytest.raises(ValueError, match=message):
        declared_columns(NAMES, bounds, **more)
