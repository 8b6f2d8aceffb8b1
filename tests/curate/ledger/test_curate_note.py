"""The noted head: of two copies of a ledger only the first one used goes on."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.curate.ledgers import (
    LINE,
    OTHER,
    TABLE,
    TERMS,
    by_hand,
    never,
    no,
    opened,
    query,
    yes,
)

from isinglass.curate.ledger.backends import base as store
from isinglass.curate.ledger.backends.sqlite import SQLite
from isinglass.curate.ledger.head import BEGUN, Head, Note
from isinglass.curate.ledger.ledger import Ledger
from isinglass.errors import LedgerError

USES = {
    "answer": lambda ledger: ledger.answer([query(0.5)], yes),
    "charge": lambda ledger: ledger.charge_everywhere(1, "a private choice of r"),
    "version": lambda ledger: ledger.sign(TERMS, LINE, OTHER, new_version="changed"),
    "amend": lambda ledger: ledger.amend(cap=20, reason="agreed"),
}


def refused():
    """A copy that was used on its own is told to be one."""
    return pytest.raises(LedgerError, match="a copy of it was used on its own")


def the_note() -> Path:
    (path,) = Path(os.environ["ISINGLASS_HOME"], "ledgers").glob("*.head")
    return path


@pytest.fixture
def copies(tmp_path):
    """A ledger with its contract, and its copy."""
    with opened(str(tmp_path / "a.db")) as ledger:
        ledger.backup(tmp_path / "b.db")
    return str(tmp_path / "a.db"), str(tmp_path / "b.db")


# -- copies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", USES)
@pytest.mark.parametrize("second", USES)
def test_of_two_open_copies_the_first_one_used_goes_on(copies, first, second):
    with opened(copies[0]) as one, opened(copies[1]) as two:
        USES[first](two)
        with refused():
            USES[second](one)
        assert one.head().startswith("1:")
        two.charge_everywhere(1, "and on it goes")
    with refused():
        Ledger(copies[0])
    assert Ledger(copies[1]).verify().whole


def test_a_copy_is_refused_however_often_the_other_was_used(copies):
    with opened(copies[0]) as one, opened(copies[1]) as two:
        for place in range(40):  # more than there are slots
            two.answer([query(9.0 * place)], yes)
            with refused():
                one.answer([query(0.0)], never)


@pytest.mark.parametrize("noted", [True, False])
def test_two_copies_used_at_the_same_moment_do_not_both_answer(copies, noted):
    drawing, go_on, told = threading.Event(), threading.Event(), []

    def slowly(queries):
        drawing.set()
        assert go_on.wait(60)
        return yes(queries)

    def ask_the_copy():
        with refused():
            two.answer([query(0.0)], never)
        told.append("refused")

    with opened(copies[0]) as one, opened(copies[1]) as two:
        if not noted:  # as if killed after the contract was written, and before it was noted
            begun = Note(the_note(), one._keeper.secret)
            begun.hold()
            begun.clear()
            begun.write(BEGUN)
            begun.close()
        first = threading.Thread(target=one.answer, args=([query(0.0)], slowly))
        second = threading.Thread(target=ask_the_copy)
        first.start()
        assert drawing.wait(60)
        second.start()
        second.join(0.2)
        assert second.is_alive()  # waits for the note: its own database is nobody else's
        go_on.set()
        first.join()
        second.join()
    assert told == ["refused"]


def test_the_note_is_held_until_the_new_head_is_in_it(where, monkeypatch):
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.0)
    with opened(where) as ledger:
        note, held = ledger._keeper.note, []
        write = note.write

        def looked_at(head):
            other = Note(note.path, ledger._keeper.secret)
            with pytest.raises(LedgerError, match="another process, or a copy of the ledger, has"):
                other.hold()
            held.append(head.seq)
            write(head)

        monkeypatch.setattr(note, "write", looked_at)
        for use in USES.values():
            use(ledger)
        assert held == [2, 3, 4, 5]
        other = Note(note.path, ledger._keeper.secret)
        assert max(head.seq for head in other.hold()) == 5  # and free again
        other.close()


def test_an_answer_stored_by_one_who_died_before_noting_it_is_noted_before_it_leaves(copies):
    with opened(copies[0]) as one, opened(copies[0]) as two, opened(copies[1]) as copy:
        one._keeper.note.write = lambda head: os.strerror(1 / 0)  # dies between commit and note
        with pytest.raises(ZeroDivisionError):
            one.answer([query(0.0)], yes)
        assert [head.seq for head in Note(the_note(), one._keeper.secret).heads()] == [1]
        assert two.answer([query(0.0)], never)[0].anomalous
        with refused():
            copy.answer([query(0.0)], no)


def test_a_ledger_cut_between_opening_and_first_use_is_refused(where):
    with opened(where) as ledger:
        for place in range(4):
            ledger.answer([query(9.0 * place)], yes)
    with Ledger(where) as ledger:
        by_hand(where, "DELETE FROM entries WHERE seq > 3")
        with pytest.raises(LedgerError, match="does not hold entry 5 as it was noted"):
            ledger.sign(TERMS, LINE, bytes(32))


def test_a_ledger_cut_while_its_books_are_read_anew_is_refused(where):
    with opened(where) as ledger:
        for place in range(4):
            ledger.answer([query(9.0 * place)], yes)
        with pytest.raises(KeyboardInterrupt):
            ledger._keeper._changed(_interrupted, [])
        by_hand(where, "DELETE FROM entries WHERE seq > 3")
        with pytest.raises(LedgerError, match="does not hold entry 5 as it was noted"):
            ledger.answer([query(0.0)], never)


def _interrupted(entries):
    raise KeyboardInterrupt


# -- the note itself -------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["replaced", "deleted"])
def test_a_note_that_changed_hands_during_a_draw_stops_it(where, what):
    with opened(where) as ledger:
        ledger.answer([query(0.0)], yes)
        note = the_note()

        def meddle(queries):
            held = note.read_bytes()
            note.unlink()
            if what == "replaced":
                note.write_bytes(held)
            return yes(queries)

        with pytest.raises(LedgerError, match="was replaced while it was held; ask again"):
            ledger.answer([query(9.0)], meddle)
        assert ledger.summary()["spent"] == 2e-6  # what was drawn is paid for, though not told
        if what == "deleted":
            with pytest.raises(LedgerError, match="no head of"):
                ledger.answer([query(9.0)], never)
        else:
            assert ledger.answer([query(9.0)], never)[0].spent == 0
            assert ledger.verify().whole


def test_a_note_accepted_anew_is_followed_by_whoever_has_the_ledger_open(where):
    with opened(where) as one:
        one.answer([query(0.0)], yes)
        the_note().unlink()
        with pytest.raises(LedgerError, match="no head of"):
            one.answer([query(1.0)], never)
        with Ledger(where, check=False) as two:
            two.accept(reason="deleted by hand")
            two.amend(cap=20, reason="agreed")
        one.answer([query(1.0)], yes)
        heads = Note(the_note(), one._keeper.secret).heads()
        assert str(max(heads, key=lambda head: head.seq)) == one.head()


def test_a_copy_is_not_accepted_over_one_that_was_accepted_meanwhile(copies):
    with opened(copies[0]) as one:
        one.answer([query(0.0)], yes)
        Path(copies[1]).unlink()
        one.backup(copies[1])
        the_note().unlink()
        with Ledger(copies[0], check=False) as first, Ledger(copies[1], check=False) as second:
            verify = second.verify

            def overtaken():
                found = verify()
                first.accept(reason="deleted by hand")
                first.amend(cap=20, reason="agreed")
                one.answer([query(9.0)], yes)
                return found

            second.verify = overtaken
            with refused():
                second.accept(reason="deleted by hand")
        assert one.answer([query(18.0)], yes)[0].spent == 1


def test_a_draw_may_look_at_its_own_ledger_and_leaves_the_note_free(where, monkeypatch):
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.2)
    with opened(where) as one, opened(where) as two:

        def look(queries):
            assert one.verify().whole
            return yes(queries)

        one.answer([query(0.0)], look)
        assert max(head.seq for head in Note(the_note(), one._keeper.secret).heads()) == 2
        assert two.answer([query(9.0)], yes)[0].spent == 1


def test_a_refused_signature_does_not_unmake_a_ledger_in_use(where, monkeypatch):
    with opened(where) as ledger:
        monkeypatch.setattr(ledger._keeper.db, "discard", lambda: 1 / 0)
        with pytest.raises(LedgerError, match="declare a new version"):
            ledger.sign(TERMS, LINE, OTHER)
        assert ledger.answer([query(0.0)], yes)[0].spent == 1


def test_a_copy_asked_from_within_a_draw_is_told_who_holds_the_note(copies, monkeypatch):
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.05)
    with opened(copies[0]) as one, opened(copies[1]) as two:

        def ask_the_copy(queries):
            with pytest.raises(LedgerError, match="another process, or a copy of the ledger, has"):
                two.answer(queries, never)
            return yes(queries)

        one.answer([query(0.0)], ask_the_copy)


def test_a_file_system_without_locks_is_told(where, monkeypatch):
    def unable(handle, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with opened(where) as ledger:
        monkeypatch.setattr("fcntl.flock", unable)
        with pytest.raises(LedgerError, match="head cannot be used: No locks available"):
            ledger.answer([query(0.0)], never)
        monkeypatch.undo()
        assert ledger.answer([query(0.0)], yes)[0].spent == 1


def test_accepting_a_ledger_just_made_notes_its_head(where):
    with opened(where) as ledger:
        the_note().unlink()
        assert ledger.accept(reason="deleted by hand") == ledger.head()
        (head,) = Note(the_note(), ledger._keeper.secret).heads()
        assert str(head) == ledger.head()


@pytest.mark.parametrize("looks", [("_pragma", "_rows"), ("entry", "last")])
def test_first_uses_at_once_are_not_taken_for_damage(tmp_path, monkeypatch, looks):
    """Another one makes the file, or its first entry, after the first look of this one."""
    where, other = str(tmp_path / "l.db"), []
    if looks == ("entry", "last"):
        SQLite(tmp_path / "l.db").close()
    else:
        (tmp_path / "l.db").touch(mode=0o600)

    def overtaken(look):
        def looked(self, *args):
            found = look(self, *args)
            if not other:
                other.append("signs")
                opened(where).close()
            return found

        return looked

    for name in looks:
        monkeypatch.setattr(SQLite, name, overtaken(getattr(SQLite, name)))
    with opened(where) as ledger:
        assert other
        assert ledger.answer([query(0.0)], yes)[0].spent == 1


def test_a_first_use_that_is_refused_leaves_another_processs_secret(tmp_path):
    secret, note = tmp_path / "s", tmp_path / "n"
    where = str(tmp_path / "l.db")
    with Ledger(where, secret=secret, note=note) as one:
        let_go = one._keeper._let_go

        def overtaken():
            let_go()
            one._keeper._let_go = let_go
            opened(where, secret=secret, note=note).close()

        one._keeper._let_go = overtaken
        one._keeper.add = lambda rows: 1 / 0
        with pytest.raises(ZeroDivisionError):
            one.sign(TERMS, LINE, TABLE)
    with opened(where, secret=secret, note=note) as ledger:
        assert ledger.verify().whole


FORK = """
import os, sys, time
from tests.curate.ledgers import opened, query
def draw(queries):
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(600)
    time.sleep(0.2)
    os._exit(9)
