"""Names from files: whatever a column is called, every page, chart and line can show it."""

from enum import Enum
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import isinglass as ig
from isinglass.auditing.report.report import Report

NAMES = [
    "a\x01b", "\x1b[31mred", "x\nverdict    resisted", "<b>&\"'</b>", "datum['x']", "a.b[0]",
    "back\\slash", "\\x1b", "\u202eevil", "\u2028", "\uffff", "n" * 5000, "", "rows 17",
]  # fmt: skip
DEADLY = set("\x01\x1b\u202e\u2028\uffff")


@pytest.fixture
def run(run):
    """The command, beside a table with such names."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, len(NAMES))) @ rng.normal(size=(len(NAMES), len(NAMES)))
    pq.write_table(pa.table(list(X.T), names=NAMES), "t.parquet")
    return run


def test_a_release_with_any_names_is_made_audited_and_shown(run):
    done = run(
        "release", "t.parquet", "-o", "r.parquet", "--method", "gaussian", "--report", "r.html"
    )
    assert done[0] == 0, done
    assert pq.read_schema("r.parquet").names == NAMES  # the release keeps them as they are
    page = Path("r.html").read_text(encoding="utf-8")
    assert not DEADLY & set(page)
    assert "<b>&" not in page
    assert "\\x1b[31mred" in page
    audited = run("audit", "t.parquet", "r.parquet", "--max-pairs", "20")
    for shown in (done, audited, run("detect", "t.parquet"), run("detect", "r.parquet")):
        assert shown[0] == 0, shown
        for said in shown[1:]:
            assert all(line.isprintable() for line in said.splitlines())
            assert [
                line for line in said.split("\n") if line.startswith("verdict    resisted")
            ] == []


def test_an_error_about_a_name_is_one_line_without_color(run):
    for name in NAMES:
        code, out, err = run(
            "release", "t.parquet", "-o", "r.parquet", "--drop", f"{name}!", "--force"
        )
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert not DEADLY & set(err)
        assert len(err) < 2200


def test_a_page_that_fails_leaves_no_release_and_no_key(run, monkeypatch):
    def fails(*given, **more):
        raise ZeroDivisionError

    before = set(Path().iterdir())
    monkeypatch.setattr(Report, "html", fails)
    done = run(
        "release", "t.parquet", "-o", "r.parquet", "--method", "gaussian", "--report", "r.html"
    )
    assert done[0] == 2
    assert set(Path().iterdir()) == before
    monkeypatch.undo()


def test_names_that_no_file_can_hold_are_shown_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    names = ["\ud800", "same", "same"]
    report = ig.audit(X, X + 0.1 * rng.normal(size=X.shape), column_names=names, attacks=["naive"])
    page = report.html()
    assert "\\ud800" in page
    page.encode()
    assert report.to_contract()["attacks"][0]["worst_column"] in names


def test_an_audit_s_numbers_are_python_s_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    veil = ig.Distortion(bounds="scaled", clip=True, random_state=0)
    Z = veil.fit_transform(X)
    report = ig.audit(X, Z, perturbation=veil, attacks=["naive", "ica"], n_trials=3, random_state=0)

    def leaves(value):
        if hasattr(value, "__dataclass_fields__"):
            value = [getattr(value, name) for name in value.__dataclass_fields__]
        if isinstance(value, dict):
            value = [*value, *value.values()]
        if isinstance(value, list | tuple):
            for item in value:
                yield from leaves(item)
        elif not isinstance(value, Enum):  # of notes, which become sentences
            yield value

    assert {type(v) for v in leaves(report.findings)} <= {bool, int, float, str, type(None)}
    assert {type(a.no_better_than_baseline) for a in report.attacks} == {bool}
