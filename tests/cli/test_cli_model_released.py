"""A table that is counted for a model, and then leaves as a release as well."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import inside
from tests.cli.test_cli_model import document

from isinglass import model as model_file
from isinglass.release import read_facts

MAKE = ("model", "t.csv", "--epsilon", 1, "--bounds", "b.csv", "--ledger", "l.db", "--budget", 3,
        "-o", "m.zip", "--force")  # fmt: skip
SAID = "warning: a guaranteed model was made from this table"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))
    rows = np.random.default_rng(0).normal(size=(3000, 2)).tolist()
    Path("t.csv").write_text("\n".join(["a,b", *(f"{x!r},{y!r}" for x, y in rows)]) + "\n")
    Path("b.csv").write_text("a,-10,10\nb,-10,10\n")


@pytest.mark.parametrize("table", ["t.csv", "copy.csv"])
def test_a_release_of_a_counted_table_says_what_to_do_about_the_card(here, table):
    document(*MAKE)
    shutil.copy("t.csv", "copy.csv")
    done = inside("release", table, "-o", "r.parquet")
    assert done.returncode == 0
    (said,) = (line for line in done.stderr.splitlines() if line.startswith(SAID))
    assert "isinglass ledger amend LEDGER --also-released" in said
    told = [w for w in read_facts("r.parquet").warnings if "guaranteed model" in w]
    assert len(told) == 1
    assert "ledger" not in told[0]  # what the owner should do is no reader's affair
    # As it says: then the card is another, around what was counted, for nothing.
    before = model_file.read("m.zip").entries
    amend = ("ledger", "amend", "l.db", "--also-released", "--reason", "a release for a miner")
    assert inside(*amend).returncode == 0
    assert document(*MAKE)["spent"] == 0.0
    after = model_file.read("m.zip").entries
    assert after["model.json"] == before["model.json"]
    assert json.loads(before["card.json"])["also_released"] is False
    assert "The table also left as a release" in " ".join(json.loads(after["card.json"])["payment"])


def test_a_release_of_another_table_says_nothing_of_models(here):
    assert SAID not in inside("release", "t.csv", "-o", "q.parquet").stderr
    text = Path("t.csv").read_text().splitlines()
    document(*MAKE, "--also-released")
    Path("other.csv").write_text("\n".join([text[0], *text[5:900]]) + "\n")
    assert SAID not in inside("release", "other.csv", "-o", "o.parquet").stderr
