"""The chain: whatever is edited, dropped, added, moved or cut off without the secret is found."""

from __future__ import annotations

import contextlib
import dataclasses
import hmac
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curate.ledgers import (
    LINE,
    OTHER,
    TABLE,
    TERMS,
    by_hand,
    files,
    never,
    opened,
    query,
    rows,
    yes,
)

from isinglass.curate.ledger import entries as chain
from isinglass.curate.ledger.entries import Entry
from isinglass.curate.ledger.head import Head, Note
from isinglass.curate.ledger.ledger import Ledger
from isinglass.errors import LedgerError

SECRET = bytes(range(32))


def _filled(where: str) -> None:
    """Entries of every kind: 1 contract, 2 everywhere, 3-4 keyed answers, 5 amend, 6 version, 7."""
    with opened(where) as ledger:
        ledger.charge_everywhere(1, "a private choice of r")
        ledger.answer([query(0.0, 2), query(9.0, 3)], lambda asked: [True, False], key="k")
        ledger.amend(cap=20, reason="agreed")
        ledger.sign(dataclasses.replace(TERMS, cap=20), LINE, OTHER, new_version="changed")
        ledger.answer([query(0.0, 2)], yes)
        assert ledger.verify() == chain_of(ledger, 7)


def chain_of(ledger: Ledger, entries: int):
    """What `verify` says of a whole ledger."""
    found = ledger.verify()
    assert found.whole
    assert found.problems == []
    assert found.head == ledger.head()
    assert found.entries == entries
    return found


def _problems(where: str, **how: object) -> list[str]:
    with Ledger(where, check=False) as ledger:
        return ledger.verify(**how).problems


# What somebody might gain by: prices, answers, who asked, about what, when and under which terms.
EDITS = [
    "at = '2020-01-01T00:00:00.000+00:00'", "kind = 'everywhere'", "\"user\" = 'bob'",
    "\"key\" = 'l'", "\"key\" = NULL", "request = query", "query = request", "place = hash",
    "influence = 0.25", "micro = 1", "anomalous = 1 - anomalous", "anomalous = NULL",
    "version = 2", "facts = '{}'", "prev = hash", "hash = prev",
]  # fmt: skip


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_an_edit_of_any_column_is_found(database, tmp_path, request):
    columns = {edit.split(" = ")[0].strip('"') for edit in EDITS}
    assert columns == set(Entry._fields) - {"seq"}
    if database == "sqlite":
        _filled(str(tmp_path / "l.db"))
        for i, edit in enumerate(EDITS):
            where = str(tmp_path / f"{i}.db")
            shutil.copy(tmp_path / "l.db", where)
            by_hand(where, f"UPDATE entries SET {edit} WHERE seq = 4")
            found = _problems(where)
            assert "entry 4 was edited" in found, edit
    else:
        where = request.getfixturevalue("server").schema()
        _filled(where)
        by_hand(where, "CREATE TABLE kept AS SELECT * FROM entries WHERE seq = 4")
        for edit in EDITS:
            by_hand(where, f"UPDATE entries SET {edit} WHERE seq = 4")
            assert "entry 4 was edited" in _problems(where), edit
            by_hand(where, "DELETE FROM entries WHERE seq = 4",
                    "INSERT INTO entries SELECT * FROM kept")  # fmt: skip
            assert _problems(where) == []


@pytest.mark.parametrize("seq", [1, 2, 3, 5, 6, 7])
def test_an_edit_of_any_entry_is_found(tmp_path, seq):
    where = str(tmp_path / "l.db")
    _filled(where)
    by_hand(where, f"UPDATE entries SET micro = micro + 1 WHERE seq = {seq}")
    assert _problems(where) == [f"entry {seq} was edited"]
    with pytest.raises(LedgerError, match=f"entry {seq} was edited"), Ledger(where) as ledger:
        ledger.sign(dataclasses.replace(TERMS, cap=20), LINE, OTHER)


def test_a_raised_cap_written_into_the_contract_is_found(where):
    _filled(where)
    by_hand(where, "UPDATE entries SET facts = replace(facts, '\"cap\": 10', '\"cap\": 99')")
    assert _problems(where) == ["entry 1 was edited"]


@pytest.mark.parametrize("seq", range(1, 8))
def test_a_dropped_entry_is_found(where, seq):
    _filled(where)
    by_hand(where, f"DELETE FROM entries WHERE seq = {seq}")
    (problem, *_) = _problems(where)
    expected = {
        1: "entry 1, the contract, is missing",
        7: "the ledger ends at entry 6, before entry 7, which was noted as its head: it is an old "
        "copy, or its end was cut off",
    }
    assert problem == expected.get(seq, f"entry {seq} is missing")


