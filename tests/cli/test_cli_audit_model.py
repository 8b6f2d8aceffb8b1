"""`isinglass audit TABLE MODEL`: options, output, and how it ends."""

import json

import numpy as np
import pytest
from tests.cli.commands import inside

import isinglass as ig

D = 4


def write(path, rows):
    head = ",".join(["name", *(f"c{j}" for j in range(D))])
    lines = [f"r{i}," + ",".join(repr(float(v)) for v in row) for i, row in enumerate(rows)]
    path.write_text("\n".join([head, *lines]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("audit_model")
    rng = np.random.default_rng(0)
    table, others = rng.normal(size=(120, D)), rng.normal(size=(120, D))
    write(path / "table.csv", table)
    write(path / "others.csv", others)
    # The name says nothing: a model is known by its content.
    ig.Autoencoder(2, max_epochs=3, random_state=0).fit(table).export(path / "detector.bin")
    (path / "mild.toml").write_text("[risks]\nmaximum_membership = 1.0\n")
    (path / "harsh.toml").write_text("[risks]\nmaximum_membership = 0.1\n")
    (path / "other.toml").write_text("[linkage]\nminimum_level = 2\n")
    return path


def audit(folder, *arguments):
    return inside("audit", "table.csv", "detector.bin", "--seed", 1, *arguments, cwd=folder)


def test_a_model_is_audited_with_others(folder):
    done = audit(folder, "--others", "others.csv", "-o", "page.html", "--policy", "mild.toml")
    assert done.returncode == 0, done.stderr
    assert "likelihood ratio" in done.stdout
    assert "models made alike" not in done.stdout
    assert "verdict    " in done.stdout
    assert "1 of 1 demands met" in done.stdout
    assert "page.html" in done.stdout
    assert "name" in done.stderr  # the column of text that was left out
    assert "Audit of a model" in (folder / "page.html").read_text()


def test_without_others_the_figure_is_of_models_made_alike(folder):
    done = audit(folder)
    assert done.returncode == 0, done.stderr
    assert "The figure is of models made alike, not of this very model." in done.stdout


def test_json_is_one_document(folder):
    done = audit(folder, "--others", "others.csv", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["rows"], document["columns"]) == (120, D)
    assert document["attacks"] == []
    assert document["privacy"] == {"minimum": None, "average": None}
    assert 0.3 < document["attackers"][1]["membership"] < 0.7


@pytest.mark.parametrize("policy", ["harsh.toml", "other.toml"])
def test_a_demand_that_is_not_met_or_not_measured_is_exit_1(folder, policy):
    done = audit(folder, "--others", "others.csv", "--policy", policy)
    assert done.returncode == 1
    assert "not met" in done.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--id", "name"),
        ("--trials", "2"),
        ("-n", "5"),
        ("--max-pairs", "0"),
        ("--also", "table.csv"),
    ],
)
def test_options_of_releases_are_refused(folder, option, value):
    done = audit(folder, option, value)
    assert done.returncode == 2
    assert "only for releases" in done.stderr


def test_others_are_for_models(folder):
    done = inside("audit", "table.csv", "table.csv", "--others", "others.csv", cwd=folder)
    assert done.returncode == 2
    assert "--others is for models" in done.stderr


@pytest.mark.parametrize("size", [3, 40, 300])
def test_a_broken_model_is_one_sentence_and_exit_2(folder, tmp_path, size):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes((folder / "detector.bin").read_bytes()[:size])
    done = inside("audit", "table.csv", broken, cwd=folder)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "not an Autoencoder" in done.stderr


def test_a_model_of_other_columns_is_exit_2(folder):
    done = audit(folder, "--drop", "c0")
    assert done.returncode == 2
    assert "takes 4 columns" in done.stderr


def test_the_report_replaces_no_file_that_is_read(folder):
    done = audit(folder, "--others", "others.csv", "-o", "others.html")
    assert done.returncode == 0
    again = audit(folder, "--others", "others.html", "-o", "others.html", "--force")
    assert again.returncode == 2
