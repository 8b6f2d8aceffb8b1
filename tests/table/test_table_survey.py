"""One pass finds what NumPy finds, to the last bit however the rows are batched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isinglass.table.survey import RunningMoments, Surveyor, survey

TABLES = hnp.arrays(
    st.sampled_from([np.float64, np.float32]),
    st.tuples(st.integers(1, 200), st.integers(1, 3)),
    elements=st.floats(-1e6, 1e6, width=32),
)


def cut(X, places, order="F"):
    gather = Surveyor(X.shape[1])
    for block in np.split(X, sorted(places)):
        gather.add(np.asarray(block, order=order))
    return gather.result()


@given(TABLES, st.lists(st.integers(0, 200), max_size=5))
@settings(max_examples=60)
def test_equal_to_numpy_whatever_the_blocks(X, places):
    found = cut(X, places)
    wide = X.astype(np.float64)
    assert found.n_rows == len(X)
    np.testing.assert_array_equal(found.low, wide.min(axis=0))
    np.testing.assert_array_equal(found.high, wide.max(axis=0))
    if len(X) > 1:
        scale = np.abs(wide).max() + 1e-300
        np.testing.assert_allclose(found.deviation, wide.std(axis=0, ddof=1), 1e-11, 1e-14 * scale)


@given(TABLES, st.lists(st.integers(0, 200), max_size=5), st.sampled_from("CF"))
@example(np.array([[-0.0], [0.0]] + [[1.0]] * 7), [1], "C")  # the least of -0.0 and 0.0 is either
@example(np.array([[0.0], [-0.0]] + [[-1.0]] * 7), [1], "C")
@example(np.array([[-0.0], [0.0]] + [[-1.0]] * 7), [1], "C")
@settings(max_examples=60)
def test_the_same_to_the_last_bit_whatever_the_blocks(X, places, order):
    one, other = survey(X), cut(X, places, order)
    for name in ("low", "high", "deviation"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


def test_large_offsets_cost_no_digits():
    X = np.random.default_rng(0).normal(size=(20_000, 1))
    shifted = X + 1e12
    exact = (shifted - 1e12).std(ddof=1)
    np.testing.assert_allclose(cut(shifted, [1, 7, 9000]).deviation, exact, 1e-12)
    shifted[0] = 0  # the first row is no guide to the others
    exact = shifted.std(ddof=1)
    np.testing.assert_allclose(cut(shifted, [1, 7, 9000]).deviation, exact, 1e-9)


@pytest.mark.parametrize("value", [0.1, 1e300, -7.3e-300])
def test_a_constant_column_deviates_by_nothing(value):
    found = cut(np.full((10_000, 2), value) * [1, 0], [3, 5000])
    assert found.deviation.tolist() == [0.0, 0.0]
    assert found.constant().tolist() == [0, 1]


def test_single_rows_and_no_deviation():
    assert survey(np.array([[3.0, 4.0]])).deviation.tolist() == [0, 0]
    gather = Surveyor(1, deviation=False)
    gather.add(np.array([[1.0], [2.0]]))
    assert np.isnan(gather.result().deviation).all()
    assert gather.result().n_columns == 1


def test_asking_in_between_changes_nothing():
    X = np.random.default_rng(1).normal(size=(9000, 2))
    gather = Surveyor(2)
    for block in np.array_split(X, 9):
        gather.add(block)
        gather.result()
    assert gather.result().deviation.tobytes() == survey(X).deviation.tobytes()


def test_values_never_print():
    assert "98765" not in repr(survey(np.array([[98765.4321], [1.0]])))


def test_moments_of_parts_join_and_fade():
    values = np.random.default_rng(0).exponential(size=500)
    none = RunningMoments(0, np.zeros(1), np.zeros(1))
    joined = none
    for part in np.split(values, [3, 120, 121]):
        joined = joined.joined(part[np.newaxis])
    assert joined.mean[0] == pytest.approx(values.mean(), rel=1e-12)
    assert joined.squares[0] / joined.count == pytest.approx(values.var(), rel=1e-12)
    # Faded rows count like rows of less weight.
    faded = none.joined(values[np.newaxis, :100]).faded(0.9).joined(values[np.newaxis, 100:])
    weight = np.where(np.arange(500) < 100, 0.9, 1.0)
    mean = np.average(values, weights=weight)
    assert faded.mean[0] == pytest.approx(mean, rel=1e-12)
    variance = np.average((values - mean) ** 2, weights=weight)
    assert faded.squares[0] / faded.count == pytest.approx(variance, rel=1e-12)