def test_dropped_entries_whose_gap_was_closed_are_found(where):
    _filled(where)
    by_hand(
        where,
        "DELETE FROM entries WHERE seq IN (3, 4)",
        "UPDATE entries SET seq = seq - 2 WHERE seq = 5",
        "UPDATE entries SET seq = seq - 2 WHERE seq = 6",
        "UPDATE entries SET seq = seq - 2 WHERE seq = 7",
    )
    assert "entry 3 was edited" in _problems(where)


def test_several_dropped_entries_are_one_problem(where):
    _filled(where)
    by_hand(where, "DELETE FROM entries WHERE seq IN (3, 4, 5)")
    assert _problems(where) == ["entries 3 to 5 are missing"]


def test_two_entries_that_changed_places_are_found(where):
    _filled(where)
    by_hand(
        where,
        "UPDATE entries SET seq = 99 WHERE seq = 3",
        "UPDATE entries SET seq = 3 WHERE seq = 4",
        "UPDATE entries SET seq = 4 WHERE seq = 99",
    )
    assert _problems(where)[:2] == ["entry 3 was edited", "entry 4 was edited"]


def test_an_entry_written_twice_or_made_up_is_found(where):
    _filled(where)
    columns = ", ".join(f'"{name}"' for name in Entry._fields[1:])
    by_hand(where, f"INSERT INTO entries SELECT 8, {columns} FROM entries WHERE seq = 7")
    assert _problems(where) == ["entry 8 was edited"]
    with pytest.raises(LedgerError, match="entry 8 was edited"), Ledger(where) as ledger:
        _ = ledger.contract


def test_a_stored_answer_that_was_edited_is_not_given_out(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0)], yes, key="k")
        ledger.answer([query(9.0)], yes)
        by_hand(where, "UPDATE entries SET anomalous = 0 WHERE seq = 2")
        for key in (None, "k"):
            with pytest.raises(LedgerError, match="entry 2 of the ledger was edited"):
                ledger.answer([query(0.0)], never, key=key)


def test_problems_name_numbers_only(where):
    with opened(where) as ledger:
        ledger.answer([query(123.25, 7)], yes, key="secret-key")
    by_hand(where, "UPDATE entries SET micro = 3 WHERE seq = 2")
    assert _problems(where) == ["entry 2 was edited"]
    assert repr(Entry(2, "", "answer", "ann", "secret-key", *[None] * 10)) == (
        "Entry(seq=2, kind='answer')"
    )


def _forge(where: str, *entries: Entry) -> None:
    """Add entries as somebody with the secret could: only the rules can tell them."""
    refused = contextlib.suppress(LedgerError)  # by the next reader, once it is written
    with Ledger(where, check=False) as ledger, refused, ledger._keeper.writing() as books:
        assert books is not None
        ledger._keeper.add(list(entries))


def _answer(x: float, micro: int, **how: object) -> Entry:
    place = query(x).place.tobytes()
    return chain.unsealed("answer", place=place, influence=0.5, micro=micro, anomalous=1, **how)


@pytest.mark.parametrize(
    ("forged", "problem"),
    [
        ([_answer(0.5, 9)], "entry 3 spends more than the cap"),
        ([_answer(9.0, 5), _answer(9.5, 6, user="ann")], "entry 4 spends more than the cap"),
        ([_answer(9.0, 5, user="ann"), _answer(9.5, 2, user="ann")],
         "entry 4 spends more than the cap"),
        ([chain.unsealed("amend", facts='{"terms": {"cap": 9}, "reason": ""}')],
         "entry 3 does not make the terms weaker"),
        ([chain.unsealed("amend", facts='{"terms": {}, "reason": ""}')],
         "entry 3 does not make the terms weaker"),
        ([chain.unsealed("raise")], "entry 3 has no business where it is"),
        ([chain.unsealed("odd")], "entry 3 has no business where it is"),
        ([chain.unsealed("contract")], "entry 3 has no business where it is"),
        ([_answer(9.0, 1, version=7)], "entry 3 is of another version than its place says"),
    ],
)  # fmt: skip
def test_entries_that_break_a_rule_are_found_though_their_seals_are_right(
    tmp_path, forged, problem
):
    where = str(tmp_path / "l.db")
    with opened(where, dataclasses.replace(TERMS, user_cap=6)) as ledger:
        ledger.answer([query(0.0, 2)], yes)
    _forge(where, *forged)
    assert _problems(where) == [problem]


