"""What an end user is told follows from that user's own queries, whatever others ask."""

from __future__ import annotations

import contextlib
import dataclasses
import json

import numpy as np
import pytest
from tests.cli.asking import AGAIN, FIRST, command, refused
from tests.curate.ledgers import TERMS, never, no, opened, query, rows, yes

from isinglass.curate.curator import Curator
from isinglass.curate.ledger.entries import unsealed
from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.padding import Deadline
from isinglass.errors import BudgetError, LedgerError

SHARED = dataclasses.replace(TERMS, cap=20)


@pytest.fixture
def where(tmp_path):
    return str(tmp_path / "ledger.db")


def told(work):
    """Everything that comes back, and nothing else."""
    try:
        found = work()
    except (BudgetError, LedgerError, ValueError) as error:
        return type(error).__name__, str(error), vars(error)
    return [dataclasses.asdict(one) for one in found or []]


def test_bisecting_what_is_left_finds_no_record_of_another_user(tmp_path):
    """The attack: dry runs are free, and each tells on which side of a border a query lies."""
    asked_about = 0.7310585786300049
    table = np.random.default_rng(0).normal(size=(50, 1))
    with Curator(table, 3, 0.25, 1, tmp_path / "ledger.db", pad=False, user_budget="0.4") as one:
        for name in ("victim", "spy"):
            one.ledger.admit(name, reason="asked")
        one.ask([asked_about], epsilon="0.1", user="victim")
        one.ask([asked_about], epsilon="0.1", fresh=True)

        def left(x, user):
            return one.price([x], epsilon="0.05", user=user)[0].left

        def bisected(user):
            low, high = asked_about - 20, asked_about
            if left(low, user) == left(high, user):
                return None
            for _ in range(80):
                middle = (low + high) / 2
                same = left(middle, user) == left(low, user)
                low, high = (middle, high) if same else (low, middle)
            return high + 0.5

        assert bisected("victim") == pytest.approx(asked_about, abs=1e-8)  # the attack works
        assert bisected("curator") is not None  # whoever keeps the ledger sees everything
        assert bisected("spy") is None
        grid = np.linspace(-2, 2, 41)
        assert {left(x, "spy") for x in grid} == {0.35}
        assert {one.left([x], epsilon="0.1", user="spy") for x in grid} == {4}
        assert {p.spent for x in grid for p in one.price([x], epsilon="0.1", user="spy")} == {0.1}


def _spies_view(where, others):
    """All that a user is told in a fixed run of requests, while others ask `others` in between."""
    view = []
    with opened(where, SHARED) as ledger:
        for name in ("ann", "spy"):
            ledger.admit(name, share=6, reason="asked")
        requests = [
            lambda: ledger.price([query(0.0, 3)], user="spy"),
            lambda: ledger.answer([query(0.0, 3)], yes, user="spy"),
            lambda: ledger.answer([query(0.0, 3)], never, user="spy"),
            lambda: ledger.answer([query(0.2, 2), query(9.0, 6)], yes, user="spy", key="k"),
            lambda: ledger.answer([query(0.2, 2), query(9.0, 6)], never, user="spy", key="k"),
            lambda: ledger.answer([query(0.1, 2)], never, user="spy"),
            lambda: ledger.price([query(0.1, 1), query(0.3, 1)], user="spy"),
            lambda: ledger.answer([query(0.0, 3)], no, user="spy", fresh=True),
            lambda: ledger.answer([query(5.0, 7)], never, user="spy"),
            lambda: ledger.answer([query(0.1, 1)], never, user="stranger"),
        ]
        for request in requests:
            for other in others:
                told(lambda other=other: other(ledger))
            view.append(told(request))
        assert ledger.verify().whole
    return view


