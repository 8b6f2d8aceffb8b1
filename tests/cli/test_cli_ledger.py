"""A curator's ledger on the command line: what it shows, finds, copies and amends."""

import json
import os
import sqlite3
from pathlib import Path

import pytest
from tests.cli.asking import AGAIN, FIRST, refused

pytestmark = pytest.mark.usefixtures("curators_files")


def test_ledger_show_and_head_tell_no_coordinates(run):
    run(*FIRST)
    code, out, _ = run("ledger", "show", "ledger.db")
    assert code == 0
    assert "pulse, pressure" in out
    # The time of the last answer and the head have digits of their own.
    told = [line for line in out.splitlines() if not line.startswith(("last ", "head "))]
    assert len(told) == len(out.splitlines()) - 2
    assert not any("76543" in line or "50.0" in line for line in told)
    summary = json.loads(run("ledger", "show", "ledger.db", "--json")[1])
    assert summary["spent"] == 0.3
    assert [account["answers"] for account in summary["accounts"]] == [3]
    assert out.startswith("What is promised to the people in the table\n")
    assert "  curator: 3 answers paid for, on " in out
    assert out.index("Who asked") < out.index("The numbers") < out.index("contract columns")
    head = run("ledger", "show", "ledger.db", "--head-only")[1].strip()
    assert head == summary["head"]
    assert json.loads(run("ledger", "show", "ledger.db", "--head-only", "--json")[1]) == {
        "head": head
    }
    assert run("ledger", "verify", "ledger.db", "--head", head)[0] == 0
    assert run("ledger", "show", "nothing.db")[0] == 2
    assert not os.path.exists("nothing.db")


def test_ledger_verify_exits_1_on_an_edited_row(run):
    run(*FIRST)
    assert run("ledger", "verify", "ledger.db")[0] == 0
    with sqlite3.connect("ledger.db") as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute("UPDATE entries SET micro = 1 WHERE seq = 2")
    db.close()
    code, out, err = run("ledger", "verify", "ledger.db")
    assert (code, out) == (1, "")
    assert err == "isinglass: entry 2 was edited\n"
    found = json.loads(run("ledger", "verify", "ledger.db", "--json")[1])
    assert found["problems"] == ["entry 2 was edited"]
    assert run("ledger", "verify", "ledger.db", "--accept", "--reason", "lost")[0] == 1


AMEND = ("ledger", "amend", "ledger.db", "--reason")


def test_an_amendment_is_noted_with_its_reason_and_counts(run):
    run(*FIRST)
    refused(run(*AMEND, "less", "--budget", "0.1"), 2, "--budget must be above 0.25", "got 0.1")
    refused(run(*AMEND, "equal", "--budget", "0.25"), 2, "--budget must be above 0.25")
    refused(run(*AMEND, "", "--budget", "0.5"), 2, "isinglass: --reason must be")
    refused(run(*AMEND, "none"), 2, "say what to amend")
    refused(run(*AMEND, "one", "--records-per-person", "1"), 2, "isinglass: --records-per-person")
    code, out, err = run(*AMEND, "audited in May", "--budget", "0.5", "--json")
    found = json.loads(out)
    assert (code, err, list(found)) == (0, "", ["contract", "head"])
    assert found["contract"]["cap"] == 0.5
    more = (*AMEND, "twins; the board agreed", "--records-per-person", "2", "--also-released")
    code, out, _ = run(*more)
    assert code == 0
    assert "records_per_person  2\n" in out
    refused(run(*AMEND, "again", "--also-released"), 2, "isinglass: --also-released can only")
    again = json.loads(run(*AGAIN, "--json")[1])
    assert again["left"] == 0.4
    assert again["guarantee"]["records_per_person"] == 2
    assert run("ledger", "verify", "ledger.db")[0] == 0
    changes = json.loads(run("ledger", "show", "ledger.db", "--json")[1])["amendments"]
    assert [change["reason"] for change in changes] == ["audited in May", "twins; the board agreed"]
    assert changes[0]["cap"] == 0.5
    assert "cap" not in changes[1]


def test_show_tells_amendments_and_versions_with_their_reasons(run):
    run(*FIRST)
    assert "\namendments" not in run("ledger", "show", "ledger.db")[1]
    run(*AMEND, "audited in May", "--budget", "0.5")
    with open("table.csv", "a", encoding="utf-8") as file:
        file.write("1.5,1.5\n")
    assert run(*AGAIN, "--new-version", "admissions of May")[0] == 0
    lines = run("ledger", "show", "ledger.db")[1].splitlines()
    (amended,) = [line for line in lines if line.startswith("amendments ")]
    assert "reason audited in May; cap 0.5" in amended
    (version,) = [line for line in lines if line.startswith("versions ")]
    assert "reason admissions of May; version 2" in version


def test_accept_notes_the_head_anew(run):
    run(*FIRST)
    head = run("ledger", "show", "ledger.db", "--head-only")[1].strip()
    (note,) = Path(os.environ["ISINGLASS_HOME"], "ledgers").glob("*.head")
    note.unlink()
    refused(run(*AGAIN), 2, "isinglass ledger verify", "--accept")
    assert run("ledger", "verify", "ledger.db")[0] == 1
    other = f"1{head[head.index(':') :]}"  # a head that the chain does not hold
    accept = ("ledger", "verify", "ledger.db", "--accept", "--reason", "the disk was lost")
    refused(run(*accept[:-2]), 2, "--accept and --reason go together")
    refused(run("ledger", "verify", "ledger.db", "--reason", "none"), 2, "--accept and --reason")
    assert run(*accept, "--head", other)[0] == 1
    assert not note.exists()
    assert run(*accept, "--head", head)[0] == 0
    assert run("ledger", "verify", "ledger.db")[0] == 0
    assert "the disk was lost" in run("ledger", "show", "ledger.db")[1]
    assert run(*AGAIN)[0] == 0  # stored, and free
    refused(run(*AGAIN, "--fresh"), 1, "the curator's part of the budget of 0 is")
    assert run(*AMEND, "what the lost disk may spend", "--budget", "0.5")[0] == 0
    asked = json.loads(run(*AGAIN, "--fresh", "--json")[1])
    assert asked["guarantee"]["cap"] == 0.5


def test_a_backup_is_a_whole_ledger(run):
    run(*FIRST)
    code, out, _ = run("ledger", "backup", "ledger.db", "-o", "copy.db")
    assert code == 0
    assert "keep it as closed as the ledger itself" in out
    assert run("ledger", "verify", "copy.db")[0] == 0
    assert os.stat("copy.db").st_mode & 0o077 == 0
    refused(run("ledger", "backup", "ledger.db", "-o", "copy.db"), 2, "copy.db")
    found = json.loads(run("ledger", "backup", "ledger.db", "-o", "second.db", "--json")[1])
    head = run("ledger", "show", "ledger.db", "--head-only")[1].strip()
    assert found == {"copy": "second.db", "head": head}
