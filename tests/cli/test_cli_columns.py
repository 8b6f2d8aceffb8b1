"""`isinglass inspect`, and the columns file that every command takes."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.commands import inside
from tests.table.messy import ROLES, as_csv, bank

import isinglass as ig

ROWS = 240
NUMBERS = ("amount", "balance", "rate", "score", "age", "foreign")
#: What a person would type without the file.
TYPED = (
    "--drop", ",".join(n for n, r in ROLES.items() if r not in ("number", "category") and n),
    "--drop", "", "--drop", "zip", "--one-hot", "mcc,country", "--missing", "drop",
    "--decimal", ",",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A bank's table, the file that inspect writes of it, and one that its owner has declared."""
    where = tmp_path_factory.mktemp("bank")
    (where / "bank.csv").write_text(as_csv(bank(ROWS)), encoding="utf-8")
    done = inside("inspect", "bank.csv", "-o", "seen.toml", cwd=where)
    assert done.returncode == 0, done
    text = (where / "seen.toml").read_text().replace('missing = "error"', 'missing = "drop"')
    text = text.replace("[columns.zip]", '[columns.zip]\nuse = "drop"')
    (where / "columns.toml").write_text(text)
    for name in ("version", "nothing"):
        text = re.sub(rf"(?<=columns.{name}\]\n)(role = .*\n)", r'\1use = "drop"\n', text)
    for name, pair in {"amount": [0, 1e6], "balance": [0, 1e6], "rate": [0, 1], "score": [-9, 9],
                       "age": [0, 120], "foreign": [0, 1]}.items():  # fmt: skip
        text = re.sub(rf'(?<=columns.{name}\]\n)(role.*\n)bounds = "declare"',
                      rf"\1bounds = {pair}", text)  # fmt: skip
    for name, values in {"mcc": ["5411", "5812", "4829", "6011"], "country": ["DE", "AT"]}.items():
        text = re.sub(rf'(?<=columns.{name}\]\n)(role.*\n)categories = "declare"',
                      rf"\1categories = {json.dumps(values)}", text)  # fmt: skip
    (where / "declared.toml").write_text(text)
    return where


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))


def said(*words, cwd, code=0):
    done = inside(*words, cwd=cwd)
    assert done.returncode == code, done
    return done


def document(*words, cwd):
    return json.loads(said(*words, "--json", cwd=cwd).stdout)


def test_inspect_ends_with_the_next_command_and_shows_no_value(folder):
    done = said("inspect", "bank.csv", cwd=folder)
    assert done.stdout.splitlines()[-1].split(maxsplit=1) == [
        "next", "isinglass inspect bank.csv -o columns.toml"
    ]  # fmt: skip
    shown = done.stdout + (folder / "seen.toml").read_text()
    columns = bank(ROWS)
    for name, role in ROLES.items():
        if role in ("identifier", "person", "text", "date"):
            assert not any(v in shown for v in columns[name] if len(v) > 3)


def test_the_document_of_inspect(folder):
    found = document("inspect", "bank.csv", cwd=folder)
    assert {c["name"]: c["proposed"] for c in found["columns"]} == ROLES
    assert {"name", "type", "distinct", "missing", "proposed", "why"} <= found["columns"][0].keys()
    assert (found["rows"], found["columns_file"]) == (ROWS, None)


def test_inspect_keeps_what_is_there_and_its_file_private(folder, tmp_path):
    assert "exists" in said("inspect", "bank.csv", "-o", "seen.toml", cwd=folder, code=2).stderr
    assert "name it bank.toml" in said(
        "inspect", "bank.csv", "-o", "bank.csv", "--force", cwd=folder, code=2).stderr  # fmt: skip
    assert (folder / "seen.toml").stat().st_mode & 0o777 == 0o600


def test_the_command_that_inspect_recommends_runs(folder):
    done = said("inspect", "bank.csv", "-o", "again.toml", "--force", cwd=folder)
    words = done.stdout.splitlines()[-1].split()[2:]
    assert words[0] == "release"
    said(*words, "--force", cwd=folder)


