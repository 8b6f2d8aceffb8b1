"""The falsifier: it finds nothing wrong with what is right, and what is wrong with the rest."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from isinglass.curate.mechanisms.compiler import compile_mechanism
from isinglass.curate.mechanisms.falsify import falsify
from isinglass.curate.mechanisms.mechanism import (
    Question,
    Sparse,
    bounded_mechanism,
    dp_mechanism,
    sensitive_mechanism,
    sparse_mechanism,
)
from isinglass.curate.questions.builtin import sensitive_distance
from isinglass.detect.metric import declare

pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")

UNIVERSES = [([1, 2, 3, 4, 5], 1.0), ([1, 2, 3, 4], 1.0)]
CAPS = [None, 1, 2, 3]


@pytest.mark.parametrize(("universe", "r"), UNIVERSES)
@pytest.mark.parametrize("beta", [1, 2, 3])
@pytest.mark.parametrize("e", [0.1, 1])
def test_differentially_private_mechanisms_keep_their_promise_exactly(universe, r, beta, e):
    for cap in CAPS:
        for mechanism in (
            sparse_mechanism(beta, r, e, cap=cap),
            sparse_mechanism(beta, r, e, cap=cap, count_query=False),
            dp_mechanism(beta, r, e, cap=cap),
        ):
            found = falsify(mechanism, universe, most=3)
            assert found.passed, found
            # No slack either: the price is what the worst pair costs.
            assert found.worst == pytest.approx(e, rel=1e-12)
            assert found.tables == 4 ** len(universe)
            assert found.pairs == len(universe) * 3 * 4 ** (len(universe) - 1)


@pytest.mark.parametrize(("universe", "r"), UNIVERSES)
@pytest.mark.parametrize(("beta", "k"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
@pytest.mark.parametrize("e", [0.1, 1])
def test_sensitively_private_mechanisms_keep_their_promise_exactly(universe, r, beta, k, e):
    for cap in CAPS:
        found = falsify(sensitive_mechanism(beta, r, e, k=k, cap=cap), universe, most=3)
        assert found.passed, found
        assert found.worst == pytest.approx(e, rel=1e-12)
        assert 0 < found.pairs <= len(universe) * 3 * 4 ** (len(universe) - 1)


@pytest.mark.parametrize(("universe", "r"), UNIVERSES)
@pytest.mark.parametrize(("beta", "k"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
@pytest.mark.parametrize("e", [0.1, 1])
def test_compiled_mechanisms_keep_their_promise_twice_over(universe, r, beta, k, e):
    half = Fraction(str(e)) / 2
    for given in (dp_mechanism(beta, r, half), dp_mechanism(beta, r, half, cap=1)):
        for cap in CAPS:
            mechanism = compile_mechanism(given, k=k, cap=cap)
            found = falsify(mechanism, universe, most=3)
            assert found.passed, found
            assert found.allowed == e
            assert found.worst <= e / 2 * (1 + 1e-12) or cap == 1


@pytest.mark.parametrize(
    ("r", "metric"), [(0.0, "euclidean"), (1.0, "manhattan"), (0.5, "hamming")]
)
def test_other_radii_and_distances_in_two_columns(r, metric):
    universe = [(0, 0), (0, 1), (1, 1), (2, 0)]
    for mechanism in (
        dp_mechanism(2, r, 1),
        sensitive_mechanism(2, r, 1),
        sparse_mechanism(2, r, 1),
    ):
        assert falsify(mechanism, universe, most=3, metric=metric).passed
    declared = declare("euclidean", None, [1.0, 4.0], 2)
    assert falsify(mechanism, universe, most=3, metric=declared).passed


@pytest.mark.parametrize(("beta", "k"), [(2, 1), (3, 1), (3, 2)])
def test_a_brute_force_of_ten_lines_finds_the_same(beta, k):
    """Written without the falsifier, the questions and the coin."""
    e, worst, pairs = 0.7, 0.0, 0
    for x in itertools.product(range(4), repeat=3):
        for j in range(3):
            y = tuple(c + (i == j) for i, c in enumerate(x))
            if max(y) > 3 or sum(y[max(0, j - 1) : j + 2]) < beta + 1 - k:
                continue
            pairs += 1
            for i in range(3):
                chances = []
                for t in (x, y):
                    near = sum(t[max(0, i - 1) : i + 2])
                    wrong = math.exp(-e * (sensitive_distance(t[i], near, beta, k) - 1))
                    wrong /= 1 + math.exp(e)
                    chances.append(1 - wrong if t[i] > 0 and near <= beta else wrong)
                (a, b) = chances
                worst = max(worst, abs(math.log(a / b)), abs(math.log((1 - a) / (1 - b))))
    found = falsify(sensitive_mechanism(beta, 1, e, k=k), [0, 1, 2], most=3)
    assert found.passed
    assert found.pairs == pairs
    assert found.worst == pytest.approx(worst, rel=1e-12)


class Crowd(Question):
    """Somebody's own definition: fewer than 2 records within 1 and fewer than 4 within 2."""

    name, beta, r = "crowd", 1, 2.0

    def look(self, table, places, cap):
        return np.column_stack([table.within(places, 1.0, 2 + cap), table.within(places, 2.0)])

    def anomalous(self, *counts):
        return counts[0] < 2 and counts[1] < 4

    def distance(self, *counts):
        if self.anomalous(*counts):
            return min(2 - counts[0], 4 - counts[1])
        return max(counts[0] - 1, counts[1] - 3)


def test_a_definition_of_ones_own_goes_through():
    assert falsify(bounded_mechanism(Crowd(), 1), [0, 1, 2, 3], most=4).passed
    local = Crowd()
    local.influence = 2.0
    assert falsify(bounded_mechanism(local, 1), [0, 1, 2, 3], most=4).passed
    local.influence = 1.0
    assert not falsify(bounded_mechanism(local, 1), [0, 1, 2, 3], most=4).passed


def test_a_look_may_ask_about_other_places():
    class Beside(Sparse):
        def look(self, table, places, cap):
            return super().look(table, places + 1.0, cap)

    mechanism = bounded_mechanism(Beside(2, 0.0), 1)
    found = falsify(mechanism, [0, 1, 2, 3], most=3)
    assert found.problems == ("a record beyond the declared influence changes a chance",)


@pytest.mark.parametrize(
    ("universe", "most", "message"),
    [
        ([1, 2], 0, "most must be >= 1"),
        (range(20), 3, r"most must be >= 1 and \(most \+ 1\) \*\* 20 tables at most"),
        ([1, 1], 3, "universe must hold different records"),
    ],
)
def test_universes_are_checked(universe, most, message):
    with pytest.raises(ValueError, match=message):
        falsify(sparse_mechanism(2, 1, 1), universe, most=most)
