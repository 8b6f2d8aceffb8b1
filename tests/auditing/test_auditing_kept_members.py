"""Columns kept beside a noisy release say whose record is in the table."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import inside

import isinglass as ig
from isinglass.auditing.files.persons import may_identify, refuse_perturbed
from isinglass.errors import AuditError

NOISE = ig.AdditiveNoise(scale=30.0, random_state=0)


def outsider(kept, *, n=400, persons=None, categorical=True):
    """Areas of an audit of records that mean nothing under strong noise beside kept columns."""
    table = np.random.default_rng(5).normal(size=(n, 4))
    kept = np.reshape(kept, (n, -1)).astype(float)
    beside = ig.attacks.KeptColumns(kept, np.full(kept.shape[1], categorical))
    report = ig.audit(
        table, NOISE.fit_transform(table), perturbation=NOISE, kept=beside, persons=persons,
        attacks=["naive"], n_trials=2, random_state=1,
    )  # fmt: skip
    return {m.name: m for m in report.findings.membership}, report.findings.attackers[0]


def test_whole_persons_are_told_by_an_identifier_that_was_kept():
    whose = np.repeat(np.arange(40), 10)
    told, first = outsider(whose, persons=whose)
    assert told["kept_values"].area == 1.0
    assert told["kept_values"].attacker == "outsider"
    assert told["kept_and_near"].area == 1.0
    assert first.membership == 1.0


@pytest.mark.parametrize("categorical", [True, False])
def test_a_value_that_nobody_else_has_tells_every_record(categorical):
    kept = np.random.default_rng(6).permutation(400)
    told, first = outsider(kept, categorical=categorical)
    assert told["kept_values"].area == first.membership == 1.0


def test_numbers_without_meaning_beside_each_row_tell_every_record():
    told, _ = outsider(np.random.default_rng(7).normal(size=400), categorical=False)
    assert told["kept_values"].area == 1.0


def test_a_label_of_two_values_tells_nobody():
    label = np.random.default_rng(8).integers(0, 2, 3000)
    told, first = outsider(label, n=3000)
    assert told["kept_values"].low < 0.5 < told["kept_values"].high
    assert told["kept_and_near"].low < 0.5 < told["kept_and_near"].high
    assert first.verdict == "resisted the attacks listed"


def test_strangers_share_a_pair_of_values_as_often_as_chance_has_it():
    """Uniform over 1,000 pairs: a stranger finds its own among n rows with 1 - (1 - 1/1000)^n."""
    rng = np.random.default_rng(9)
    told, _ = outsider(np.column_stack([rng.integers(0, 20, 1000), rng.integers(0, 50, 1000)]),
                       n=1000)  # fmt: skip
    found = 1 - (1 - 1 / 1000) ** 800
    by_presence = 1 - found / 2  # a member always finds it; ties count half
    assert told["kept_values"].area > by_presence - 3 * 0.02


def test_without_kept_columns_nothing_changes():
    table = np.random.default_rng(5).normal(size=(200, 4))
    report = ig.audit(
        table, NOISE.fit_transform(table), perturbation=NOISE, attacks=["naive"], n_trials=2,
        random_state=1,
    )  # fmt: skip
    assert not [m.name for m in report.findings.membership if m.name.startswith("kept")]


@pytest.fixture
def visits(tmp_path):
    rng = np.random.default_rng(10)
    frame = pd.DataFrame(rng.normal(size=(600, 4)), columns=list("abcd"))
    frame["patient"] = [f"P{i}" for i in np.repeat(np.arange(30), 20)]
    frame["area"] = [f"A{i}" for i in rng.integers(0, 25, 600)]
    frame.sample(frac=1, random_state=0).to_csv(tmp_path / "t.csv", index=False)
    policy = '[attacks]\nmaximum_gain = 0.4\nattacker = "outsider"\n[release]\nkept = "any"\n'
    (tmp_path / "p.toml").write_text(policy)
    return tmp_path


RELEASE = ("release", "t.csv", "-o", "r.parquet", "--method", "gaussian", "--set", "scale=30",
           "--shuffle", "--report", "r.json")  # fmt: skip


@pytest.mark.parametrize("named", [True, False])
def test_the_gate_refuses_a_kept_identifier_of_persons(visits, named):
    person = ("--person", "patient") if named else ()
    said = inside(*RELEASE, "--policy", "p.toml", "--keep", "patient", "--drop", "area", *person,
                  cwd=visits)  # fmt: skip
    assert said.returncode == 1, said.stderr
    document = json.loads((visits / "r.json").read_text())
    told = {m["name"]: m for m in document["membership"]}
    assert told["kept_values"]["area"] == 1.0
    assert told["kept_values"]["by_person"]
    assert {frozenset(m) for m in document["membership"]} == {frozenset(told["nearest"])}


def test_an_audit_takes_a_kept_column_for_that_of_the_persons(visits):
    inside(*RELEASE[:-2], "--keep", "patient", "--drop", "area", cwd=visits)
    said = inside("audit", "t.csv", "r.parquet", "--key", "r.key", "--drop", "area",
                  "--person", "patient", "--json", "--seed", "1", cwd=visits)  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["attackers"][0]["membership"] == 1.0


def test_persons_are_told_where_the_order_of_the_rows_is_secret(visits):
    inside(*RELEASE[:-2], "--keep", "patient", "--drop", "area", cwd=visits)
    said = inside("audit", "t.csv", "r.parquet", "--drop", "area", "--person", "patient", "--json",
                  "--seed", "1", cwd=visits)  # fmt: skip
    document = json.loads(said.stdout)
    assert document["attackers"][0]["membership"] == 1.0


def test_a_kept_category_of_many_values_is_no_identifier_of_persons(visits):
    pd.read_csv(visits / "t.csv").drop(columns="patient").to_csv(visits / "t.csv", index=False)
    said = inside(*RELEASE, "--policy", "p.toml", "--keep", "area", cwd=visits)
    assert said.returncode == 0, said.stderr
    document = json.loads((visits / "r.json").read_text())
    told = {m["name"]: m for m in document["membership"]}
    # A Poisson number of mean 19, and one more than such a number: .56, and no certainty at all.
    assert told["kept_values"]["area"] == pytest.approx(0.56, abs=0.06)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("patient", True), ("patient_id", True), ("PatientNr", True), ("customers", True),
        ("household", True), ("id", True), ("pid", True), ("loan_id", True), ("user name", True),
        ("patient_age", False), ("customer_segment", False), ("zip", False), ("humid", False),
        ("member_since", False), ("city", False),
    ],
)  # fmt: skip
def test_names_of_identifiers(name, is_one):
    assert may_identify(name) is is_one


def test_a_perturbed_column_still_names_nobody(visits):
    said = inside("audit", "t.csv", "r.parquet", "--person", "a", cwd=visits)
    assert said.returncode != 0
    with pytest.raises(AuditError, match="was perturbed"):
        refuse_perturbed("a", ["a"], ["a", "b"])
