"""The ledger: what is charged, what is free, what is refused, and that it is written first."""

from __future__ import annotations

import dataclasses
import itertools
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import numpy as np
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.curate.ledgers import (
    LINE,
    OTHER,
    TABLE,
    TERMS,
    by_hand,
    files,
    never,
    no,
    opened,
    query,
    rows,
    yes,
)

import isinglass.curate.ledger.state as books_module
from isinglass.curate.ledger.backends.sqlite import SQLite
from isinglass.curate.ledger.budget import SpatialBudget
from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.ledger.state import Books
from isinglass.curate.query import Query
from isinglass.errors import BudgetError, CuratorError, LedgerError, PrivacyWarning


def test_the_same_query_is_answered_from_the_ledger_for_nothing(where):
    with opened(where) as ledger:
        (first,) = ledger.answer([query(0.0, 3)], yes)
        (again,) = ledger.answer([query(0.0, 3)], never)
        (minus_zero,) = ledger.answer([query(-0.0, 3)], never)
    assert (first.anomalous, first.spent, first.left) == (True, 3, 7)
    assert again == minus_zero == dataclasses.replace(first, spent=0)
    assert rows(where, "count(*), sum(micro)") == [(2, 3)]


def test_fresh_draws_anew_and_pays(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0, 3)], yes)
        (fresh,) = ledger.answer([query(0.0, 3)], no, fresh=True)
        (newest,) = ledger.answer([query(0.0, 3)], never)
    assert (fresh.anomalous, fresh.spent, fresh.left) == (False, 3, 4)
    assert (newest.anomalous, newest.spent, newest.left) == (False, 0, 4)


@pytest.mark.parametrize(
    "other",
    [query(0.0, 4), query(0.1, 3), query(0.0, 3, r=0.4), query(0.0, 3, mode="dp"),
     dataclasses.replace(query(0.0, 3), beta=6), dataclasses.replace(query(0.0, 3), k=1),
     dataclasses.replace(query(0.0, 3), count_query=False)],
)  # fmt: skip
def test_any_other_setting_is_another_query(tmp_path, other):
    # With terms of sensitive privacy, or a query with k would be refused.
    terms = dataclasses.replace(TERMS, modes=("sparse", "dp"), k_min=1, beta_max=6, r_min=0.25)
    with opened(str(tmp_path / "l.db"), terms) as ledger:
        ledger.answer([query(0.0, 3)], yes)
        (found,) = ledger.answer([other], no)
    assert (found.anomalous, found.spent) == (False, other.micro)


def test_a_new_version_clears_stored_answers_and_keeps_spends(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0, 3)], yes, key="k")
    with Ledger(where) as ledger:
        with pytest.raises(LedgerError, match="not the one this ledger answered about last"):
            ledger.sign(TERMS, LINE, OTHER)
        assert not ledger.sign(TERMS, LINE, OTHER, new_version="two records were added").first
        (found,) = ledger.answer([query(0.0, 3)], no)
        assert (found.anomalous, found.spent, found.left, ledger.version) == (False, 3, 4, 2)
        # A key is a promise to a caller who did not hear the answer: it outlives a version.
        (heard,) = ledger.answer([query(0.0, 3)], never, key="k")
        assert (heard.anomalous, heard.spent) == (True, 0)
        assert ledger.verify().whole


def test_the_same_table_is_no_new_version(where):
    opened(where).close()
    with Ledger(where) as ledger:
        ledger.sign(TERMS, LINE, TABLE, new_version="nothing changed")
        assert ledger.version == 1


def test_a_curator_with_the_old_table_is_refused_after_a_new_version(where):
    with opened(where) as old, Ledger(where) as new:
        new.sign(TERMS, LINE, OTHER, new_version="one record was removed")
        with pytest.raises(LedgerError, match="another version of the table"):
            old.answer([query(0.0)], never)


def test_two_who_share_a_ledger_object_keep_their_own_tables_apart(where):
    with Ledger(where) as ledger:
        old = ledger.sign(TERMS, LINE, TABLE)
        ledger.answer([query(0.0)], yes, agreement=old)
        new = ledger.sign(TERMS, LINE, OTHER, new_version="all moved")
        assert (old.first, new.first, old.table == new.table) == (True, False, False)
        for work in (
            lambda: ledger.answer([query(0.0)], never, agreement=old),
            lambda: ledger.price([query(0.0)], agreement=old),
            lambda: ledger.charge_everywhere(1, "r", agreement=old),
        ):
            with pytest.raises(LedgerError, match="another version of the table"):
                work()
        assert ledger.answer([query(0.0)], no, agreement=new)[0].anomalous is False
        ledger.charge_everywhere(1, "r", agreement=new)


