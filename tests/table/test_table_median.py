"""Medians are exact however many passes they take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isinglass.errors import TableError
from isinglass.table import survey
from isinglass.table.survey import medians, medians_to_fill

ENTRIES = st.one_of(
    st.floats(-1e300, 1e300),
    st.sampled_from([0.0, -0.0, 1.0, 1.0, 2.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324]),
    st.integers(-3, 3).map(lambda i: 1e15 + i),
)


def expected(X):
    return [np.median(c[np.isfinite(c)]) if np.isfinite(c).any() else np.nan for c in X.T]


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=ENTRIES),
    st.integers(1, 40),
    st.sampled_from([(1, 2), (2, 4), (40, 64), (1 << 22, 1 << 22)]),
)
@settings(max_examples=60)
def test_equal_to_numpy_whatever_the_blocks_and_passes(X, cut, sizes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey, "_ENOUGH", sizes[0])
        patch.setattr(survey, "_COUNTERS", sizes[1])
        found = medians(lambda: (X[i : i + cut] for i in range(0, len(X), cut)), X.shape[1])
    np.testing.assert_array_equal(found, expected(X))


def test_large_tables_take_few_passes_and_little_memory(monkeypatch):
    monkeypatch.setattr(survey, "_ENOUGH", 3000)
    X = np.random.default_rng(0).normal(size=(30_001, 3)) + [0, 1e9, -5]
    X[::7, 1] = X[0, 1]
    passes, gathered = [], []
    gather = survey._MedianSearch.gather

    def watched(search, block):
        gather(search, block)
        gathered.append(sum(map(len, search._gathered)))

    def blocks():
        passes.append(1)
        return iter(np.array_split(X, 5))

    monkeypatch.setattr(survey._MedianSearch, "gather", watched)
    np.testing.assert_array_equal(medians(blocks, 3), np.median(X, axis=0))
    assert len(passes) <= 7  # six of counting at most, one of gathering
    assert max(gathered) <= 1000


def test_nothing_at_all():
    assert medians(lambda: iter([]), 0).shape == (0,)
    np.testing.assert_array_equal(medians(lambda: iter([]), 2), [np.nan, np.nan])


def test_the_middle_of_the_largest_numbers_is_finite():
    top = np.finfo(float).max
    assert medians(lambda: iter([np.array([[top], [top]])]), 1)[0] == top


def test_every_column_without_a_value_is_named():
    names = [f"c{i}" for i in range(15)]

    def blocks(chosen):
        return iter([np.full((4, len(chosen)), np.nan)])

    with pytest.raises(TableError) as refused:
        medians_to_fill("t.csv", names, blocks, "drop them")
    told = "t.csv has columns without a single value: " + ", ".join(names) + "; drop them"
    assert str(refused.value) == told


def test_only_columns_with_gaps_are_asked_for_again():
    X, asked = np.array([[1.0, np.nan, 3.0], [2.0, 5.0, np.inf], [0.0, 7.0, 9.0]]), []

    def blocks(chosen):
        asked.append(list(chosen))
        return iter([X[:, ["abc".index(name) for name in chosen]]])

    assert medians_to_fill("t", "abc", blocks, "").tolist() == [0.0, 6.0, 6.0]
    assert asked[0] == ["a", "b", "c"]
    assert all(names == ["b", "c"] for names in asked[1:])
