"""The index of spends: exactly what pairs say, however spends came in, and nothing ever lost."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isinglass.curate.ledger import spend_index as module
from isinglass.curate.ledger.spend_index import Reach
from isinglass.detect.metric import METRICS, declare
from isinglass.kernels import ball_sum

WEIGHTS = np.array([0.25, 2.0, 1.0, 4.0, 0.5, 3.0])


def metric_of(name, d, weighted=False):
    return declare(name, 2.5 if name == "minkowski" else None, WEIGHTS[:d] if weighted else None, d)


def within(metric, a, r, b, other):
    if math.isinf(r + other):
        return True
    slack = 1e-150 * (max(1.0, math.sqrt(metric.weights.max())) if metric.weighted else 1)
    return metric.distance(a, b) <= (r + other) * (1 + 1e-9) + slack


def plain(metric, spends, place, r):
    return sum(price for a, s, price in spends if within(metric, a, s, place, r))


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """A short list and short chunks, so that a few hundred spends make several blocks."""
    monkeypatch.setattr(module, "_TAIL", 64)
    monkeypatch.setattr(module, "_CHUNK", 70)


@given(
    name=st.sampled_from(METRICS),
    d=st.integers(1, 6),
    weighted=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(0, 150), min_size=1, max_size=5),
)
@settings(max_examples=60)
def test_sums_are_those_of_all_pairs(name, d, weighted, seed, sizes):
    metric = metric_of(name, d, weighted)
    rng = np.random.default_rng(seed)
    radii = [0.0, 0.5, 1.0, 2.0, math.inf] if name != "hamming" else [0.0, 0.25, 0.5, 1.0, math.inf]
    chances = [0.2, 0.2, 0.3, 0.28, 0.02]
    index, spends = Reach(metric), []
    for size in sizes:
        places = rng.integers(-3, 4, size=(size, d)).astype(float)
        reaches = rng.choice(radii, p=chances, size=size)
        micro = rng.integers(0, 10**6, size=size)
        index.extend(places, reaches, micro)
        spends += zip(places, reaches, micro.tolist(), strict=True)
    assert len(index) == sum(sizes)
    asked = rng.integers(-3, 4, size=(8, d)).astype(float)
    own = rng.choice(radii, p=chances, size=8)
    expected = [plain(metric, spends, a, r) for a, r in zip(asked, own, strict=True)]
    assert index.sums(asked, own).tolist() == expected
    assert [int(index.sums(asked[k : k + 1], own[k])[0]) for k in range(8)] == expected


@pytest.mark.parametrize("name", METRICS)
def test_a_list_in_order_is_one_after_another(name):
    metric = metric_of(name, 3)
    rng = np.random.default_rng(5)
    index, twin = Reach(metric), Reach(metric)
    for one in (index, twin):
        one.extend(np.eye(3), [1.0, 0.0, math.inf], [5, 7, 11])
    places = rng.integers(-3, 4, size=(400, 3)).astype(float)
    radii = rng.choice([0.0, 0.3, 1.0, 2.0, math.inf], p=[0.3, 0.3, 0.2, 0.19, 0.01], size=400)
    micro = rng.integers(1, 100, size=400)
    expected = []
    for k in range(400):
        expected.append(int(twin.sums(places[k : k + 1], radii[k])[0]))
        twin.extend(places[k : k + 1], radii[k], micro[k : k + 1])
    assert index.in_order(places, radii, micro).tolist() == expected
    assert len(index) == 3  # asking in order takes nothing in
    assert index.in_order(places[:0], radii[:0], micro[:0]).shape == (0,)


def test_what_a_cap_refuses_is_skipped_and_costs_nothing():
    metric = metric_of("euclidean", 2)
    rng = np.random.default_rng(6)
    places = rng.integers(-6, 7, size=(400, 2)).astype(float)
    micro = rng.integers(1, 100, size=400)
    twin, expected = Reach(metric), []
    for k in range(400):
        fits = int(twin.sums(places[k : k + 1], 1.0)[0]) + micro[k] <= 250
        expected.append(int(micro[k]) if fits else 0)
        if fits:
            twin.extend(places[k : k + 1], 1.0, micro[k : k + 1])
    assert Reach(metric).taken(places, 1.0, micro, 250).tolist() == expected
    assert 0 < sum(price == 0 for price in expected) < 400


# Differences that vanish when squared, and weights that would bring them back; none overflows.
EXTREMES = [0.0, 5e-324, 1.5e-162, 3e-162, 1e-150, 1.0, 1 + 2**-52, 0.1, 1e10, 1e140, 1e150]


@given(
    name=st.sampled_from(METRICS),
    heavy=st.sampled_from([None, 1e-100, 1e100, 0.3]),
    d=st.integers(1, 3),
    data=st.data(),
)
@settings(max_examples=400)
def test_balls_that_share_a_place_are_within_reach(name, heavy, d, data):
    """The one fact the spatial rule rests on, however distances round."""
    weights = None if heavy is None else [heavy, 1.0, 0.7][:d]
    metric = declare(name, 2.5 if name == "minkowski" else None, weights, d)
    number = st.one_of(
        st.sampled_from(EXTREMES),
        st.sampled_from(EXTREMES).map(lambda x: -x),
        st.floats(-1e150, 1e150),
        st.integers(-5, 5).map(float),
    )
    place = st.lists(number, min_size=d, max_size=d).map(np.array)
    a, b = data.draw(place), data.draw(place)
    shared = data.draw(st.one_of(place, st.just(a / 2 + b / 2), st.just(0.3 * a + 0.7 * b)))
    # The smallest radii that touch the shared place: the two balls meet there and nowhere else.
    r, s = metric.distance(a, shared), metric.distance(b, shared)
    assume(max(r, s) <= 1e150)
    index = Reach(metric)
    index.extend([a], r, [3])
    assert index.sums([b], s).tolist() == [3]
    index.extend(np.tile(a, (64, 1)), r, 3)  # now in boxes
    assert index.sums([b], s).tolist() == [195]


@pytest.mark.parametrize("weight", [None, [1e100]])
def test_balls_whose_radius_vanished_are_within_reach(weight):
    """Squares below 5e-324 vanish: 0 and 3e-162 are at distance 0 of the middle, not of each other.

    A weight enlarges what is left of the square when it no longer vanishes.
    """
    metric = declare("euclidean", None, weight, 1)
    assert metric.distance([0.0], [1.5e-162]) == metric.distance([3e-162], [1.5e-162]) == 0
    assert metric.distance([0.0], [3e-162]) > 0
    index = Reach(metric)
    index.extend([[0.0]], 0.0, [3])
    assert index.sums([[3e-162]], 0.0).tolist() == [3]


def test_an_interrupted_merge_loses_no_spend(monkeypatch):
    metric = metric_of("euclidean", 2)
    index = Reach(metric)
    index.extend(np.zeros((100, 2)), 1.0, 1)
    index.extend(np.zeros((60, 2)), 1.0, 1)

    def fails(*args):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(ball_sum, "build", fails)
        with pytest.raises(MemoryError):
            index.extend(np.zeros((300, 2)), 1.0, 1)
    assert index.sums(np.zeros((1, 2)), 1.0).tolist() == [160]
    index.extend(np.zeros((300, 2)), 1.0, 1)
    assert index.sums(np.zeros((1, 2)), 1.0).tolist() == [460]


def test_single_spends_are_moved_a_few_times_each(monkeypatch):
    built, build = [], ball_sum.build

    def counted(rows, micro, scale):
        built.append(len(rows))
        return build(rows, micro, scale)

    monkeypatch.setattr(ball_sum, "build", counted)
    monkeypatch.setattr(module, "_LARGE", 2048)
    index = Reach(metric_of("euclidean", 2))
    places = np.random.default_rng(7).normal(size=(8000, 2))
    for k in range(8000):
        index.extend(places[k : k + 1], 0.1, [k])
    assert sum(built) <= 8000 * (math.log2(2048 / 64) + 2)
    assert max(built) <= 2 * 2048  # no spend waits for a block of everything
    assert len(index._blocks) <= 8000 / 2048 + math.log2(2048 / 64) + 1
    assert index.sums(np.zeros((1, 2)), math.inf).tolist() == [8000 * 7999 // 2]


@pytest.mark.parametrize(
    ("places", "radii", "micro", "rule"),
    [
        ([[7654321.0, math.nan]], 1.0, [1], "places must hold numbers between"),
        ([[7654321.0, math.inf]], 1.0, [1], "places must hold numbers between"),
        ([[7654321.0, 1e151]], 1.0, [1], "places must hold numbers between"),
        ([[7654321.0]], 1.0, [1], "places must have 2 columns"),
        ([7654321.0, 1.0], 1.0, [1], "places must have 2 columns"),
        ([[7654321.0, 1.0]], math.nan, [1], "radii must be between"),
        ([[7654321.0, 1.0]], -1.0, [1], "radii must be between"),
        ([[7654321.0, 1.0]], 1e151, [1], "radii must be between"),
        ([[7654321.0, 1.0]], 1.0, [-1], "micro must be between"),
        ([[7654321.0, 1.0]], 1.0, [10**12 + 1], "micro must be between"),
        ([[7654321.0, 1.0]], 1.0, [0.5], "micro must be whole numbers"),
    ],
)
def test_what_cannot_be_counted_is_refused_and_not_shown(places, radii, micro, rule):
    index = Reach(metric_of("euclidean", 2))
    with pytest.raises(ValueError, match=rule) as refusal:
        index.extend(places, radii, micro)
    assert "7654321" not in str(refusal.value)
    assert len(index) == 0
