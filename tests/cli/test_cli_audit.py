"""The audit from the command line: what it prints, what it writes, and how it says no."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.auditing.examples import said

import isinglass as ig
from isinglass.auditing.files import audit_files as files
from isinglass.auditing.files.origin import TOGETHER
from isinglass.auditing.findings import (
    PARTLY,
    AttackResult,
    Detection,
    Findings,
    Linkage,
    Privacy,
    SkippedAttack,
)
from isinglass.auditing.report.report import Report
from isinglass.auditing.tuning import tune as searching
from isinglass.auditing.tuning.evaluation import Measurement
from isinglass.cli.audit import _show

ISINGLASS = [sys.executable, "-c", "from isinglass.cli import main; main()"]
SECRET = 98765.4321


def audit(table, released, *, policy=None, settings=None, **more):
    """The audit itself has tests of its own; this one finds what stands here, at once."""
    naive = AttackResult(
        "naive", "nothing but the release", success=0.4, low=0.35, high=0.45, baseline=0.2,
        control=0.21, control_kind="rows permuted", worst_column="speed", gain=0.25,
    )  # fmt: skip
    found = Findings(
        rows=len(table), columns=table.shape[1], method="?", promise="heuristic",
        detection=Detection(0.9, 0.8, float("nan"), 10, chance=0.05), attacks=(naive,),
        skipped=(SkippedAttack("spectral", said("there is no noise to filter")),),
        privacy=Privacy(0.1, 0.2), linkage=Linkage(7.0, 2.0, None, 0.1, 200, ((17, 1),)),
        verdict=PARTLY, settings=settings,
    )  # fmt: skip
    return Report(found if policy is None else replace(found, policy=policy.check(found)))


@pytest.fixture
def run(run, monkeypatch, folder):
    """The command, with the audit above in place of the real."""
    monkeypatch.setattr(files, "audit_arrays", audit)
    return run


def run_outside(*arguments, cwd):
    """The command as it is, in a process of its own."""
    return subprocess.run(
        [*ISINGLASS, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path):
    """A table of 200 rows and its release."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.random((200, 3)), columns=["speed", "height", "heat"])
    frame.loc[0, "speed"] = SECRET
    frame.assign(tail="x").to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.warns(ig.PrivacyWarning):
        ig.write_release(frame, tmp_path / "r.parquet", ig.Rotation(optimize=None))
    (tmp_path / "loose.toml").write_text(
        '[attacks]\nmaximum_gain = 0.3\n[release]\norder = "any"\nnoise = "any"\n'
    )
    (tmp_path / "tight.toml").write_text(
        '[detection]\nminimum = 0.85\n[release]\norder = "any"\nnoise = "any"\n'
        "[attacks]\nmaximum_gain = 0.3\n[attacks.maximum]\n"
        "naive = 0.2\n"
    )
    return tmp_path


def refused(result, *words, left, cwd):
    """Exit 2, one sentence on stderr, nothing on stdout, no file, no value."""
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("isinglass: ")
    for word in words:
        assert word in lines[0]
    assert "98765" not in result.stderr
    assert set(os.listdir(cwd)) == left


def test_two_sentences_a_table_and_where_the_report_is(run, folder):
    result = run("audit", "t.csv", "r.parquet", "--drop", "tail", "-o", "o.html")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("9 of the 10 strongest anomalies are still found")
    assert lines[1].startswith("The table was partly recovered: the strongest attacker (naive)")
    assert lines[3].split() == [
        "attack", "gain", "success", "interval", "baseline", "control", "knowing",
    ]  # fmt: skip
    assert lines[4].split("  ")[0] == "naive"
    for number in ("25 %", "40 %", "35 % to 45 %", "20 %", "21 %", "nothing but the release"):
        assert number in lines[4]
    assert "spectral was not run: there is no noise to filter" in lines
    assert "verdict    partly recovered" in lines
    assert lines[-1] == "report     o.html  (internal: it names single records)"
    assert (folder / "o.html").stat().st_mode & 0o777 == 0o600
    assert "17" in (folder / "o.html").read_text()