_RAISED = chain.unsealed("amend", facts='{"terms": {"cap": 20}, "reason": ""}')


def test_what_was_spent_before_a_cap_was_raised_is_judged_by_the_old_cap(tmp_path):
    where = str(tmp_path / "l.db")
    opened(where).close()
    _forge(where, _answer(0.0, 12), _RAISED)
    assert _problems(where) == ["entry 2 spends more than the cap"]


# -- the noted head --------------------------------------------------------------------------------


def test_an_old_copy_put_back_is_refused(tmp_path):
    where = tmp_path / "l.db"
    with opened(str(where)) as ledger:
        ledger.answer([query(0.0)], yes)
        ledger.backup(tmp_path / "old.db")
        ledger.answer([query(9.0)], yes)
        noted = ledger.head()
    for file in files(where):
        file.unlink()
    shutil.copy(tmp_path / "old.db", where)
    where.chmod(0o600)
    with pytest.raises(LedgerError, match=r"hold entry 3 as it was noted.*-wal and -shm"):
        Ledger(where)
    (problem,) = _problems(str(where))
    assert "ends at entry 2, before entry 3" in problem
    with Ledger(where, check=False) as ledger:
        with pytest.raises(LedgerError, match="as it was noted"):
            ledger.sign(TERMS, LINE, TABLE)
        with pytest.raises(LedgerError, match="as it was noted"):
            ledger.amend(cap=20, reason="why not")
        with pytest.raises(LedgerError, match="is not accepted: the ledger ends at entry 2"):
            ledger.accept(reason="put back")
    # Where the note is gone too, a head that was kept elsewhere still tells.
    (note,) = Path(os.environ["ISINGLASS_HOME"], "ledgers").glob("*.head")
    note.unlink()
    (problem,) = _problems(str(where))
    assert problem.startswith("no head of ")
    assert "before entry 3" in _problems(str(where), head=noted)[0]


@pytest.mark.parametrize("state", ["missing", "damaged", "empty", "cut", "another's"])
def test_a_note_that_is_gone_or_damaged_is_refused_until_it_is_accepted(where, state):
    with opened(where) as ledger:
        ledger.answer([query(0.0)], yes)
        head = ledger.head()
    (note,) = Path(os.environ["ISINGLASS_HOME"], "ledgers").glob("*.head")
    whole = note.read_bytes()
    if state == "missing":
        note.unlink()
    elif state == "another's":
        other = Note(note, SECRET)
        other.hold()
        other.clear()
        other.write(Head(2, bytes(32)))
        other.close()
    else:
        note.write_bytes({"damaged": bytes(len(whole)), "empty": b"", "cut": whole[:40]}[state])
    told = "no head of" if state == "missing" else "is damaged, or another ledger's note"
    for _ in range(2):  # refusing does not mend it
        with pytest.raises(LedgerError, match=f"{told}.*`Ledger.accept\\(reason=…\\)`"):
            Ledger(where)
    with Ledger(where, check=False) as ledger:
        (problem,) = ledger.verify().problems
        assert told in problem
        with pytest.raises(LedgerError, match=told):
            ledger.sign(TERMS, LINE, TABLE)
        with pytest.raises(ValueError, match="reason must be given"):
            ledger.accept()
        assert ledger.head() == head
        assert ledger.accept(reason="lost").startswith("3:")
        assert ledger.verify().whole
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    with opened(where) as ledger:
        ledger.amend(cap=20, reason="agreed")
        ledger.answer([query(9.0)], yes)
        assert ledger.accept() == ledger.head()  # nothing to accept changes nothing
    by_hand(where, "DELETE FROM entries WHERE seq = 5")
    with pytest.raises(LedgerError, match="does not hold entry 5 as it was noted"):
        Ledger(where)


def test_a_damaged_ledger_is_not_accepted(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0)], yes)
    (note,) = Path(os.environ["ISINGLASS_HOME"], "ledgers").glob("*.head")
    note.unlink()
    by_hand(where, "UPDATE entries SET micro = 0 WHERE seq = 2")
    edited = pytest.raises(LedgerError, match="is not accepted: entry 2 was edited")
    with Ledger(where, check=False) as ledger, edited:
        ledger.accept(reason="lost")
    assert not note.exists()