def test_a_release_by_the_file_is_the_release_by_options(folder):
    seeded = ("--method", "gaussian", "--set", "scale=1", "--set", "random_state=3", "--again")
    said("release", "bank.csv", "-o", "typed.parquet", *TYPED, *seeded, cwd=folder)
    said("release", "bank.csv", "-o", "filed.parquet", "--columns", "columns.toml", *seeded,
         cwd=folder)  # fmt: skip
    typed, filed = (pq.read_table(folder / f"{n}.parquet") for n in ("typed", "filed"))
    assert typed.equals(filed)
    assert filed.num_columns == len(NUMBERS) + 4 + 3
    assert filed.num_rows == sum("" not in r and "n.a." not in r for r in _rows())


def test_declared_bounds_are_used_and_what_is_typed_wins(folder):
    said("release", "bank.csv", "-o", "d.parquet", "--columns", "declared.toml", "--again",
         "--force", cwd=folder)  # fmt: skip
    assert ig.Release.read(folder / "d.parquet").facts.bounds["age"] == (0, 120)
    made = document("release", "bank.csv", "-o", "e.parquet", "--columns", "declared.toml",
                    "--drop", "score", "--one-hot", "foreign", "--again", cwd=folder)  # fmt: skip
    assert made["columns"] == len(NUMBERS) - 2 + 2 + 4 + 3


def test_detect_by_the_file_is_detect_by_options(folder):
    typed = [w.replace("--one-hot", "--discrete") for w in TYPED]
    typed[1] = typed[1].replace(",is_fraud", "")
    a = document("detect", "bank.csv", *typed, "--label", "is_fraud", "-n", "5", cwd=folder)
    b = document("detect", "bank.csv", "--columns", "columns.toml", "-n", "5", cwd=folder)
    assert a | {"seconds": 0} == b | {"seconds": 0}
    shown = said("detect", "bank.csv", "--columns", "columns.toml", "-n", "5", cwd=folder)
    assert "have is_fraud 1" in shown.stdout


def test_plan_and_ask_by_the_file_compare_numbers_only(folder):
    others = ",".join(n for n, r in ROLES.items() if r != "number" and n)
    typed = ("--drop", others, "--drop", "", "--missing", "drop", "--decimal", ",")
    plan = ("plan", "bank.csv", "--beta", "5", "--r", "0.5", "--epsilon", "0.1")
    file = ("--columns", "columns.toml")
    assert document(*plan, *typed, cwd=folder) == document(*plan, *file, cwd=folder)
    shown = said("plan", "bank.csv", *file, "--beta", "5", "--r", "0.5", "--epsilon", "0.1",
                 "--budget", "9", cwd=folder).stdout  # fmt: skip
    assert "--columns columns.toml" in shown
    (folder / "new.csv").write_text(as_csv({n: [v[0], v[5]] for n, v in bank(ROWS, 1).items()}))
    ask = ("ask", "bank.csv", "new.csv", "--beta", "5", "--r", "0.5", "--epsilon", "0.1",
           "--budget", "1", "--ledger", "l.db", "--dry-run")  # fmt: skip
    assert document(*ask, *typed, cwd=folder) == document(*ask, *file, cwd=folder)
    median = (folder / "columns.toml").read_text().replace('missing = "drop"', 'missing = "median"')
    (folder / "median.toml").write_text(median)
    refused = said(*ask, "--columns", "median.toml", cwd=folder, code=2)
    assert "does not go with a curator" in refused.stderr


def test_what_inspect_wrote_declares_nothing(folder):
    done = said("model", "bank.csv", "--columns", "seen.toml", "--epsilon", "1", "--no-ledger",
                "-o", "m.zip", cwd=folder, code=2)  # fmt: skip
    assert "without a declaration in seen.toml: amount, balance, rate, score, mcc" in done.stderr
    assert 'use = "drop"' in done.stderr
    assert not (folder / "m.zip").exists()