OTHERS = [
    lambda ledger: ledger.answer([query(0.0, 3)], no, user="ann", fresh=True),
    lambda ledger: ledger.answer([query(0.1, 2)], no),
    lambda ledger: ledger.answer([query(9.0, 6), query(5.0, 1)], no, key="k"),
    lambda ledger: ledger.answer([query(0.2, 2), query(9.0, 6)], no, user="ann", key="k"),
    lambda ledger: ledger.charge_everywhere(1, "a private choice of r"),
]


def test_everything_a_user_is_told_is_the_same_whatever_others_do(tmp_path):
    alone = _spies_view(str(tmp_path / "alone.db"), [])
    for n in range(1, len(OTHERS) + 1):
        assert _spies_view(str(tmp_path / f"{n}.db"), OTHERS[:n]) == alone
    refusals = [one for one in alone if isinstance(one, tuple)]
    assert len(refusals) == 5  # what was run through has both: answers and refusals
    assert all("user's own budget" in text for kind, text, _ in refusals if kind == "BudgetError")


def test_a_stored_answer_of_somebody_else_is_drawn_and_paid_for_again(where):
    with opened(where, SHARED) as ledger:
        ledger.admit("ann", share=6, reason="asked")
        ledger.answer([query(0.0, 2)], yes)
        (drawn,) = ledger.answer([query(0.0, 2)], no, user="ann")
        assert (drawn.anomalous, drawn.spent, drawn.left) == (False, 2, 4)
        (stored,) = ledger.answer([query(0.0, 2)], never, user="ann")
        assert (stored.anomalous, stored.spent) == (False, 0)
        many = ledger.answer([query(0.0, 2), query(0.0, 2)], never, user="ann")
        assert [one.spent for one in many] == [0, 0]
        (mine,) = ledger.answer([query(0.0, 2)], never)
        assert (mine.anomalous, mine.spent) == (False, 0)  # the curator sees the newest


def test_all_accounts_together_stay_within_the_cap_at_every_place(where):
    """By brute force: every place of a line, after everybody has spent whatever they may."""
    rng, spends = np.random.default_rng(4), []
    with opened(where, SHARED) as ledger:
        for name, share in (("ann", 6), ("bob", 5)):
            ledger.admit(name, share=share, reason="asked")
        for _ in range(400):
            user = ["ann", "bob", "curator"][rng.integers(3)]
            x, micro, r = rng.integers(0, 24) / 4, int(rng.integers(1, 4)), rng.integers(0, 4) / 4
            try:
                ledger.answer([query(x, micro, r=r)], yes, user=user, fresh=True)
                spends.append((user, x, r, micro))
            except BudgetError:
                continue
        assert ledger.verify().whole

    def at(place, users):
        return sum(m for u, x, r, m in spends if u in users and abs(x - place) <= r)

    places = np.arange(-1, 8, 0.125)
    assert max(at(place, ("ann", "bob", "curator")) for place in places) <= 20
    assert max(at(place, ("ann",)) for place in places) == 6
    assert max(at(place, ("curator",)) for place in places) == 9


def test_a_share_is_refused_where_the_curator_has_spent_too_much_already(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0, 4)], yes)
        ledger.answer([query(0.9, 3)], yes)
        ledger.answer([query(50.0, 6)], yes)
        with pytest.raises(LedgerError, match=r"a share of 0\.000004 does not fit: at some place"):
            ledger.admit("ann", share=4, reason="asked")
        ledger.admit("ann", share=3, reason="asked")
        with pytest.raises(BudgetError, match=r"the curator's part of the budget of 0\.000007"):
            ledger.answer([query(50.0, 2)], never)
        with pytest.raises(ValueError, match="share must be at most what is left of the budget"):
            ledger.admit("bob", share=8, reason="asked")
        ledger.amend(cap=12, reason="agreed")
        ledger.admit("ann", share=5, reason="asked for more")
        with pytest.raises(ValueError, match=r"share must be a whole number .* above 5"):
            ledger.admit("ann", share=5, reason="the same again")
        assert ledger.contract.curators == 7
        assert ledger.summary()["contract"]["shares"] == {"ann": 5e-6}
        assert [a["reason"] for a in ledger.summary()["amendments"]][-1] == "asked for more"
        assert ledger.verify().whole


