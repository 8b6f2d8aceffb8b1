"""Reproductions from the command line: what is printed and written; the papers have tests apart."""

import json
import re
from functools import partial

import pytest

from isinglass.cli import reproduce, show
from isinglass_papers.core.data import Sets
from isinglass_papers.core.draw import picture
from isinglass_papers.core.result import Claim, Figure, How, Missing, Number, Reproduction
from isinglass_papers.core.run import PAPERS, missing_sets
from isinglass_papers.distortion.setting import engine_tables
from isinglass_papers.multiparty.sources import sources
from isinglass_papers.rotation.sets import tables


def stand_in(paper, *, full, seed, archive, folder, progress):
    rows = ({"x": 1, "y": 2.5}, {"x": 2, "y": 3.5})
    return Reproduction(
        paper, f"About {paper}", "Somebody, 2005.", full, seed,
        (
            Number("Table 1", "Iris", 0.43, 0.4212, note="another k; " + "so it is " * 20),
            Number("Table 2", "gone", 7.0, None, note="data missing"),
        ),
        (Claim("page 2", "It works.", "holds", "0.9 of 1"),),
        (Figure("figure-1", "One", "It rises.", rows, picture("line", "x", "y")),),
        (Missing("Opportunity", "data missing"),),
        ("Records were scaled.",),
        seconds=1.5,
    )  # fmt: skip


@pytest.fixture
def run(run, monkeypatch):
    """`isinglass reproduce`, with the results above in place of a paper's."""
    monkeypatch.setattr(reproduce, "run", stand_in)
    monkeypatch.delenv("ISINGLASS_DATA", raising=False)
    return partial(run, "reproduce")


def test_numbers_stand_side_by_side_and_claims_have_verdicts(run):
    code, out, err = run("randomization")
    assert (code, err) == (0, "")
    assert "0.43     0.4212  Table 1  Iris\n    another k; so it is" in out
    assert max(len(line) for line in out.splitlines() if "another k" in line) <= 104
    assert "\nRecords were scaled.\n" in out
    assert "-o FOLDER writes pages with every reason" in out
    assert "7        –       Table 2  gone" in out
    assert "HOLDS: It works. (page 2)\n    0.9 of 1" in out
    assert "NOT RUN: Opportunity: data missing" in out
    assert "randomization, quick, seed 0" in out


def test_missing_sets_are_named_before_any_work(run, monkeypatch):
    told = []
    monkeypatch.setattr(show, "print_message", told.append)

    def work(*args, **more):
        told.append("work")
        return stand_in(*args, **more)

    monkeypatch.setattr(reproduce, "run", work)
    assert run("sensitive")[0] == 0
    assert told == [
        "missing for sensitive: thyroid, mammography, credit_fraud, aps_train9000_pca12, "
        "aps_test_pca12",
        "`isinglass reproduce --data FOLDER --fetch` gets those that OpenML has",
        "what needs a missing set is not run, and is listed under NOT RUN",
        "work",
    ]


def test_a_set_in_the_folder_is_not_missing(run, tmp_path):
    (tmp_path / "sets").mkdir()
    for name in missing_sets("distortion"):
        (tmp_path / "sets" / f"{name}.parquet").touch()
    assert run("distortion", "--data", "sets")[2] == ""
    assert "missing for rotation: " in run("rotation", "--data", "sets")[2]


def test_the_files_of_a_paper_are_those_it_looks_for(tmp_path):
    how = How(full=False, seed=0, archive=False, folder=str(tmp_path))
    looked_for = {
        "distortion": engine_tables(how)[1],
        "multiparty": sources(how).missing,
        "rotation": tables(Sets(tmp_path), 0)[1],
    }
    for paper, missing in looked_for.items():
        found = re.findall(r"the data set (\w+) is missing", " ".join(m.why for m in missing))
        assert tuple(found) == missing_sets(paper, tmp_path), paper


def test_all_papers_are_written_with_one_page_of_figures_and_one_of_claims(run, tmp_path):
    code, _, _ = run("all", "--full", "--seed", 3, "-o", "made")
    assert code == 0
    for paper in PAPERS:
        page = (tmp_path / "made" / f"{paper}.md").read_text(encoding="utf-8")
        assert f"isinglass reproduce {paper} --full --seed 3" in page
        assert (tmp_path / "made" / paper / "figure-1.png").stat().st_size > 1000
    assert (tmp_path / "made" / "figures.html").read_text(encoding="utf-8").count("<h2>About") == 5
    summary = (tmp_path / "made" / "summary.md").read_text(encoding="utf-8")
    assert summary.count("| page 2 | It works. | holds |") == 5


def test_one_paper_leaves_what_all_papers_share_as_it_is(run, tmp_path):
    assert run("rotation", "-o", "made")[0] == 0
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [
        "rotation",
        "rotation.md",
    ]
    assert "figures.html" not in (tmp_path / "made/rotation.md").read_text(encoding="utf-8")
    run("all", "-o", "made")
    shared = [(tmp_path / "made" / name).read_bytes() for name in ("summary.md", "figures.html")]
    run("sensitive", "-o", "made", "--seed", 3)
    for name, before in zip(("summary.md", "figures.html"), shared, strict=True):
        assert (tmp_path / "made" / name).read_bytes() == before
    assert "(figures.html)" in (tmp_path / "made/sensitive.md").read_text(encoding="utf-8")


def test_json_is_one_document_with_the_rows_of_every_figure(run):
    found = json.loads(run("sensitive", "--json")[1])
    (paper,) = found["papers"]
    assert paper["numbers"][1]["ours"] is None
    assert paper["figures"][0]["rows"] == [{"x": 1, "y": 2.5}, {"x": 2, "y": 3.5}]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["folding"], "'folding' is not one of 'all', 'distortion'"),
        (["rotation", "--quick", "--full"], "do not go together"),
        (["rotation", "--seed", "-1"], "--seed must be >= 0"),
        (["rotation", "--data", "nowhere"], "--data must be a folder"),
        (["rotation", "--fetch"], "--fetch needs --data"),
        (["rotation", "--archive"], "--archive goes with distortion or all, got rotation"),
        (["rotation", "-o", "file"], "--out must be a folder, got a file: file"),
        (["rotation", "-o", "file/in"], "--out must be a folder, got a file: file/in"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_2(run, tmp_path, arguments, word):
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert word in err
    assert err.count("\n") == 1