def test_a_ledger_killed_before_its_first_note_is_taken_up(where, monkeypatch):
    with Ledger(where) as ledger:
        real = Note.write
        monkeypatch.setattr(Note, "write", lambda note, head: 1 / 0)  # once it is committed
        with pytest.raises(ZeroDivisionError):
            ledger.sign(TERMS, LINE, TABLE)
        monkeypatch.setattr(Note, "write", real)
        assert [head.seq for head in ledger._keeper.note.heads()] == [0]
    assert _problems(where) == []
    with opened(where) as ledger:
        ledger.answer([query(0.0)], yes)
        assert [head.seq for head in ledger._keeper.note.heads()] == [1, 2]


def test_a_cut_tail_is_refused(where):
    _filled(where)
    by_hand(where, "DELETE FROM entries WHERE seq > 5")
    with pytest.raises(LedgerError, match="does not hold entry 7"):
        Ledger(where)


def test_a_tail_replaced_by_another_is_found(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0)], yes)
        noted = ledger.head()
    by_hand(where, "DELETE FROM entries WHERE seq = 2")
    for note in Path(os.environ["ISINGLASS_HOME"], "ledgers").glob("*.head"):
        note.unlink()
    with pytest.raises(LedgerError, match="no head of"):
        opened(where)
    with Ledger(where, check=False) as ledger:
        ledger.accept(reason="lost")
        assert ledger.verify(head=noted).problems == [
            "entry 2 is not the one that was noted as head"
        ]
        assert ledger.verify(head=ledger.head()).whole


def test_entries_added_since_a_head_was_noted_are_no_problem(where):
    with opened(where) as ledger:
        noted = ledger.head()
        ledger.answer([query(0.0)], yes)
        assert ledger.verify(head=noted).whole


@pytest.mark.parametrize("text", ["", "7", "x:00", "0:" + "00" * 32, "1:00"])
def test_a_head_that_cannot_be_one_is_refused(tmp_path, text):
    with opened(str(tmp_path / "l.db")) as ledger, pytest.raises(ValueError, match="head must be"):
        ledger.verify(head=text)


def test_an_empty_ledger_under_a_noted_head_is_refused(tmp_path):
    how = {"secret": tmp_path / "s", "note": tmp_path / "n"}
    with opened(str(tmp_path / "l.db"), **how) as ledger:
        ledger.answer([query(0.0)], yes)
    empty = pytest.raises(LedgerError, match="is empty, but a head is noted")
    with Ledger(tmp_path / "new.db", **how) as ledger, empty:
        ledger.sign(TERMS, LINE, TABLE)


def test_secret_and_note_may_lie_elsewhere(where, tmp_path):
    how = {"secret": tmp_path / "s", "note": tmp_path / "n"}
    with opened(where, **how) as ledger:
        ledger.answer([query(0.0)], yes)
    assert not Path(os.environ["ISINGLASS_HOME"], "ledgers").exists()
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600
    with pytest.raises(LedgerError, match="secret is not at"):
        Ledger(where)
    (tmp_path / "s").write_bytes(bytes(31))
    with pytest.raises(LedgerError, match="not a ledger's secret"):
        Ledger(where, **how)
    (tmp_path / "s").write_bytes(bytes(32))
    assert "entry 1 was edited" in _problems_with(where, how)


def _problems_with(where: str, how: dict[str, Path]) -> list[str]:
    with Ledger(where, check=False, **how) as ledger:
        return ledger.verify().problems


def test_a_note_survives_a_write_that_was_cut_short(tmp_path):
    path = tmp_path / "n"
    note = Note(path, SECRET)
    for seq in range(1, 41):  # more than there are slots
        assert (note.hold() is None) == (seq == 1)
        note.write(Head(seq, bytes([seq]) * 32))
    assert _newest(note) == Head(40, bytes([40]) * 32)
    assert sorted(head.seq for head in note.heads()) == list(range(25, 41))
    note.close()
    whole = path.read_bytes()
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 255]) + whole[i + 1 :])
        # One byte spoils one slot: the newest, or another.
        found = Note(path, SECRET)
        expected = 39 if whole[i - i % 80 + 8] == 40 else 40
        assert _newest(found) == Head(expected, bytes([expected]) * 32)
        assert len(found.heads()) == 15
        found.close()
    for cut in (0, 1, 79, 500):
        path.write_bytes(whole[:cut])
        found = Note(path, SECRET)
        assert len(found.hold()) == cut // 80
        found.write(Head(41, bytes([41]) * 32))
        assert _newest(found) == Head(41, bytes([41]) * 32)
        found.close()
    other = Note(path, bytes(32))
    assert other.heads() == []
    other.close()
    assert Note(tmp_path / "none", SECRET).heads() is None
    assert [file.name for file in tmp_path.iterdir()] == ["n"]