def test_the_table_tells_who_has_the_key_and_who_is_no_better_than_blind(capsys):
    def result(name, gain, **fields):
        return AttackResult(name, "the release", success=0.4, low=0.35, high=0.45, control=None,
                            control_kind=None, worst_column="", gain=gain, **fields)  # fmt: skip

    found = Findings(
        rows=5, columns=1, method="?", promise="heuristic",
        detection=Detection(None, None, None, 10, chance=0.1), skipped=(),
        attacks=(result("stolen_key", 1.0, baseline=0.1, with_key=True),
                 result("sample", 0.1, baseline=0.38), result("naive", 0.3, baseline=0.2)),
        privacy=Privacy(0.1, 0.2), linkage=None, verdict=PARTLY,
    )  # fmt: skip
    _show(Report(found))
    lines = capsys.readouterr().out.splitlines()
    begins = [line.split("  ")[0] for line in lines[3:8]]
    assert begins == [
        "attack", "naive", "sample *", "if the key leaks (not counted)", "stolen_key",
    ]  # fmt: skip
    assert "* success is no better than its baseline" in lines[9]
    assert "detection  not measured" in lines
    assert "%" not in lines[0]


def test_the_json_is_the_contract_and_nothing_else(run, folder):
    result = run(
        "audit", "t.csv", "r.parquet", "--drop", "tail", "--json", "-o", "o.json", "--public",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout, parse_constant=lambda word: pytest.fail(word))
    assert document == {
        "rows": 200,
        "columns": 3,
        "detection": {"rate": 0.9, "low": 0.8, "high": None, "n_outliers": 10},
        "attacks": [
            {
                "name": "naive",
                "knowledge": "nothing but the release",
                "success": 0.4,
                "low": 0.35,
                "high": 0.45,
                "baseline": 0.2,
                "control": 0.21,
                "worst_column": "speed",
                "gain": 0.25,
            }
        ],
        "privacy": {"minimum": 0.1, "average": 0.2},
        "linkage": {"average": 7.0, "worst_1pct": 2.0},
        "verdict": "partly recovered",
        "attackers": [],
        "risks": {
            "singling_out": 0.1,
            "linkability": 0.0,
            "inference": 0.25,
            "reidentification_mean": 0.0,
            "reidentification_max": 0.0,
        },
    }
    written = json.loads((folder / "o.json").read_text())
    assert written["edition"] == "public"
    assert "worst_records" not in written["linkage"]


def test_the_command_in_the_report_has_no_folders(run, folder):
    result = run("audit", folder / "t.csv", folder / "r.parquet", "--drop", "tail",
                 f"--out={folder}/o.json")  # fmt: skip
    assert result.returncode == 0, result.stderr
    settings = json.loads((folder / "o.json").read_text())["settings"]
    assert settings["command"] == "isinglass audit t.csv r.parquet --drop tail --out=o.json"
    assert (settings["table"], settings["release"]) == ("t.csv", "r.parquet")


def test_a_policy_that_is_not_met_is_exit_1_with_its_lines(run, folder):
    command = ["audit", "t.parquet", "r.parquet", "--key", "r.key", "--policy"]
    result = run(*command, "loose.toml")
    assert result.returncode == 0, result.stderr
    assert "policy     1 of 1 demands met" in result.stdout
    result = run(*command, "tight.toml", "--json", "-o", "o.html")
    assert result.returncode == 1
    assert json.loads(result.stdout)["verdict"] == "partly recovered"
    assert result.stderr.splitlines() == [
        "policy: detection at least 0.85: not met: 0.800 at the lower limit (0.900 measured)",
        "policy: naive gains at most 0.2 over its baseline: not met: 0.250 at the upper limit, "
        "knowing nothing but the release",
    ]
    assert (folder / "o.html").exists()  # it says why
    result = run(*command, "strict")
    assert result.returncode == 1
    assert "policy: randomization level at least 12" in result.stderr


def test_bad_input_is_one_sentence_and_exit_2(run, folder):
    left = set(os.listdir(folder)) | {"b.toml", "p.csv"}
    (folder / "b.toml").write_text("[detection]\nminimun = 1\n")
    (folder / "b.toml").chmod(0o600)
    (folder / "p.csv").write_text("speed\n1\n2\n")
    two = ["audit", "t.parquet", "r.parquet"]
    with pytest.warns(ig.PrivacyWarning):
        ig.write_release(
            folder / "t.parquet", folder / "noise.parquet", ig.AdditiveNoise(), again=True
        )
    left |= {"noise.parquet", "noise.key"}
    for arguments, words in (
        ([*two, "--policy", "b.toml"], ["detection.minimun"]),
        ([*two, "--policy", "absent.toml"], ["absent.toml cannot be read"]),
        ([*two, "-o", "o.pdf"], [".html or .json"]),
        ([*two, "-o", "t.parquet.html/o.html"], ["does not exist"]),
        ([*two, "--public"], ["-o"]),
        ([*two, "--trials", "0"], ["--trials must be >= 1"]),
        ([*two, "-n", "0"], ["-n must be >= 1"]),
        ([*two, "--seed", "-1"], ["--seed"]),
        ([*two, "--drop", "nope"], ["no column named nope"]),
        ([*two, "--drop", "heat"], ["made from 3 columns", "--drop"]),
        ([*two, "--id", "nope"], ["no column named nope"]),
        ([*two, "--label", "speed"], ["made from 3 columns"]),
        (["audit", "t.parquet", "noise.parquet", "--id", "heat"], ["heat was perturbed", "--id"]),
        (["audit", "t.parquet", "noise.parquet", "--label", "heat"], ["heat was perturbed"]),
        (["audit", "p.csv", "noise.parquet"], ["was made from: height, heat; it is another"]),
        ([*two, "--also", "r.parquet"], ["counts once", "--also"]),
        ([*two, "--key", "b.toml"], ["b.toml is not an isinglass key file"]),
        ([*two, "--missing", "guess"], ["'guess' is not one of"]),
        (["audit", "absent.csv", "r.parquet"], ["No such file"]),
        (["audit", "t.parquet", "absent.parquet"], ["No such file"]),
    ):
        refused(run(*arguments), *words, left=left, cwd=folder)


