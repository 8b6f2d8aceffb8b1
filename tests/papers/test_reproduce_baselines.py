"""The baselines: closed forms, and what they really cost."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binomtest, laplace

from isinglass_papers.sensitive.baselines import b1, b2, packing


def chance_by_quadrature(n_anomalies, n_records, a, b, t):
    """P(O + X > t (N + Y)), integrating over Y."""

    def given(y):
        return laplace.sf(t * (n_records + y) - n_anomalies, scale=a) * laplace.pdf(y, scale=b)

    kink = n_anomalies / t - n_records
    pieces = sorted({-60 * b, 0.0, min(max(kink, -60 * b), 60 * b), 60 * b})
    return sum(quad(given, low, high, epsabs=1e-13)[0] for low, high in itertools.pairwise(pieces))


@pytest.mark.parametrize("t", [0.02, 0.1, 0.5, 0.999999, 1.0])
@pytest.mark.parametrize(("found", "records"), [(0, 3), (5, 50), (9, 20), (3, 3)])
@pytest.mark.parametrize("make", [b1, b2])
def test_the_chance_is_that_of_two_laplace_variables(make, found, records, t):
    e, beta = 0.25, 4
    a = (beta if make is b2 else 1) / e
    expected = chance_by_quadrature(found, records, a, 1 / e, t)
    assert make(beta, e, threshold=t).chance(found, records) == pytest.approx(expected, abs=1e-8)


def test_a_threshold_of_zero_leaves_one_laplace_variable():
    assert b1(4, 0.5, threshold=0).chance(6, 100) == pytest.approx(1 - math.exp(-3) / 2)
    assert b2(4, 0.5, threshold=0).chance(6, 100) == pytest.approx(1 - math.exp(-0.75) / 2)


def test_draws_have_the_chance_and_not_one_thirty_percent_off():
    rng, n, t = np.random.default_rng(2), 100_000, 0.1
    noise = rng.laplace(scale=10, size=(2, n))
    yes = int((5 + noise[0] > t * (100 + noise[1])).sum())
    p = b1(3, 0.1, threshold=t).chance(5, 100)
    assert binomtest(yes, n, p).pvalue > 1e-4
    assert binomtest(yes, n, 1.3 * p).pvalue < 1e-12


def test_errors_on_anomalies_and_on_the_rest_add_up_to_one():
    baseline = b2(5, 0.1, threshold=0.05)
    errors = [baseline.error_probability(kind, 12, 300) for kind in (True, False)]
    assert sum(errors) == pytest.approx(1)
    assert errors[1] == baseline.chance(12, 300)


def anomalies(table, beta):
    """Records of {1..n} with at most beta within 1."""
    padded = (0, *table, 0)
    near = [sum(padded[i : i + 3]) for i in range(len(table))]
    return sum(own for own, b in zip(table, near, strict=True) if b <= beta)


@pytest.mark.parametrize(("beta", "sensitivity"), [(1, 2), (2, 4), (3, 6)])
def test_one_record_makes_or_undoes_twice_beta_anomalies_on_a_line(beta, sensitivity):
    e, t, worst = 0.5, 0.3, 0
    baselines = b1(beta, e, threshold=t), b2(beta, e, threshold=t)
    assert packing(1, 1.0) * beta == sensitivity
    losses = dict.fromkeys(baselines, 0.0)
    chances: dict[tuple[object, int, int], float] = {}
    for table in itertools.product(range(4), repeat=5):
        before = anomalies(table, beta), sum(table)
        for j in range(5):
            more = (*table[:j], table[j] + 1, *table[j + 1 :])
            after = anomalies(more, beta), sum(more)
            worst = max(worst, abs(after[0] - before[0]))
            for baseline in baselines:
                for facts in (before, after):
                    if (baseline, *facts) not in chances:
                        chances[baseline, *facts] = baseline.chance(*facts)
                p, q = chances[baseline, *before], chances[baseline, *after]
                loss = max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))
                losses[baseline] = max(losses[baseline], loss)
    assert worst == sensitivity
    for baseline in baselines:
        assert losses[baseline] <= baseline.real_epsilon(2)
    assert losses[baselines[0]] > e  # B1 is not private at its nominal price


def test_the_printed_pair_of_tables():
    assert anomalies((0, 0, 3, 0, 3), 3) == 6
    assert anomalies((0, 0, 3, 1, 3), 3) == 0


@pytest.mark.parametrize(("n_columns", "tau"), [(1, 2), (2, 5), (3, 12)])
def test_so_many_points_of_a_ball_are_pairwise_farther_apart_than_its_radius(n_columns, tau):
    assert packing(n_columns, 1.0) == tau
    golden = (1 + 5**0.5) / 2
    points = {
        1: [(-1.0,), (1.0,)],
        2: [(math.cos(0.4 * math.pi * i), math.sin(0.4 * math.pi * i)) for i in range(5)],
        3: [
            tuple(np.roll((0, s, u * golden), shift) / math.hypot(1, golden))
            for shift in range(3)
            for s in (-1, 1)
            for u in (-1, 1)
        ],
    }[n_columns]
    assert len(points) == tau
    assert all(math.dist(a, (0,) * n_columns) <= 1 + 1e-12 for a in points)
    assert all(math.dist(a, b) > 1.01 for a, b in itertools.combinations(points, 2))


def test_real_prices():
    assert b1(5, "0.1", threshold=0.1).real_epsilon(2) == 1.1
    assert b2(5, "0.1", threshold=0.1).real_epsilon(2) == 0.3
    assert packing(9, 0.0) == 1


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan])
def test_thresholds_are_checked(threshold):
    with pytest.raises(ValueError, match="threshold must be between 0 and 1"):
        b1(5, 0.1, threshold=threshold)


def test_packings_that_are_not_known_are_not_guessed():
    with pytest.raises(ValueError, match="n_columns must be 1, 2 or 3"):
        packing(4, 1.0)
