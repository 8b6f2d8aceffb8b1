"""Counts in the private table: exact on the radius, and moved by one record by one."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isinglass.curate.questions.neighbor_counter import NeighborCounter
from isinglass.detect.metric import METRICS, declare

WEIGHTS = [0.5, 3.0]


def metrics(width=2):
    """Every metric, plain and weighted."""
    return [
        declare(name, 2.5 if name == "minkowski" else None, weights, width)
        for name in METRICS
        for weights in (None, (WEIGHTS * width)[:width])
    ]


def brute_force(table, places, r, metric):
    return [sum(metric.distance(i, j) <= r for j in table) for i in places]


@pytest.mark.parametrize("metric", metrics(), ids=str)
@pytest.mark.parametrize("batch", [1, 30])
def test_adding_a_record_changes_counts_within_the_radius_by_one_and_no_other(metric, batch):
    # Whole and third coordinates, with radii that are distances of pairs: many lie exactly on it.
    rng = np.random.default_rng(3)
    table = rng.integers(-6, 7, size=(300, 2)) / 3.0
    places = rng.integers(-6, 7, size=(batch, 2)) / 3.0
    on_radius = 0
    for _ in range(10 if batch > 1 else 40):
        new = rng.integers(-6, 7, size=2) / 3.0
        r = metric.distance(places[0], new)
        before = NeighborCounter(table, metric).within(places, r)
        after = NeighborCounter(np.concatenate([table, [new]]), metric).within(places, r)
        distances = np.array([metric.distance(i, new) for i in places])
        np.testing.assert_array_equal(after - before, distances <= r)
        on_radius += int((distances == r).sum())
    assert on_radius >= 10


@pytest.mark.parametrize("metric", metrics(3), ids=str)
def test_tangent_triples_are_decided_by_the_one_distance(metric):
    # j halfway between i and s: d(i, j) and d(j, s) come out a last digit apart from d(i, s) / 2.
    rng = np.random.default_rng(8)
    i, s = rng.normal(size=(2, 200, 3))
    j = i + (s - i) / 2
    for a, b, middle in zip(i[:60], s, j, strict=False):
        r = metric.distance(a, b) / 2
        table = np.stack([a, b, middle])
        asked = np.concatenate([table, np.repeat(table, 6, axis=0)])  # one by one, and as a batch
        expected = brute_force(table, table, r, metric)
        assert NeighborCounter(table, metric).within(table, r).tolist() == expected
        assert NeighborCounter(table, metric).within(asked, r)[:3].tolist() == expected


@given(
    st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), max_size=12),
    st.tuples(st.floats(-50, 50), st.floats(-50, 50)),
    st.sampled_from(metrics()),
    st.integers(1, 5),
)
def test_counts_are_brute_force_and_a_cap_only_ends_them(rows, new, metric, cap):
    table = np.array(rows, dtype=float).reshape(-1, 2)
    more = np.concatenate([table, [new]])
    for r in {metric.distance(new, row) for row in rows[:3]} | {1.0, 0.0}:
        if r != 0 and not 1e-150 <= r <= 1e150:
            continue
        asked = np.concatenate([more, [[0.0, 0.0]]])
        expected = brute_force(table, asked, r, metric)
        near = NeighborCounter(table, metric)
        assert near.within(asked, r).tolist() == expected
        assert near.within(asked, r, cap).tolist() == [min(count, cap) for count in expected]
        step = NeighborCounter(more, metric).within(asked, r) - expected
        assert step.tolist() == [metric.distance(i, new) <= r for i in asked]


values = st.sampled_from([0.0, -0.0, 1.0, -1.0, math.nextafter(1.0, 2.0), 1e-300, 5e-324])


@given(st.lists(st.tuples(values, values), max_size=30), st.lists(st.tuples(values, values)))
def test_copies_are_records_equal_in_every_column(rows, asked):
    table = np.array(rows, dtype=float).reshape(-1, 2)
    places = np.array(asked, dtype=float).reshape(-1, 2)
    metric = declare("euclidean", None, None, 2)
    expected = [int((table == place).all(axis=1).sum()) for place in places]
    near = NeighborCounter(table, metric)
    found = near.copies(places)
    assert found.dtype == np.int64
    assert found.tolist() == expected
    # Whoever equals the place is within every radius of it.
    assert (found <= near.within(places, 0.0)).all()


def test_copies_in_a_large_table():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 4, size=(20_000, 3)).astype(float)
    asked = rng.integers(-1, 5, size=(300, 3)).astype(float)
    near = NeighborCounter(table, declare("hamming", None, None, 3))
    expected = [(table == place).all(axis=1).sum() for place in asked]
    assert near.copies(asked).tolist() == expected
    assert max(expected) > 300


def test_the_digest_is_the_tables_and_not_its_orders():
    rng = np.random.default_rng(1)
    metric = declare("euclidean", None, None, 2)
    table = rng.normal(size=(50, 2))
    table[3:5] = table[2]
    table[7, 0] = -0.0

    def digest(rows):
        return NeighborCounter(rows, metric).digest()

    assert digest(table) == digest(rng.permutation(table))
    table[7, 0] = 0.0
    whole = digest(table)
    assert digest(table) == whole
    others = [table[1:], np.concatenate([table, table[:1]]), table[:, ::-1], np.delete(table, 3, 0)]
    nudged = table.copy()
    nudged[0, 0] = np.nextafter(nudged[0, 0], 9)
    others += [nudged, np.empty((0, 2))]
    assert len({whole, *(digest(o) for o in others)}) == len(others) + 1


def test_minus_zero_has_the_digest_of_zero():
    metric = declare("euclidean", None, None, 1)
    zeros = (NeighborCounter(np.array([[z], [1.0]]), metric).digest() for z in (0.0, -0.0))
    assert len(set(zeros)) == 1


def test_a_table_without_records_counts_none():
    near = NeighborCounter(np.empty((0, 2)), declare("euclidean", None, None, 2))
    places = np.zeros((20, 2))
    assert near.n_records == 0
    for asked in (places[:1], places):
        assert near.within(asked, 1.0).tolist() == near.copies(asked).tolist() == [0] * len(asked)


def test_records_neither_print_nor_travel():
    near = NeighborCounter(np.full((3, 2), 7.25), declare("euclidean", None, None, 2))
    assert repr(near) == "NeighborCounter(...)"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(near)


@pytest.mark.parametrize("wrong", [np.ones((2, 3)), np.ones(2), [[np.nan, 1.0]], [[1.0, np.inf]]])
def test_what_are_no_places(wrong):
    with pytest.raises(ValueError, match="places must h"):
        NeighborCounter(wrong, declare("euclidean", None, None, 2))
