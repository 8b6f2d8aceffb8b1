"""Questions: what they look at, and which settings they accept."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

from isinglass.curate.mechanisms.mechanism import (
    Present,
    Question,
    Sensitive,
    Sparse,
    bounded_mechanism,
    dp_mechanism,
    sensitive_mechanism,
    sparse_mechanism,
)
from isinglass.errors import PrivacyWarning


class Recorded:
    """A table that gives fixed counts and remembers what was asked of it."""

    def __init__(self, own: int, near: int) -> None:
        self.counts, self.asked = (own, near), []

    def within(self, places, r, cap=None):
        self.asked.append(("within", r, cap))
        return np.full(len(places), min(self.counts[1], cap))

    def copies(self, places):
        self.asked.append(("copies",))
        return np.full(len(places), self.counts[0])


@pytest.mark.parametrize("own_near", [(0, 0), (0, 9), (1, 1), (3, 3), (50, 60)])
@pytest.mark.parametrize("cap", [1, 2, 7])
@pytest.mark.parametrize("question", [Sparse(3, 2.0), Present(3, 2.0), Sensitive(3, 2.0)])
def test_a_look_asks_the_same_whatever_it_finds_and_stops_where_the_cap_allows(
    own_near, cap, question
):
    table = Recorded(*own_near)
    counts = question.look(table, np.zeros((2, 1)), cap)
    assert counts.shape == (2, 2)
    expected = [("within", 2.0, 3 + cap), ("copies",)]
    assert table.asked == (expected[:1] if question.name == "sparse" else expected)
    mechanism = bounded_mechanism(question, 1, cap=cap)
    own, near = counts[1].tolist()
    assert own <= near
    assert mechanism.anomalous(own, near) is mechanism.anomalous(*own_near)
    assert mechanism.multiple(own, near) == mechanism.multiple(*own_near)


class Mine(Question):
    """A question of one's own, with a price of twice epsilon."""

    name, beta, r, lipschitz = "mine", 3, 1.0, 2

    def look(self, table, places, cap):
        return table.within(places, self.r)[:, None]

    def anomalous(self, *counts):
        return counts[0] <= 3

    def distance(self, *counts):
        return 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sparse_mechanism(0.9, 1, 1), "beta must be >= 1 and finite, got 0.9"),
        (lambda: sparse_mechanism(math.nan, 1, 1), "beta must be"),
        (lambda: sparse_mechanism("5", 1, 1), "beta must be"),
        (lambda: dp_mechanism(math.inf, 1, 1), "beta must be"),
        (lambda: dp_mechanism(5, -1, 1), "r must be 0, or between 1e-150 and 1e150, got -1"),
        (lambda: dp_mechanism(5, math.nan, 1), "r must be"),
        (lambda: dp_mechanism(5, math.inf, 1), "r must be"),
        (lambda: dp_mechanism(5, 1e-200, 1), "r must be"),
        (lambda: sensitive_mechanism(5, 1, 1, k=0), "k must be a whole number >= 1, got 0"),
        (lambda: sensitive_mechanism(5, 1, 1, k=1.5), "k must be a whole number"),
        (lambda: sensitive_mechanism(5, 1, 1, k=True), "k must be a whole number"),
        (lambda: sensitive_mechanism(5, 1, 1, k=6), "k must be at most beta, which is 5, got 6"),
        (lambda: sparse_mechanism(5, 1, 0), "epsilon must be a number > 0"),
        (lambda: sparse_mechanism(5, 1, 1, cap=0), "cap must be a whole number >= 1, got 0"),
        (lambda: sparse_mechanism(5, 1, 1, cap=2.5), "cap must be a whole number"),
        (lambda: sparse_mechanism(5, 1, 1, count_query=2), "count_query must be True or False"),
        (lambda: bounded_mechanism("sparse", 1), "question must be a Question, got str"),
        (lambda: bounded_mechanism(Mine(), 10**6), "epsilon times lipschitz must be"),
    ],
)
def test_settings_are_checked(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("lipschitz", "privacy"), [(0, "differential"), (1, "other")])
def test_declarations_of_a_question_are_checked(lipschitz, privacy):
    question = Mine()
    question.lipschitz, question.privacy = lipschitz, privacy
    with pytest.raises(ValueError, match=r"(lipschitz|privacy) must be"):
        bounded_mechanism(question, 1)


def test_k_as_large_as_beta_is_warned_of_and_smaller_is_not():
    with pytest.warns(PrivacyWarning, match="no gain over dp"):
        same = sensitive_mechanism(4, 1, 1, k=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sensitive_mechanism(4, 1, 1, k=3)
    plain = dp_mechanism(4, 1, 1)
    for own, near in itertools.combinations_with_replacement(range(12), 2):
        assert same.multiple(own, near) == plain.multiple(own, near)