def test_a_report_takes_no_other_files_place(run, folder):
    (folder / "p.json").write_text("[detection]\nminimum = 0.1\n")
    left = set(os.listdir(folder))
    two = ["audit", "t.parquet", "r.parquet", "--policy", "p.json", "-o", "p.json"]
    refused(run(*two), "exists", left=left, cwd=folder)
    refused(run(*two, "--force"), "is read", left=left, cwd=folder)


def test_a_key_undoes_the_order_and_a_passphrase_opens_it(run, folder):
    (folder / "words").write_text("open sesame\n")
    with pytest.warns(ig.PrivacyWarning):
        ig.write_release(
            folder / "t.parquet", folder / "s.parquet", ig.AdditiveNoise(), shuffle=True,
            again=True, passphrase="open sesame", keep=["heat"],
        )  # fmt: skip
    left = set(os.listdir(folder))
    command = ["audit", "t.parquet", "s.parquet"]
    result = run(*command)
    assert result.returncode == 0, result.stderr
    assert "note: The release is in a secret order and the key was not given" in result.stderr
    refused(run(*command, "--key", "s.key"), "is locked", left=left, cwd=folder)
    result = run(*command, "--key", "s.key", "--passphrase-file", "words")
    assert result.returncode == 0, result.stderr
    assert "secret order" not in result.stderr


def test_a_release_refused_by_its_policy_leaves_nothing(run, folder, monkeypatch, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("ISINGLASS_HOME", str(home))
    left = set(os.listdir(folder))
    command = ["release", "t.parquet", "-o", "n.parquet", "--policy"]
    result = run(*command, "tight.toml", "--json")
    assert result.returncode == 1, result.stderr
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0].startswith("policy: detection at least 0.85: not met")
    assert lines[1].startswith("policy: naive gains at most 0.2")
    assert lines[2] == "isinglass: the policy refuses this release; nothing of it was written"
    assert len(lines) == 3
    assert set(os.listdir(folder)) == left
    assert not (home / "releases.jsonl").exists()
    # Nothing left, so the same rows need no --again; the report that was asked for is written.
    result = run(*command, "tight.toml", "--report", "why.html")
    assert result.returncode == 1, result.stderr
    assert set(os.listdir(folder)) == left | {"why.html"}
    assert result.stderr.splitlines()[-1] == (
        "isinglass: the report was written and says why: why.html"
    )
    assert "The policy was not met: this release was refused" in (folder / "why.html").read_text()
    result = run(*command, "loose.toml")
    assert result.returncode == 0, result.stderr
    told = result.stdout.splitlines()
    assert told[-3].startswith("audit    9 of the 10 strongest anomalies are still found")
    assert told[-2].startswith("         The table was partly recovered: the strongest attacker")
    assert told[-1] == "policy   the one demand is met"
    assert set(os.listdir(folder)) == left | {"why.html", "n.parquet", "n.key"}
    assert ig.Release.read(folder / "n.parquet").facts.promise.kind == "heuristic"


