"""Plans: the least price against trying every one, expectations against the mechanisms' own."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from isinglass.curate.ledger.budget import fits
from isinglass.curate.mechanisms.mechanism import (
    dp_mechanism,
    sensitive_mechanism,
    sparse_mechanism,
)
from isinglass.curate.planning.plan import BOUGHT, plan
from isinglass.curate.questions.base import Question
from isinglass.curate.space import Space
from isinglass.datasets import load
from isinglass.detect.metric import declare
from isinglass.detect.radius import RadiusOutliers
from isinglass.errors import CuratorError

PLANE = declare("euclidean", None, None, 2)


def made(mode, beta, r, epsilon, k=1):
    if mode == "sparse":  # the record is counted already: no other is added
        return sparse_mechanism(beta, r, epsilon, count_query=False)
    if mode == "dp":
        return dp_mechanism(beta, r, epsilon)
    return sensitive_mechanism(beta, r, epsilon, k=k)


def by_hand(table, mechanism, r):
    """Copies and neighbors pair by pair, and every record's chance to be called an anomaly."""
    calls, truth = [], []
    for a in table:
        own = sum(bool((a == b).all()) for b in table)
        near = sum(PLANE.distance(a, b) <= r for b in table)
        wrong, true = mechanism.error_probability(own, near), mechanism.anomalous(own, near)
        calls.append(1 - wrong if true else wrong)
        truth.append(true)
    return np.array(calls), np.array(truth)


def some_table(n=60):
    rng = np.random.default_rng(8)
    table = rng.integers(0, 6, size=(n, 2)).astype(float)  # many copies
    table[::7] *= 4
    return table


@pytest.mark.parametrize("mode", ["sparse", "sensitive", "dp"])
def test_expectations_are_those_of_the_mechanism_record_by_record(mode):
    table = some_table()
    truth_of_person = np.arange(60) % 5 == 0
    found = plan(
        epsilon="0.3", budget=2, table=table, labels=truth_of_person, beta=3, r=1.0, mode=mode
    )
    calls, truth = by_hand(table, made(mode, 3, 1.0, "0.3"), 1.0)
    at = found.chosen
    assert (found.n_records, found.n_anomalies) == (60, int(truth.sum()))
    assert at.recall == pytest.approx(calls[truth].mean(), rel=1e-13)
    assert at.false_alarms == pytest.approx(calls[~truth].mean(), rel=1e-13)
    assert at.precision == pytest.approx(calls[truth].sum() / calls.sum(), rel=1e-13)
    assert at.labelled_recall == pytest.approx(calls[truth_of_person].mean(), rel=1e-13)
    hits = calls[truth_of_person].sum()
    assert at.labelled_precision == pytest.approx(hits / calls.sum(), rel=1e-13)


def test_records_are_the_anomalies_of_the_detector():
    table = np.random.default_rng(1).normal(size=(300, 2))
    detector = RadiusOutliers(beta=4, r=0.4).fit(table)
    found = plan(epsilon=1, budget=1, table=table, beta=4, r=0.4)
    assert found.n_anomalies == len(detector.outliers_) > 0


def test_a_record_is_planned_as_if_asked_from_outside():
    # The curator's question counts the record asked about as one more, and finds it not there.
    table = some_table(40)
    found = plan(epsilon="0.2", budget=1, table=table, beta=3, r=1.0)
    mechanism = sparse_mechanism(3, 1.0, "0.2")
    calls, truth = [], []
    for row, a in enumerate(table):
        near = sum(PLANE.distance(a, b) <= 1.0 for b in np.delete(table, row, axis=0))
        wrong, true = mechanism.error_probability(0, near), mechanism.anomalous(0, near)
        calls.append(1 - wrong if true else wrong)
        truth.append(true)
    assert found.n_anomalies == sum(truth)
    assert found.chosen.precision == pytest.approx(np.array(calls)[truth].sum() / sum(calls))


# Solving backwards.


