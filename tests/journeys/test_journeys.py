"""Whole ways through isinglass, as a person types them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import inside, typed

import isinglass as ig


@pytest.fixture
def folder(tmp_path):
    """A table of readings with five rows far from all others, and public bounds."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))
    table[:5] += 40 * rng.choice([-1, 1], size=(5, 4))
    pd.DataFrame(table, columns=list("abcd")).to_csv(tmp_path / "t.csv", index=False)
    bounds = {name: [-100, 100] for name in "abcd"}
    (tmp_path / "bounds.json").write_text(json.dumps(bounds))
    return tmp_path


def told(result, code=0):
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)


def test_from_a_table_to_a_release_that_is_audited(folder):
    made = told(
        typed(
            "release", "t.csv", "-o", "r.parquet", "--bounds", "bounds.json", "--json", cwd=folder
        )
    )
    assert made["rows"] == 300
    assert sorted(p.name for p in folder.iterdir()) == [
        "bounds.json", "r.key", "r.parquet", "t.csv",
    ]  # fmt: skip
    found = told(inside("detect", "r.parquet", "-n", "5", "--json", cwd=folder))
    assert {row["row"] for row in found["outliers"]} == set(range(5))
    audited = told(
        inside("audit", "t.csv", "r.parquet", "--key", "r.key", "-o", "report.html", "--json",
               cwd=folder)
    )  # fmt: skip
    assert audited["verdict"] == "recovered"
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


def test_from_a_table_to_an_answer_that_is_in_the_books(folder):
    pd.DataFrame([[90.0, -90.0, 90.0, 90.0]], columns=list("abcd")).to_csv(
        folder / "new.csv", index=False
    )
    ask = ("ask", "t.csv", "new.csv", "--beta", "20", "--r", "0.05", "--epsilon", "5",
           "--budget", "6", "--ledger", "l.db", "--bounds", "bounds.json", "--json")  # fmt: skip
    first = told(typed(*ask, cwd=folder))
    assert [set(answer) for answer in first["answers"]] == [{"row", "anomalous", "epsilon"}]
    assert first["spent"] == 5
    assert first["left"] == 1
    assert told(inside(*ask, cwd=folder))["answers"] == first["answers"]  # told again, not drawn
    assert inside(*ask, "--fresh", cwd=folder).returncode == 1  # no budget is left for another
    told(inside("ledger", "verify", "l.db", "--json", cwd=folder))


def test_from_several_owners_to_pooled_outliers(folder):
    """Owners share one key, so that distances between their records survive."""
    table = pd.read_csv(folder / "t.csv")
    for owner, rows in (("north", table[:150]), ("south", table[150:])):
        rows.to_csv(folder / f"{owner}.csv", index=False)
    line = ("--bounds", "bounds.json", "--json")
    told(inside("release", "north.csv", "-o", "north.parquet", *line, cwd=folder))
    told(inside("release", "south.csv", "-o", "south.parquet", "--use-key", "north.key", *line,
                cwd=folder))  # fmt: skip
    pooled = pd.concat([pd.read_parquet(folder / f"{o}.parquet") for o in ("north", "south")])
    found = ig.DistanceOutliers(5).fit(pooled.to_numpy())
    assert set(found.outliers_) == set(range(5))


def test_from_a_key_to_the_second_month_of_a_guaranteed_model(folder):
    """The owner signs, counts and renews; a reader who has the public key alone scores."""
    rng = np.random.default_rng(6)
    mix = rng.normal(size=(4, 4))
    for month in ("t", "u"):
        table = pd.DataFrame(rng.normal(size=(4000, 4)) @ mix, columns=list("abcd"))
        table.assign(patient=[f"P{i // 2}" for i in range(4000)]).to_csv(
            folder / f"{month}.csv", index=False
        )
    strange = pd.DataFrame(rng.normal(size=(50, 4)) @ mix, columns=list("abcd"))
    strange.loc[7] = [80.0, -80.0, 80.0, -80.0]
    strange.to_csv(folder / "new.csv", index=False)
    told(typed("keygen", "-o", "ward", "--json", cwd=folder))
    make = ("model", "--epsilon", "1", "--bounds", "bounds.json", "--person", "patient",
            "--records-per-person", "2", "--threshold", "0.1", "--ledger", "l.db", "--name", "ward",
            "--signing-key", "ward", "--json")  # fmt: skip
    first = told(typed(*make, "t.csv", "--budget", "3", "-o", "one.zip", "--card", "card.html",
                       cwd=folder))  # fmt: skip
    assert (first["spent"], first["left"], first["version"]) == (1, 2, 1)
    assert "at most 2 records" in (folder / "card.html").read_text()
    score = ("score", "new.csv", "--signer", "ward.pub", "--json", "--model")
    found = told(typed(*score, "one.zip", cwd=folder))
    assert found["anomalies"][0]["row"] == 7
    assert found["guarantee"]["records_per_person"] == 2
    again = told(inside(*make, "t.csv", "-o", "copy.zip", cwd=folder))
    assert again["spent"] == 0
    assert (folder / "copy.zip").read_bytes() == (folder / "one.zip").read_bytes()
    second = told(typed(*make, "u.csv", "--renew", "-o", "two.zip", cwd=folder))
    assert (second["spent"], second["left"], second["supersedes"]) == (1, 1, 1)
    assert told(inside(*score, "two.zip", cwd=folder))["anomalies"][0]["row"] == 7
    (older,) = told(inside(*score, "one.zip", cwd=folder))["warnings"]
    assert "version 2 was used here before" in older
    assert told(inside("ledger", "verify", "l.db", "--json", cwd=folder))
