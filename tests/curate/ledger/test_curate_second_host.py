"""One ledger, copied to a second host: no more is ever spent than the guarantee says."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from tests.curate.ledgers import LINE, TABLE, TERMS, never, opened, query, rows, yes

from isinglass.curate.ledger.head import BEGUN, Note
from isinglass.curate.ledger.ledger import Ledger
from isinglass.errors import BudgetError, LedgerError


class Hosts:
    """Two machines, each with a home of its own; the ledger begins on the first."""

    def __init__(self, folder, monkeypatch):
        self.homes = [folder / "one", folder / "two"]
        self.ledgers = [str(folder / "one.db"), str(folder / "two.db")]
        self._monkeypatch = monkeypatch
        self.on(0)

    def on(self, which):
        """Go to a host; its ledger is there."""
        self._monkeypatch.setenv("ISINGLASS_HOME", str(self.homes[which]))
        return self.ledgers[which]

    def copy(self, *endings):
        """The first host's ledger, and some of what belongs to it, to the second host."""
        with Ledger(self.on(0)) as ledger:
            ledger.backup(self.ledgers[1])
        (self.homes[1] / "ledgers").mkdir(parents=True)
        for ending in endings:
            (path,) = (self.homes[0] / "ledgers").glob(f"*.{ending}")
            shutil.copy(path, self.homes[1] / "ledgers" / path.name)


@pytest.fixture
def hosts(tmp_path, monkeypatch):
    return Hosts(tmp_path, monkeypatch)


def spent_at_most(path, cap=10, user="curator"):
    """Spend whatever fits at one place, in small change; how much that was."""
    spent = 0
    with opened(path, dataclasses.replace(TERMS, cap=cap)) as ledger:
        for _ in range(40):
            try:
                spent += ledger.answer([query(0.0)], yes, fresh=True, user=user)[0].spent
            except BudgetError:
                break
    return spent


def test_a_copy_with_the_secret_is_refused_without_the_note(hosts):
    with opened(hosts.on(0)) as ledger:
        ledger.answer([query(0.0, 2)], yes)
    hosts.copy("secret")
    with pytest.raises(LedgerError, match="one that is also used elsewhere"):
        Ledger(hosts.on(1))
    with Ledger(hosts.on(1), check=False) as ledger:
        for use in (
            lambda: ledger.sign(TERMS, LINE, TABLE),
            lambda: ledger.amend(cap=20, reason="why not"),
            lambda: ledger.admit("ann", share=1, reason="why not"),
        ):
            with pytest.raises(LedgerError, match="no head of"):
                use()
        with pytest.raises(ValueError, match="reason must be given"):
            ledger.accept()
    assert rows(hosts.ledgers[1], "count(*)") == [(2,)]


@pytest.mark.parametrize("before", [0, 3])
def test_both_hosts_together_spend_no_more_than_the_cap(hosts, before):
    """Accepted there and used here: 1.2 of 1 was spent once. The contract alone is no exception."""
    with opened(hosts.on(0)) as ledger:
        if before:
            ledger.answer([query(0.0, before)], yes)
    hosts.copy("secret")
    with Ledger(hosts.on(1), check=False) as ledger:
        ledger.accept(reason="a second host")
        assert ledger.verify().whole
    total = before + spent_at_most(hosts.on(1)) + spent_at_most(hosts.on(0))
    assert total == 10


def test_what_the_second_host_may_spend_is_in_its_guarantee(hosts):
    with opened(hosts.on(0)) as ledger:
        ledger.answer([query(0.0, 3)], yes)
    hosts.copy("secret")
    with Ledger(hosts.on(1), check=False) as ledger:
        ledger.accept(reason="the first host burned down")
        ledger.amend(cap=16, reason="as much as it may have spent, and 6 more")
        reasons = [change["reason"] for change in ledger.summary()["amendments"]]
        assert reasons[0] == "the first host burned down"
        assert ledger.summary()["contract"]["elsewhere"] == 1e-5
    there = spent_at_most(hosts.on(1), cap=16)
    assert there == 3  # 6, less the 3 of before, which count twice now
    assert 3 + there + spent_at_most(hosts.on(0)) <= 16
    with Ledger(hosts.on(1)) as ledger:
        assert ledger.contract.cap == 16
        assert ledger.verify().whole


