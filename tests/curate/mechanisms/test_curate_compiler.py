"""The compiler: errors as constructed, and refusals of what is not valid to begin with."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from isinglass.chance import Coin
from isinglass.curate.mechanisms.compiler import compile_mechanism
from isinglass.curate.mechanisms.mechanism import (
    Mechanism,
    Present,
    bounded_mechanism,
    dp_mechanism,
    sensitive_mechanism,
    sparse_mechanism,
)
from isinglass.curate.questions.builtin import presence_distance, sensitive_distance
from isinglass.errors import PrivacyWarning


@pytest.mark.parametrize("cap", [None, 1])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("half", ["0.05", "0.500001"])
def test_the_error_is_the_given_one_times_the_gain(half, k, cap):
    given = dp_mechanism(5, 1.0, half, cap=cap)
    compiled = compile_mechanism(given, k=k)
    e = 2 * float(half)
    assert compiled.micro == 2 * given.micro
    for near in range(14):
        for own in range(near + 1):
            gain = sensitive_distance(own, near, 5, k) - presence_distance(own, near, 5)
            expected = given.error_probability(own, near) * math.exp(-e * gain / 4)
            assert compiled.error_probability(own, near) == pytest.approx(expected, rel=1e-12)
            assert compiled.anomalous(own, near) is given.anomalous(own, near)


def test_the_constant_error_is_a_cap_of_one():
    given = dp_mechanism(5, 1.0, 1, cap=1)
    for counts in [(0, 0), (3, 3), (1, 50)]:
        assert given.error_probability(*counts) == pytest.approx(1 / (1 + math.e), rel=1e-15)


def test_it_errs_less_than_what_it_was_given_and_more_than_the_direct_way():
    given = dp_mechanism(9, 1.0, "0.1")
    compiled, direct = compile_mechanism(given, k=2), sensitive_mechanism(9, 1.0, "0.2", k=2)
    less = 0
    for near in range(20):
        for own in range(near + 1):
            errors = [m.error_probability(own, near) for m in (direct, compiled, given)]
            assert errors == sorted(errors)
            less += errors[1] < errors[2]
    assert less > 0


def test_its_guarantee_is_sensitive_and_its_worst_case_bounds_the_real_one():
    compiled = compile_mechanism(dp_mechanism(7, 1.0, "0.25"), k=2)
    promise = compiled.guarantee()
    assert (promise.privacy, promise.k, promise.epsilon) == ("sensitive", 2, 0.5)
    assert promise.mode == "compiled dp"
    losses = [compiled.loss((1, near), (0, near - 1)) for near in range(1, 12)]
    assert max(losses) == losses[0] <= promise.worst_case


def test_it_is_charged_where_the_given_one_is():
    class Everywhere(Present):
        def __post_init__(self):
            super().__post_init__()
            object.__setattr__(self, "influence", math.inf)

    near, far = Present(5, 2.0), Everywhere(5, 2.0)
    assert compile_mechanism(bounded_mechanism(near, 1)).question.influence == 2.0
    assert compile_mechanism(bounded_mechanism(far, 1)).question.influence == math.inf


class Never(Mechanism):
    """Always "no": differentially private at any price, and always wrong about anomalies."""

    def error_probability(self, *counts):
        return float(self.anomalous(*counts))


class Steep(Present):
    """Distances that change by 2, declared to change by 1."""

    def distance(self, *counts):
        return 2 * super().distance(*counts) - 1


DP = dp_mechanism(5, 1.0, "0.1")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (sensitive_mechanism(5, 1.0, "0.1"), "must be differentially private, got sensitive"),
        (sparse_mechanism(5, 1.0, "0.1"), "must answer whether a record is present .*'sparse'"),
        (Never(**vars(DP)), "must err with the chance of its coin"),
        (
            replace(DP, coin=Coin(Fraction(1, 10), most=444)),
            "must not err so often .* up to 0.55 never do, got 0.9",
        ),
        (bounded_mechanism(Steep(5, 1.0), "0.1"), "must be differentially private at its own"),
        (replace(DP, micro=50_000), "must be differentially private at its own price 0.05"),
    ],
)
def test_an_invalid_mechanism_is_refused_with_the_reason(given, reason):
    with pytest.raises(ValueError, match=f"^mechanism {reason}"):
        compile_mechanism(given)


def test_a_valid_question_of_ones_own_is_accepted():
    class Mine(Present):
        pass

    ours = compile_mechanism(bounded_mechanism(Mine(5, 1.0), "0.1"))
    assert ours.error_probability(1, 1) == compile_mechanism(DP).error_probability(1, 1)


def test_k_is_checked():
    with pytest.raises(ValueError, match="k must be at most beta"):
        compile_mechanism(DP, k=6)
    with pytest.warns(PrivacyWarning, match="no gain over dp"):
        compile_mechanism(DP, k=5)
