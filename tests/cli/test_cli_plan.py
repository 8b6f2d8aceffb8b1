"""Planning on the command line: what it prints, and that its last line asks as planned."""

import json
import shlex

import numpy as np
import pytest
from tests.cli.asking import NAMES, refused, write

from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.planning import plan as plan_module

pytestmark = pytest.mark.usefixtures("curators_files")


def asked(line):
    """The plan's last line as a person would go on with it."""
    words = shlex.split(line)
    assert words[:4] == ["then", "isinglass", "ask", "TABLE"]
    assert words[4] in ("RECORDS", "records.csv")
    assert words[-2:] == ["--ledger", "ledger.db"]
    return ["ask", "table.csv", "records.csv", *words[5:]]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--scale-by", "range", "--space", "my space.json"],
        ["--components", "1", "--space", "space.json"],
        ["--scale-by", "deviation", "--components", "1", "--space", "space.json", "--drop", "age"],
        ["--bounds", "bounds.csv"],
        ["--bounds", "bounds.csv", "--space", "space.json", "--metric", "manhattan"],
        ["--metric", "chebyshev", "--drop", "age"],
        ["--metric", "minkowski", "--p", "3.5"],
        ["--mode", "sensitive", "--k", "2", "--beta", "9"],
        ["--mode", "dp"],
    ],
    ids=" ".join,
)
def test_the_last_line_asks_in_the_space_and_mode_that_were_planned(run, monkeypatch, options):
    names = [*NAMES, "age"]
    rng = np.random.default_rng(1)
    for name, n in (("past", 400), ("table", 300), ("records", 2)):
        write(f"{name}.csv", rng.normal(size=(n, 3)).round(3).tolist(), names)
    with open("bounds.csv", "w", encoding="utf-8") as file:
        file.writelines(f"{name},-2,{i + 2}\n" for i, name in enumerate(names))
    seen = []
    whole = plan_module.plan
    monkeypatch.setattr(plan_module, "plan", lambda **more: seen.append(more) or whole(**more))
    done = run("plan", "past.csv", "--outlier-fraction", "0.02", "--budget", "9", *options)
    assert done[0] == 0, done
    (line,) = [line for line in done[1].splitlines() if line.startswith("then ")]
    words = asked(line)
    assert run(*words, "--no-pad")[0] == 0
    (planned,) = seen
    space = planned["space"]
    with Ledger("ledger.db") as ledger:
        terms = ledger.contract
    assert terms.columns == space.columns
    assert terms.scaling == space.scaling_json()
    assert terms.metric == space.metric_json()
    assert terms.modes == (planned["mode"],)
    assert terms.k_min == (2 if planned["mode"] == "sensitive" else None)
    assert float(words[words.index("--r") + 1]) == planned["r"]
    assert float(words[words.index("--beta") + 1]) == planned["beta"]


def test_a_plan_leads_to_a_command_that_runs(run):
    rng = np.random.default_rng(1)
    write("past.csv", rng.normal(size=(400, 2)).round(3).tolist())
    code, out, _ = run(
        "plan", "past.csv", "--outlier-fraction", "0.02", "--scale-by", "deviation",
        "--space", "space.json", "-o", "plan.json", "--queries", "records.csv", "--budget", "3",
    )  # fmt: skip
    assert code == 0
    assert "of the 3 queries listed, 3 fit" in out
    (line,) = [line for line in out.splitlines() if line.startswith("then ")]
    assert run(*asked(line), "--no-pad")[0] == 0
    with open("plan.json", encoding="utf-8") as file:
        plan = json.load(file)
    assert plan["chosen"]["recall"] >= 0.9
    assert plan["n_anomalies"] == 8


def test_the_command_reads_files_as_the_plan_did(run):
    rows = np.random.default_rng(1).normal(size=(300, 2)).round(3).tolist()
    for name in ("past", "table", "records"):
        with open(f"{name}.csv", "w", encoding="utf-16") as file:
            file.writelines(";".join(map(str, row)) + "\n" for row in [["é", "b", "odd"]] + [
                [*row, int(i < 4)] for i, row in enumerate(rows[: 3 if name == "records" else 300])
            ])  # fmt: skip
    with open("table.csv", "a", encoding="utf-16-le") as file:
        file.write(";;0\n")  # a row that lacks its values
    reading = ("--encoding", "utf-16", "--delimiter", ";", "--missing", "drop", "--drop", "odd")
    code, out, _ = run(
        "plan",
        "past.csv",
        "--outlier-fraction",
        "0.02",
        "--queries",
        "records.csv",
        "--budget",
        "100",
        *reading,
    )
    assert code == 0
    assert "In total, for ever and not per day: " in out
    (line,) = [line for line in out.splitlines() if line.startswith("then ")]
    assert run(*asked(line), "--no-pad")[0] == 0
    labeled = run("plan", "past.csv", "--label", "odd", "--budget", "100", *reading[:-4])[1]
    assert "with --drop odd, too, where TABLE has that column" in labeled


def test_a_plan_beyond_the_budget_gives_no_command(run):
    plan = ("plan", "table.csv", "--outlier-fraction", "0.1", "--target-recall", "0.99")
    code, out, _ = run(*plan, "--budget", "0.01")
    assert code == 0
    assert "no query fits: plan with a lower recall or a larger budget" in out
    assert "isinglass ask" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["--outlier-fraction", "--label"]),
        (["--outlier-fraction", "0.1", "--label", "pulse"], ["--label"]),
        (["--label", "pulse"], ["0 or 1"]),
        (["--r", "1"], ["--beta"]),
        (["--outlier-fraction", "2"], ["isinglass: --outlier-fraction must"]),
        (["--outlier-fraction", "0.1", "--target-recall", "1.5"], [": --target-recall must"]),
        (["--outlier-fraction", "0.1", "--epsilon", "1", "--target-recall", "0.5"], ["leave one"]),
        (["--outlier-fraction", "0.1", "--scale-by", "wide"], ["'wide' is not one of"]),
        (["--outlier-fraction", "0.1", "--scale-by", "range"], ["--scale-by is fitted", "--space"]),
        (["--outlier-fraction", "0.1", "--components", "1"], ["--components is fitted", "--space"]),
        (
            ["--outlier-fraction", "0.1", "--components", "3", "--space", "s.json"],
            ["isinglass: --components must be"],
        ),
        (
            ["--outlier-fraction", "0.1", "--scale-by", "range", "--bounds", "b.csv"],
            ["leave --scale-by out"],
        ),
        (["--outlier-fraction", "0.1", "--k", "2"], ["--k goes with --mode sensitive"]),
        (["--outlier-fraction", "0.1", "--p", "3"], ["--p is the power"]),
        (["--outlier-fraction", "0.1", "--beta", "50"], ["isinglass: --beta must be less than"]),
        (["--outlier-fraction", "0.1", "--drop", "x"], ["no column named x in table.csv"]),
        (["--outlier-fraction", "0.1", "-o", "plan.doc"], ["--out must end"]),
    ],
)  # fmt: skip
def test_bad_plans_are_one_sentence_and_exit_2(run, arguments, words):
    refused(run("plan", "table.csv", *arguments), 2, *words)