def test_a_key_returns_what_it_returned(where):
    with opened(where) as ledger:
        asked = [query(0.0, 2), query(9.0, 2), query(0.0, 2)]
        first = ledger.answer(asked, lambda queries: [True, False], key="k")
        again = ledger.answer(asked, never, key="k")
        fresh = ledger.answer([query(0.0, 2)], no, key="f", fresh=True)
        fresh_again = ledger.answer([query(0.0, 2)], never, key="f", fresh=True)
    assert [a.anomalous for a in first] == [a.anomalous for a in again] == [True, False, True]
    assert [a.spent for a in first] == [2, 2, 0]
    assert [a.spent for a in again] == [0, 0, 0]
    assert (fresh[0].anomalous, fresh[0].spent) == (False, 2)
    assert (fresh_again[0].anomalous, fresh_again[0].spent) == (False, 0)


def test_a_key_belongs_to_a_user_and_a_request(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0), query(9.0)], yes, key="k")
        for other in ([query(0.0)], [query(9.0), query(0.0)], [query(0.0), query(8.0)]):
            with pytest.raises(LedgerError, match="another request"):
                ledger.answer(other, never, key="k")
        with pytest.raises(LedgerError, match="another request"):
            ledger.answer([query(0.0), query(9.0)], never, key="k", fresh=True)
        ledger.admit("bob", share=1, reason="asked")
        (bob,) = ledger.answer([query(5.0)], no, user="bob", key="k")
    assert bob.anomalous is False
    assert rows(where, "sum(micro)") == [(3,)]


def test_a_stored_answer_asked_for_with_a_key_is_noted_under_it_for_nothing(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0)], yes)
        ledger.answer([query(0.0)], never, key="k")
        ledger.answer([query(0.0)], no, fresh=True)
        (kept,) = ledger.answer([query(0.0)], never, key="k")
        assert ledger.verify().whole
    assert kept.anomalous is True  # what the key returned, not the newer answer
    assert rows(where, "micro", "WHERE key = 'k'") == [(0,)]


def test_a_batch_is_priced_in_order_and_all_or_nothing(where):
    with opened(where) as ledger:
        with pytest.raises(BudgetError) as refused:
            ledger.answer([query(0.0, 6), query(50.0, 6), query(0.9, 5)], never)
        error = refused.value
        assert (error.row, error.asked, error.spent, error.left) == (2, 5, 6, 4)
        assert rows(where, "count(*)") == [(1,)]
        found = ledger.answer([query(0.0, 6), query(50.0, 6), query(0.9, 4)], yes)
    assert [a.left for a in found] == [0, 4, 0]  # once all of them are paid for


def test_a_refusal_names_the_row_also_after_stored_ones(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0, 6)], yes)
        with pytest.raises(BudgetError, match="row 1") as refused:
            ledger.answer([query(0.0, 6), query(0.5, 5)], never)
    assert refused.value.row == 1


def test_a_stored_answer_is_free_where_neighbors_left_less_than_nothing(where):
    # -0.9 and 0.9 do not reach each other, so together with 0 they pass its cap unharmed: no
    # place is within 0.5 of all three.
    with opened(where) as ledger:
        for x in (0.0, -0.9, 0.9):
            ledger.answer([query(x, 5)], yes)
        (found,) = ledger.answer([query(0.0, 5)], never)
        assert ledger.verify().whole
    assert (found.spent, found.left) == (0, 0)


def test_price_says_what_answer_charges_and_writes_nothing(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0, 3)], yes)
        asked = [query(0.0, 3), query(0.2, 2), query(0.2, 2)]
        priced = ledger.price(asked)
        assert rows(where, "count(*)") == [(2,)]
        found = ledger.answer(asked, yes)
        with pytest.raises(BudgetError):
            ledger.price([query(0.0, 6)])
    assert [(p.spent, p.left) for p in priced] == [(a.spent, a.left) for a in found]
    assert [p.spent for p in priced] == [0, 2, 0]


def test_users_have_their_own_cap_below_the_table_s(where):
    with opened(where, dataclasses.replace(TERMS, user_cap=6)) as ledger:
        ledger.admit("bob", share=4, reason="asked")
        ledger.answer([query(0.0, 6)], yes)
        with pytest.raises(BudgetError):
            ledger.answer([query(0.1, 1)], never)
        with pytest.raises(BudgetError) as refused:
            ledger.answer([query(0.1, 5)], never, user="bob")
        assert (refused.value.spent, refused.value.left) == (0, 4)  # who collude gain nothing
        assert ledger.answer([query(0.1, 4)], yes, user="bob")[0].left == 0
        assert ledger.verify().whole


