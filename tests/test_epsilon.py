"""Epsilon as it is charged: whole millionths, as they are written."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isinglass.epsilon import MICRO, MOST, as_float, delta_text, femto, fraction, micro, text


@pytest.mark.parametrize(
    ("epsilon", "parts"),
    [
        (0.1, 100_000),
        ("0.1", 100_000),
        ("0.10000000000000000000", 100_000),
        (Decimal("0.1"), 100_000),
        (Fraction(1, 10), 100_000),
        (np.float64(0.1), 100_000),
        (np.float32(0.1), 100_000),
        (np.int64(2), 2_000_000),
        (1e-6, 1),
        ("1e-6", 1),
        (1, MICRO),
        (10**6, MOST),
        ("1e6", MOST),
        (0.000123, 123),
    ],
)
def test_decimals_are_read_as_written(epsilon, parts):
    assert micro(epsilon) == parts
    assert type(micro(epsilon)) is int


@pytest.mark.parametrize(
    "epsilon",
    [
        0,
        0.0,
        "-0",
        -1,
        -0.1,
        math.nan,
        math.inf,
        -math.inf,
        "nan",
        "sNaN",
        "Infinity",
        0.1 + 0.2,  # no whole number of millionths
        "0.0000001",
        "0.1000001",
        1e-7,
        Fraction(1, 3),
        Fraction(-1, 10),
        10**6 + 1,
        "1000000.000001",
        True,
        np.True_,
        None,
        "",
        "one",
        "1_0",
        " 1",
        "1\n",
        "\u0661",  # an Arabic one, which Decimal would read
        "1/2",
        [0.1],
        np.array([0.1]),
        1j,
        # A few characters that stand for a billion digits must not be written out.
        "1e-999999999",
        "0e-999999999",
        "1e999999999",
        Decimal("1e-999999"),
    ],
)
def test_all_else_is_refused_with_the_rule(epsilon):
    with pytest.raises(ValueError, match=r"^budget must be a number > 0 in whole millionths"):
        micro(epsilon, "budget")


def test_the_message_shows_the_setting():
    with pytest.raises(ValueError, match=r"^epsilon must be .*, at most 1000000, got -3$"):
        micro(-3)


@given(st.integers(1, MOST))
def test_text_and_fraction_are_exact_and_read_back(parts):
    assert micro(text(parts)) == parts
    assert micro(fraction(parts)) == parts
    assert micro(as_float(parts)) == parts
    assert fraction(parts) == Fraction(text(parts)) == Fraction(parts, 10**6)


@pytest.mark.parametrize(
    ("parts", "shown"),
    [(0, "0"), (1, "0.000001"), (100_000, "0.1"), (10 * MICRO, "10"), (MICRO + 10, "1.00001")],
)
def test_texts_have_no_trailing_zeros(parts, shown):
    assert text(parts) == shown


def test_delta_is_read_as_it_is_written():
    assert [femto(d) for d in (0, 1e-6, "1e-15", 0.1, 1e-5)] == [0, 10**9, 1, 10**14, 10**10]
    for delta in (1, -1e-9, 1e-16, True, "x", math.nan, None, "1e-999999999", "1e999999999"):
        with pytest.raises(ValueError, match="delta must be >= 0 and < 1"):
            femto(delta)


@pytest.mark.parametrize("parts", [1, 10**9, 123_456_789_012_345, 5 * 10**14])
def test_delta_is_said_exactly(parts):
    assert Fraction(delta_text(parts)) == Fraction(parts, 10**15)
    assert femto(delta_text(parts)) == parts
