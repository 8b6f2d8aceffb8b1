"""Several records a person: whole persons are held out, and a column may say whose rows are."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import inside

import isinglass as ig
from isinglass.auditing.context import subject_of
from isinglass.auditing.detection import default_detector
from isinglass.auditing.files.align import Loaded
from isinglass.auditing.files.persons import guess_persons, person_codes, person_column
from isinglass.auditing.membership import area_under_curve, equal_records, membership
from isinglass.auditing.report.sentences import sentences
from isinglass.auditing.resample import redraw
from isinglass.errors import AuditError
from isinglass.table.read import open_table

RNG = np.random.default_rng(3)
WHOSE = np.repeat(np.arange(30), 10)
TABLE = 5 * RNG.normal(size=(30, 4))[WHOSE] + RNG.normal(size=(300, 4))
MANY = ig.Condensation(k=10, random_state=0)


def held_out(veil, persons=WHOSE, seed=0):
    subject = subject_of(
        TABLE, TABLE, names=None, detector=default_detector(300, None), parameters=None, labels=None
    )
    rng = np.random.default_rng(seed)
    return lambda: redraw(subject, veil, rng, persons=persons, detect=False)


def test_nobody_is_both_released_and_held_out():
    drawn = held_out(MANY)()
    assert drawn.persons is not None
    assert set(drawn.persons.released) & set(drawn.persons.held_out) == set()
    assert len(np.unique(drawn.persons.held_out)) == 6
    assert len(drawn.held_out) == len(drawn.persons.held_out) == 60
    places = [int(np.flatnonzero((TABLE == record).all(axis=1))[0]) for record in drawn.held_out]
    np.testing.assert_array_equal(WHOSE[places], drawn.persons.held_out)


def test_a_stranger_is_told_where_another_row_of_somebody_in_the_table_is_not():
    rng = np.random.default_rng(1)
    by_row = max(m.area for m in membership(held_out(MANY, None)(), rng))
    by_person = max(m.area for m in membership(held_out(MANY)(), rng))
    assert by_row < 0.75
    assert by_person > 0.9


def test_release_rows_that_mean_nothing_give_no_person_away():
    draw = held_out(ig.AdditiveNoise(scale=1000.0, random_state=0))
    for m in membership(draw(), np.random.default_rng(2), draw):
        assert m.low < 0.5 < m.high, m.name
        assert m.by_person


def test_records_of_one_person_count_together_in_the_error():
    members, others = RNG.normal(size=60), RNG.normal(size=60)
    alone = area_under_curve(members, others, np.arange(60), np.arange(60))
    assert alone == pytest.approx(area_under_curve(members, others))
    copied = area_under_curve(
        np.repeat(members, 5), np.repeat(others, 5), *[np.repeat(np.arange(60), 5)] * 2
    )
    assert copied == pytest.approx(alone)


def test_an_audit_says_that_persons_were_held_out():
    released = MANY.fit_transform(TABLE)
    given = {"perturbation": MANY, "attacks": ["naive"], "n_trials": 2, "random_state": 0}
    report = ig.audit(TABLE, released, persons=WHOSE, **given)
    assert report.findings.attackers[0].membership > 0.9
    assert any("all records of a person" in said for said in sentences(report.findings.assumptions))
    usual = ig.audit(TABLE, released, **given)
    assert usual.findings.attackers[0].membership < 0.75
    assert not any("person" in said for said in sentences(usual.findings.assumptions))


def test_rows_with_copies_are_found_and_few_of_them_change_nothing():
    table = np.arange(60.0).reshape(30, 2)
    assert equal_records(table) is None
    codes = equal_records(np.vstack([table, table, -0.0 * table[:1], table[:1] * 0.0]))
    assert np.array_equal(codes[:30], codes[30:60])
    assert len(set(codes[:30])) == 30
    assert codes[60] == codes[61]
    assert equal_records(np.vstack([np.arange(300.0)[:, None], [[0.0]]])) is None  # two of 301
    assert equal_records(np.zeros((100, 3))) is None  # one record: nobody can be held out


def test_a_record_is_held_out_with_its_copies():
    # Twenty rows a record under noise: their mean tells the record, and so that it was there.
    table = np.repeat(np.random.default_rng(3).normal(size=(30, 60)), 20, axis=0)
    noise = ig.AdditiveNoise(scale=5.0)
    report = ig.audit(
        table, noise.fit_transform(table), perturbation=noise, attacks=["naive"], n_trials=2,
        random_state=0,
    )  # fmt: skip
    outsider = report.findings.attackers[0]
    assert outsider.membership > 0.75  # rows held out one by one leave copies behind: about .5


def test_too_few_persons_or_other_rows_are_refused():
    with pytest.raises(AuditError, match="at least 5 persons"):
        person_codes(np.repeat([1, 2], 10), 20)
    with pytest.raises(AuditError, match="one for each of the 20"):
        person_codes(np.arange(10), 20)


def guessed(frame):
    found = guess_persons(
        open_table(frame), list(frame.columns), Loaded("t", np.zeros((len(frame), 1)), None)
    )
    return None if found is None else found.name


@pytest.mark.parametrize(
    ("name", "values", "is_taken"),
    [
        ("patient_id", np.repeat(np.arange(8), 10), True),
        ("whose", [f"P{i % 40}" for i in range(80)], True),
        ("unit", np.repeat(np.arange(8.0), 10), True),  # whole numbers beside missing ones
        ("color", [f"C{i % 8}" for i in range(80)], False),  # few values: a category
        ("record_id", np.arange(80), False),  # nobody has two rows
        ("patient_age", np.linspace(0, 1, 80), False),  # not whole
        ("flag_id", np.arange(80) % 2, False),
    ],
)
def test_a_column_that_repeats_as_an_identifier_does_is_taken_for_one(name, values, is_taken):
    assert (guessed(pd.DataFrame({name: values})) == name) is is_taken


def test_numbers_that_are_not_whole_name_nobody():
    frame = pd.DataFrame({"stay": np.repeat(np.arange(40) / 4, 2)})
    with pytest.raises(AuditError, match="column stay holds numbers that are not whole"):
        person_column(open_table(frame), "stay", Loaded("t", np.zeros((80, 1)), None))


def test_a_telling_name_comes_first():
    frame = pd.DataFrame({"day": np.arange(80) % 40, "patient": np.arange(80) % 10})
    assert guessed(frame) == "patient"


def test_the_name_of_an_identifier_comes_before_one_that_says_something_of_a_person():
    frame = pd.DataFrame({"patient_weight": np.arange(80) % 40, "household": np.arange(80) % 10})
    assert guessed(frame) == "household"


@pytest.fixture
def visits(tmp_path):
    frame = pd.DataFrame(TABLE, columns=list("abcd"))
    frame["patient_id"] = [f"P{i}" for i in WHOSE]
    order = np.random.default_rng(4).permutation(300)
    frame.iloc[order].to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path


def test_the_gate_goes_by_persons_and_their_column_never_leaves(visits):
    made = ("release", "visits.csv", "-o", "a.parquet", "--method", "condensation")
    alone = inside(*made, "--person", "patient_id", cwd=visits)
    assert "--person is for the audit" in alone.stderr
    said = inside(*made, "--person", "patient_id", "--report", "r.json", cwd=visits)
    assert said.returncode == 0, said.stderr
    assert "patient_id" not in pd.read_parquet(visits / "a.parquet").columns
    document = json.loads((visits / "r.json").read_text())
    assert {m["by_person"] for m in document["membership"]} == {True}
    assert max(m["area"] for m in document["membership"]) > 0.9


def test_a_column_that_was_dropped_is_tried_and_named(visits):
    inside(
        "release", "visits.csv", "-o", "a.parquet", "--method", "condensation", "--set", "k=10",
        "--drop", "patient_id", cwd=visits,
    )  # fmt: skip
    said = inside(
        "audit", "visits.csv", "a.parquet", "--drop", "patient_id", "--json", "--seed", "1",
        cwd=visits,
    )  # fmt: skip
    assert "Rows of the same patient_id were held out together" in said.stderr
    assert json.loads(said.stdout)["attackers"][0]["membership"] > 0.9