def test_the_least_price_is_least():
    counts = {(1, 1): 5, (1, 4): 3, (2, 6): 4, (1, 30): 100}
    for mode in ("sparse", "sensitive", "dp"):
        for target in (0.51, 0.75, 0.9, 0.999):
            found = plan(target_recall=target, budget=1, counts=counts, beta=6, r=1, mode=mode)
            micro = found.chosen.micro

            def recall(micro, mode=mode):
                mechanism = made(mode, 6, 1, f"{micro / 1e6:.6f}")
                parts = [(1 - mechanism.error_probability(*c)) * n for c, n in counts.items()
                         if mechanism.anomalous(*c)]  # fmt: skip
                return math.fsum(parts) / 12

            assert recall(micro) >= target > recall(micro - 1)
            assert found.chosen.recall == recall(micro)
            # Reached exactly is reached.
            again = plan(
                target_recall=recall(micro), budget=1, counts=counts, beta=6, r=1, mode=mode
            )
            assert again.chosen.micro == micro


def test_the_price_of_lone_records_in_closed_form():
    # dp errs 1 / (1 + e^eps) about a lone record: eps = log(t / (1 - t)), rounded up.
    found = plan(target_recall=0.9, budget=1, counts=[(1, 1)], beta=20, r=1, mode="dp")
    assert found.chosen.micro == math.ceil(1e6 * math.log(9))
    assert found.chosen.queries_here == 0
    # sparse errs e^(-20 eps) / (1 + e^-eps): far less is enough, 9 queries instead of none.
    found = plan(target_recall=0.9, budget=1, counts=[(1, 1)], beta=20, r=1)
    micro = found.chosen.micro
    error = [math.exp(-20e-6 * m) / (1 + math.exp(-1e-6 * m)) for m in (micro, micro - 1)]
    assert error[0] <= 0.1 < error[1]
    assert found.chosen.queries_here == 10**6 // micro == 12


def test_half_is_had_for_the_least_price_there_is():
    assert plan(target_recall=0.5, budget=1, counts=[(1, 1)], beta=2, r=1).chosen.micro == 1


def test_a_price_above_the_budget_buys_nothing_and_says_so():
    found = plan(target_recall=0.999, budget="0.5", counts=[(1, 1)], beta=1, r=1)
    assert found.chosen.queries_here == 0
    assert found.sentence.endswith(
        "; that is more than the budget of 0.5 a place, so no query fits: plan with a lower recall "
        "or a larger budget."
    )
    dear = plan(epsilon=1, budget="0.5", counts=[(1, 1)], beta=1, r=1)
    assert "plan with a lower epsilon or a larger budget" in dear.sentence


def test_the_frontier_goes_from_many_queries_to_one():
    found = plan(epsilon="0.07", budget=1, counts={(1, 1): 1, (1, 50): 9}, beta=20, r=1)
    assert {p.queries_here for p in found.frontier} == {*BOUGHT, 14}
    assert found.chosen in found.frontier
    prices = [p.micro for p in found.frontier]
    assert prices == sorted(set(prices))
    for name in ("recall", "precision"):
        values = [getattr(p, name) for p in found.frontier]
        assert values == sorted(values)
    alarms = [p.false_alarms for p in found.frontier]
    assert alarms == sorted(alarms, reverse=True)


def test_a_question_of_twice_the_price_buys_half_the_queries():
    class Twice(Question):
        name, beta, r, lipschitz = "twice", 5, 1.0, 2

        def look(self, table, places, cap):
            near = table.within(places, self.r)
            return np.column_stack([near, near])

        def anomalous(self, *counts):
            return counts[1] <= 5

        def distance(self, *counts):
            return 2 * abs(counts[1] - 5) + 1

    found = plan(epsilon="0.1", budget=1, counts=[(1, 1), (1, 9)], mode=Twice())
    assert (found.chosen.micro, found.chosen.queries_here) == (200_000, 5)
    # Charged everywhere: of queries far apart, too, only five fit.
    far = np.arange(20.0).reshape(-1, 1) * 1e6
    assert plan(epsilon="0.1", budget=1, counts=[(1, 1)], mode=Twice(), queries=far).n_fitting == 5