@pytest.mark.parametrize("typed", ["bounds.json", "declared.toml"])
def test_a_model_and_its_scores(folder, typed):
    told = ("--columns", typed)
    if typed == "bounds.json":
        made = {"amount": [0, 1e6], "balance": [0, 1e6], "rate": [0, 1],
                "age": [0, 120], "foreign": [0, 1],
                "mcc": {"categories": ["5411", "5812", "4829", "6011"]},
                "country": {"categories": ["DE", "AT"]}}  # fmt: skip
        (folder / typed).write_text(json.dumps(made))
        out = ",".join(n for n, r in ROLES.items() if n not in made and n and r != "person")
        told = ("--bounds", typed, "--drop", out, "--drop", "", "--person", "customerId",
                "--decimal", ",")  # fmt: skip
    found = document("model", "bank.csv", *told, "--epsilon", "9", "--no-ledger", "-o",
                     f"{typed}.zip", "--also-released", cwd=folder)  # fmt: skip
    # Written with a point, the score is no number by the mark that was typed for all columns.
    assert found["columns"] == (8 if typed == "declared.toml" else 7)
    assert said("score", "bank.csv", "--model", f"{typed}.zip", "--unsigned", "--own-rows",
                cwd=folder, code=2).stderr.count("not numbers")  # fmt: skip
    scores = [
        document("score", "bank.csv", "--model", f"{typed}.zip", "--unsigned", "--own-rows", *how,
                 cwd=folder)["scores"]
        for how in (("--columns", "declared.toml"), ("--decimal", ","))
    ]  # fmt: skip
    assert scores[0] == scores[1]
    assert len(scores[0]) == ROWS


def test_one_record_that_cannot_be_read_decides_nothing_of_a_model(folder):
    text = (folder / "bank.csv").read_text().splitlines()
    for row in (1, 200):
        spoiled = [*text]
        spoiled[row] = re.sub(r"[0-9.]+,[0-9]{2} €|n\.a\.", "see remarks", spoiled[row], count=1)
        assert spoiled != text
        (folder / "spoiled.csv").write_text("\n".join(spoiled) + "\n")
        for how in (("--columns", "declared.toml"),):
            said("model", "spoiled.csv", *how, "--epsilon", "9", "--no-ledger", "--force", "-o",
                 "s.zip", "--also-released", cwd=folder)  # fmt: skip


def test_an_audit_with_the_key_is_told_nothing_twice(folder):
    said("release", "bank.csv", "-o", "k.parquet", "--columns", "columns.toml", "--method",
         "gaussian", "--again", "--force", cwd=folder)  # fmt: skip
    few = ("--trials", "1", "--max-pairs", "3", "--seed", "1")
    by_key = document("audit", "bank.csv", "k.parquet", "--key", "k.key", *few, cwd=folder)
    by_file = document("audit", "bank.csv", "k.parquet", "--key", "k.key", "--columns",
                       "columns.toml", *few, cwd=folder)  # fmt: skip
    assert by_key == by_file
    assert by_key["rows"] == pq.read_metadata(folder / "k.parquet").num_rows


def test_tune_by_the_file_recommends_a_command_with_the_file(folder, monkeypatch):
    from isinglass.auditing.tuning import tune as searching
    from isinglass.auditing.tuning.evaluation import Measurement

    monkeypatch.setattr(
        searching, "measure", lambda *a, **k: Measurement(0.95, 500, 0.1, 0.05, 0.15, "ica")
    )
    shown = said("tune", "bank.csv", "--columns", "columns.toml", "--methods", "gaussian",
                 cwd=folder).stdout  # fmt: skip
    assert "--columns columns.toml" in shown
    assert "--drop" not in shown