def test_a_charge_everywhere_counts_at_every_place(where):
    with opened(where) as ledger:
        ledger.charge_everywhere(4, "a private choice of r")
        assert ledger.answer([query(1e6, 6)], yes)[0].left == 0
        with pytest.raises(BudgetError):
            ledger.answer([query(-1e6, 7)], never)
        with pytest.raises(BudgetError):
            ledger.charge_everywhere(1, "again")
        assert ledger.verify().whole
    with opened(where) as again, pytest.raises(BudgetError):
        again.answer([query(-1e6, 7)], never)


def test_terms_are_amended_by_an_entry_with_a_reason_and_only_ever_weaker(where):
    with opened(where) as ledger, opened(where) as other:
        ledger.answer([query(0.0, 10)], yes)
        for change, rule in (
            ({"cap": 10}, "cap must be a whole number of millionths of epsilon above 10"),
            ({"cap": 9}, "above 10"),
            ({"cap": 10**13}, "at most"),
            ({"cap": 20.0}, "cap must be a whole number"),
            ({"cap": True}, "cap must be a whole number"),
            ({"records_per_person": 1}, "records_per_person must be a whole number > 1"),
            ({"records_per_person": 2.0}, "records_per_person must be a whole number > 1"),
            ({"also_released": False}, "also_released can only become True"),
            ({"cap": 20, "also_released": False}, "also_released can only become True"),
            ({}, "must be given, got none"),
        ):
            with pytest.raises(ValueError, match=rule):
                ledger.amend(reason="why not", **change)
        with pytest.raises(ValueError, match="reason must be"):
            ledger.amend(cap=20, reason="")
        assert rows(where, "count(*)") == [(2,)]
        ledger.amend(cap=20, reason="the board agreed")
        # Another curator learns of it before the next decision.
        assert other.answer([query(0.0, 10)], no, fresh=True)[0].left == 0
        assert other.contract.cap == 20
        with pytest.raises(LedgerError, match="fixes a budget"):
            other.sign(TERMS, LINE, TABLE)
        other.amend(records_per_person=3, also_released=True, reason="twins, and a release")
        with pytest.raises(ValueError, match="also_released can only become True"):
            ledger.amend(also_released=True, reason="again")
        told = ledger.summary()
        assert [set(change) for change in told["amendments"]] == [
            {"entry", "at", "reason", "cap"},
            {"entry", "at", "reason", "records_per_person", "also_released"},
        ]
        assert [change["entry"] for change in told["amendments"]] == [3, 5]
        assert told["amendments"][0]["cap"] == told["contract"]["cap"] == 2e-5
        assert told["amendments"][1]["reason"] == "twins, and a release"
        assert (ledger.contract.records_per_person, ledger.contract.also_released) == (3, True)
        assert ledger.verify().whole
    weaker = dataclasses.replace(TERMS, cap=20, records_per_person=3, also_released=True)
    with opened(where, weaker) as again:  # read in again, not remembered
        assert again.contract == weaker


def test_a_summary_tells_versions_and_why(where):
    with opened(where) as ledger:
        ledger.sign(TERMS, LINE, OTHER, new_version="two records were added")
        (version,) = ledger.summary()["versions"]
    assert (version["entry"], version["version"]) == (2, 2)
    assert version["reason"] == "two records were added"
    assert version["at"] == rows(where, "at", "WHERE seq = 2")[0][0]


def test_a_failed_draw_is_paid_for_and_its_key_says_so(where):
    def fails(queries):
        raise RuntimeError("record 3.14 is odd")

    with opened(where) as ledger:
        with pytest.raises(CuratorError) as told:
            ledger.answer([query(0.0, 3), query(5.0, 2)], fails, key="k")
        assert "3.14" not in str(told.value)
        assert told.value.__cause__ is None
        assert told.value.__suppress_context__
        with pytest.raises(CuratorError, match="paid for but could not be computed"):
            ledger.answer([query(0.0, 3), query(5.0, 2)], never, key="k")
        assert ledger.price([query(0.0, 3)])[0].left == 4  # spent, and nothing is stored
        (found,) = ledger.answer([query(0.0, 3)], yes)
        assert (found.spent, found.left) == (3, 4)
        assert ledger.verify().whole
    assert rows(where, "sum(micro)", "WHERE anomalous IS NULL") == [(5,)]


