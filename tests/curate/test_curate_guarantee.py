"""Guarantees: what is promised, in numbers and words, from settings alone."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from isinglass.curate.guarantee import Guarantee

DP = Guarantee("sparse", "differential", 100_000, 10**6, 5, 1.5)
SENSITIVE = Guarantee("sensitive", "sensitive", 100_000, 10**6, 5, 1.5, k=1)


@pytest.mark.parametrize(
    ("beta", "k", "micro", "worst"),
    [(5, 1, 100_000, 0.761061), (5, 3, 100_000, 0.451879), (18, 1, 100_000, 2.353620)],
)
def test_printed_worst_cases_of_sensitive_privacy(beta, k, micro, worst):
    promise = dataclasses.replace(SENSITIVE, beta=beta, k=k, micro=micro)
    assert promise.worst_case == pytest.approx(worst, abs=5e-7)
    e = micro / 10**6
    closed = math.log((1 + math.exp(e)) * math.exp(e * (beta - k)) - 1)
    assert promise.worst_case == pytest.approx(closed, rel=1e-12)


def test_the_worst_case_is_epsilon_where_everything_is_sensitive_and_none_under_dp():
    same = dataclasses.replace(SENSITIVE, k=5)
    assert same.worst_case == pytest.approx(0.1, rel=1e-12)
    assert DP.worst_case is None


def test_the_worst_case_of_large_settings_does_not_overflow():
    large = dataclasses.replace(SENSITIVE, beta=10**6, micro=10**9)
    assert large.worst_case == pytest.approx(1000 * 10**6, rel=1e-6)
    tiny = dataclasses.replace(SENSITIVE, micro=1)
    assert tiny.worst_case == pytest.approx(
        math.log(1 + 2 * math.expm1(4e-6) + math.expm1(1e-6)), rel=1e-5
    )


def test_a_sensitive_question_without_k_promises_its_own_record_nothing():
    unknown = dataclasses.replace(SENSITIVE, k=None)
    assert unknown.worst_case == math.inf
    assert "nothing is promised to whoever holds the very record" in unknown.sentence()
    assert "None" not in unknown.sentence()


def test_sentences_say_all_that_must_be_said():
    said = DP.sentence()
    for part in (
        "epsilon 0.1 of differential privacy for every record",
        "one record, added or removed",
        "replacing one costs twice",
        "within 1 for a record, 1 for a person with 1 record;",
        "timing not covered",
    ):
        assert part in said
    assert "release" not in said
    said = dataclasses.replace(
        SENSITIVE, records_per_person=3, timing_covered=True, also_released=True
    ).sentence()
    for part in (
        "epsilon 0.1 of sensitive privacy for every sensitive record",
        "has at least 5 records within 1.5, itself included",
        "may lose up to 0.761",
        "within 1 for a record that has at least 5 records within 1.5, itself included, 3 for a "
        "person with 3 records, each of them such a record even without the others;",
        "timing covered",
        "the answers only: the table also left as a release",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("terms", "whom"),
    [
        ({}, "a record"),
        ({"k_min": 1, "beta_max": 18, "r_min": 0.5},
         "a record that has at least 18 records within 0.5, itself included"),
        ({"k_min": 9, "beta_max": 9, "r_min": 0.5},
         "a record that has at least 1 record within 0.5, itself included"),
        ({"rule": "own", "beta_max": 5, "r_min": 0.5},
         "a record that the rule of own calls sensitive"),
    ],
)  # fmt: skip
def test_all_answers_together_cover_whom_the_weakest_question_covers(terms, whom):
    assert f"within 1 for {whom}, 1 for a" in dataclasses.replace(DP, **terms).sentence()
    sensitive = dataclasses.replace(SENSITIVE, **terms)
    own = "a record that has at least 5 records within 1.5, itself included"
    assert sensitive.covered == (whom if terms else own)
    assert f"within 1 for {sensitive.covered}, 1 for a" in sensitive.sentence()
    unknown = dataclasses.replace(SENSITIVE, k=None, **terms)
    assert unknown.covered == (whom if terms else "a record that the rule of sensitive calls "
                               "sensitive")  # fmt: skip


@pytest.mark.parametrize("m", [1, 4])
def test_records_per_person_are_said_without_a_cap_too(m):
    said = dataclasses.replace(DP, cap=None, records_per_person=m).sentence()
    assert f"a person with {m} record{'s' if m > 1 else ''} may lose {m} time" in said


def test_prices_are_said_as_they_are_charged():
    said = dataclasses.replace(DP, micro=123_456, cap=7_000_001, records_per_person=2).sentence()
    assert "epsilon 0.123456 of" in said
    assert "e^0.123456 " in said
    assert "within 7.000001 for a record, 14.000002 for" in said


def test_json_holds_the_settings_and_the_sentence():
    facts = json.loads(json.dumps(SENSITIVE.to_json(), allow_nan=False))
    assert facts["epsilon"] == 0.1
    assert facts["cap"] == 1.0
    assert facts["worst_case"] == SENSITIVE.worst_case
    assert facts["sentence"] == SENSITIVE.sentence()
    assert facts["neighbours"] == SENSITIVE.neighbors
    settings = {field.name for field in dataclasses.fields(Guarantee)}
    settings -= {"micro", "models", "delta_cap", "delta_elsewhere"}  # the last where there are any
    assert set(facts) == settings | {"epsilon", "neighbours", "worst_case", "sentence"}
    assert json.loads(json.dumps(DP.to_json()))["worst_case"] is None