def test_a_table_with_other_columns_than_the_file_is_refused(folder):
    columns = bank(ROWS)
    (folder / "more.csv").write_text(as_csv(columns | {"extra": columns["score"]}))
    done = said("detect", "more.csv", "--columns", "columns.toml", cwd=folder, code=2)
    assert "columns.toml does not name columns that the table has: extra" in done.stderr
    said("detect", "more.csv", "--columns", "columns.toml", "--drop", "extra", cwd=folder)
    (folder / "less.csv").write_text(as_csv({n: c for n, c in columns.items() if n != "age"}))
    done = said("detect", "less.csv", "--columns", "columns.toml", cwd=folder, code=2)
    assert "names columns that the table lacks: age" in done.stderr


# What a release asks about, where nothing was said.


def write(path, columns):
    path.write_text(as_csv({n: [str(v) for v in c] for n, c in columns.items()}, ","))


RNG = np.random.default_rng(4)
X, Y = RNG.normal(size=80), RNG.integers(0, 9, size=80)


@pytest.mark.parametrize(
    ("name", "values", "looks"),
    [
        ("customer_id", RNG.integers(1000, 9000, size=80), "identifiers: customer_id"),
        ("Unnamed: 0", range(80), "identifiers: Unnamed: 0"),
        ("", range(80), "identifiers: ''"),
        ("no", range(5, 85), "identifiers: no"),
        ("is_fraud", [0, 1] * 40, "labels: is_fraud"),
        ("label", [0.0, 1.0] * 40, "labels: label"),
        ("id", RNG.normal(size=80), None),
        ("label", RNG.integers(0, 5, size=80), None),
        ("cycle", [*range(1, 41), *range(1, 41)], None),
        ("age", RNG.integers(20, 60, size=80), None),
        ("year", range(1940, 2020), "identifiers: year"),
        ("smoker", [0, 1] * 40, None),
        ("time", np.arange(80) * 50, None),
    ],
)
def test_a_release_asks_about_identifiers_and_labels_only(tmp_path, name, values, looks):
    write(tmp_path / "t.csv", {name: values, "x": X, "y": Y})
    made = ("release", "t.csv", "-o", "r.parquet")
    if looks is None:
        said(*made, cwd=tmp_path)
        return
    done = said(*made, cwd=tmp_path, code=2)
    assert f"columns that look like {looks}; leave them out with --drop" in done.stderr
    order = [done.stderr.index(word) for word in ("--drop", "--one-hot", "--keep", "--number")]
    assert order == sorted(order)
    assert sorted(p.name for p in Path(tmp_path).iterdir()) == ["t.csv"]
    for told in ("--drop", "--keep", "--number"):
        said(*made, told, name, "--again", "--force", cwd=tmp_path)


def test_all_that_needs_a_word_is_said_at_once(tmp_path):
    write(tmp_path / "t.csv", {"id": range(80), "city": ["a"] * 80, "x": X, "fraud": [0, 1] * 40})
    done = said("release", "t.csv", "-o", "r.parquet", cwd=tmp_path, code=2)
    for words in ("not numbers: city", "identifiers: id", "labels: fraud", "`isinglass inspect`"):
        assert words in done.stderr
    done = said("release", "t.csv", "-o", "r.parquet", "--number", "nope", cwd=tmp_path, code=2)
    assert "no column named nope" in done.stderr


def test_an_index_that_was_saved_is_noticed_by_detect_and_model(tmp_path):
    write(tmp_path / "t.csv", {"Unnamed: 0": range(80), "x": X})
    done = said("detect", "t.csv", "-n", "3", cwd=tmp_path)
    assert "note: column Unnamed: 0 counts the rows" in done.stderr
    assert "note" not in said("detect", "t.csv", "--drop", "Unnamed: 0", cwd=tmp_path).stderr
    (tmp_path / "b.json").write_text('{"x": [-9, 9]}')
    done = said("model", "t.csv", "--bounds", "b.json", "--epsilon", "1", "--no-ledger", "-o",
                "m.zip", cwd=tmp_path, code=2)  # fmt: skip
    assert "Unnamed: 0: an index that was saved with the table? drop it" in done.stderr


def _rows():
    columns = bank(ROWS)
    return list(zip(*(columns[n] for n in NUMBERS), strict=True))