def test_an_interrupted_draw_is_paid_for_too(where):
    def interrupted(queries):
        raise KeyboardInterrupt

    with opened(where) as ledger:
        with pytest.raises(KeyboardInterrupt):
            ledger.answer([query(0.0, 3)], interrupted)
        assert ledger.price([query(0.0, 3)])[0].left == 4


def test_a_draw_cannot_ask_its_own_ledger(where):
    with opened(where) as ledger:
        with pytest.raises(CuratorError):
            ledger.answer([query(0.0, 3)], lambda _: ledger.answer([query(9.0)], yes))
        assert rows(where, "sum(micro)") == [(3,)]
        assert ledger.answer([query(9.0)], yes)[0].spent == 1
        assert ledger.verify().whole


@pytest.mark.parametrize("answers", [[], [True, False]])
def test_a_draw_of_another_length_is_a_failed_draw(tmp_path, answers):
    with opened(str(tmp_path / "l.db")) as ledger:
        with pytest.raises(CuratorError):
            ledger.answer([query(0.0, 3)], lambda queries: answers)
        assert ledger.price([query(0.0, 3)])[0].left == 4


def test_the_answer_is_committed_before_it_leaves(where):
    with opened(where) as ledger:
        commit, seen = ledger._keeper.db.commit, []

        def failing():
            seen.append(1)
            raise LedgerError("the disk is full")

        ledger._keeper.db.commit = failing
        with pytest.raises(LedgerError, match="disk is full"):
            ledger.answer([query(0.0, 3)], yes)
        ledger._keeper.db.commit = commit
        assert seen == [1]
        assert rows(where, "count(*)") == [(1,)]
        assert ledger.answer([query(0.0, 3)], no)[0].left == 7
        assert ledger.verify().whole


def test_two_curators_on_one_ledger_share_spends_and_answers(where):
    with opened(where) as one, opened(where) as two:
        one.answer([query(0.0, 6)], yes)
        with pytest.raises(BudgetError):
            two.answer([query(0.5, 5)], never)
        assert two.answer([query(0.0, 6)], never)[0].anomalous is True
        two.answer([query(0.5, 4)], yes)
        with pytest.raises(BudgetError):
            one.answer([query(0.7, 1)], never)
        assert one.verify().whole
        assert one.head() == two.head()


def test_threads_share_a_ledger(where):
    winners: list[float] = []

    def ask(ledger, xs):
        for x in xs:
            try:
                ledger.answer([query(x, 10)], yes, fresh=True)
                winners.append(x)
            except BudgetError:
                pass

    with opened(where) as ledger:
        threads = [threading.Thread(target=ask, args=(ledger, range(0, 40, 2))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=300)
        assert not any(thread.is_alive() for thread in threads)
        assert sorted(winners) == list(range(0, 40, 2))
        assert ledger.verify().whole


def test_a_clock_that_goes_back_changes_nothing(where, monkeypatch):
    class Backwards:
        UTC = books_module.datetime.UTC
        left = iter(range(10, 0, -1))

        class datetime:  # noqa: N801
            @staticmethod
            def now(zone):
                hour = next(Backwards.left)
                real = books_module_datetime(2020, 1, 1, hour, tzinfo=zone)
                return real

    books_module_datetime = books_module.datetime.datetime
    monkeypatch.setattr(books_module, "datetime", Backwards)
    with opened(where) as ledger:
        ledger.answer([query(0.0, 3)], yes)
        ledger.answer([query(0.0, 3)], no, fresh=True)
        (newest,) = ledger.answer([query(0.0, 3)], never)
        assert (newest.anomalous, newest.left) == (False, 4)
        assert ledger.verify().whole
    times = [at for (at,) in rows(where, "at", "ORDER BY seq")]
    assert times == sorted(times, reverse=True)


def test_queries_outside_the_contract_are_refused_before_anything_is_spent(where):
    with opened(where) as ledger:
        with pytest.raises(LedgerError, match="does not allow mode dp"):
            ledger.answer([query(0.0), query(1.0, mode="dp")], never)
        wide = Query(np.zeros(2), "sparse", 5, 0.5, 1, influence=0.5)
        with pytest.raises(ValueError, match="row 1 must have 1 columns"):
            ledger.answer([query(0.0), wide], never)
        for odd in (0, -1, 1.0, 1.5, True, "1", np.int64(1)):
            with pytest.raises(ValueError, match="micro and beta of row 1 must be whole numbers"):
                ledger.answer([query(0.0), query(1.0, odd)], never)
            with pytest.raises(ValueError, match="micro must be a whole number"):
                ledger.charge_everywhere(odd, "r")
        for user, key in (("", None), ("a\x00b", None), ("ann", ""), ("ann", "k" * 1001)):
            with pytest.raises(ValueError, match="1 to 1000 printable"):
                ledger.answer([query(0.0)], never, user=user, key=key)
        assert ledger.answer([], never) == []
    assert rows(where, "count(*)") == [(1,)]


def test_nothing_is_asked_before_the_contract_is_signed(where):
    with Ledger(where) as ledger:
        assert ledger.signed is False
        assert ledger.version == 0
        assert ledger.head() == ""
        found = ledger.verify()
        assert (found.entries, found.whole) == (0, False)
        assert "has no contract: nobody has asked" in found.problems[0]
        with pytest.raises(LedgerError, match="no contract yet"):
            ledger.answer([query(0.0)], never)
        with pytest.raises(LedgerError, match="no contract yet"):
            _ = ledger.contract
    with opened(where) as ledger:
        assert ledger.created is True
    with Ledger(where) as ledger:
        assert ledger.signed is True
        with pytest.raises(LedgerError, match="agree to the ledger's contract"):
            ledger.answer([query(0.0)], never)
        assert ledger.sign(TERMS, LINE, TABLE).first is False
        assert ledger.created is False


def test_the_table_s_digest_is_kept_under_the_secret_only(where):
    opened(where).close()
    ((facts,),) = rows(where, "facts")
    assert TABLE.hex() not in facts


def test_the_table_and_its_triggers_allow_additions_only(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0)], yes)
    for statement in ("UPDATE entries SET micro = 0", "DELETE FROM entries WHERE seq = 2"):
        with pytest.raises((sqlite3.Error, psycopg.Error), match="never"):
            _execute(where, statement)
    if where.startswith("postgresql"):
        with pytest.raises(psycopg.Error, match="never"):
            _execute(where, "TRUNCATE entries")
    else:
        with pytest.raises(sqlite3.Error, match="at the end"):
            _execute(where, "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE seq = 1")