opened(sys.argv[1]).answer([query(0.0)], draw)
"""
RETURN = """
import os, sys
from tests.curate.ledgers import opened, query
from isinglass.errors import LedgerError
children = []
def draw(queries):
    children.append(os.fork())
    return [True]
ledger = opened(sys.argv[1])
try:
    told = ledger.answer([query(0.0)], draw)[0].anomalous
except LedgerError as error:
    told = error
if children[0] == 0:
    print("child:", told, flush=True)
    os._exit(0)
os.waitpid(children[0], 0)
print("parent:", told, ledger.verify().problems, ledger.verify().entries)
"""


def test_of_a_draw_that_forked_only_the_parent_answers(where):
    opened(where).close()
    out = subprocess.run(
        [sys.executable, "-c", RETURN, where], capture_output=True, text=True, timeout=120
    ).stdout
    assert out.splitlines() == [
        "child: a ledger cannot be carried over a fork; open it again",
        "parent: True [] 2",
    ]


def test_what_a_draw_forked_does_not_keep_the_note(tmp_path, monkeypatch):
    where = str(tmp_path / "l.db")
    opened(where).close()
    with subprocess.Popen(
        [sys.executable, "-c", FORK, where], stdout=subprocess.PIPE, text=True
    ) as asker:
        child = int(asker.stdout.readline())
        try:
            assert asker.wait(60) == 9
            monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 5.0)
            note = Note(the_note(), bytes(32))
            assert note.hold() == []  # free, though the child lives and never let go of it
            note.close()
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_note_that_vanishes_while_it_is_made_is_made_again(tmp_path, monkeypatch):
    head, note, link = Head(1, bytes(32)), Note(tmp_path / "head", bytes(32)), os.link
    linked = []

    def taken_away(source, target):
        link(source, target)
        linked.append(target)
        if len(linked) < 3:
            os.unlink(target)

    monkeypatch.setattr(os, "link", taken_away)
    assert note.hold(head) == [head]
    other = Note(note.path, bytes(32))
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.05)
    with pytest.raises(LedgerError, match="another process"):
        other.hold()
    note.close()
    other.close()


def test_a_note_that_cannot_be_kept_is_not_noted_unheld(tmp_path, monkeypatch):
    with opened(str(tmp_path / "a.db")) as ledger:
        the_note().unlink()
        monkeypatch.setattr(os, "link", lambda source, target: None)
        monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.05)
        monkeypatch.setattr(Note, "clear", never)
        with pytest.raises(LedgerError, match=r"no head of .* is noted"):
            ledger.accept(reason="deleted by hand")