def test_who_has_no_share_is_refused_by_the_terms_alone(where):
    with opened(where) as ledger:
        for work in (
            lambda: ledger.answer([query(0.0)], never, user="ann"),
            lambda: ledger.price([query(0.0)], user="ann"),
            lambda: ledger.charge_everywhere(1, "r", user="ann"),
        ):
            with pytest.raises(LedgerError, match="the user has no share"):
                work()
        for user, how, rule in (
            ("ann", {}, "share must be given where the contract has no budget for a user"),
            ("curator", {"share": 1}, "user must not be the curator"),
            ("", {"share": 1}, "user must be 1 to 1000"),
            ("ann", {"share": 0}, "share must be a whole number"),
            ("ann", {"share": 1.0}, "share must be a whole number"),
        ):
            with pytest.raises(ValueError, match=rule):
                ledger.admit(user, reason="asked", **how)
    assert rows(where, "count(*)") == [(1,)]


def test_a_share_is_at_most_the_contracts_budget_for_a_user(where):
    with opened(where, dataclasses.replace(TERMS, user_cap=3)) as ledger:
        with pytest.raises(ValueError, match="share must be at most the contract's budget"):
            ledger.admit("ann", share=4, reason="asked")
        ledger.admit("ann", reason="asked")
        assert ledger.contract.shares == {"ann": 3}


def test_shares_are_read_again_by_whoever_opens_the_ledger(where):
    with opened(where) as ledger, opened(where) as other:
        ledger.admit("ann", share=4, reason="asked")
        other.answer([query(0.0, 3)], yes, user="ann")
        assert ledger.price([query(0.1, 1)], user="ann")[0].left == 0
        assert ledger.price([query(0.1, 1)])[0].left == 5
    with opened(where) as again:
        assert again.price([query(0.1, 1)], user="ann")[0].left == 0
        assert again.price([query(0.1, 1)])[0].left == 5


def _old(where, *answers):
    """A ledger as earlier versions wrote it: users without shares spent from one budget."""
    opened(where).close()
    with Ledger(where) as ledger, ledger._keeper.writing():
        ledger._keeper.add([
            unsealed("answer", user, None, None, q.digest(), q.place.tobytes(), 0.5, q.micro, 1)
            for user, q in answers
        ])  # fmt: skip


def test_an_old_ledger_opens_unchanged_and_its_spends_stay_the_curators(where):
    _old(where, ("ann", query(0.0, 4)), ("bob", query(0.5, 3)))
    before = rows(where, "seq, hash")
    with opened(where) as ledger:
        assert ledger.verify().whole
        assert ledger.price([query(0.2, 1)])[0].left == 2  # 7 of 10 are spent
        with pytest.raises(LedgerError, match="no share"):
            ledger.price([query(0.0, 4)], user="ann")
        assert rows(where, "seq, hash") == before
        with pytest.raises(LedgerError, match=r"at some place 0\.000007 is spent"):
            ledger.admit("ann", share=4, reason="asked")
        ledger.amend(cap=14, reason="agreed")
        ledger.admit("ann", share=7, reason="asked")
        assert ledger.price([query(0.0, 1)], user="ann")[0].left == 2  # her 4 count for her, too
        with pytest.raises(BudgetError):
            ledger.answer([query(0.0, 1)], never, fresh=True)  # and for the table
        assert ledger.verify().whole
    with opened(where, dataclasses.replace(TERMS, cap=14)) as again:  # read in one piece
        assert again.price([query(0.0, 1)], user="ann")[0].left == 2
        with pytest.raises(BudgetError):
            again.answer([query(0.0, 1)], never, fresh=True)