def test_accepting_voids_the_shares_of_end_users(hosts):
    with opened(hosts.on(0)) as ledger:
        ledger.admit("ann", share=4, reason="asked")
    hosts.copy("secret")
    with Ledger(hosts.on(1), check=False) as ledger:
        ledger.accept(reason="a second host")
        ledger.sign(TERMS, LINE, TABLE)
        with pytest.raises(LedgerError, match="the user has no share"):
            ledger.answer([query(0.0)], never, user="ann")
        with pytest.raises(ValueError, match="share must be at most what is left of the budget, 0"):
            ledger.admit("ann", share=1, reason="again")
        ledger.amend(cap=13, reason="agreed")
        ledger.admit("ann", share=3, reason="again")
    assert spent_at_most(hosts.on(1), cap=13, user="ann") == 3
    assert spent_at_most(hosts.on(1), cap=13) == 0
    assert spent_at_most(hosts.on(0), user="ann") == 4
    assert spent_at_most(hosts.on(0)) == 6
    with Ledger(hosts.on(1)) as ledger:
        assert ledger.verify().whole


def test_accepting_twice_counts_both_copies(hosts):
    with opened(hosts.on(0)) as ledger:
        ledger.answer([query(0.0, 3)], yes)
    hosts.copy("secret")
    for cap in (12, 15):
        for note in (hosts.homes[1] / "ledgers").glob("*.head"):
            note.unlink()
        with Ledger(hosts.on(1), check=False) as ledger:
            ledger.accept(reason="again")
            ledger.amend(cap=cap, reason="more")
            assert ledger.contract.curators == (2 if cap == 12 else 3)


def test_a_ledger_that_moves_takes_its_note_along_and_loses_nothing(hosts):
    with opened(hosts.on(0)) as ledger:
        ledger.answer([query(0.0, 3)], yes)
    hosts.copy("secret", "head")
    (note,) = (hosts.homes[0] / "ledgers").glob("*.head")
    note.unlink()  # moved, not copied
    assert spent_at_most(hosts.on(1)) == 7
    with pytest.raises(LedgerError, match="no head of"):
        Ledger(hosts.on(0))


def test_two_hosts_on_one_database_copy_secret_and_note(server, tmp_path, monkeypatch):
    hosts = Hosts(tmp_path, monkeypatch)
    where = server.schema()
    hosts.ledgers = [where, where]
    with opened(where) as ledger:
        ledger.answer([query(0.0, 3)], yes)
    (hosts.homes[1] / "ledgers").mkdir(parents=True)
    for path in (hosts.homes[0] / "ledgers").iterdir():
        shutil.copy(path, hosts.homes[1] / "ledgers" / path.name)
    with opened(hosts.on(1)) as ledger:
        ledger.answer([query(0.0, 2)], yes)
    with opened(hosts.on(0)) as ledger:
        assert ledger.answer([query(0.1, 5)], yes)[0].left == 0
        with pytest.raises(BudgetError):
            ledger.answer([query(0.2, 1)], never)
    with opened(hosts.on(1)) as ledger, pytest.raises(BudgetError):
        ledger.answer([query(0.2, 1)], never)


def test_killed_between_the_entry_and_the_note_an_accepted_ledger_is_not_accepted(
    hosts, monkeypatch
):
    with opened(hosts.on(0)) as ledger:
        ledger.answer([query(0.0, 3)], yes)
    hosts.copy("secret")
    with monkeypatch.context() as killed, Ledger(hosts.on(1), check=False) as ledger:
        killed.setattr(Note, "write", lambda note, head: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ledger.accept(reason="a second host")
    with pytest.raises(LedgerError, match="no head of"):
        Ledger(hosts.on(1))


def test_a_first_use_that_fails_leaves_no_note_behind(tmp_path):
    how = {"secret": tmp_path / "s", "note": tmp_path / "n"}
    with Ledger(tmp_path / "l.db", **how) as ledger:
        add = ledger._keeper.add
        ledger._keeper.add = lambda rows: 1 / 0
        with pytest.raises(ZeroDivisionError):
            ledger.sign(TERMS, LINE, TABLE)
        assert list(tmp_path.iterdir()) == []
        ledger._keeper.add = add
        ledger.sign(TERMS, LINE, TABLE)
        assert ledger.answer([query(0.0)], yes)[0].spent == 1


def test_a_first_use_that_was_killed_can_be_begun_again(tmp_path):
    how = {"secret": tmp_path / "s", "note": tmp_path / "n"}
    Path(how["secret"]).write_bytes(bytes(32))
    how["secret"].chmod(0o600)
    Note(how["note"], bytes(32)).make(BEGUN)
    with opened(str(tmp_path / "l.db"), **how) as ledger:
        assert ledger.answer([query(0.0)], yes)[0].spent == 1
        assert ledger.verify().whole
