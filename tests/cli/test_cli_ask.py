"""A curator on the command line: what it prints, what it refuses, and how."""

import csv
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.asking import AGAIN, ASK, FIRST, NAMES, SECRET, refused, write

from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.padding import Deadline
from isinglass.curate.space import Space

pytestmark = pytest.mark.usefixtures("curators_files")


def test_json_has_the_shape_that_is_promised(run):
    code, out, err = run(*FIRST, "--json")
    found = json.loads(out)
    assert code == 0
    assert list(found) == ["answers", "spent", "left", "guarantee"]
    assert [list(a) for a in found["answers"]] == [["row", "anomalous", "epsilon"]] * 3
    assert [a["row"] for a in found["answers"]] == [0, 1, 2]
    assert [a["epsilon"] for a in found["answers"]] == [0.1] * 3
    assert found["spent"] == 0.3
    assert found["left"] == 0.15  # 0.25 at a place; the three are far apart
    assert found["guarantee"]["epsilon"] == 0.1
    assert found["guarantee"]["cap"] == 0.25
    assert found["guarantee"]["timing_covered"] is False
    assert "ledger.db is new" in err


def test_asking_again_is_free_and_says_the_same(run):
    first = json.loads(run(*FIRST, "--json")[1])
    again = json.loads(run(*AGAIN, "--json")[1])
    assert again["answers"] == first["answers"]
    assert again["spent"] == 0.0


def test_a_spent_place_is_refused_with_exit_1_and_what_is_left(run):
    run(*FIRST)
    assert run(*AGAIN, "--fresh")[0] == 0
    done = run(*AGAIN, "--fresh")
    refused(
        done, 1, "asked for epsilon 0.1", "0.2 of the table", "0.05 is left", "nothing was spent"
    )
    with Ledger("ledger.db") as ledger:
        assert ledger.summary()["spent"] == 0.6
    code, out, _ = run(*AGAIN, "--fresh", "--json")
    found = json.loads(out)
    assert code == 1
    assert found["refused"] == {"row": 0, "asked": 0.1, "spent": 0.2, "left": 0.05}
    assert found["answers"] == []


