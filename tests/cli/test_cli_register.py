"""The owner's register on the command line: what was released, and what never left."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli import asking
from tests.cli.asking import refused

from isinglass.release_register import Register

RELEASE = ("release", "table.csv", "--method", "gaussian")


@pytest.fixture
def run(tmp_path, monkeypatch):
    return asking.command(tmp_path, monkeypatch)


def test_the_register_lists_what_was_released(run):
    assert run("register", "list") == (0, "no release was made here yet\n", "")
    assert not os.listdir(os.environ["ISINGLASS_HOME"])  # looking makes nothing
    run(*RELEASE, "-o", "one.parquet")
    run(*RELEASE, "-o", "two.parquet", "--again")
    code, out, _ = run("register", "list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[:3]] == ["entry", "1", "2"]
    assert "one.parquet" in out
    assert "76543" not in out
    first, second = json.loads(run("register", "list", "--json")[1])["releases"]
    assert list(first) == ["entry", "when", "release", "method", "rows", "columns", "never_left"]
    assert (first["entry"], first["rows"], first["columns"]) == (1, 41, 2)
    assert (second["release"], second["never_left"]) == ("two.parquet", None)


def test_a_release_that_never_left_does_not_count_and_its_line_stays(run):
    run(*RELEASE, "-o", "one.parquet")
    before = Path(os.environ["ISINGLASS_HOME"], "releases.jsonl").read_bytes()
    done = run(*RELEASE, "-o", "two.parquet")
    refused(done, 2, "--again", "`isinglass register never-left 1 --reason TEXT`")
    mark = ("register", "never-left", "1", "--reason")
    refused(run(*mark, ""), 2, "--reason must be")
    refused(run("register", "never-left", "7", "--reason", "x"), 2, "has no entry 7")
    code, out, _ = run(*mark, "wrong columns, deleted")
    assert (code, "entry 1 (one.parquet) is marked as never having left" in out) == (0, True)
    refused(run(*mark, "again"), 2, "entry 1 is marked already: wrong columns, deleted")
    after = Path(os.environ["ISINGLASS_HOME"], "releases.jsonl").read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 1
    assert "never left: wrong columns, deleted" in run("register", "list")[1]
    code, _, err = run(*RELEASE, "-o", "two.parquet")  # without --again
    assert code == 0, err
    assert "released before" not in err
    refused(run(*RELEASE, "-o", "three.parquet"), 2, "never-left 3 ")  # that one has left
    # A line that came later, of whatever kind, does not change which entry a number means.
    with open(Path(os.environ["ISINGLASS_HOME"], "releases.jsonl"), "a", encoding="utf-8") as file:
        file.write('{"never_left": 99, "reason": "nothing"}\n{"later": "kind"}\n{"cut')
    assert [e.entry for e in Register().entries()] == [1, 3]


def test_an_audit_does_not_count_a_release_that_never_left(run):
    run(*RELEASE, "-o", "one.parquet")
    run(*RELEASE, "-o", "two.parquet", "--again")
    audit = ("audit", "table.csv", "two.parquet", "--max-pairs", "2")
    assert "other release" in str(run(*audit))
    run("register", "never-left", "1", "--reason", "nobody had it")
    assert "other release" not in str(run(*audit))


def test_nothing_is_marked_where_there_is_no_register(run):
    refused(run("register", "never-left", "1", "--reason", "x"), 2, "no release was made here")