def test_a_second_release_is_attacked_together_with_the_first(run, folder):
    command = ["release", "t.parquet", "-o", "n.parquet", "--again", "--policy", "loose.toml"]
    result = run(*command)
    assert result.returncode == 1, result.stderr
    missing = f"policy: {TOGETHER}: not met: 0 of 1 other release; add EARLIER with --also"
    assert missing in result.stderr
    # A release of another table of the same size does not stand in for the one that left.
    other = np.random.default_rng(9).random((200, 3))
    with pytest.warns(ig.PrivacyWarning):
        ig.write_release(other, folder / "other.parquet", ig.Rotation(optimize=None))
    result = run(*command, "--also", "other.parquet")
    assert result.returncode == 1, result.stderr
    assert missing in result.stderr
    assert not (folder / "n.parquet").exists()
    result = run(*command, "--also", "r.parquet", "--json")
    assert result.returncode == 0, result.stderr
    assert list(json.loads(result.stdout)) == [
        "rows", "columns", "method", "release", "key", "promise", "warnings",
    ]  # fmt: skip


def test_a_report_without_a_policy_and_its_refusals(run, folder, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path_factory.mktemp("home")))
    left = set(os.listdir(folder))
    command = ["release", "t.parquet", "-o", "n.parquet"]
    for arguments, words in (
        (["--report", "n.key.html", "--key", "n.key.html"], ["need different names"]),
        (["--report", "o.pdf"], [".html or .json"]),
        (["--also", "r.parquet"], ["--policy or --report"]),
        (["--policy", "absent.toml"], ["absent.toml cannot be read"]),
    ):
        refused(run(*command, *arguments), *words, left=left, cwd=folder)
    result = run(*command, "--report", "o.json")
    assert result.returncode == 0, result.stderr
    assert "report   o.json  (stays with you: it names single records)" in result.stdout
    settings = json.loads((folder / "o.json").read_text())["settings"]
    assert settings["release"] == "n.parquet"
    assert ".tmp" not in (folder / "o.json").read_text()


def test_d_plus_one_known_pairs_undo_a_rotation_from_the_command_line(folder):
    """The whole way, with nothing put in its place."""
    clean = pd.read_parquet(folder / "t.parquet")
    clean.loc[0, "speed"] = 0.5
    clean.to_parquet(folder / "c.parquet")
    method = ["--method", "rotation", "--set", "optimize=none"]
    result = run_outside(
        "release", "c.parquet", "-o", "c.release.parquet", *method, "--again", cwd=folder
    )
    assert result.returncode == 0, result.stderr
    wanted = ["--json", "--seed", "1", "--policy", "loose.toml"]
    result = run_outside("audit", "c.parquet", "c.release.parquet", *wanted, cwd=folder)
    assert result.returncode == 1, result.stderr
    document = json.loads(result.stdout)
    success = {
        int(re.search(r"(\d+) known pairs", a["knowledge"])[1]): a["success"]
        for a in document["attacks"]
        if a["name"] == "known_input"
    }
    assert success[4] > 0.99  # d + 1 of them
    assert min(success.values()) < 0.5  # and one in a hundred, two, are too few
    assert document["verdict"] == "recovered"
    assert document["detection"]["rate"] == 1.0  # and distances survive
    assert "policy: known_input gains at most 0.3 over its baseline: not met" in result.stderr


def test_tune_from_the_command_line(tmp_path):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(120, 3)) @ rng.normal(size=(3, 4)), columns=list("abcd"))
    table["name"] = "x"
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["tune", "t.csv", "--drop", "name", "--methods", "linear", "--seed", "1"]

    def run(*more):
        return run_outside(*words, *more, cwd=tmp_path)

    done = run("--json", "-o", "f.html", "--resume", "book.jsonl")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["recommended"] is None
    (point,) = document["points"]
    assert point["method"] == "linear"
    assert point["detection"] == 1
    assert point["gain"] > 0.9
    assert "linear" in (tmp_path / "f.html").read_text()
    told = run("--resume", "book.jsonl")
    assert told.returncode == 0
    assert document["sentence"] in told.stdout


def test_tune_says_no_in_one_sentence(run, folder):
    (folder / "f.html").write_text("mine")
    left = set(os.listdir(folder))
    for wrong, says in (
        (["--methods", "linear,magic"], "'--methods': 'magic' is not one of 'linear', 'tanh'"),
        (["--methods", "condensation"], "methods must be 'all' or among"),
        (["--max-pairs", "-1"], "--max-pairs must be >= 0"),
        (["-o", "f.pdf"], "must end in"),
        (["--min-detection", "80"], "--min-detection must be >= 0 and <= 1, got 80"),
        (["--max-attack-gain", "7"], "--max-attack-gain must be >= 0 and <= 1, got 7"),
        (["--attacker", "spy"], "'spy' is not one of 'outsider', 'acquainted', 'insider'"),
        (["--min-auc", "0.9"], "--min-auc needs --label"),
        (["--jobs", "0"], "--jobs must be >= 1, or -1, got 0"),
        (["--label", "absent"], "no column named absent"),
        (["--label", "speed"], "column speed must hold 0 or 1 in every row to be a label"),
        (["-o", "f.html"], "f.html exists; choose another name or pass --force"),
        (["-o", "f.json", "--resume", "f.json"], "f.json is read"),
        (["--resume", "t.csv"], "t.csv is the table"),
        (["--resume", "absent/x"], "absent/x cannot be written"),
        (["--resume", "."], ". cannot be read: Is a directory"),
    ):
        said = ["tune", "t.csv", "--drop", "tail", *wrong]
        refused(run(*said), says, left=left, cwd=folder)
    advice = "not numbers: tail; encode them with --one-hot, or leave them out with --drop"
    refused(run("tune", "t.csv"), advice, left=left, cwd=folder)
    assert (folder / "f.html").read_text() == "mine"