def _execute(where, statement):
    connect = psycopg.connect if where.startswith("postgresql") else sqlite3.connect
    connection = connect(where)
    try:
        connection.execute(statement)
        connection.commit()
    finally:
        connection.close()


def test_a_summary_holds_no_record(where):
    with opened(where) as ledger:
        ledger.answer([query(123.25, 3), query(77.5, 2)], yes, key="k")
        found = ledger.summary()
    assert found["entries"] == {"answer": 2, "contract": 1}
    assert found["spent"] == 5e-6
    assert found["contract"]["cap"] == 1e-5
    assert "123.25" not in str(found)
    assert "77.5" not in str(found)


def test_a_sqlite_ledger_is_its_owner_s_alone(tmp_path):
    path = tmp_path / "l.db"
    with opened(str(path)) as ledger:
        ledger.answer([query(0.0)], yes)
        kept = sorted(Path(os.environ["ISINGLASS_HOME"], "ledgers").iterdir())
        assert len(files(path)) == 3  # with the log and its index
        assert [p.suffix for p in kept] == [".head", ".secret"]
        for file in [*files(path), *kept]:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
    path.chmod(0o644)
    # All three hold records; SQLite gives the other two the first one's mode.
    told = f"others can read the ledger .*`chmod 600 {path} {path}-wal {path}-shm"
    with pytest.warns(PrivacyWarning, match=told):
        opened(str(path)).close()


def test_sqlite_is_durable_and_says_so(tmp_path, monkeypatch):
    with opened(str(tmp_path / "l.db")) as ledger:
        database = ledger._keeper.db
        assert database._pragma("journal_mode") == "wal"
        assert database._pragma("synchronous") == 2
    monkeypatch.setattr(type(database), "_pragma", _not_taken(type(database)._pragma))
    with pytest.raises(LedgerError, match="cannot be written durably"):
        Ledger(tmp_path / "l.db")


def _not_taken(pragma):
    return lambda self, name: 1 if name == "synchronous" else pragma(self, name)


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit"])
def test_postgresql_that_may_lose_a_commit_is_refused(server, setting):
    where = server.schema()
    with server.changed(setting, "off"), pytest.raises(LedgerError, match=f"{setting} is off"):
        Ledger(where)
    opened(where).close()