def test_a_dry_run_prices_and_leaves_no_trace(run, tmp_path):
    code, out, err = run(*FIRST, "--dry-run", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["spent"] == 0.3
    assert [p["left"] for p in found["prices"]] == [0.15] * 3
    assert "anomalous" not in out
    assert sorted(os.listdir(tmp_path)) == ["records.csv", "table.csv"]
    assert os.listdir(os.environ["ISINGLASS_HOME"]) == []
    run(*FIRST)
    assert json.loads(run(*AGAIN, "--dry-run", "--json")[1])["spent"] == 0.0
    assert json.loads(run(*AGAIN, "--dry-run", "--fresh", "--json")[1])["spent"] == 0.3
    refused(run(*AGAIN, "--dry-run", "--new-version", "May"), 2, "--new-version")


def test_a_dry_run_that_the_budget_refuses_says_so_in_its_document(run, tmp_path):
    for arguments in (FIRST, AGAIN):
        code, out, err = run(*arguments, "--epsilon", "0.3", "--dry-run", "--json")
        assert (code, err.count("\n")) == (1, 1)
        assert json.loads(out) == {
            "prices": [], "spent": 0.0, "left": 0.25, "guarantee": None,
            "refused": {"row": 0, "asked": 0.3, "spent": 0.0, "left": 0.25},
        }  # fmt: skip
        if arguments is FIRST:
            assert sorted(os.listdir(tmp_path)) == ["records.csv", "table.csv"]
            write("first.csv", [[1e4, 1e4]])
            assert run("ask", "table.csv", "first.csv", *FIRST[3:])[0] == 0


def test_the_table_itself_is_no_list_of_records(run):
    own = ("ask", "table.csv", "table.csv", *FIRST[3:])
    refused(run(*own), 2, "--own-rows")
    os.link("table.csv", "linked.csv")
    refused(run("ask", "table.csv", "linked.csv", *FIRST[3:]), 2, "--own-rows")
    with open("table.csv", "rb") as there, open("copy.csv", "wb") as copy:
        copy.write(there.read())
    refused(run("ask", "table.csv", "copy.csv", *FIRST[3:]), 2, "--own-rows")
    assert run(*own, "--own-rows", "--budget", "100")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (ASK, ["--ledger is missing"]),
        (AGAIN, ["--budget must be given"]),
        ([*FIRST, "--epsilon", "0"], ["--epsilon must be", "got 0"]),
        ([*FIRST, "--epsilon", "-1"], ["--epsilon must be"]),
        ([*FIRST, "--epsilon", "nan"], ["--epsilon must be"]),
        ([*FIRST, "--epsilon", "inf"], ["--epsilon must be"]),
        ([*FIRST, "--epsilon", "0.0000001"], ["whole millionths"]),
        ([*FIRST, "--budget", "much"], ["--budget must be"]),
        ([*FIRST, "--epsilon", "1_0"], ["--epsilon must be", "got 1_0"]),
        ([*FIRST, "--mode", "sensitive", "--k", "4"], ["isinglass: --k must be", "got 4"]),
        ([*FIRST, "--mode", "guess"], ["--mode", "'guess' is not one of 'sparse'"]),
        ([*FIRST, "--r", "-1"], ["isinglass: --r must be"]),
        ([*FIRST, "--beta", "0"], ["isinglass: --beta must be"]),
        ([*FIRST, "--metric", "cosine"], ["--metric", "'cosine' is not one of"]),
        ([*FIRST, "--metric", "minkowski"], ["--p"]),
        ([*FIRST, "--metric", "minkowski", "--p", "0.5"], ["isinglass: --p must be >= 1"]),
        ([*FIRST, "--p", "3"], ["--p is the power of --metric minkowski"]),
        ([*FIRST, "--k", "2"], ["--k goes with --mode sensitive"]),
        ([*FIRST, "--mode", "dp", "--k", "1"], ["--k goes with --mode sensitive"]),
        ([*FIRST, "--mode", "dp", "--no-count-query"], ["--no-count-query goes with"]),
        ([*FIRST, "--modes", "dp"], ["--modes must list --mode sparse", "got dp"]),
        ([*FIRST, "--modes", "sparse,best"], ["'--modes': 'best' is not one of 'sparse'"]),
        ([*FIRST, "--modes", "sparse,sensitive"], ["isinglass: --modes may allow sensitive only"]),
        ([*FIRST, "--weights", "pulse=0"], ["isinglass: --weights must be between"]),
        ([*FIRST, "--weights", "height=2"], ["--weights names height"]),
        ([*FIRST, "--user", ""], ["isinglass: --user must be"]),
        ([*FIRST, "--request-id", "\n"], ["isinglass: --request-id must be"]),
        ([*FIRST, "--new-version", ""], ["isinglass: --new-version must be"]),
        ([*FIRST, "--user-budget", "0"], ["--user-budget must be"]),
        ([*FIRST, "--dry-run", "--request-id", "a"], ["--dry-run", "leave --request-id"]),
        ([*FIRST, "--dry-run", "-o", "a.csv"], ["--dry-run", "leave --out"]),
        ([*FIRST, "--drop", "nothing"], ["no column named nothing in table.csv or records.csv"]),
        ([*FIRST, "--missing", "median"], ["--missing", "'median' is not one of"]),
        ([*FIRST, "--out", "answers.txt"], ["--out must end in .csv"]),
        ([*FIRST, "--records-per-person", "0"], ["isinglass: --records-per-person must be"]),
        ([*FIRST, "--space", "space.json", "--metric", "hamming"], ["--space brings"]),
        ([*FIRST, "--space", "records.csv"], ["no space at all"]),
    ],
)  # fmt: skip
def test_bad_questions_are_one_sentence_and_exit_2(run, tmp_path, arguments, words):
    refused(run(*arguments), 2, *words)
    assert sorted(os.listdir(tmp_path)) == ["records.csv", "table.csv"]


def test_an_epsilon_above_the_budget_is_the_budget_that_says_no(run):
    run(*FIRST)
    refused(run(*AGAIN, "--epsilon", "0.3"), 1, "asked for epsilon 0.3", "0.25")


