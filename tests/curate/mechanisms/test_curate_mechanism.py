"""Mechanisms: printed values, distances against brute force, and what an answer consumes."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from scipy.stats import binomtest

from isinglass.curate.mechanisms import mechanism as made
from isinglass.curate.mechanisms.mechanism import (
    Question,
    bounded_mechanism,
    dp_mechanism,
    sensitive_mechanism,
    sparse_mechanism,
)
from isinglass.curate.questions.builtin import (
    presence_distance,
    sensitive_distance,
    sparse_distance,
)

# (x_i, B, beta, k), the true answer, both distances, errors of sensitive and dp at epsilon .1
GOLDEN = [
    ((0, 0, 5, 1), 0, 1, 5, 0.318415973, 0.475020813),
    ((0, 4, 5, 1), 0, 1, 1, 0.475020813, 0.475020813),
    ((0, 5, 5, 1), 0, 2, 2, 0.429816606, 0.429816606),
    ((0, 7, 5, 1), 0, 4, 4, 0.351904073, 0.351904073),
    ((1, 1, 5, 1), 1, 1, 5, 0.318415973, 0.475020813),
    ((2, 2, 5, 1), 1, 2, 4, 0.351904073, 0.429816606),
    ((3, 3, 5, 1), 1, 3, 3, 0.388914148, 0.388914148),
    ((1, 5, 5, 1), 1, 1, 1, 0.475020813, 0.475020813),
    ((1, 6, 5, 1), 0, 1, 1, 0.475020813, 0.475020813),
    ((2, 9, 5, 1), 0, 4, 4, 0.351904073, 0.351904073),
    ((1, 1, 5, 2), 1, 1, 4, 0.351904073, 0.475020813),
    ((1, 1, 5, 5), 1, 1, 1, 0.475020813, 0.475020813),
    ((0, 2, 5, 3), 0, 1, 1, 0.475020813, 0.475020813),
    ((4, 4, 5, 3), 1, 2, 2, 0.429816606, 0.429816606),
    ((1, 1, 97, 1), 1, 1, 97, 3.2172559e-5, 0.475020813),
    ((1, 1, 282, 1), 1, 1, 282, 2.9719240e-13, 0.475020813),
    ((1, 1, 55, 1), 1, 1, 55, 0.00214546995, 0.475020813),
    ((1, 1, 18, 1), 1, 1, 18, 0.0867784760, 0.475020813),
]


@pytest.mark.parametrize(("counts", "true", "plain", "bound", "sensitive", "dp"), GOLDEN)
def test_printed_distances_and_errors(counts, true, plain, bound, sensitive, dp):
    own, near, beta, k = counts
    assert presence_distance(own, near, beta) == plain
    assert sensitive_distance(own, near, beta, k) == bound
    for mechanism, error in (
        (sensitive_mechanism(beta, 1.0, 0.1, k=k), sensitive),
        (dp_mechanism(beta, 1.0, 0.1), dp),
    ):
        assert mechanism.anomalous(own, near) is bool(true)
        assert mechanism.error_probability(own, near) == pytest.approx(error, rel=5e-9)


def test_beyond_beta_the_bound_is_that_of_differential_privacy():
    assert sensitive_distance(1, 1, 5, 6) == presence_distance(1, 1, 5) == 1


@pytest.mark.parametrize(
    ("counts", "loss"),
    [
        ((1, 1, 5, 1), 0.761061),
        ((1, 3, 5, 1), 0.451879),
        ((1, 1, 5, 3), 0.451879),
        ((1, 1, 18, 1), 2.353620),
        ((2, 2, 5, 1), 0.1),
        ((3, 3, 5, 1), 0.1),
        ((1, 5, 5, 1), 0.1),
        ((1, 6, 5, 1), 0.1),
        ((1, 1, 5, 5), 0.1),
    ],
)
def test_printed_losses_of_the_record_asked_about(counts, loss):
    own, near, beta, k = counts
    mechanism = sensitive_mechanism(beta, 1.0, 0.1, k=k)
    found = mechanism.loss((own, near), (own - 1, near - 1))
    assert found == pytest.approx(loss, abs=5e-7)


@pytest.mark.parametrize("e", [0.1, 1])
@pytest.mark.parametrize(("beta", "k"), [(5, 1), (5, 3), (9, 2), (5, 5)])
def test_the_closed_form_of_that_loss_and_its_worst_case(e, beta, k):
    mechanism = sensitive_mechanism(beta, 1.0, e, k=k, cap=10**6)
    losses = {}
    for near in range(1, beta + 4):
        for own in range(1, near + 1):
            loss = mechanism.loss((own, near), (own - 1, near - 1))
            losses[own, near] = loss
            if own == 1 and near < beta + 1 - k:
                bound = beta + 2 - near - k
                closed = math.log((1 + math.exp(e)) * math.exp(e * (bound - 1)) - 1)
                assert loss == pytest.approx(closed, rel=1e-12)
            else:
                assert loss <= e * (1 + 1e-12)
    assert max(losses.values()) == losses[1, 1]
    assert mechanism.guarantee().worst_case == pytest.approx(losses[1, 1], rel=1e-12)


@pytest.mark.parametrize(
    ("near", "sparse", "distance"), [(0, True, 5), (4, True, 1), (5, False, 1), (9, False, 5)]
)
def test_printed_values_of_the_sparse_question(near, sparse, distance):
    mechanism = sparse_mechanism(5, 1.0, 0.1)
    assert mechanism.anomalous(0, near) is sparse
    assert mechanism.multiple(0, near) == distance
    without = sparse_mechanism(5, 1.0, 0.1, count_query=False)
    assert without.anomalous(0, near + 1) is sparse
    assert without.multiple(0, near + 1) == distance


@pytest.mark.parametrize("e", [0.1, 1])
@pytest.mark.parametrize("count_query", [True, False])
def test_sparse_is_a_count_with_discrete_laplace_noise_compared_with_beta(e, count_query):
    beta, q = 4, math.exp(-e)
    mechanism = sparse_mechanism(beta, 1.0, e, count_query=count_query)
    for near in range(12):
        noisy = range(-600, beta - near - count_query + 1)  # noise that leaves it at most beta
        yes = sum((1 - q) / (1 + q) * q ** abs(z) for z in noisy)
        wrong = mechanism.error_probability(0, near)
        assert (1 - wrong if mechanism.anomalous(0, near) else wrong) == pytest.approx(yes)


def test_the_dp_question_is_no_noisy_count():
    """The docstring says so: no shift of the count gives its chances for a record present."""
    mechanism = dp_mechanism(5, 1.0, 0.1)
    assert mechanism.multiple(1, 1) == mechanism.multiple(1, 2) == 1


@pytest.mark.parametrize("epsilon", ["0.000001", "0.01", "0.1", "1", "7.3", "100", "1000000"])
def test_the_default_cap_leaves_no_error_to_speak_of(epsilon):
    mechanism = sparse_mechanism(5, 1.0, epsilon)
    e = Fraction(epsilon)
    assert mechanism.cap == math.ceil(Fraction("44.4") / e)
    assert mechanism.coin.probability(mechanism.cap) < 2**-64
    assert mechanism.coin.unit == mechanism.coin.base == Fraction(mechanism.micro, 10**6) == e


def test_a_cap_raises_small_errors_and_leaves_the_others():
    free, capped = dp_mechanism(5, 1.0, 1), dp_mechanism(5, 1.0, 1, cap=3)
    for near in range(20):
        for own in range(near + 1):
            floor = capped.coin.probability(3)
            expected = max(free.error_probability(own, near), floor)
            assert capped.error_probability(own, near) == expected


@pytest.mark.parametrize("counts", [(0, 0), (1, 1), (1, 9)])
def test_answers_err_with_the_stated_chance_and_draw_one_word_each(counts):
    mechanism, source, asked = sensitive_mechanism(3, 1.0, 0.5), random.Random(4).randbytes, []

    def draw(n):
        asked.append(n)
        return source(n)

    n, p = 40_000, mechanism.error_probability(*counts)
    true = mechanism.anomalous(*counts)
    wrong = sum(mechanism.answer(*counts, draw=draw) is not true for _ in range(n))
    assert asked == [32] * n
    assert binomtest(wrong, n, p).pvalue > 1e-4
    assert binomtest(wrong, n, 1.3 * p).pvalue < 1e-12


def test_without_noise_to_speak_of_the_truth_is_told():
    mechanism = sparse_mechanism(5, 1.0, 1000)
    assert [mechanism.answer(0, near) for near in range(8)] == [True] * 5 + [False] * 3


class Twice(Question):
    """A question of one's own, whose distance moves by 2 a record."""

    name, beta, r, lipschitz = "twice", 3, 1.0, 2

    def look(self, table, places, cap):
        return table.within(places, self.r)[:, None]

    def anomalous(self, *counts):
        return counts[0] <= 3

    def distance(self, *counts):
        return 2 * sparse_distance(counts[0], 3) - 1


