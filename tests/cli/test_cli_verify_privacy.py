"""`isinglass verify-privacy`: what it prints, how it ends, and what it refuses."""

import json
from pathlib import Path

import pytest
from tests.cli.commands import inside

from isinglass.detect.private import counts, noise
from isinglass.detect.private.noise import RoundNoise

QUICK = ("verify-privacy", "--n-columns", 1, "--draws", 100)


def test_a_line_for_each_check_and_the_end_of_the_story():
    done = inside(*QUICK, "--epsilon", "0.5")
    assert (done.returncode, done.stderr) == (0, "")
    *lines, empty, end = done.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "floor of epsilon", "floor of rho", "inserted records", "price",
        "same noise for every table", "exact noise", "fresh noise", "whole numbers",
    ]  # fmt: skip
    assert all("  holds  " in line for line in lines)
    assert lines[0].endswith("the claim is epsilon 0.5 at delta 1e-06")
    assert empty == ""
    assert "no proof" in end


def test_the_document(tmp_path):
    path = tmp_path / "b.json"
    path.write_text('{"a": {"low": 1, "high": 1000, "log": true}, "b": {"categories": ["x"]}}')
    given = ("--bounds", path, "--delta", 0, "--records-per-person", 4, "--threshold", 0.1)
    done = inside("verify-privacy", "--draws", 100, *given, "--rounds", 1, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["passed"] is True
    assert (found["epsilon"], found["delta"], found["columns"]) == (1.0, 0.0, 2)
    assert (found["records_per_person"], found["rho"], found["rho_floor"]) == (4, None, None)
    moved = next(c["found"] for c in found["checks"] if c["name"] == "inserted records")
    # A tree of 3 levels, a histogram, 32 projections of 2 levels; the threshold's 2 levels.
    assert "at most 68 + 2 cells moved, each by 4" in moved


def test_what_is_broken_ends_with_1(tmp_path, monkeypatch):
    (tmp_path / "b.json").write_text('{"a": {"categories": ["x"]}}')  # one cell
    true = noise.add_noise

    def small(counts, noise, n_jobs):
        less = RoundNoise(noise.cells, noise.records, noise.scale / 2, noise.pure)
        return true(counts, less)

    monkeypatch.setattr(counts, "add_noise", small)
    for more in ((), ("--json",)):
        done = inside("verify-privacy", "--bounds", tmp_path / "b.json", *more)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "(floor of rho, exact noise)" in done.stderr
    assert json.loads(done.stdout)["passed"] is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epsilon", "x"), "--epsilon must be a number > 0"),
        (("--epsilon", "0"), "--epsilon must be a number > 0"),
        (("--delta", "2"), "--delta must be >= 0 and < 1"),
        (("--n-columns", "0"), "--n-columns must be a whole number >= 1"),
        (("--n-columns", "200000"), "--n-columns must be a whole number >= 1 and <= 1,000"),
        (("--draws", "5"), "--draws must be a whole number >= 100"),
        (("--rounds", "3"), "--rounds must be 1 or 2"),
        (("--threshold", "0.7"), "--threshold must be None, or > 0"),
        (("--records-per-person", "0"), "--records-per-person must be a whole number"),
        (("--bounds", "none.json"), "none.json cannot be read"),
        (("--bounds", "empty.json"), "names no column"),
        (
            ("--bounds", "b.csv", "--n-columns", "2"),
            "--bounds names the columns; leave --n-columns",
        ),
        (("--bounds", "table.csv"), "table.csv"),
    ],
)
def test_wrong_use_is_one_sentence(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("empty.json").write_text("{}")
    Path("b.csv").write_text("a,0,1\n")
    Path("table.csv").write_text("a,b\n1.25,2.5\n7.125,x\n")
    done = inside("verify-privacy", *words)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert "unforeseen" not in done.stderr
    assert "7.125" not in done.stderr
