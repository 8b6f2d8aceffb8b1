"""Sums of spends within reach against adding up pair by pair, with many exactly on the edge."""

import math

import numpy as np
import pytest

from isinglass.detect.metric import declare
from isinglass.kernels import ball_sum

WEIGHTS = [0.25, 2.0, 1.0, 4.0, 0.5, 1.0, 3.0]
METRICS = [
    ("euclidean", None),
    ("manhattan", None),
    ("chebyshev", None),
    ("minkowski", 3.0),
    ("hamming", None),
]
SLACK = 1e-150


def within(metric, a, r, b, other):
    return metric.distance(a, b) <= (r + other) * (1 + 1e-9) + SLACK


def plain_sums(metric, places, radii, spends, reaches, micro):
    return [
        sum(
            int(price)
            for spend, reach, price in zip(spends, reaches, micro, strict=True)
            if within(metric, spend, reach, place, r)
        )
        for place, r in zip(places, radii, strict=True)
    ]


def made(n, d, seed, name):
    """Whole numbers: many pairs lie exactly at the sum of their radii."""
    rng = np.random.default_rng(seed)
    most = 4 if d < 3 else 2
    places = rng.integers(-most, most + 1, size=(n, d)).astype(float)
    choices = np.array([0.0, 1 / 3, 0.5] if name == "hamming" else [0.0, 1.0, 2.0, 0.5, 1.5])
    if name in ("euclidean", "manhattan") and d > 2:
        choices *= 2
    return places, rng.choice(choices, size=n), rng.integers(1, 1000, size=n)


def built(metric, places, radii, micro):
    scale = np.ones(places.shape[1] + 1)
    return ball_sum.build(np.column_stack([places, radii]), micro, scale)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "p"), METRICS)
@pytest.mark.parametrize("d", [1, 2, 6, 7])
def test_boxes_and_lists_add_up_like_pairs(name, p, d, weighted):
    metric = declare(name, p, WEIGHTS[:d] if weighted else None, d)
    spends, reaches, micro = made(150, d, 0, name)
    places, radii, _ = made(25, d, 1, name)
    radii[:2] = math.inf, 40.0
    expected = plain_sums(metric, places, radii, spends, reaches, micro)
    assert len(set(expected)) > 3  # neither all nor none

    found = np.zeros(25, dtype=np.int64)
    priced = built(metric, spends, reaches, micro)
    ball_sum.add_reached(metric.kernel, SLACK, places, radii, priced, found)
    assert found.tolist() == expected

    listed = np.zeros(25, dtype=np.int64)
    tiles, slots = ball_sum.in_tiles(np.column_stack([spends, reaches]), 200)
    slots.reshape(-1)[:150] = micro
    ball_sum.add_listed(metric.kernel, SLACK, places, radii, tiles, slots, listed)
    assert listed.tolist() == expected


@pytest.mark.parametrize("n", [1, 63, 64, 65, 4096, 4097, 9000])
def test_any_number_of_spends_keeps_all_of_them(n):
    metric = declare("euclidean", None, None, 6)
    spends, reaches, micro = made(n, 6, 2, "euclidean")
    priced = built(metric, spends, reaches, micro)
    assert ball_sum.size(priced) == n
    rows, prices = ball_sum.spends(priced)
    before = np.column_stack([spends, reaches, micro])
    after = np.column_stack([rows, prices])
    np.testing.assert_array_equal(before[np.lexsort(before.T)], after[np.lexsort(after.T)])
    found = np.zeros(1, dtype=np.int64)
    ball_sum.add_reached(
        metric.kernel, SLACK, np.zeros((1, 6)), np.array([math.inf]), priced, found
    )
    assert found[0] == micro.sum()
    # Six columns have a scan of their own; NumPy adds the same squares in the same order.
    asked = spends[: min(n, 20)] + 0.5
    total = np.zeros((len(asked), n))
    for c in range(6):
        total += (asked[:, c, None] - spends[:, c]) ** 2
    near = np.sqrt(total) <= (reaches + 1.0) * (1 + 1e-9) + SLACK
    found = np.zeros(len(asked), dtype=np.int64)
    ball_sum.add_reached(metric.kernel, SLACK, asked, np.ones(len(asked)), priced, found)
    assert found.tolist() == (near * micro).sum(axis=1).tolist()


@pytest.mark.parametrize("cap", [1, 700, 3000, 2**62])
def test_turns_are_taken_like_a_loop_takes_them(cap):
    metric = declare("manhattan", None, None, 2)
    places, radii, micro = made(150, 2, 3, "manhattan")
    before = np.random.default_rng(4).integers(0, 500, size=150)
    found, paid, expected = before.copy(), [], []
    for i in range(150):
        spent = before[i] + sum(
            paid[j] for j in range(i) if within(metric, places[j], radii[j], places[i], radii[i])
        )
        expected.append(spent)
        paid.append(int(micro[i]) if spent + micro[i] <= cap else 0)
    tiles, slots = ball_sum.in_tiles(np.column_stack([places, radii]), 150)
    ball_sum.take_turns(metric.kernel, SLACK, places, radii, micro, cap, tiles, found, slots)
    assert found.tolist() == expected
    assert slots.reshape(-1)[:150].tolist() == paid
    assert not slots.reshape(-1)[150:].any()


def test_sums_stop_before_they_could_turn_over():
    metric = declare("euclidean", None, None, 1)
    priced = built(metric, np.zeros((9000, 1)), np.zeros(9000), np.full(9000, 10**12))
    priced[3][:] = 2**61  # as if the groups were worth far more: three of them pass 2**63
    found = np.array([ball_sum.FULL - 1])
    ball_sum.add_reached(metric.kernel, SLACK, np.zeros((1, 1)), np.zeros(1), priced, found)
    assert found[0] == ball_sum.FULL