def _newest(note: Note) -> Head:
    return max(note.heads(), key=lambda head: head.seq)


# -- copies ----------------------------------------------------------------------------------------


def test_a_backup_is_a_whole_ledger(where, tmp_path):
    _filled(where)
    copy = tmp_path / "copy.db"
    with opened(where, dataclasses.replace(TERMS, cap=20), OTHER) as ledger:
        ledger.backup(copy)
        with pytest.raises(LedgerError, match="already there"):
            ledger.backup(copy)
        with Ledger(copy) as copied:
            assert copied.verify() == ledger.verify()
            assert copied.summary() | {"ledger": ""} == ledger.summary() | {"ledger": ""}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert rows(str(copy), "*", "ORDER BY seq") == rows(where, "*", "ORDER BY seq")
    assert [file.name for file in tmp_path.iterdir() if "copy" in file.name] == ["copy.db"]
    with opened(str(copy), dataclasses.replace(TERMS, cap=20), OTHER) as copied:
        assert copied.answer([query(0.0, 2)], never)[0].anomalous is True
    append_only = pytest.raises(sqlite3.Error, match="never")
    with contextlib.closing(sqlite3.connect(copy)) as connection, append_only:
        connection.execute("DELETE FROM entries")


def test_a_backup_of_many_entries_is_whole(server, tmp_path, monkeypatch):
    import isinglass.curate.ledger.backends.base as store
    import isinglass.curate.ledger.backends.postgresql as database
    import isinglass.curate.ledger.replay as replay
    import isinglass.curate.ledger.transaction as keeper

    for module in (database, keeper, store, replay):
        monkeypatch.setattr(module, "PIECE", 4)
    monkeypatch.setattr(store, "_NEWER", store._NEWER.replace("LIMIT 10000", "LIMIT 4"))
    where = server.schema()
    with opened(where) as ledger:
        for x in range(0, 30, 2):
            ledger.answer([query(float(x))], yes)
        ledger.backup(tmp_path / "copy.db")
        assert ledger.verify().entries == 16
    with Ledger(tmp_path / "copy.db") as copied:
        assert chain_of(copied, 16)


# -- the seal --------------------------------------------------------------------------------------

TEXTS = st.text("ab0", max_size=3)
MAYBE = st.none() | st.binary(max_size=3)
ENTRIES = st.builds(
    Entry,
    seq=st.integers(0, 3), at=TEXTS, kind=TEXTS, user=TEXTS, key=st.none() | TEXTS,
    request=MAYBE, query=MAYBE, place=MAYBE,
    influence=st.sampled_from([None, 0.0, -0.0, 1.0, float("inf")]),
    micro=st.integers(0, 2), anomalous=st.sampled_from([None, 0, 1]), version=st.integers(0, 2),
    facts=st.none() | TEXTS, prev=st.binary(min_size=32, max_size=32).map(lambda b: b[:1] * 32),
    hash=st.just(b""),
)  # fmt: skip


@given(st.lists(ENTRIES, min_size=2, max_size=30))
def test_different_entries_have_different_seals(entries):
    # repr keeps apart what == does not: 0.0 and -0.0, 1 and True.
    different = {tuple.__repr__(entry) for entry in entries}
    assert len({chain.seal(SECRET, entry) for entry in entries}) == len(different)


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_a_key_that_is_kept_prepared_seals_as_one_that_is_not(secret, data):
    for _ in range(2):  # prepared, and used again
        assert chain.keyed(secret, data) == hmac.digest(secret, data, "sha256")


def test_the_seal_is_the_one_ledgers_were_written_with():
    entry = Entry(2, "2026-01-01T00:00:00.000+00:00", "answer", "ann", "k", b"r" * 32, b"q" * 32,
                  bytes(8), 0.5, 3, 1, 1, None, bytes(32), b"")  # fmt: skip
    assert chain.seal(SECRET, entry).hex() == GOLDEN
    sealed = entry._replace(hash=chain.seal(SECRET, entry))
    assert chain.intact(SECRET, sealed)
    assert not chain.intact(bytes(32), sealed)
    # Columns of another type, as an editor of the file could leave them.
    for odd in ({"micro": "3"}, {"at": None}, {"prev": b""}, {"hash": None}, {"micro": 2**70}):
        assert not chain.intact(SECRET, sealed._replace(**odd))


# HMAC-SHA256 of: the seal before; seq, micro, version, anomalous, whether there is an influence and
# it, eight lengths, little-endian; the eight columns of bytes.
GOLDEN = "62554ace4d2898f488df1b6867e4081343433a42b1bbf833267ecb07b706bae9"
