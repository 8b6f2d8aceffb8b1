"""The ranking of private models: its page row by row, what a run keeps, which bars are met."""

from __future__ import annotations

import argparse
import json

import pytest
from benchmarks import private
from benchmarks.private_bars import Bar, bars_table, commit


def options(keep, only="", splits=3, draws=4):
    return argparse.Namespace(keep=keep, only=only, splits=splits, draws=draws, files="")


def test_bars_say_what_is_met_missed_and_unknown():
    lines = bars_table([Bar("a", 0.9, 0.9), Bar("b", 1.5, 1.6, at_most=True), Bar("c", 0.5, None)])[
        2:
    ]
    assert lines == [
        "| a | ≥ 0.9 | 0.9 | yes |",
        "| b | ≤ 1.5 | 1.6 | **no** |",
        "| c | ≥ 0.5 | not measured | unknown |",
    ]
    assert commit()


def test_the_page_s_bars_are_those_of_its_rows():
    page = private.PAGE.read_text("utf-8")
    rows = private.on_page(private.FILES)
    for line in bars_table(private.bars(rows)):
        assert line in page
    names = [contender.name for contender in private.CONTENDERS]
    assert set(rows) <= set(names)
    for name in names:  # measured, or said not to be
        assert (rows[name].line(name) if name in rows else f"| {name} | not measured") in page
    assert all(row.commit for row in rows.values())


def test_a_run_measures_what_it_is_asked_for_once_and_keeps_the_rest(tmp_path, monkeypatch):
    asked = []

    def measure(contender, file, n_splits, n_draws):
        asked.append((contender.name, file))
        if file == "cover":
            raise ValueError("a fit that failed")
        return 0.75, 0.25

    monkeypatch.setattr(private, "measured", measure)
    before = private.on_page(private.FILES)
    lines = private.ranking(options(tmp_path, only="ε = 3"))
    assert asked == [("ε = 3", file) for file in private.FILES]
    found = next(line for line in lines if line.startswith("| ε = 3 |"))
    assert f"**{(0.75 * 12 + 0.5) / 13:.3f} ({0.25 * 12 / 13:.3f})**" in found
    assert found.endswith(f"| {commit()} |")
    for name, row in before.items():
        assert name == "ε = 3" or row.line(name) in lines
    stored = json.loads((tmp_path / "ε_=_3_http_3_4.json").read_text())
    assert stored == [0.75, 0.25, commit()]
    private.ranking(options(tmp_path, only="ε = 3"))  # goes on where it was: at the end
    assert len(asked) == len(private.FILES)


def test_long_rows_wait_to_be_named(tmp_path, monkeypatch):
    monkeypatch.setattr(private, "measured", lambda *_: pytest.fail("was measured"))
    (long,) = [c for c in private.CONTENDERS if c.name == "ε = 1, one round, 100 owners"]
    with pytest.raises(LookupError):
        private.kept(long, private.FILES, options(tmp_path))
