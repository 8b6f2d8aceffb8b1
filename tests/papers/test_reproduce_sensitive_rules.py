"""Verdicts on sensitive privacy follow from numbers and products: break one, and they turn."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from isinglass.curate.planning.choose import Chosen
from isinglass_papers.sensitive import claims, costs, paper, printed, proofs
from isinglass_papers.sensitive.cases import CASES
from isinglass_papers.sensitive.example import KS, example, figure_5
from isinglass_papers.sensitive.record_influence import Moved
from isinglass_papers.sensitive.records import CountScore, Errors, MeasuredTable
from isinglass_papers.sensitive.tiny_universe import Checked, figure_4

COIN = 1 / (1 + np.exp(0.1))


def fake(
    name: str, n_records: int, *, own: int = 1, near: int = 1, f1=None, **errors
) -> MeasuredTable:
    """A table of ten anomalies, each with `own` copies and `near` records within r."""
    (case,) = (each for each in CASES if each.name == name)
    case = case.of(n_records, 6)
    counts = np.array([[own, near]] * 10 + [[1, case.beta + 500]] * 90)
    small = {"sensitive": 1 / case.beta, "normal_dp": 0.001} | errors
    means = {"random_sensitive": (0.01,), "random_dp": (COIN,), "random_anomalies": (0.01,)}
    values = (
        dict.fromkeys(Errors.__dataclass_fields__, 0.0)
        | {"dp": COIN, "random_share": 1.0, "random_sparse": (0.01,)}
        | means
        | small
    )
    f1 = {"sensitive": 0.9, "sparse": 0.9, "dp": 0.6, "B1": 0.1, "B2": 0.1} | (f1 or {})
    scores = tuple(CountScore(m, None, 0.5, 0.5, value, 0.5) for m, value in f1.items())
    return MeasuredTable(
        case, n_records, Errors(**values), scores, Chosen(case.beta, case.r, 10), counts,
        np.arange(100) < 10, np.arange(100) < 5,
    )  # fmt: skip


def three(**changed) -> list[MeasuredTable]:
    """Three tables of growing size; what is changed is changed in the last."""
    return [
        fake("thyroid", 3772),
        fake("mammography", 11_183),
        fake("mixed_gaussian", 20_000, **changed),
    ]


@pytest.mark.parametrize(
    ("rule", "found", "verdict"),
    [
        ("_sizes", three(), "holds"),
        ("_sizes", three(sensitive=0.3), "does not hold"),
        ("_sizes", three()[:2], "not tested"),
        ("_small_epsilon", three(), "holds conditionally"),
        ("_small_epsilon", three(near=97), "does not hold"),
        ("_small_epsilon", [fake("credit_fraud", 284_807)], "holds"),
        ("_coin", three(), "holds"),
        ("_coin", three(dp=0.3), "does not hold"),
        ("_coin", three(sensitive=0.4), "does not hold"),
        ("_normal", three(), "holds"),
        ("_normal", three(normal_gap=1e-9), "does not hold"),
        ("_normal", three(normal_dp=0.1), "does not hold"),
        ("_random", three(), "holds"),
        ("_random", three(random_sensitive=(0.4,)), "does not hold"),
        ("_random", three(random_share=0.5), "does not hold"),
        ("_larger_k", three(), "holds"),
        ("_larger_k", three(near=97), "does not hold"),
        ("_baselines", three(), "holds"),
        ("_baselines", three(f1={"sensitive": 0.5}), "does not hold"),
        ("_baselines", three(f1={"B1": 0.7}), "does not hold"),
    ],
)
def test_rules_of_the_tables(rule, found, verdict):
    assert getattr(claims, rule)(found).verdict == verdict


def test_fewer_tables_are_said_and_too_few_are_not_judged():
    for there, begins in ((three(), "on 3 of 5 sets: "), (three()[1:], "on 2 of 5 sets: ")):
        made = claims.claims(there, 0)
        assert [c.ours.startswith(begins) for c in made] == [True] * 7 + [False] * 3
        judged = {c.verdict for c in made[:7]} - {"not tested"}
        assert judged == ({"holds", "holds conditionally"} if len(there) == 3 else set())
        assert made[7].verdict == "not tested"
    # Two parts of one table are one table.
    parts = [fake("aps_test_pca12", 16_000), fake("aps_train9000_pca12", 9000), *three()]
    assert claims.claims(parts, 0)[2].ours.startswith("on 4 of 5 sets: ")
    every = claims.claims([*parts, fake("credit_fraud", 284_807)], 0)
    assert not any(c.ours.startswith("on ") for c in every)


def test_copies_are_tested_only_where_the_table_has_any():
    fraud = fake("credit_fraud", 25_576)
    assert claims._copies(fraud, 0).verdict == "not tested"
    some = fraud.counts.copy()
    some[:3, 0], some[:3, 1] = 4, 4
    assert claims._copies(replace(fraud, counts=some), 0).verdict == "holds"
    some[:8, 0], some[:8, 1] = 4, 4  # most of them, not few
    assert claims._copies(replace(fraud, counts=some), 0).verdict == "does not hold"


def test_contradictions_in_print_are_looked_for(monkeypatch):
    assert claims._repeats().verdict == claims._false_calls().verdict == "does not hold"
    tables = printed.TABLES
    own = {name: replace(t, precision=(t.share, *t.precision[1:])) for name, t in tables.items()}
    for name in ("Mammography", "Thyroid"):
        t = own[name]
        alike = 1 / (1 + t.false_calls(3) / (t.anomalies * t.recall[2]))
        own[name] = replace(t, precision=(*t.precision[:2], alike, t.precision[3]))
    for module in (claims, printed):
        monkeypatch.setattr(module, "TABLES", own)
    calls = claims._false_calls()
    assert claims._repeats().verdict == calls.verdict == "holds"
    assert "are not on none" in calls.ours


def test_a_fit_that_no_record_moves_shows_nothing():
    X = np.zeros((30, 3))
    X[:, 0] = np.arange(30)
    assert claims.fitted_on_itself(X, 5.0, 1).verdict == "not reproduced"
    X[-1] = 0, 200, 0  # the one record that decides the first component
    assert claims.fitted_on_itself(X, 5.0, 1).verdict == "holds conditionally"


def test_rules_of_the_example():
    made = example(200, 0)
    assert [c.verdict for c in claims.example_claims(made)] == ["holds"] * 3
    lone = np.where(made.near == made.near.min(), 0.1, 0.0)  # worse about the loneliest
    worse = replace(made, accuracy=made.accuracy | {"SP": made.accuracy["SP"] - lone})
    assert claims.example_claims(worse)[0].verdict == "does not hold"
    crowd = np.where(made.near == made.near.max(), 1.0, 0.0)  # normal records lose as well
    for table, more in (("DP", crowd), ("1", crowd), ("1", -100 * lone)):
        lost = replace(made, loss=made.loss | {table: made.loss[table] + more})
        assert claims.example_claims(lost)[1].verdict == "does not hold"
    same = replace(made, loss=made.loss | {str(k): made.loss["1"] for k in KS})
    assert claims.example_claims(same)[2].verdict == "does not hold"


CHECKED = Checked(1, 100, 0, 0, 0, 90, 95)


@pytest.mark.parametrize("wrong", ["wrong_2", "above_3", "jumps_3"])
def test_rule_of_the_distances(wrong):
    assert proofs._distances(CHECKED).verdict == "holds"
    assert proofs._distances(replace(CHECKED, **{wrong: 1})).verdict == "does not hold"


@pytest.mark.parametrize(
    ("rule", "name", "broken", "verdict"),
    [
        ("_one_step", "least_error", lambda q, epsilon: 0.0, "does not hold"),
        (
            "_promised",
            "sensitive_mechanism",
            lambda beta, r, e, k: SimpleNamespace(worst=2.0, allowed=1.0, passed=False, pairs=1),
            "does not hold",
        ),
        (
            "_accuracy",
            "sensitive_mechanism",
            lambda *a, **k: SimpleNamespace(error_probability=lambda own, near: 0.9),
            "does not hold",
        ),
        ("_strictly", "presence_distance", lambda own, near, beta: 0, "holds"),
        ("_generalizes", "presence_distance", lambda own, near, beta: 0, "does not hold"),
        (
            "_optimal",
            "dp_mechanism",
            lambda *a, **k: SimpleNamespace(error_probability=lambda own, near: 0.0),
            "holds",
        ),
    ],
)
def test_proofs_turn_with_what_they_try(monkeypatch, rule, name, broken, verdict):
    # What is tried here stands for its own trial, and the linear program for another test.
    monkeypatch.setattr(proofs, "tried", lambda made: {n: _trial(m) for n, m in made.items()})
    monkeypatch.setattr(proofs, "room_above", lambda beta, epsilon, most: 0.0)
    before = getattr(proofs, rule)().verdict
    monkeypatch.setattr(proofs, name, broken)
    assert getattr(proofs, rule)().verdict == verdict != before


def _trial(made):
    if isinstance(made, SimpleNamespace):
        return made
    return SimpleNamespace(worst=1.0, allowed=1.0, passed=True, pairs=1)


def test_rule_of_the_named_tables():
    named = figure_4(3)
    assert proofs._named(named).verdict == "holds"
    assert proofs._named(replace(named, distances=(3, 3, 3))).verdict == "does not hold"


LOST = {"Thyroid": 2.3, "Synthetic": 10.0}
TIGHT = Moved((1, 2, 3), 3, 3, 1.8, 0.1)


@pytest.mark.parametrize(
    ("rule", "given", "verdict"),
    [
        ("_loss", (LOST, (1024, 10, True)), "holds conditionally"),
        ("_loss", (LOST, (1024, 1, False)), "holds conditionally"),
        ("_loss", ({"Thyroid": 2.3}, (1024, 1, False)), "holds"),
        ("_loss", ({"Synthetic": 10.0}, (1024, 10, True)), "does not hold"),
        ("_sensitivity", (TIGHT,), "holds"),
        ("_sensitivity", (replace(TIGHT, line=(1, 2, 4)),), "does not hold"),
        ("_sensitivity", (replace(TIGHT, space=4),), "does not hold"),
        ("_sensitivity", (replace(TIGHT, b1_loss=2.0),), "does not hold"),
        ("_sensitivity", (replace(TIGHT, b2_loss=0.2),), "does not hold"),
    ],
)
def test_rules_of_what_privacy_costs(rule, given, verdict):
    assert getattr(costs, rule)(*given).verdict == verdict


def test_a_counterexample_that_fails_is_no_counterexample(monkeypatch):
    assert costs._presence().verdict == "holds conditionally"
    monkeypatch.setattr(costs, "lone_error", lambda beta: 0.4)
    assert costs._presence().verdict == "not reproduced"
    monkeypatch.undo()
    failed = SimpleNamespace(passed=False, pairs=1)
    monkeypatch.setattr(costs, "tried", lambda made: {"one": failed})
    assert costs._presence().verdict == "not reproduced"


def test_rules_of_the_compiler_and_of_many_answers(monkeypatch):
    compiled = figure_5()
    assert costs._compiler(compiled).verdict == "holds"
    for worse in (replace(compiled, never_worse=False), replace(compiled, gain=1.0)):
        assert costs._compiler(worse).verdict == "does not hold"
    assert costs._composition().verdict == "holds"
    charged = SimpleNamespace(cost=1_500_000, pairwise=1_500_000)
    monkeypatch.setattr(costs, "total_cost", lambda queries, metric: charged)
    assert costs._composition().verdict == "does not hold"


def test_what_is_said_of_a_table_is_what_was_found():
    (fraud,) = (case for case in CASES if case.name == "credit_fraud")
    part, whole = fraud.of(25_576, 28), fraud.of(284_807, 28)
    assert (part.beta, part.whole, part.note) == (91, False, "a part, 25,576 records")
    assert (whole.beta, whole.whole, whole.note) == (1022, True, "")
    some = [fake("credit_fraud", 25_576), fake("aps_test_pca12", 16_000)]
    assert [m.what for m in paper._parts(some)] == [
        "Credit Fraud, the whole 284,807 records", "APS Trucks, the whole 60,000 records",
    ]  # fmt: skip
    assert "a part, 25,576 records" in paper._parts(some)[0].why
    assert "the official test set, 16,000 records" in paper._parts(some)[1].why
    assert paper._parts([fake("credit_fraud", 284_807)]) == []
    assert [each.short for each in some] == ["Credit (25,576)", "APS test (16,000)"]