def test_postgresql_s_password_is_never_shown(server):
    where = server.schema()
    password = where.split(":")[2].split("@")[0]
    with opened(where) as ledger:
        shown = [repr(ledger), str(ledger.summary())]
    for wrong in (
        where.replace("/postgres?", "/nowhere?"),
        where.replace(password, "x" + password),
    ):
        with pytest.raises(LedgerError, match="or does not accept this user or database") as told:
            Ledger(wrong)
        shown.append(str(told.value))
    # Characters that a password must not hold unescaped, and other places to put it.
    for address in (
        f"postgresql://owner:{password}/x@127.0.0.1/postgres",
        f"postgresql://owner:{password}?x@127.0.0.1/postgres",
        f"postgresql://owner:{password}#x@127.0.0.1/postgres",
        f"postgresql://owner@127.0.0.1:1/postgres?password={password}@x",
        f"postgresql://owner:{password}@[127.0.0.1/postgres",
        f"postgresql://127.0.0.1:1/postgres?user=owner&password={password}",
        f"mysql://owner:{password}@127.0.0.1/postgres",
        f"postgresql+psycopg://owner:{password}@127.0.0.1/postgres",
        f"POSTGRESQL://owner:{password}@127.0.0.1/postgres",
    ):
        for way in (Ledger, Ledger.begun):
            with pytest.raises(LedgerError) as told:
                way(address)
            shown.append(str(told.value))
    for text in shown:
        assert password not in text


def test_a_missing_psycopg_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"pip install 'isinglass\[postgres\]'"):
        Ledger("postgresql://somewhere/else")


def test_what_is_not_a_ledger_is_refused(tmp_path, server):
    (tmp_path / "table.csv").write_text("x\n1\n" * 100)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text() == "x\n1\n" * 100
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(LedgerError, match="another program's database"):
        Ledger(tmp_path / "other.db")
    for where in (tmp_path / "none.db", server.schema()):
        with pytest.raises(LedgerError, match="there is no ledger at"):
            Ledger(where, create=False)
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(LedgerError, match="cannot be used: No such file"):
        Ledger(tmp_path / "no" / "folder.db")
    where = server.schema()
    _execute(where, "CREATE TABLE entries (x int)")
    with pytest.raises(LedgerError, match="another program's"):
        Ledger(where)


@pytest.mark.parametrize("address", ["mysql://ann:word@host/db", "sqlite:///ann/word.db"])
def test_other_addresses_are_refused_and_not_shown(tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerError, match=f"that begins with {address.split(':')[0]}://$") as told:
        Ledger(address)
    assert "word" not in str(told.value)
    assert list(tmp_path.iterdir()) == []


def _left(where):
    """What lies where a ledger could be: files, or tables and functions of the schema."""
    home = Path(os.environ["ISINGLASS_HOME"], "ledgers")
    kept = list(home.iterdir()) if home.is_dir() else []
    if not where.startswith("postgresql"):
        return kept + files(where)
    with psycopg.connect(where) as connection:
        here = "= current_schema()::regnamespace"
        return (
            kept
            + connection.execute(
                f"SELECT relname FROM pg_class WHERE relnamespace {here} "
                f"UNION SELECT proname FROM pg_proc WHERE pronamespace {here}"
            ).fetchall()
        )


def test_nothing_is_made_before_the_first_signature(where):
    assert Ledger.begun(where) is False
    with Ledger(where) as ledger:
        assert ledger.signed is False
        assert ledger.head() == ""
        for work in (
            lambda: ledger.answer([query(0.0)], never),
            lambda: ledger.amend(cap=20, reason="early"),
            ledger.summary,
        ):
            with pytest.raises(LedgerError, match="no contract yet"):
                work()
        with pytest.raises(LedgerError, match="there is no ledger at"):
            ledger.backup("copy.db")
        assert _left(where) == []
        opened(where).close()
        # What another made meanwhile is seen.
        assert ledger.signed is True
        assert ledger.sign(TERMS, LINE, TABLE).first is False
    assert Ledger.begun(where) is True


@pytest.mark.parametrize("change", [{"cap": 0}, {"cap": 1.5}, {"cap": True}, {"user_cap": 2.5},
                                    {"records_per_person": 1.0}, {"modes": ("sensitive",)},
                                    {"k_min": 1}, {"beta_max": 5, "r_min": 1.0}])  # fmt: skip
def test_terms_that_no_ledger_may_begin_with_leave_nothing(tmp_path, change):
    where = str(tmp_path / "l.db")
    with Ledger(where) as ledger, pytest.raises(ValueError, match=r"must be|may allow"):
        ledger.sign(dataclasses.replace(TERMS, **change), LINE, TABLE)
    assert _left(where) == []


