"""LedgerStanding of a ledger: what it promises to people, what is left where, and who asked."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pytest

from isinglass.cli import ledger_text
from isinglass.curate import plain_words
from isinglass.curate.curator import Curator
from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.ledger.standing import AccountStanding, LedgerStanding

TABLE = np.random.default_rng(0).normal(size=(30, 2))


def curator(tmp_path, **more):
    return Curator(
        TABLE, beta=3, r=1, budget=1, ledger=tmp_path / "ledger.db", pad=False, **more
    )  # fmt: skip


def test_standing_tells_promise_spends_and_askers_and_no_place(tmp_path):
    with curator(tmp_path) as asked:
        asked.ask([[0.0, 0.0], [0.1, 0.0], [76543.0, 0.0]], epsilon="0.2")
        asked.ledger.admit("ann", share=250_000, reason="asked")
        asked.ask([[5.0, 5.0]], epsilon="0.1", user="ann")
        found = asked.ledger.standing()
    curators, ann = found.accounts
    assert (curators.user, curators.part, curators.most, curators.answers) == (
        "curator", 750_000, 400_000, 3,
    )  # fmt: skip
    assert (ann.user, ann.part, ann.most, ann.left, ann.answers) == (
        "ann", 250_000, 100_000, 150_000, 1,
    )  # fmt: skip
    assert "by a factor of at most 2.72 (epsilon 1)" in found.promises[0]
    assert "76543" not in str(found.to_json())
    assert [a["left_there"] for a in found.to_json()["accounts"]] == [0.35, 0.15]


def test_a_person_with_records_and_a_release_are_told(tmp_path):
    with curator(tmp_path, records_per_person=3) as asked:
        asked.ledger.amend(reason="it left", also_released=True)
        promises = " ".join(asked.ledger.standing().promises)
    assert "a person may have 3 records" in promises.lower()
    assert "by a factor of at most 20.1 (epsilon 3)" in promises
    assert "also left as a release" in promises


def test_a_ledger_that_only_models_used_has_a_standing(tmp_path):
    with Ledger(tmp_path / "models.db") as ledger:
        ledger.sign_models(cap=2_000_000, delta_cap=10**9)
        ledger.charge_model(
            lambda: b"counts", micro=500_000, femto=0, rho=None, records_per_person=1,
            request_id="may", digest=b"settings",
        )  # fmt: skip
        found = ledger.standing()
    assert (found.models, found.everywhere, found.accounts[0].left) == (1, 500_000, 1_500_000)
    assert "apart from a chance of 1e-06" in found.promises[0]


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [(0.1, "1.11"), (1, "2.72"), (math.log(2), "2"), (5, "149"), (800, "hardly promises")],
)
def test_odds_are_rounded_up_and_never_overflow(epsilon, said):
    assert plain_words.odds(epsilon).split("at most ")[-1].startswith(said) or (
        said in plain_words.odds(epsilon)
    )


def test_the_forecast_follows_the_pace_and_waits_for_a_day():
    account = AccountStanding("curator", 10**6, 750_000, 9, "2026-01-01T00:00:00+00:00", "")
    found = LedgerStanding((), (account,), 0, 0)
    day = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    assert found.days_left(account, day + datetime.timedelta(hours=5)) is None
    assert found.days_left(account, day + datetime.timedelta(days=30)) == 10
    (line, _) = ledger_text._left(found, day + datetime.timedelta(days=30))
    assert "0.25 is left there" in line
    assert "until about 2026-02-10" in line
    # What models cost is no pace of answers.
    assert LedgerStanding((), (account,), 750_000, 1).days_left(account, day) is None
