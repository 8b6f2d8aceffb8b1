"""`isinglass ask` on both databases: what a dry run leaves behind, and the register of releases."""

import json
import os
from pathlib import Path

import pytest
from tests.cli import asking
from tests.cli.asking import AGAIN, FIRST, refused

from isinglass.curate.ledger.ledger import Ledger


@pytest.fixture
def run(tmp_path, monkeypatch):
    return asking.command(tmp_path, monkeypatch)


def at(where, arguments):
    return [where if word == "ledger.db" else word for word in arguments]


def files(folder):
    return {str(path): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_a_dry_run_before_the_first_use_writes_nothing_at_all(run, where, tmp_path):
    home, before = os.environ["ISINGLASS_HOME"], files(tmp_path)
    for more in ([], ["--json"], ["--epsilon", "0.3"], ["--also-released"]):
        assert run(*at(where, FIRST), "--dry-run", *more)[0] == (1 if "0.3" in more else 0)
    assert files(tmp_path) == before
    assert os.listdir(home) == []
    assert not Ledger.begun(where)
    refused(run(*at(where, AGAIN), "--dry-run"), 2, "--budget must be given")


def test_a_dry_run_of_a_ledger_in_use_adds_no_entry(run, where):
    assert run(*at(where, FIRST))[0] == 0
    with Ledger(where) as ledger:
        before = ledger.summary()
    found = json.loads(run(*at(where, AGAIN), "--dry-run", "--fresh", "--json")[1])
    assert found["spent"] == 0.3
    with Ledger(where) as ledger:
        assert ledger.summary() == before


def test_the_register_of_releases_is_looked_at_every_time(run, where):
    assert run(*at(where, FIRST))[0] == 0
    assert run("release", "table.csv", "-o", "release.parquet")[0] == 0
    refused(run(*at(where, AGAIN)), 2, "`isinglass ledger amend LEDGER --also-released --reason")
    amend = ("ledger", "amend", where, "--also-released", "--reason", "released in June")
    assert run(*amend)[0] == 0
    assert json.loads(run(*at(where, AGAIN), "--json")[1])["guarantee"]["also_released"] is True


def test_a_released_table_is_refused_on_first_use_too(run, where):
    assert run("release", "table.csv", "-o", "release.parquet")[0] == 0
    for more in ([], ["--dry-run"]):
        refused(run(*at(where, FIRST), *more), 2, "pass --also-released")
    assert not Ledger.begun(where)
    assert run(*at(where, FIRST), "--also-released")[0] == 0