def test_a_first_use_that_fails_leaves_nothing(where, tmp_path, monkeypatch):
    for home in ("file/home", "file"):  # a home that cannot be: a file is in its place
        (tmp_path / "file").write_text("")
        with monkeypatch.context() as patch:
            patch.setenv("ISINGLASS_HOME", str(tmp_path / home))
            with Ledger(where) as ledger:
                with pytest.raises(LedgerError, match="cannot be used: Not a directory"):
                    ledger.sign(TERMS, LINE, TABLE)
                assert ledger.signed is False
        assert _left(where) == []
    with Ledger(where) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(Books, "sealed", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.sign(TERMS, LINE, TABLE)
        assert _left(where) == []
        assert ledger.sign(TERMS, LINE, TABLE).first is True
        assert ledger.answer([query(0.0)], yes)[0].spent == 1
        assert ledger.verify().entries == 2


def _interrupted(*_):
    raise KeyboardInterrupt


def test_an_unmade_file_is_not_written_to_by_who_had_it_open(tmp_path):
    # Two first uses at once, one of which fails and takes the file away under the lock.
    where = tmp_path / "l.db"
    one, two = SQLite(where), SQLite(where)
    assert (one.made, two.made) == (True, False)
    one.discard()
    assert files(where) == []
    with pytest.raises(LedgerError, match="No such file"), two.locked():
        raise AssertionError("went on without its file")
    three = SQLite(where)
    with pytest.raises(LedgerError, match="replaced while it was open"), two.locked():
        raise AssertionError("went on without its file")
    two.close()
    with opened(str(where)) as ledger:
        three.discard()  # it is in use: nothing is taken away
        assert ledger.answer([query(0.0)], yes)[0].spent == 1
    assert Ledger.begun(where)


def test_begun_makes_nothing_and_tells_what_else_lies_there(tmp_path, server):
    assert Ledger.begun(tmp_path / "none.db") is False
    (tmp_path / "empty.db").write_bytes(b"")
    assert Ledger.begun(tmp_path / "empty.db") is False
    (tmp_path / "table.csv").write_text("x\n1\n" * 100)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.begun(tmp_path / "table.csv")
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger.begun(tmp_path / "no" / "folder.db")
    with pytest.raises(LedgerError, match="cannot be reached"):
        Ledger.begun("postgresql://127.0.0.1:1/nowhere")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.db", "table.csv"]
    assert (tmp_path / "empty.db").stat().st_size == 0


def test_a_ledger_is_not_carried_over_a_fork(tmp_path):
    # In a process of its own: forking one with numba's threads is what the check is about.
    script = (
        "import os, sys\n"
        "from isinglass.errors import LedgerError\n"
        "from tests.curate.ledgers import opened, query, yes\n"
        "ledger = opened(sys.argv[1])\n"
        "if not (child := os.fork()):\n"
        "    try:\n"
        "        ledger.answer([query(0.0)], yes)\n"
        "    except LedgerError as error:\n"
        "        os._exit(7 if 'fork' in str(error) else 8)\n"
        "    os._exit(9)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
        "ledger.answer([query(0.0)], yes)\n"
        "assert ledger.verify().entries == 2\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "l.db")], check=True, timeout=300)


def test_a_file_replaced_while_open_is_noticed(tmp_path):
    path = tmp_path / "l.db"
    with opened(str(path)) as ledger:
        ledger.answer([query(0.0)], yes)
        ledger.backup(tmp_path / "copy.db")
        (tmp_path / "copy.db").rename(path)
        with pytest.raises(LedgerError, match="replaced while it was open"):
            ledger.answer([query(0.0)], never)


def test_entries_taken_away_while_open_are_noticed(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0)], yes)
        by_hand(where, "DELETE FROM entries WHERE seq = 2")
        with pytest.raises(LedgerError, match="no longer holds entry 2"):
            ledger.answer([query(5.0)], never)


def test_one_spend_at_a_time_adds_up_as_many_at_once_do():
    rng = np.random.default_rng(5)
    n = 2500  # more than wait in a list before they are put into boxes
    places, radii = rng.integers(0, 40, (n, 1)) / 2, rng.choice([0.0, 0.25, 0.5, np.inf], n)
    micro, users = rng.integers(1, 9, n), rng.choice(["ann", "bob"], n).tolist()
    one, many = SpatialBudget(LINE, 10**9, 10**8), SpatialBudget(LINE, 10**9, 10**8)
    many.spent([[0.0]], [0.0], "ann")  # ann has an index already, bob's spends wait
    one.spent([[0.0]], [0.0], "ann")
    for i in range(n):
        one.add_one(places[i], float(radii[i]), int(micro[i]), users[i])
    many.add(places, radii, micro, users)
    for user in (None, "ann", "bob"):
        np.testing.assert_array_equal(
            one.spent(places, radii, user), many.spent(places, radii, user)
        )
    for i in range(0, n, 97):
        asked = Query(places[i], "sparse", 5, 0.5, 3, influence=float(radii[i]))
        single, first = one.price([asked], "ann"), many.price([asked, asked], "ann")
        assert single.spent_before[0] == first.spent_before[0]
        # What is left is told as it is when both are paid for.
        assert single.left_after[0] == first.left_after[0] + 3
        assert len(one) == len(many) == n