def test_queries_that_fit_are_those_of_the_budget():
    asked = np.random.default_rng(3).uniform(0, 30, size=(400, 2))
    found = plan(epsilon="0.3", budget=1, counts=[(1, 1)], beta=5, r=1.5, queries=asked)
    expected = int(fits(asked, 1.5, "0.3", 1, PLANE).sum())
    assert (found.n_queries, found.n_fitting) == (400, expected)
    assert 3 < expected < 400
    assert f"of the 400 queries listed, {expected} fit" in found.sentence


def test_a_space_scales_table_and_queries():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(80, 2)) * [1.0, 1000.0]
    space = Space.declare(2, bounds=([0.0, 0.0], [1.0, 1000.0]))
    scaled = plan(epsilon=1, budget=1, table=table, beta=2, r=0.3, space=space, queries=table)
    plain = plan(epsilon=1, budget=1, table=space.places(table), beta=2, r=0.3,
                 queries=space.places(table))  # fmt: skip
    assert scaled == plain


def test_shares_of_nothing_are_none():
    only_anomalies = plan(epsilon=1, budget=1, counts=[(1, 1)], beta=3, r=1).chosen
    assert (only_anomalies.precision, only_anomalies.false_alarms) == (1.0, None)
    none = plan(epsilon=1, budget=1, counts=[(1, 9)], beta=3, r=1)
    assert (none.chosen.recall, none.chosen.precision) == (None, None)
    assert "none of the anomalies (0 of 1 records)" in none.sentence
    crowd = {"table": np.zeros((9, 1)), "labels": np.ones(9), "beta": 2, "r": 1}
    assert plan(epsilon=900, budget=900, **crowd).chosen.labelled_precision is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 1, "target_recall": 0.5}, "one of epsilon and target_recall"),
        ({}, "one of epsilon and target_recall"),
        ({"target_recall": 1}, "target_recall must be between 0 and 1, both excluded, got 1"),
        ({"target_recall": 0.9, "counts": [(1, 9)]}, "none of the records given is one"),
        ({"epsilon": 0}, "epsilon must be a number > 0"),
        ({"epsilon": 1, "budget": 0}, "budget must be a number > 0"),
        ({"epsilon": 1, "table": [[0.0]]}, "one of table and counts"),
        ({"epsilon": 1, "counts": None}, "one of table and counts"),
        ({"epsilon": 1, "labels": [1]}, "labels must be None where counts are given"),
        ({"epsilon": 1, "counts": [(0, 3)]}, r"got \(0, 3\): 1"),
        ({"epsilon": 1, "counts": [(4, 3)]}, "1 <= copies <= records"),
        ({"epsilon": 1, "counts": [(1, 3, 5)]}, "counts must be pairs"),
        ({"epsilon": 1, "counts": {(1, 3): -1}}, "a number of records >= 0"),
        ({"epsilon": 1, "counts": []}, "at least one record"),
        ({"epsilon": 1, "mode": "private"}, "mode must be one of"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(settings, words):
    given = {"budget": 1, "counts": [(1, 1)], "beta": 3, "r": 1.0} | settings
    with pytest.raises(ValueError, match=words):
        plan(**given)


def test_a_rule_must_be_given():
    with pytest.raises(CuratorError, match="beta must be given"):
        plan(epsilon=1, budget=1, counts=[(1, 1)], r=1)


# What is shown.


@pytest.fixture(scope="module")
def shown():
    counts = {(1, 1): 20, (1, 8): 5, (1, 200): 900}
    return plan(target_recall=0.9, budget=1, counts=counts, beta=18, r=0.5)


def test_the_sentence_says_what_is_bought(shown):
    at = shown.chosen
    assert shown.sentence == (
        f"At epsilon {at.epsilon:g}, sparse answers are expected to find 90 % of the anomalies "
        f"(25 of 925 records) with {100 * at.false_alarms:.3g} % false alarms among the others; "
        f"a budget of 1 buys {at.queries_here} such queries at one place."
    )


def test_json_holds_all_numbers_and_prices_in_epsilon(shown, tmp_path):
    shown.save(tmp_path / "plan.json")
    read = json.loads((tmp_path / "plan.json").read_text())
    assert read == json.loads(json.dumps(shown.to_json()))
    assert (read["budget"], read["mode"], read["beta"]) == (1.0, "sparse", 18)
    assert read["chosen"]["epsilon"] == shown.epsilon
    assert [p["queries_here"] for p in read["frontier"]][-1] == 1
    assert "micro" not in json.dumps(read)


def test_pictures_are_drawn_without_a_network(shown, tmp_path):
    for ending, begins in ((".png", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!doctype html>")):
        shown.save(tmp_path / f"plan{ending}")
        assert (tmp_path / f"plan{ending}").read_bytes().startswith(begins)
    page = (tmp_path / "plan.html").read_text()
    assert shown.sentence in page
    assert page.count("<tr") == 1 + len(shown.frontier)
    heads = ["epsilon", *shown.chosen.shares, "queries at one place"]
    assert re.findall(r'<th scope="col">(.*?)</th>', page) == heads
    assert page.count("(planned)") == 1
    assert set(re.findall(r'(?:src|srcset|href)="([^:]*):', page)) == {"data"}
    assert "prefers-color-scheme: dark" in page
    assert "<script" not in page


def test_capacity_is_told_in_records_and_for_ever(tmp_path):
    crowd = np.random.default_rng(0).normal(scale=0.01, size=(300, 2))
    alone = 10.0 * np.arange(1, 6)[:, None] * np.ones(2)
    found = plan(epsilon="0.1", budget=1, table=np.vstack([crowd, alone]), beta=3, r=1)
    # Ten of the crowd share one budget, and each of the five has one of its own.
    assert (found.capacity.tried, found.capacity.fitting) == (305, 15)
    assert 10 <= found.capacity.before_refusal <= 15
    assert "for ever and not per day" in found.capacity.sentence
    found.save(tmp_path / "plan.html")
    assert found.capacity.sentence in (tmp_path / "plan.html").read_text()
    assert found.to_json()["capacity"]["fitting"] == 15
    roomy = plan(epsilon="0.1", budget=100, table=alone, beta=3, r=1)
    assert "all 5 records like these that were tried fit" in roomy.capacity.sentence
    assert plan(epsilon=1, budget=1, counts=[(1, 9)], beta=3, r=1).capacity is None


def test_a_picture_shows_every_point_of_the_frontier(shown):
    spec = shown.chart().to_dict()
    values = [layer["data"]["values"] for panel in spec["vconcat"] for layer in panel["layer"]
              if "data" in layer]  # fmt: skip
    drawn = {(v["epsilon"], v["share"]) for part in values for v in part if "share" in v}
    assert {(p.epsilon, p.recall) for p in shown.frontier} <= drawn
    bought = {(v["epsilon"], v["queries"]) for part in values for v in part if "queries" in v}
    assert bought == {(p.epsilon, p.queries_here) for p in shown.frontier}


def test_a_plan_of_one_price_can_be_drawn(tmp_path):
    found = plan(epsilon="0.000001", budget="0.000001", counts=[(1, 9)], beta=3, r=1)
    assert len(found.frontier) == 1
    found.save(tmp_path / "one.svg")
    with pytest.raises(ValueError, match=r"path must end in .png, .svg, .html or .json"):
        found.save(tmp_path / "one.pdf")


def test_mammography_needs_little_where_presence_is_not_asked(real_data):
    data = load("mammography")
    prices = {
        mode: plan(
            target_recall=0.9, budget=1, table=data.X, beta=55, r=1.7, mode=mode
        ).chosen.epsilon
        for mode in ("sparse", "sensitive", "dp")
    }
    assert prices["sparse"] == prices["sensitive"] < 0.06  # 17 queries at a place for 1
    assert prices["dp"] > 2  # not one
