"""`isinglass model`, `score` and `keygen`: as typed, and what each refuses."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import inside, typed

import isinglass as ig
from isinglass import model as model_file
from isinglass.detect.private import counts
from isinglass.model import pack

N = 3000
MAKE = ("model", "t.csv", "--epsilon", 1, "--bounds", "b.csv", "--no-ledger", "-o", "m.zip")


def write(path, X, more=()):
    names = ["a", "b", "c", *(name for name, _ in more)]
    lines = [",".join(map(repr, row)) for row in X.tolist()]
    for _, values in more:
        lines = [f"{line},{value}" for line, value in zip(lines, values, strict=True)]
    Path(path).write_text("\n".join([",".join(names), *lines]) + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table, new records of which two are strange, and a signed model."""
    folder = tmp_path_factory.mktemp("model")
    rng = np.random.default_rng(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("ISINGLASS_HOME", str(folder / "home"))
        write("t.csv", rng.normal(size=(N, 3)))
        new = rng.normal(size=(200, 3))
        new[7], new[150] = [6, -6, 6], [0, 8, 0]
        write("new.csv", new)
        Path("b.csv").write_text("a,-10,10\nb,-10,10\nc,-10,10\n")
        assert inside("keygen", "-o", "k").returncode == 0
        done = inside(*MAKE, "--signing-key", "k", "--threshold", 0.1)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A copy of that, so that one test does not see what another did."""
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))
    shutil.copytree(made, tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))


def refused(*words):
    done = inside(*words)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("isinglass: ")
    assert "unforeseen" not in done.stderr
    return done.stderr


def document(*words):
    done = inside(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_key_is_made_once_and_locked_if_wanted(here):
    Path("p.txt").write_text("four words are better\n")
    found = document("keygen", "-o", "own", "--passphrase-file", "p.txt")
    assert found["public"] == "own.pub"
    assert stat.S_IMODE(os.stat("own").st_mode) == 0o600
    assert "sealed" in Path("own").read_text()
    assert "exists" in refused("keygen", "-o", "own")
    assert "is locked" in refused(*MAKE[:-1], "n.zip", "--signing-key", "own")
    given = ("--signing-key", "own", "--passphrase-file", "p.txt")
    assert inside(*MAKE[:-1], "n.zip", *given).returncode == 0
    assert "there is none; use --passphrase-file" in refused("keygen", "-o", "other", "--lock")


def test_the_document_of_a_model(here):
    found = document(*MAKE[:-1], "n.zip", "--delta", 0, "--records-per-person", 2)
    assert list(found) == [
        "model", "kind", "columns", "epsilon", "delta", "threshold", "spent", "left", "guarantee",
        "warnings", "version", "supersedes", "expires",
    ]  # fmt: skip
    assert (found["version"], found["supersedes"], found["expires"]) == (None, None, None)
    assert (found["model"], found["kind"], found["columns"]) == ("n.zip", "private", 3)
    assert (found["epsilon"], found["delta"], found["threshold"]) == (1.0, 0.0, None)
    assert (found["spent"], found["left"]) == (1.0, None)
    assert found["guarantee"]["records_per_person"] == 2
    assert str(N) not in json.dumps(found)


def test_the_document_of_scores(here):
    found = document("score", "new.csv", "--model", "m.zip", "--explain")
    assert list(found) == ["rows", "scores", "threshold", "guarantee", "anomalies", "warnings"]
    assert found["guarantee"] == {"epsilon": 1.0, "delta": 1e-6, "records_per_person": 1}
    assert found["warnings"] == []
    assert (found["rows"], len(found["scores"])) == (200, 200)
    anomalies = found["anomalies"]
    assert anomalies[0]["row"] == 7
    assert [a["score"] for a in anomalies] == sorted((a["score"] for a in anomalies), reverse=True)
    assert {a["row"] for a in anomalies} == {
        row for row, score in enumerate(found["scores"]) if score > found["threshold"]
    }
    for a in anomalies:
        assert a["score"] == found["scores"][a["row"]]
        assert sum(c["share"] for c in a["columns"]) == pytest.approx(1)
        shares = [c["share"] for c in a["columns"]]
        assert shares == sorted(shares, reverse=True)
    (strange,) = [a for a in anomalies if a["row"] == 150]
    assert strange["columns"][0]["name"] == "b"
    loaded = ig.load_model("m.zip", "k.pub")
    X = np.loadtxt("new.csv", delimiter=",", skiprows=1)
    loaded.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    wanted = loaded.anomaly_score(pd.DataFrame(X, columns=["a", "b", "c"]))
    assert found["scores"] == wanted.tolist()


def test_without_a_threshold_the_strangest_are_shown(here):
    assert inside(*MAKE[:-1], "n.zip").returncode == 0
    found = document("score", "new.csv", "--model", "n.zip", "--unsigned")
    assert found["threshold"] is None
    assert len(found["anomalies"]) == 10
    assert "columns" not in found["anomalies"][0]
    shown = inside("score", "new.csv", "--model", "n.zip", "--unsigned", "-n", 2).stdout
    assert "none: here are the strangest rows" in shown
    line = "guarantee  epsilon 1, delta 1e-06 for every person with at most 1 record"
    assert shown.splitlines()[2] == line
    assert len(shown.splitlines()) == 8
    assert len(document("score", "new.csv", "--model", "m.zip", "-n", 3)["anomalies"]) == 3


@pytest.mark.parametrize("name", ["s.csv", "s.parquet"])
def test_scores_of_all_records_are_written(here, name):
    done = inside("score", "new.csv", "--model", "m.zip", "-o", name)
    assert f"all 200 are in {name}" in done.stdout
    frame = pd.read_csv(name) if name.endswith("csv") else pd.read_parquet(name)
    assert frame["row"].tolist() == list(range(200))
    assert frame["score"].tolist() == document("score", "new.csv", "--model", "m.zip")["scores"]
    assert "exists" in refused("score", "new.csv", "--model", "m.zip", "-o", name)


def test_columns_are_found_by_name_and_others_passed_over(here):
    whole = document("score", "new.csv", "--model", "m.zip")["scores"]
    lines = [line.split(",") for line in Path("new.csv").read_text().splitlines()]
    turned = [[c, "what" if i == 0 else "x", a, b] for i, (a, b, c) in enumerate(lines)]
    Path("turned.csv").write_text("\n".join(map(",".join, turned)) + "\n")
    assert document("score", "turned.csv", "--model", "m.zip")["scores"] == whole
    Path("few.csv").write_text("a,b\n1,2\n")
    assert "few.csv lacks columns of the model: c" in refused(
        "score", "few.csv", "--model", "m.zip"
    )
    Path("gaps.csv").write_text("a,b,c\n1,,\n1e400,2,NaN\n")
    assert document("score", "gaps.csv", "--model", "m.zip")["rows"] == 2
    Path("text.csv").write_text("a,b,c\n1,x,2\n")
    assert "not numbers where the model expects them: b" in refused(
        "score", "text.csv", "--model", "m.zip"
    )


def test_the_first_signer_is_noted_and_another_refused(here):
    first = inside("score", "new.csv", "--model", "m.zip")
    assert "noted at first use of the name m" in first.stderr
    assert "by itself a signature proves nothing" in first.stderr
    assert inside("score", "new.csv", "--model", "m.zip").stderr == ""
    inside("keygen", "-o", "thief")
    os.rename("m.zip", "old.zip")
    assert inside(*MAKE, "--signing-key", "thief").returncode == 0
    assert "was signed by" in refused("score", "new.csv", "--model", "m.zip")
    refused("score", "new.csv", "--model", "m.zip", "--signer", "k.pub")
    thief = json.loads(Path("thief.pub").read_text())["fingerprint"]
    given = ("--model", "m.zip", "--signer", thief)
    assert inside("score", "new.csv", *given).returncode == 0
    assert "cannot be read" in refused("score", "new.csv", "--model", "m.zip", "--signer", "nobody")


def test_an_unsigned_model_is_refused_until_asked_for(here):
    inside(*MAKE[:-1], "n.zip")
    said = refused("score", "new.csv", "--model", "n.zip")
    assert "is not signed" in said
    assert "or pass --unsigned" in said
    done = inside("score", "new.csv", "--model", "n.zip", "--unsigned")
    assert done.returncode == 0
    assert done.stderr == "warning: n.zip is not signed: anybody may have made or changed it\n"


def test_the_page_is_taken_out_once_the_signer_is_right(here):
    words = ("score", "--model", "m.zip", "--page", "p.html")
    thief = "0" * 40
    assert "not by the signer given" in refused(*words, "--signer", thief)
    assert not Path("p.html").exists()
    found = document(*words, "--signer", "k.pub")
    public = json.loads(Path("k.pub").read_text())
    assert found == {"page": "p.html", "model": "m", "signer": public["fingerprint"]}
    assert Path("p.html").read_bytes() == model_file.read("m.zip").entries["score.html"]
    assert "exists" in refused(*words)
    assert f"signed by {public['fingerprint']}" in inside(*words, "--force").stdout
    inside(*MAKE[:-1], "n.zip")
    unsigned = ("score", "--model", "n.zip", "--page", "n.html")
    assert "is not signed" in refused(*unsigned)
    assert inside(*unsigned, "--unsigned").returncode == 0


def test_what_the_page_does_not_go_with(here):
    words = ("score", "--model", "m.zip")
    assert "RECORDS is missing" in refused(*words)
    said = refused(*words, "new.csv", "--page", "p.html", "-o", "s.csv")
    assert said.endswith("leave out RECORDS and -o\n")
    assert "must be an .html file" in refused(*words, "--page", "m.zip", "--force")
    entries = model_file.read("m.zip").entries
    del entries["score.html"]
    Path("old.zip").write_bytes(pack("m", entries))
    words = ("score", "--model", "old.zip", "--unsigned")
    assert "holds no page" in inside(*words, "--page", "p.html").stderr
    assert not Path("p.html").exists()
    assert inside(*words, "new.csv").returncode == 0


def test_broken_and_forged_models_are_one_sentence(here):
    good = Path("m.zip").read_bytes()
    entries = model_file.unpack(good).entries
    forged = entries["model.json"].replace(b'"rounds":2', b'"rounds":7')
    for data in (
        b"", b"x" * 100, good[:-40], good[:999] + b"!" + good[1000:], b"\x00" + good,
        pack("m", {"model.json": b"[]", "card.json": b"{}"}),
        pack("m", entries | {"model.json": forged}),
    ):  # fmt: skip
        Path("bad.zip").write_bytes(data)
        refused("score", "new.csv", "--model", "bad.zip", "--unsigned")
    refused("score", "new.csv", "--model", "none.zip")
    refused("score", "new.csv", "--model", "t.csv")
    refused("score", "new.csv", "--model", ".")


def test_the_owners_own_rows_are_scored_for_the_owner_alone(here, monkeypatch):
    monkeypatch.setenv("ISINGLASS_HOME", str(Path("home").absolute()))
    shutil.copy("t.csv", "copy.csv")
    for table in ("t.csv", "copy.csv"):
        if table == "t.csv":
            assert inside("model", *MAKE[1:-1], "again.zip").returncode == 0
        assert "pass --own-rows" in refused("score", table, "--model", "m.zip")
        done = inside("score", table, "--model", "m.zip", "--own-rows")
        assert done.returncode == 0, done.stderr
    assert inside("score", "new.csv", "--model", "m.zip").returncode == 0
    register = Path("home/counted.jsonl")
    noted = register.read_bytes()
    register.write_bytes(b"\xff\x00\n")
    assert "is damaged" in refused("score", "t.csv", "--model", "m.zip")
    register.unlink()
    register.mkdir()  # which nobody can read, not even root
    assert "cannot be read" in refused("score", "t.csv", "--model", "m.zip")
    register.rmdir()
    register.write_bytes(noted + b'{"path": "/cut sh')  # by a crash: the others stand
    assert "pass --own-rows" in refused("score", "copy.csv", "--model", "m.zip")
    for kept in Path("home").iterdir():
        assert b"0." not in kept.read_bytes() or kept.suffix == ".secret"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("--bounds", None), "--bounds is missing: say what each column can hold"),
        (("--no-ledger", ...), "name one, or say --no-ledger"),
        (("-o", "m.parquet"), "a model is a .zip file; name OUT m.zip"),
        (("-o", "t.csv"), "a model is a .zip file"),
        (("--epsilon", "0"), "--epsilon must be a number > 0"),
        (("--epsilon", "x"), "--epsilon must be a number > 0"),
        (("--delta", "2"), "--delta must be"),
        (("--threshold", "0.9"), "--threshold must be"),
        (("--records-per-person", "0"), "--records-per-person must be"),
        (("--card", "c.txt"), "--card must be an .html file"),
        (("--owner-card", "m.zip"), "--owner-card must be an .html file"),
        (("--person", "who"), "no column named who"),
        (("--drop", "a,b,c"), "no column left to count"),
        (("--drop", "z*"), "no column named z*"),
        (("--bounds", "new.csv"), "bounds file"),
        (("--bounds", "nothing"), "cannot be read"),
        (("--signing-key", "k.pub"), "is not a signing key of isinglass, but a public one"),
        (("--passphrase-file", "p"), "name one"),
    ],
)
def test_what_model_refuses(here, change, said):
    words = [str(w) for w in MAKE[:-1]] + ["n.zip"]
    option, value = change
    if option in words:
        at = words.index(option)
        words[at : at + (1 if value is ... else 2)] = [option, value][: 2 * isinstance(value, str)]
    else:
        words += [option, value]
    assert said in refused(*words)
    assert not Path("n.zip").exists()


def test_a_person_with_many_records_must_be_named(here):
    rng = np.random.default_rng(1)
    write("p.csv", rng.normal(size=(900, 3)), [("patient", [f"P{i % 300}" for i in range(900)])])
    make = ["model", "p.csv", "--epsilon", 1, "--bounds", "b.csv", "--no-ledger", "-o", "p.zip"]
    assert "columns without a declaration: patient" in refused(*make)
    assert "leave them out with --drop" in refused(*make)
    said = refused(*make, "--drop", "patient")
    assert "name it in --person" in said
    assert "--records-per-person" in said
    done = inside(*make, "--person", "patient", "--owner-card", "o.html", "--card", "c.html")
    assert done.returncode == 0, done.stderr
    assert "300 of 900 rows" in Path("o.html").read_text()
    assert "300 of" not in Path("c.html").read_text()
    assert inside(*make, "--force", "--drop", "patient", "--records-per-person", 3).returncode == 0


def test_cards_of_columns_with_any_name_are_safe(here):
    Path("e.csv").write_text("<b>&\n" + "1\n2\n" * 900)
    Path("e.json").write_text('{"<b>&": {"categories": ["<i>", 1]}}')
    done = inside(
        "model", "e.csv", "--epsilon", 1, "--bounds", "e.json", "--no-ledger", "-o", "e.zip",
        "--card", "e.html", "--name", "<u>",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    page = Path("e.html").read_text()
    for mark in ("<b>&", "<i>", "<u>", "<script", "src=", "http://", "https://"):
        assert mark not in page


def test_an_exported_autoencoder_is_scored_too(here):
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    X = np.loadtxt("t.csv", delimiter=",", skiprows=1)
    detector = ig.Autoencoder(max_epochs=3, random_state=0).fit(X)
    detector.export("m.onnx")
    given = ("--model", "m.onnx", "--unsigned")
    found = document("score", "new.csv", *given, "--explain")
    new = np.loadtxt("new.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(found["scores"], detector.anomaly_score(new), rtol=1e-4)
    assert found["threshold"] == pytest.approx(detector.threshold_)
    assert sum(c["share"] for c in found["anomalies"][0]["columns"]) == pytest.approx(1)
    assert "is not signed" in refused("score", "new.csv", "--model", "m.onnx")
    few = inside("score", "new.csv", *given, "--drop", "a")
    assert few.returncode == 2
    assert "new.csv has 2 columns of numbers and the model 3" in few.stderr
    Path("cut.onnx").write_bytes(Path("m.onnx").read_bytes()[:-9])
    refused("score", "new.csv", "--model", "cut.onnx", "--unsigned")


def test_a_model_of_many_records_needs_little_memory_and_no_torch(here):
    done = typed("score", "new.csv", "--model", "m.zip", cwd=Path.cwd())
    assert done.returncode == 0, done.stderr
    code = (
        "import sys\nfrom isinglass.cli import main\n"
        "sys.argv = ['isinglass', 'score', 'new.csv', '--model', 'm.zip']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print('LOADED', sorted({'torch', 'onnx', 'opendp', 'jinja2'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stdout.endswith("LOADED []\n"), shown.stdout + shown.stderr


# The ledger.

PAY = ("model", "t.csv", "--bounds", "b.csv", "--ledger", "l.db", "--budget", 3, "-o", "p.zip")


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ([f"v{i}" for i in range(10_001)], "more than 10,000 categories"),
        ([f"{i:04}" + "x" * 900 for i in range(9_000)], "the model "),
        (["x" * 1_001], "x"),
    ],
    ids=["many", "long", "longer than a name"],
)
def test_what_no_file_can_hold_is_refused_before_it_is_paid(here, listed, said):
    Path("wide.json").write_text(json.dumps({"a": [-10, 10], "b": {"categories": listed}}))
    Path("two.csv").write_text("a,b\n" + "1.5,v1\n" * 50)
    pay = ("model", "two.csv", "--bounds", "wide.json", "--epsilon", 1, "-o", "w.zip")
    again = inside(*pay, "--ledger", "w.db", "--budget", 3, "--records-per-person", 1)
    assert again.returncode == 2
    assert said in again.stderr
    assert not Path("w.zip").exists()
    # Nothing was spent: all of it is left.
    Path("wide.json").write_text(json.dumps({"a": [-10, 10], "b": {"categories": ["v1"]}}))
    paid = inside(*pay, "--ledger", "w.db", "--budget", 3, "--records-per-person", 1, "--json")
    assert json.loads(paid.stdout)["left"] == 2.0


def test_a_price_above_the_budget_begins_no_ledger(here):
    pay = ("model", "t.csv", "--bounds", "b.csv", "--ledger", "n.db", "-o", "n.zip")
    refused = inside(*pay, "--epsilon", 4, "--budget", 3)
    assert (refused.returncode, "the ledger is not begun" in refused.stderr) == (1, True)
    assert document(*pay, "--epsilon", 1, "--budget", 3)["left"] == 2.0


def test_a_model_is_paid_for_once(here):
    first = document(*PAY, "--epsilon", 1, "--delta-cap", "1e-5")
    assert (first["spent"], first["left"]) == (1.0, 2.0)
    stored = Path("p.zip").read_bytes()
    Path("t.csv").write_text(Path("t.csv").read_text().replace("1.", "2.", 50))
    again = inside(*PAY, "--epsilon", 1, "--force", "--json")
    assert (json.loads(again.stdout)["spent"], json.loads(again.stdout)["left"]) == (0.0, 2.0)
    assert "this was paid for before" in again.stderr
    assert Path("p.zip").read_bytes() == stored  # whatever the table holds by now
    fresh = document(*PAY, "--epsilon", 1, "--force", "--again")
    assert (fresh["spent"], fresh["left"]) == (1.0, 1.0)
    assert Path("p.zip").read_bytes() != stored
    assert document(*PAY, "--epsilon", "0.25", "--force")["left"] == 0.75
    assert document(*PAY, "--epsilon", "0.25", "--name", "other", "--force")["left"] == 0.5
    card = json.loads(model_file.read("p.zip").entries["card.json"])
    assert card["ledger"] is True
    text = Path("t.csv").read_text().splitlines()
    rows = [f"P{i},{line}" for i, line in enumerate(text[1:])]
    Path("p.csv").write_text("\n".join(["who," + text[0], *rows]) + "\n")
    named = ("model", "p.csv", *PAY[2:], "--epsilon", "0.1", "--force")
    assert document(*named, "--drop", "who")["spent"] == 0.1
    assert document(*named, "--person", "who")["spent"] == 0.1  # another request
    shown = document("ledger", "show", "l.db")
    assert shown["entries"]["model"] == 6
    assert inside("ledger", "verify", "l.db").returncode == 0


def test_what_does_not_fit_is_not_counted(here, monkeypatch):
    assert inside(*PAY, "--epsilon", 2).returncode == 0
    os.remove("p.zip")
    monkeypatch.setattr(counts, "add_noise", None)
    done = inside(*PAY, "--epsilon", "1.5")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing was spent" in done.stderr
    assert not Path("p.zip").exists()


def test_terms_of_the_ledger_hold_for_models(here):
    assert "--budget must be given" in refused(*MAKE[:6], "--ledger", "l.db", "-o", "m2.zip")
    assert not Path("l.db").exists()
    assert document(*PAY, "--epsilon", 1, "--records-per-person", 2, "--force")["left"] == 2
    assert document("ledger", "show", "l.db")["contract"]["delta_cap"] == 3e-06
    assert "2 records per person, got 3" in refused(
        *PAY, "--epsilon", 1, "--records-per-person", 3, "--force"
    )
    # Without the option, it is as in the contract.
    found = document(*PAY, "--epsilon", 1, "--force")
    assert (found["spent"], found["guarantee"]["records_per_person"]) == (0.0, 2)
    assert "got 4" in refused(*PAY, "--epsilon", 1, "--force", "--budget", 4)
    done = inside(*PAY, "--epsilon", 1, "--delta", "1e-3", "--force")
    assert done.returncode in (1, 2)
    assert "delta" in done.stderr


def test_a_ledger_or_none_must_be_said(here):
    assert "but not both" in refused(*PAY, "--epsilon", 1, "--no-ledger")
    assert "go with --ledger" in refused(*MAKE, "--budget", 3)
    assert "go with --ledger" in refused(*MAKE, "--again")


def test_a_value_that_is_no_number_neither_stops_a_model_nor_scores(here):
    lines = Path("t.csv").read_text().splitlines()
    lines[3:3] = [",".join(["unknown", *lines[1].split(",")[1:]])]
    Path("one.csv").write_text("\n".join(lines) + "\n")
    make = [*MAKE[:-1], "n.zip"]
    make[1] = "one.csv"
    done = inside(*make)
    assert done.returncode == 0, done.stderr
    by = ("--model", "n.zip", "--own-rows", "--unsigned")
    scores = document("score", "one.csv", *by)["scores"]
    assert len(scores) == len(lines) - 1
    whole = document("score", "t.csv", *by)["scores"]
    assert scores[:2] + scores[3:] == whole


def test_what_is_wrong_with_a_table_is_found_before_it_is_paid_for(here):
    Path("few.csv").write_text("a,-1,1\n")
    few = [w if w != "b.csv" else "few.csv" for w in PAY]
    assert "columns without a declaration: b, c" in refused(*few, "--epsilon", 1)
    assert "entries" not in inside("ledger", "show", "l.db").stdout


def test_a_table_that_left_as_a_release_is_said(here):
    assert inside("release", "t.csv", "-o", "r.parquet").returncode == 0
    said = refused(*PAY, "--epsilon", 1)
    assert "have left as a release, by your register; pass --also-released" in said
    found = document(*PAY, "--epsilon", 1, "--also-released")
    assert found["guarantee"]["also_released"] is True
    card = json.loads(model_file.read("p.zip").entries["card.json"])
    assert "The table also left as a release" in " ".join(card["payment"])