@pytest.fixture
def measured_at_once(monkeypatch):
    """Every setting has what is asked for."""
    found = Measurement(0.9, 20, 0.1, 0.05, 0.15, "naive")
    monkeypatch.setattr(searching, "measure", lambda *given, **more: found)


def test_a_frontier_is_replaced_when_asked_to(run, folder, measured_at_once):
    (folder / "f.json").write_text("mine")
    result = run("tune", "t.parquet", "--methods", "linear", "-o", "f.json", "--force")
    assert result.returncode == 0, result.stderr
    assert json.loads((folder / "f.json").read_text())["points"][0]["method"] == "linear"


def test_the_command_that_tune_prints_leaves_the_same_columns_out(
    run, folder, monkeypatch, measured_at_once
):  # fmt: skip
    """Whoever copies it must not release what was left out of the search."""
    monkeypatch.setenv("ISINGLASS_HOME", str(folder))
    table = pd.read_csv(folder / "t.csv").assign(gear=[1, 2] * 100)
    table.loc[5, "heat"] = np.nan
    (folder / "in here").mkdir()
    table.to_csv(folder / "in here" / "g.csv", index=False, sep=";")
    said = ["--drop", "tail,speed", "--one-hot", "gear", "--missing", "drop", "--delimiter", ";"]
    found = run("tune", "in here/g.csv", *said, "--methods", "linear", "-o", "f.json",
                "--min-detection", "0.5")  # fmt: skip
    assert found.returncode == 0, found.stderr
    (line,) = [x for x in found.stdout.splitlines() if x.startswith("  isinglass release")]
    words = shlex.split(line)
    assert words[2] == "in here/g.csv"
    written = json.loads((folder / "f.json").read_text())["recommended"]["command"]
    assert shlex.split(written) == ["isinglass", "release", "g.csv", *words[3:]]
    words[words.index("RELEASE")] = "n.parquet"
    result = run(*words[1:])
    assert result.returncode == 0, result.stderr
    made = ig.Release.read(folder / "n.parquet")
    assert made.to_numpy().shape == (199, 4)  # height, heat and two gears


def test_tune_measures_by_labels_and_leaves_them_out(run, folder, monkeypatch):
    widths, given = [], []

    def measure(candidate, table, seed, *, labels, effort, **more):
        widths.append(table.shape[1])
        given.append(int(labels.sum()))
        return Measurement(0.9, 20, 0.1, 0.05, 0.15, "naive", (), (), 0.9, 0.8, 16, 160)

    monkeypatch.setattr(searching, "measure", measure)
    table = pd.read_csv(folder / "t.csv").assign(odd=[1] * 20 + [0] * 180)
    table.to_csv(folder / "odd.csv", index=False)
    said = ["tune", "odd.csv", "--drop", "tail", "--label", "odd", "--min-auc", "0.5", "--methods",
            "linear", "--min-detection", "0.5", "--attacker", "acquainted"]  # fmt: skip
    found = run(*said)
    assert found.returncode == 0, found.stderr
    assert set(widths) == {table.shape[1] - 2}  # neither the name nor the label
    assert set(given) == {20}
    assert "0.90 → 0.80" in found.stdout
    assert "isinglass release odd.csv --drop tail --drop odd -o RELEASE" in found.stdout
    strict = run(*["0.9" if word == "0.5" and said[i - 1] == "--min-auc" else word
                   for i, word in enumerate(said)])  # fmt: skip
    assert "No setting that was tried" in strict.stdout


@pytest.mark.parametrize("command", ["audit", "release", "tune"])
def test_help_names_the_kind_of_every_value(run, command):
    told = run(command, "--help").stdout
    assert "--drop" in told
    assert "list[" not in told