@pytest.mark.parametrize(
    ("forged", "problem"),
    [
        ([("ann", 5)], "entry 4 spends more than the cap"),
        ([("curator", 7)], "entry 4 spends more than the cap"),
        ([("curator", 3), {"shares": {"bob": 1}}, {"shares": {"bob": 4}}],
         "entry 6 gives away what is spent already"),
        ([{"shares": {"bob": 7}}], "entry 4 does not make the terms weaker"),
    ],
)  # fmt: skip
def test_verify_finds_who_spent_or_gave_away_too_much(where, forged, problem):
    with opened(where) as ledger:
        ledger.admit("ann", share=4, reason="asked")
        ledger.answer([query(0.0, 2)], yes)
    refused_by_readers = contextlib.suppress(LedgerError)
    with Ledger(where) as ledger, refused_by_readers, ledger._keeper.writing():
        ledger._keeper.add([_forged(one) for one in forged])
    with Ledger(where, check=False) as ledger:
        assert ledger.verify().problems == [problem]


def _forged(one):
    """An entry by somebody with the secret: new shares, or what a user spends at one place."""
    if isinstance(one, dict):
        return unsealed("amend", facts=json.dumps({"terms": one, "reason": ""}))
    (user, micro), place = one, query(0.1).place.tobytes()
    return unsealed("answer", user, place=place, influence=0.5, micro=micro, anomalous=1)


def test_dry_runs_of_end_users_wait_for_the_deadline_and_the_curators_do_not(tmp_path):
    now = [0.0]

    def sleep(seconds):
        now[0] += seconds

    kept = Deadline(0.5, 0.0, clock=lambda: now[0], sleep=sleep)
    path = tmp_path / "ledger.db"
    with Curator(np.zeros((9, 1)), 2, 1.0, 1, path, pad=kept, user_budget="0.5") as one:
        one.ledger.admit("ann", reason="asked")
        one.price([0.0], epsilon="0.1")
        assert now[0] == 0.0
        one.price([0.0], epsilon="0.1", user="ann")
        one.left([0.0], epsilon="0.1", user="ann")
        assert now[0] == 1.0


def test_postgresql_keeps_stored_answers_apart_too(server):
    with opened(server.schema(), SHARED) as ledger:
        ledger.admit("ann", share=6, reason="asked")
        asked = [query(0.0, 2), query(9.0, 2)]
        ledger.answer(asked, yes)
        assert [a.spent for a in ledger.answer(asked, no, user="ann")] == [2, 2]
        assert [a.anomalous for a in ledger.answer(asked, never, user="ann")] == [False, False]
        assert ledger.verify().whole


# As typed.


def test_the_command_admits_users_and_tells_them_of_their_own_share(tmp_path, monkeypatch):
    run = command(tmp_path, monkeypatch)
    refused(run(*FIRST, "--user", "ann"), 2, "--user-budget must be given")
    refused(run(*FIRST, "--user", "ann", "--user-budget", "0.3"), 2, "--user-budget must be given")
    assert not (tmp_path / "ledger.db").exists()
    assert run(*FIRST, "--user", "ann", "--user-budget", "0.1", "--dry-run")[0] == 0
    assert not (tmp_path / "ledger.db").exists()
    assert run(*FIRST, "--user", "ann", "--user-budget", "0.1")[0] == 0
    admit = ("ledger", "admit", "ledger.db", "bob", "--reason", "asked in May")
    terms = json.loads(run(*admit, "--json")[1])["contract"]
    assert terms["shares"] == {"ann": 0.1, "bob": 0.1}
    dry = json.loads(run(*AGAIN, "--user", "bob", "--dry-run", "--json")[1])
    assert [(p["spent"], p["left"]) for p in dry["prices"]] == [(0.1, 0.0)] * 3
    refused(run(*admit, "--user-budget", "0.2"), 2, "share must be at most")
    shown = run("ledger", "show", "ledger.db")[1]
    assert "asked in May" in shown