class Model:
    """What the ledger must do, on whole numbers: 1 apart or less share a budget.

    It is 6 at first, of which bob has 2 for himself; he sees his own stored answers alone.
    """

    def __init__(self):
        self.cap, self.version, self.spends, self.store, self.keys = 6, 1, [], {}, {}

    def ask(self, asked, bits, user, key, fresh):
        if key is not None and (user, key) in self.keys:
            request, answers = self.keys[user, key]
            return "another" if request != (asked, fresh) else [(a, 0) for a in answers]
        whose, limit = (None, self.cap - 2) if user == "curator" else (user, 2)
        known = {} if fresh else {q: self.store[whose, self.version, q] for q in asked
                                  if (whose, self.version, q) in self.store}  # fmt: skip
        spends, found, written = list(self.spends), [], set(asked if key else ())
        for x, micro in asked:
            cost = 0 if (x, micro) in known else micro
            if (
                cost
                and cost + sum(m for u, y, m in spends if u == user and abs(x - y) <= 1) > limit
            ):
                return "refused"
            if cost:
                known[x, micro] = next(bits)
                spends.append((user, x, micro))
                written.add((x, micro))
            found.append((known[x, micro], cost))
        self.spends = spends
        for q in written:
            self.store[None, self.version, q] = self.store[user, self.version, q] = known[q]
        if key is not None and asked:
            self.keys[user, key] = ((asked, fresh), [a for a, _ in found])
        return found


ASK = st.tuples(
    st.just("ask"),
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 2)), min_size=0, max_size=3),
    st.sampled_from(["curator", "bob"]),
    st.sampled_from([None, None, "a", "b"]),
    st.booleans(),
)
STEPS = st.lists(
    st.one_of(ASK, ASK, ASK, st.just(("version",)), st.just(("raise",)), st.just(("reopen",))),
    max_size=20,
)


def _runs_like_the_model(where, steps):
    terms = dataclasses.replace(TERMS, cap=6)
    model, table = Model(), 0
    bits_model, bits = itertools.cycle([True, False, False]), itertools.cycle([True, False, False])
    ledger = opened(where, terms, bytes([table]) * 32)
    ledger.admit("bob", share=2, reason="agreed")
    try:
        for step in steps:
            if step[0] == "version":
                table += 1
                model.version += 1
                terms = dataclasses.replace(terms, cap=model.cap)
                ledger.sign(terms, LINE, bytes([table]) * 32, new_version="changed")
            elif step[0] == "raise":
                model.cap += 1
                ledger.amend(cap=model.cap, reason="agreed")
            elif step[0] == "reopen":
                ledger.close()
                terms = dataclasses.replace(terms, cap=model.cap)
                ledger = opened(where, terms, bytes([table]) * 32)
            else:
                _, asked, user, key, fresh = step
                # A refused batch draws nothing, so its bits are not used up.
                bits_model, before = itertools.tee(bits_model)
                expected = model.ask(asked, bits_model, user, key, fresh)
                if isinstance(expected, str):
                    bits_model = before
                try:
                    found = ledger.answer(
                        [query(float(x), micro) for x, micro in asked],
                        lambda queries: [next(bits) for _ in queries],
                        user=user, key=key, fresh=fresh,
                    )  # fmt: skip
                    assert [(a.anomalous, a.spent) for a in found] == expected
                except BudgetError:
                    assert expected == "refused"
                except LedgerError:
                    assert expected == "another"
        verified = ledger.verify()
        assert verified.whole
        assert ledger.summary()["spent"] == sum(m for _, _, m in model.spends) / 1e6
    finally:
        ledger.close()


@settings(max_examples=60)
@given(STEPS)
def test_sqlite_does_what_a_ten_line_model_does(tmp_path_factory, steps):
    _runs_like_the_model(str(tmp_path_factory.mktemp("model") / f"{uuid.uuid4()}.db"), steps)


@settings(max_examples=25)
@given(STEPS)
def test_postgresql_does_what_a_ten_line_model_does(server, steps):
    _runs_like_the_model(server.schema(), steps)
