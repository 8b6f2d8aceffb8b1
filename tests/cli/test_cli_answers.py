"""Answers in files: the records' own identifiers, words, and a page that may be forwarded."""

from __future__ import annotations

import csv
import re
from html import unescape

import pytest
from tests.cli import asking
from tests.cli.asking import AGAIN, FIRST, SECRET, refused, write

from isinglass.curate.padding import Deadline

NAMES = ["patient", "pulse", "pressure"]
ID = ("--drop", "patient")


@pytest.fixture
def run(tmp_path, monkeypatch):
    asked = asking.command(tmp_path, monkeypatch)
    write("records.csv", [["007", 0.0, 0.0], ["P<b>", 50.0, 50.0], ["=x", SECRET, -SECRET]], NAMES)
    return asked


def lines(path="answers.csv"):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_a_file_of_answers_names_the_records_and_says_yes_or_no(run):
    assert run(*FIRST, *ID, "-o", "answers.csv")[0] == 0
    head, *rows = lines()
    assert head == ["row", "patient", "anomalous", "answer", "epsilon"]
    assert [row[1] for row in rows] == ["007", "P<b>", "=x"]
    assert all((row[2], row[3]) in {("0", "no"), ("1", "yes")} for row in rows)


@pytest.mark.parametrize(
    ("ids", "arguments", "wanted"),
    [
        (["a", "b", "c"], ("--id", "patient"), ["a", "b", "c"]),
        (["a", "a", "b"], ("--id", "patient"), ["a", "a", "b"]),  # by name, whatever is in it
        (["a", "a", "b"], ID, None),
        (["a", "", "b"], ID, None),
        ([0.5, 1.5, 2.5], ID, None),  # a measurement is different in each record, too
        (["007", "008", "010"], ID, ["007", "008", "010"]),
    ],
)
def test_the_first_column_left_out_that_tells_records_apart_is_theirs(run, ids, arguments, wanted):
    write("records.csv", [[name, 9.0 * i, 0.0] for i, name in enumerate(ids)], NAMES)
    assert run(*FIRST, *arguments, "-o", "answers.csv")[0] == 0
    head, *rows = lines()
    assert ("patient" in head) is (wanted is not None)
    assert wanted is None or [row[1] for row in rows] == wanted


def test_an_id_that_is_not_there_is_refused(run):
    refused(run(*FIRST, *ID, "--id", "number"), 2, "records.csv has no column named number")


def test_the_page_holds_the_answers_and_the_promise_alone(run):
    code, out, _ = run(
        *FIRST, *ID, "--page", "answers.html", "--user", "ann", "--user-budget", ".2"
    )
    assert code == 0, out
    assert "page     answers.html  (may be forwarded" in out
    with open("answers.html", encoding="utf-8") as file:
        page = file.read()
    assert "76543" not in page  # no record's value
    assert "P<b>" not in page
    assert "P&lt;b&gt;" in page
    shown = unescape(re.sub(r"<[^>]+>", " ", page))
    for word in (
        "at most 3 records of the table within 1 of it", "pulse, pressure",
        "by a factor of at most 1.11", "(epsilon 0.25)", "wrong now and then",
    ):  # fmt: skip
        assert word in " ".join(shown.split()), word
    # Neither what is left of anybody's budget nor what was paid just now.
    assert "0.15" not in shown
    assert "0.05" not in shown
    again = run(*AGAIN, *ID, "--page", "again.html", "--user", "ann")
    assert again[0] == 0
    with open("again.html", encoding="utf-8") as file:
        assert file.read() == page  # stored answers, for nothing: the page does not tell


def test_a_page_is_for_others_and_so_is_not_of_the_tables_own_rows(run):
    write("table.csv", [[0.1, 0.2], [0.3, 0.4]])
    own = ("ask", "table.csv", "table.csv", *FIRST[3:], "--own-rows")
    refused(run(*own, "--page", "answers.html"), 2, "--page", "--own-rows")
    refused(run(*FIRST, *ID, "--page", "answers.txt"), 2, "--page must end in .html")
    refused(run(*FIRST, *ID, "--page", "records.csv"), 2, "--page must end in .html")
    refused(run(*FIRST, *ID, "--dry-run", "--page", "a.html"), 2, "leave --page")


def test_late_answers_make_no_page(run, monkeypatch, tmp_path):
    monkeypatch.setattr(Deadline, "overruns", property(lambda self: 1))
    asked = [word for word in FIRST if word != "--no-pad"]
    code, _, err = run(*asked, *ID, "--page", "answers.html", "-o", "answers.csv")
    assert code == 0
    assert "answers.html was not written" in err
    assert not (tmp_path / "answers.html").exists()
    assert (tmp_path / "answers.csv").exists()


def test_the_page_makes_one_question_of_each_mode(run):
    for mode, word in (("sensitive", "in the table, with"), ("dp", "in the table, with")):
        done = run(
            *FIRST[:-3], "--ledger", f"{mode}.db", "--no-pad", *ID, "--mode", mode,
            "--page", f"{mode}.html",
        )  # fmt: skip
        assert done[0] == 0, done
        with open(f"{mode}.html", encoding="utf-8") as file:
            page = file.read()
        assert word in page
        assert ("every sensitive record" in page) is (mode == "sensitive")