def test_records_must_have_the_columns_of_the_table_in_order(run):
    write("records.csv", [[1.0]], ["pulse"])
    refused(run(*FIRST), 2, "records.csv must have the columns of table.csv; lacking: pressure")
    write("records.csv", [[1.0, SECRET]], NAMES[::-1])
    refused(run(*FIRST), 2, "in this order: pulse, pressure")
    write("records.csv", [[1.0, SECRET, 3.0]], [*NAMES, "extra"])
    refused(run(*FIRST), 2, "besides: extra (leave out with --drop)")
    assert run(*FIRST, "--drop", "extra")[0] == 0


def test_broken_files_name_the_file_and_never_a_value(run):
    write("records.csv", [[SECRET, "x76543"]])
    refused(run(*FIRST), 2, "records.csv", "pressure")
    write("records.csv", [])
    refused(run(*FIRST), 2, "records.csv has a header but no rows")
    write("records.csv", [[1.0, 2.0], [SECRET, ""]])
    done = run(*FIRST)
    refused(done, 2, "row 1 (from 0) of records.csv", "missing", "leave those rows out of it")
    assert "--missing" not in done[2]  # which is for the table alone
    refused(run("ask", "table.csv", "gone.csv", *FIRST[3:]), 2, "gone.csv")
    write("records.csv", [[1.0, 1.0]])
    with open("ledger.db", "w", encoding="utf-8") as file:
        file.write("this is no database" * 100)
    refused(run(*FIRST), 2, "ledger.db")


def test_missing_values_of_the_table_can_be_left_out(run):
    write("table.csv", [[1.0, 1.0], [2.0, ""], [SECRET, ""]])
    done = run(*FIRST)
    refused(done, 2, "row 1 (from 0) of table.csv", "pressure (2)", "--missing drop")
    assert "median" not in done[2]
    assert run(*FIRST, "--missing", "drop")[0] == 0
    write("table.csv", [["", 1.0], [2.0, ""]])
    refused(run(*AGAIN, "--missing", "drop"), 2, "table.csv has a missing value in every row")
    write("table.csv", [])
    refused(run(*AGAIN), 2, "table.csv has a header but no rows")
    pq.write_table(pa.table({name: pa.array([], pa.float64()) for name in NAMES}), "none.parquet")
    done = run("ask", "none.parquet", *AGAIN[2:], "--missing", "drop")
    refused(done, 2, "none.parquet has no rows; there is nothing to work with")


def test_the_contract_holds_for_later_questions(run):
    run(*FIRST)
    amend = "`isinglass ledger amend LEDGER"
    for more, words in (
        (["--budget", "0.5"], ["budget", f"{amend} --budget 0.5 --reason TEXT`"]),
        (["--budget", "0.2"], ["budget"]),
        (["--metric", "manhattan"], ["distance"]),
        (["--weights", "pulse=2"], ["distance"]),
        (["--mode", "dp"], ["mode dp, only sparse"]),
        (["--modes", "sparse,dp"], ["mode dp, only sparse"]),
        (["--records-per-person", "2"], ["1 record per", f"{amend} --records-per-person 2 --"]),
        (["--also-released"], ["release", f"{amend} --also-released --reason TEXT`"]),
    ):
        refused(run(*AGAIN, *more), 2, "contract", *words)


def test_a_contract_can_allow_several_modes_from_the_first_use_on(run):
    assert run(*FIRST, "--modes", "sparse, dp")[0] == 0
    assert run(*AGAIN, "--mode", "dp")[0] == 0
    refused(run(*AGAIN, "--mode", "sensitive"), 2, "contract", "sensitive")


def test_weights_are_part_of_the_distance(run):
    with open("weights.csv", "w", encoding="utf-8") as file:
        file.write("pulse,4\n")
    assert run(*FIRST, "--weights", "pressure=1,pulse=4")[0] == 0
    assert json.loads(run(*AGAIN, "--weights", "weights.csv", "--json")[1])["spent"] == 0.0
    with Ledger("ledger.db") as ledger:
        assert ledger.contract.metric == {"name": "euclidean", "p": None, "weights": [4.0, 1.0]}
    refused(run(*AGAIN), 2, "contract", "distance")


