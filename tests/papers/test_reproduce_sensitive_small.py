"""The paper on sensitive privacy by enumeration: bounds, counterexamples, and its example."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from isinglass.curate.mechanisms.falsify import falsify
from isinglass.curate.mechanisms.mechanism import dp_mechanism, sparse_mechanism
from isinglass_papers.sensitive import proofs as sensitive_proofs
from isinglass_papers.sensitive import tiny_universe as sensitive_graph
from isinglass_papers.sensitive.example import BETA, example, figure_5, least_error
from isinglass_papers.sensitive.record_influence import moved
from isinglass_papers.sensitive.records import mechanisms
from isinglass_papers.sensitive.tiny_universe import (
    FAR,
    Universe,
    check,
    figure_4,
    parts,
    universes,
)


def test_the_mechanism_lies_on_the_trade_of_figure_1():
    for epsilon, apart in itertools.product((0.1, 1.0), (1, 2, 5)):

        def error(distance, e=epsilon):
            return math.exp(-e * (distance - 1)) / (1 + math.exp(e))

        for j in range(1, apart + 1):  # the true answer turns over at the j-th of the steps
            assert least_error(error(apart + 1 - j), epsilon, apart) == pytest.approx(error(j))


def test_distances_by_walking_the_graph():
    small = Universe(3, 1, 3, 2, 1)
    lone, empty = small.number((1, 0, 0)), small.number((0, 0, 0))
    # Any one record may go on G; on GS others must first come near it.
    assert small.to_other_answer(0, sensitive=False)[lone] == 1
    assert small.to_other_answer(0, sensitive=True)[lone] == 2
    assert small.to_other_answer(0, sensitive=False)[empty] == 1
    # Nothing touches the empty table: no single record is sensitive.
    assert small.to_other_answer(0, sensitive=True)[empty] == FAR
    part = parts(small)
    assert (part == part[empty]).sum() == 1


def test_the_paper_s_bounds_hold_on_all_small_tables():
    checked = check(universes([(4, 1, 3), (3, 0, 4)]))
    assert (checked.wrong_2, checked.above_3, checked.jumps_3) == (0, 0, 0)
    assert 0.9 * checked.reachable < checked.tight < checked.reachable


def test_a_bound_that_is_too_large_is_caught(monkeypatch):
    def bolder(own, near, beta, k):
        return true_bound(own, near, beta, k) + (near < beta + 1 - k)

    true_bound = sensitive_graph.sensitive_distance
    monkeypatch.setattr(sensitive_graph, "sensitive_distance", bolder)
    assert check(universes([(4, 1, 3)])).above_3 > 0


def test_the_tables_named_beside_figure_4():
    named = figure_4(3)
    assert named.distances == (6, 3, 3)
    assert named.bounds == (3, 3, 3)
    ends = [row for row in named.figure.rows if row["answer"] == "none"]
    assert [row["step"] for row in ends] == [6, 3, 3]


def test_one_record_changes_the_number_of_anomalies_by_more_than_beta():
    found = moved()
    assert found.line == (2, 4, 6)
    assert (found.plane, found.space) == (15, 36)
    assert found.b1_loss > 5 * 18 * 0.1
    assert found.b2_loss > 5 * 0.1


def test_no_mechanism_is_nowhere_worse_and_somewhere_better():
    assert abs(sensitive_proofs.room_above(3, 0.5, 8)) < 1e-9
    # Yet "no" is never wrong about an absent record, where Construction 1 is half the time.
    assert dp_mechanism(3, 1.0, 0.5).error_probability(0, 0) == pytest.approx(0.3775, abs=1e-4)


def test_without_presence_differential_privacy_errs_as_sensitive_privacy_does():
    assert falsify(sparse_mechanism(3, 1.0, 1), np.arange(1.0, 5.0), most=3).passed
    for beta in (18, 97):
        made = mechanisms(beta, 1.0)
        for own, near in ((1, 1), (1, 7), (2, beta)):
            assert made["sparse"].error_probability(own, near) == made[
                "sensitive"
            ].error_probability(own, near)


def test_loneliness_costs_accuracy_under_dp_and_privacy_under_sp():
    made = example(300, 0)
    lone = made.near == made.near.min()
    assert made.accuracy["SP"][lone].min() > 0.98
    assert made.accuracy["DP"][lone].max() < 0.57
    assert np.allclose(made.loss["DP"], 0.25)
    e, left = 0.25, int(made.near.min())
    for k in (1, 7, 14):  # log((1 + e^eps) e^(eps (L - 1)) - 1), L = beta + 2 - B - k
        most = math.log((1 + math.exp(e)) * math.exp(e * (BETA + 1 - left - k)) - 1)
        assert made.loss[str(k)].max() == pytest.approx(most)


def test_the_compiler_helps_and_construction_1_helps_more():
    compiled = figure_5()
    assert compiled.never_worse
    assert compiled.dominated
    # delta = beta - 1 about a lone record, in quarters of the compiled epsilon .5
    assert compiled.gain == pytest.approx(math.exp(0.5 / 4 * (BETA - 1)))