def test_a_bound_that_moves_twice_as_fast_costs_twice_as_much():
    mechanism = bounded_mechanism(Twice(), "0.1")
    assert mechanism.micro == 200_000
    assert mechanism.coin.unit == Fraction(1, 10)
    assert mechanism.question.influence == math.inf
    assert mechanism.guarantee().epsilon == 0.2


def test_a_distance_below_one_never_raises_and_never_makes_a_likely_error():
    class Broken(Twice):
        def distance(self, *counts):
            return -3

    mechanism = bounded_mechanism(Broken(), 1)
    assert mechanism.multiple(0) == 1


def test_guarantees_carry_the_settings_and_nothing_else():
    kept = sensitive_mechanism(9.9, 2, "0.25", k=2).guarantee(
        cap=10**6, records_per_person=3, timing_covered=True, also_released=True
    )
    assert (kept.mode, kept.privacy, kept.micro, kept.cap) == (
        "sensitive",
        "sensitive",
        250000,
        10**6,
    )
    assert (kept.beta, kept.r, kept.k, kept.unit) == (9, 2.0, 2, "record")
    assert (kept.records_per_person, kept.timing_covered, kept.also_released) == (3, True, True)
    for mechanism in (sparse_mechanism(5, 1, 1), dp_mechanism(5, 1, 1)):
        assert mechanism.guarantee().privacy == "differential"
        assert mechanism.question.influence == 1.0


def test_coins_of_one_price_are_made_once():
    assert dp_mechanism(5, 1.0, 0.1).coin is sparse_mechanism(9, 2.0, "0.1").coin


def test_mechanisms_with_the_same_settings_are_equal_and_print_no_coin():
    assert sparse_mechanism(5, 1, "0.1") == sparse_mechanism(5.5, 1.0, 0.1)
    assert "oin" not in repr(sparse_mechanism(5, 1, 0.1))
    assert set(made.__all__) >= {"Look", "Mechanism", "Question", "Sparse", "Present", "Sensitive"}
