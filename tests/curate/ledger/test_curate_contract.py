"""The contract: what the first use fixes, what later uses may not change or weaken."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from tests.curate.ledgers import LINE, TABLE, TERMS, never, opened

from isinglass.curate.ledger.contract import Contract
from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.query import Query
from isinglass.detect.metric import declare
from isinglass.errors import LedgerError

SENSITIVE = dataclasses.replace(
    TERMS, modes=("sensitive", "sparse"), k_min=2, beta_max=10, r_min=0.5
)


def test_a_contract_is_read_as_it_was_written():
    full = Contract(
        cap=3, modes=("dp", "sensitive"), columns=("a", "b"), metric={"name": "minkowski", "p": 3},
        scaling={"low": [0.1, -1e300], "high": [1.0, 2.0]}, unit="record", records_per_person=4,
        user_cap=2, k_min=1, beta_max=7, r_min=0.1, also_released=True,
    )  # fmt: skip
    assert Contract.from_json(json.loads(json.dumps(full.to_json()))) == full


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"cap": 11},
            r"budget of 0.00001 a place, got 0.000011; `Ledger.amend\(cap=11, reason=…\)` ",
        ),
        ({"cap": 9}, "budget of 0.00001 a place, got 0.000009; ask as it says$"),
        ({"modes": ("sparse", "dp")}, "does not allow mode dp, only sparse"),
        ({"columns": ("y",)}, "list of columns"),
        ({"metric": {"name": "manhattan"}}, "another distance"),
        ({"scaling": {"low": [0], "high": [1]}}, "scaling of the columns"),
        ({"unit": "person"}, "unit of privacy"),
        ({"records_per_person": 2}, "1 record per person, got 2; `.*records_per_person=2, reason"),
        ({"user_cap": 5}, "another budget for a user: none"),
        (
            {"also_released": True},
            "has not left as a release; `.*also_released=True, reason",
        ),
        ({"k_min": 1, "beta_max": 5, "r_min": 1.0}, "allows no sensitive question"),
        ({"rule": "mine", "beta_max": 5, "r_min": 1.0}, "allows no sensitive question"),
    ],
)
def test_terms_that_differ_are_refused_and_said(tmp_path, change, told):
    opened(str(tmp_path / "l.db")).close()
    with Ledger(tmp_path / "l.db") as ledger:
        with pytest.raises(LedgerError, match=told):
            ledger.sign(dataclasses.replace(TERMS, **change), LINE, TABLE)
        assert ledger.contract == TERMS
        assert ledger.summary()["entries"] == {"contract": 1}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"k_min": None, "rule": "mine"}, "by k at least 2.* the question has another rule"),
        ({"k_min": 1}, "with k at least 2, got 1"),
        ({"beta_max": 11}, "with beta at most 10, got 11"),
        ({"r_min": 0.25}, "with r at least 0.5, got 0.25"),
    ],
)
def test_weaker_sensitive_privacy_is_refused(tmp_path, change, told):
    opened(str(tmp_path / "l.db"), SENSITIVE).close()
    with Ledger(tmp_path / "l.db") as ledger, pytest.raises(LedgerError, match=told):
        ledger.sign(dataclasses.replace(SENSITIVE, **change), LINE, TABLE)


@pytest.mark.parametrize(
    "change",
    [{}, {"modes": ("sparse",)}, {"modes": ("sensitive",)}, {"k_min": 3}, {"beta_max": 9},
     {"r_min": 0.6}, {"k_min": None, "beta_max": None, "r_min": None}],
)  # fmt: skip
def test_the_same_or_stricter_terms_are_no_difference(where, change):
    opened(where, SENSITIVE).close()
    with Ledger(where) as ledger:
        assert ledger.sign(dataclasses.replace(SENSITIVE, **change), LINE, TABLE).first is False
        assert ledger.contract == SENSITIVE


@pytest.mark.parametrize(
    ("k", "beta", "r", "told"),
    [(1, 10, 0.5, "k at least 2"), (2, 11, 0.5, "beta at most 10"), (2, 10, 0.4, "r at least 0.5")],
)
def test_a_single_query_may_not_be_weaker_either(tmp_path, k, beta, r, told):
    asked = Query(np.zeros(1), "sensitive", beta, r, 1, k=k, influence=r)
    with opened(str(tmp_path / "l.db"), SENSITIVE) as ledger:
        with pytest.raises(LedgerError, match=told):
            ledger.answer([asked], never)
        # Nobody's presence is at stake in a query that everyone is covered by.
        sparse = Query(np.zeros(1), "sparse", 99, 0.1, 1, influence=0.1)
        assert ledger.price([sparse])[0].spent == 1


@pytest.mark.parametrize("privacy", [{"k": 2}, {"privacy": "sensitive"}, {"mode": "sensitive"}])
def test_a_sensitive_query_needs_terms_of_sensitive_privacy(tmp_path, privacy):
    terms = dataclasses.replace(TERMS, modes=("sparse", "mine"))
    asked = Query(np.zeros(1), **({"mode": "mine", "beta": 5, "r": 0.5, "micro": 1} | privacy))
    with opened(str(tmp_path / "l.db"), terms) as ledger:
        with pytest.raises(LedgerError, match=r"allows no sensitive question|not allow mode"):
            ledger.answer([asked], never)
        assert ledger.price([dataclasses.replace(asked, mode="mine", k=None,
                                                 privacy="differential")])  # fmt: skip


def test_a_rule_of_one_s_own_is_the_only_sensitive_one_at_one_beta_and_r(tmp_path):
    terms = dataclasses.replace(
        TERMS, modes=("sparse", "mine", "yours"), beta_max=5, r_min=0.5, rule="mine"
    )
    mine = Query(np.zeros(1), "mine", 5, 0.5, 1, privacy="sensitive")
    with opened(str(tmp_path / "l.db"), terms) as ledger:
        assert ledger.price([mine])[0].spent == 1
        for other in ({"beta": 4}, {"r": 1.0}, {"k": 1}, {"mode": "yours"}):
            with pytest.raises(LedgerError, match=r"by the rule of mine.* has another rule"):
                ledger.answer([dataclasses.replace(mine, **other)], never)


def test_the_very_distance_is_fixed_not_its_name_alone(where):
    opened(where).close()
    for metric in (declare("manhattan", None, None, 1), declare("euclidean", None, [2.0], 1)):
        with Ledger(where) as ledger, pytest.raises(LedgerError, match="another distance"):
            ledger.sign(TERMS, metric, TABLE)


def test_a_distance_comes_back_bit_for_bit(tmp_path):
    metric = declare("minkowski", 2.3, [0.1, 1 / 3, 1e-100], 3)
    terms = dataclasses.replace(TERMS, columns=("a", "b", "c"))
    for _ in range(2):
        with Ledger(tmp_path / "l.db") as ledger:
            ledger.sign(terms, metric, TABLE)
            kept = ledger._keeper.books().budget.metric
    assert (kept.name, kept.power, kept.weighted) == (metric.name, metric.power, metric.weighted)
    np.testing.assert_array_equal(kept.weights, metric.weights)


def test_a_contract_is_signed_once_by_whoever_comes_first(where):
    with Ledger(where) as one, Ledger(where) as two:
        assert one.sign(TERMS, LINE, TABLE).first is True
        with pytest.raises(LedgerError, match="budget"):
            two.sign(dataclasses.replace(TERMS, cap=99), LINE, TABLE)
        assert two.sign(TERMS, LINE, TABLE).first is False
        assert (one.created, two.created) == (True, False)
        assert one.verify().entries == 1