def test_a_space_must_be_of_the_tables_columns(run):
    Space.declare(["pulse", "height"]).save("space.json")
    refused(run(*FIRST, "--space", "space.json"), 2, "lacking: height; besides: pressure")


def test_another_table_needs_a_declared_version(run):
    before = json.loads(run(*FIRST, "--json")[1])
    with open("table.csv", "a", encoding="utf-8") as file:
        file.write("1.5,1.5\n")
    refused(run(*AGAIN), 2, "new version")
    after = json.loads(run(*AGAIN, "--new-version", "one more", "--json")[1])
    assert after["spent"] == before["spent"]  # stored answers went
    assert after["left"] == 0.05  # spends stayed


def test_a_table_that_left_as_a_release_says_so_in_every_guarantee(run):
    assert run("release", "table.csv", "-o", "release.parquet")[0] == 0
    refused(run(*FIRST), 2, "pass --also-released")
    assert not os.path.exists("ledger.db")
    found = json.loads(run(*FIRST, "--also-released", "--json")[1])
    assert found["guarantee"]["also_released"] is True
    assert "the answers only" in found["guarantee"]["sentence"]
    again = json.loads(run(*AGAIN, "--json")[1])  # the contract says it from now on
    assert again["guarantee"]["also_released"] is True


def test_a_table_that_leaves_after_its_first_answers_needs_an_amendment(run):
    assert run(*FIRST)[0] == 0
    assert run("release", "table.csv", "-o", "release.parquet")[0] == 0
    for more in ([], ["--dry-run"], ["--also-released"]):
        refused(
            run(*AGAIN, *more), 2, "left as a release",
            "`isinglass ledger amend LEDGER --also-released --reason TEXT`",
        )  # fmt: skip
    amend = ("ledger", "amend", "ledger.db", "--also-released", "--reason", "a release was made")
    assert run(*amend)[0] == 0
    found = json.loads(run(*AGAIN, "--json")[1])
    assert "the answers only" in found["guarantee"]["sentence"]


def test_late_answers_are_told_to_the_owner_alone(run, monkeypatch):
    padded = [word for word in FIRST if word != "--no-pad"]
    monkeypatch.setattr(Deadline, "overruns", property(lambda self: 0))
    assert "deadline" not in run(*padded)[2]
    monkeypatch.setattr(Deadline, "overruns", property(lambda self: 1))
    code, out, err = run(*padded, "--json")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("note: the answers were not ready by their deadline")
    assert list(json.loads(out)) == ["answers", "spent", "left", "guarantee"]


def test_the_answers_file_says_what_the_document_says(run):
    found = json.loads(run(*FIRST, "--json", "-o", "answers.csv")[1])
    with open("answers.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [r["row"] for r in rows] == ["0", "1", "2"]
    assert [r["anomalous"] == "1" for r in rows] == [a["anomalous"] for a in found["answers"]]
    refused(run(*AGAIN, "-o", "answers.csv"), 2, "exists")


def test_a_key_returns_the_same_answers_and_refuses_another_request(run):
    first = json.loads(run(*FIRST, "--request-id", "one", "--fresh", "--json")[1])
    again = json.loads(run(*AGAIN, "--request-id", "one", "--fresh", "--json")[1])
    assert again["answers"] == first["answers"]
    assert again["spent"] == 0.0
    refused(run(*AGAIN, "--request-id", "one", "--fresh", "--epsilon", "0.05"), 2, "key")


def test_a_users_budget_is_below_the_tables(run):
    run(*FIRST, "--user-budget", "0.1", "--user", "ann")
    again = (*AGAIN, "--fresh")  # under the contract's own terms
    refused(run(*again, "--user-budget", "0.2"), 2, "contract")
    refused(run(*again, "--user", "ann"), 1, "user")
    refused(run(*again, "--user", "bob"), 2, "`isinglass ledger admit`")
    admit = ("ledger", "admit", "ledger.db", "bob", "--reason", "asked")
    assert run(*admit)[0] == 0
    assert run(*again, "--user", "bob")[0] == 0
    refused(run(*again), 1, "the curator's part")  # 0.2 of 0.25 is theirs
    refused(run("ledger", "admit", "ledger.db", "cy", "--reason", "asked"), 2, "share must be")
