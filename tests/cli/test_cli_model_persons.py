"""Whose a record is must be said in every command, whatever a ledger's contract counts on."""

from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import inside
from tests.cli.test_cli_model import document, refused
from tests.cli.test_cli_model_versions import BASE, MAKE, RENEW, declare

from isinglass.curate.ledger.ledger import Ledger

NAMED = ("--person", "patient", "--records-per-person", 3)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))
    declare("abc")
    write(0)


def write(seed, rows_each=5):
    """A table of categories, and of patients with several rows each."""
    rows = np.random.default_rng(seed).choice(["x", "y", "z"], size=(800, 3)).tolist()
    lines = [",".join([*row, f"P{i // rows_each}"]) for i, row in enumerate(rows)]
    Path("t.csv").write_text("\n".join(["a,b,c,patient", *lines]) + "\n")


def kept_settings():
    with Ledger("l.db") as ledger:
        return [paid.about.get("by_person") for paid in ledger.paid_models()]


def test_what_the_contract_says_does_not_say_whose_the_records_are(here):
    """Month 1 names the patients; month 2 drops them, and leaves the number to the contract."""
    document(*MAKE, *NAMED, "-o", "1.zip")
    write(1)
    repeats = "column patient of t.csv looks like an identifier, and repeats: name it in --person"
    assert repeats in refused(
        *BASE, "--name", "ward", "--again", "--drop", "patient", "-o", "2.zip"
    )
    assert repeats in refused(*BASE, "--name", "other", "--drop", "patient", "-o", "2.zip")
    assert not Path("2.zip").exists()
    # In the person's own words, it goes on: with the column, or with the number.
    assert document(*RENEW, "--person", "patient", "-o", "2.zip")["left"] == 2.5
    made = document(
        *BASE, "--name", "other", "--drop", "patient", "--records-per-person", 3, "-o", "3.zip"
    )
    assert made["guarantee"]["records_per_person"] == 3
    assert kept_settings() == ["yes", "yes", "no"]


@pytest.mark.parametrize("more", [(), ("--records-per-person", 3)])
def test_a_renewal_names_the_persons_as_the_version_before_did(here, more):
    document(*MAKE, *NAMED, "-o", "1.zip")
    write(1, rows_each=1)  # nobody repeats, this month
    said = refused(*RENEW, "--drop", "patient", *more, "-o", "2.zip")
    assert "version 1 of ward counted no more than 3 of each person's records" in said
    assert "name it in --person again" in said
    assert not Path("2.zip").exists()
    assert document(*RENEW, "--person", "patient", "-o", "2.zip")["version"] == 2


def test_a_version_of_before_tells_by_its_digest_that_persons_were_named(here):
    """Entries of earlier versions of isinglass do not say it."""
    kept = Ledger.charge_model

    def without(self, draw, *, about, **how):
        return kept(self, draw, about={"settings": about["settings"]}, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "charge_model", without)
        document(*MAKE, *NAMED, "-o", "1.zip")
        document(*BASE, "--name", "plain", "--drop", "patient", "--records-per-person", 3,
                 "-o", "2.zip")  # fmt: skip
    assert kept_settings() == [None, None]
    drop = ("--drop", "patient", "--records-per-person", 3)
    assert "version 1 of ward counted no more than 3" in refused(*RENEW, *drop, "-o", "3.zip")
    assert document(*BASE, "--name", "plain", "--renew", *drop, "-o", "3.zip")["version"] == 2


def test_a_price_for_one_record_goes_on_without_a_word(here):
    write(0, rows_each=1)
    document(*MAKE, "--drop", "patient", "-o", "1.zip")
    write(1, rows_each=1)
    done = inside(*RENEW, "--drop", "patient", "-o", "2.zip")
    assert done.returncode == 0, done.stderr
