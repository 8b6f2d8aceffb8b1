"""Facts beside the numbers: each has words, and the public edition is made of public ones."""

from __future__ import annotations

import json
import string
from dataclasses import replace

import numpy as np
import pytest
from tests.auditing.examples import tiny

import isinglass as ig
from isinglass.attack.base import Attack
from isinglass.attack.naive import NaiveAttack
from isinglass.auditing.findings import PolicyLine, SkippedAttack
from isinglass.auditing.notes import AuditNote, Kind, OwnersFile, public_notes
from isinglass.auditing.policy import Policy
from isinglass.auditing.report import sentences as spoken
from isinglass.auditing.report.report import Report, without_records
from isinglass.auditing.report.sentences import measured, sentence, sentences
from isinglass.errors import AttackError

SECRET = "row 17 of payroll.csv holds 4711"
#: Sentences whose values are no plain numbers or words.
VALUES = {"why": AuditNote.of(Kind.NO_OTHERS), "columns": ("a", "b"), "parts": ("a",)}


class Elsewhere(Attack):
    """An attack of somebody's own, whose error quotes what it should not."""

    name = "elsewhere"
    needs = ()

    def guess(self, released, knowledge):
        raise AttackError(SECRET)


def editions(findings):
    """Each edition with all that is in it: the page and the document."""
    report = Report(findings)
    return {
        public: report.html(public=public) + json.dumps(report.to_json(public=public))
        for public in (False, True)
    }


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_a_sentence_that_takes_its_values(kind):
    parts = list(string.Formatter().parse(spoken._SENTENCES[kind]))
    values = {name: VALUES.get(name, 1) for _, name, _, _ in parts if name}
    said = sentence(AuditNote(kind, values))
    assert said
    assert "{" not in said


def test_values_are_not_taken_for_parts_of_a_sentence():
    note = AuditNote.of(Kind.QUOTED, text="{n} {text} {0}")
    assert sentence(note) == "{n} {text} {0}"


def test_the_public_edition_has_the_public_facts_in_their_order():
    notes = (
        AuditNote.of(Kind.ROWS_WITHOUT_PARTNER, n=3, file=OwnersFile("payroll.csv")),
        AuditNote(Kind.QUOTED, {"text": SECRET}, public=False),
        AuditNote.of(Kind.TRANSPOSED),
    )
    assert sentences(notes)[:2] == ("Rows of payroll.csv that have no partner: 3.", SECRET)
    assert sentences(public_notes(notes)) == (
        "Rows of the table that have no partner: 3.",
        "The release has a column for each record, and was attacked as a transposed table.",
    )


def test_a_fact_within_a_fact_is_published_with_it():
    inner = AuditNote(Kind.QUOTED, {"text": SECRET}, public=False)
    note = AuditNote.of(Kind.TOO_LOW, why=inner).published()
    assert sentence(note) == "The figures may be too low: (left out of the public edition)."


def test_a_public_fact_that_reads_like_a_private_one_stays():
    # Nothing is decided by what a sentence looks like.
    note = AuditNote.of(Kind.QUOTED, text="row 17 stays, and so does payroll.csv")
    named = replace(tiny(), notes=(note,), settings={"table": "payroll.csv"})
    assert all("row 17 stays, and so does payroll.csv" in text for text in editions(named).values())


def test_what_an_attack_from_elsewhere_says_is_for_the_owner():
    assert AuditNote.quote(NaiveAttack, "it needs more").public
    assert not AuditNote.quote(Elsewhere(), SECRET).public
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 2))
    report = ig.audit(table, table + 1, attacks=[Elsewhere()], n_outliers=3, random_state=1,
                      policy=Policy(maximum_gain=0.5))  # fmt: skip
    (skipped,) = [s for s in report.findings.skipped if s.name == "elsewhere"]
    assert sentence(skipped.reason) == SECRET
    internal, public = editions(report.findings).values()
    assert f'elsewhere is run</th><td data-label="measured">it was skipped: {SECRET}' in internal
    assert SECRET not in public
    assert "it was skipped: (left out of the public edition)" in public


def test_reasons_behind_a_demand_are_published_like_any_other():
    why = AuditNote(Kind.QUOTED, {"text": SECRET}, public=False)
    line = PolicyLine("naive is run", "it failed", met=False, why=why)
    found = replace(tiny(), policy=(line,), skipped=(SkippedAttack("naive", why),))
    assert measured(line) == f"it failed: {SECRET}"
    kept = without_records(found)
    assert measured(kept.policy[0]) == "it failed: (left out of the public edition)"
    assert sentence(kept.skipped[0].reason) == "(left out of the public edition)"
    assert Report(found).to_json()["policy"] == [
        {"demand": "naive is run", "measured": f"it failed: {SECRET}", "met": False}
    ]


def test_settings_that_nobody_knows_are_for_the_owner():
    found = replace(
        tiny(), settings={"n_trials": 2, "mine": "x", "random_state": 4, "release": "r"}
    )
    assert Report(found).to_json(public=True)["settings"] == {"n_trials": 2, "release": "r"}
    paths = replace(tiny(), settings={"release": "/home/r", "model": "C:\\m", "outcome": "refused"})
    assert Report(paths).to_json(public=True)["settings"] == {"outcome": "refused"}
