"""Text and numbers that may be shown: one door each for the terminal, pages and charts."""

import ast
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from isinglass.documents import for_json, plain
from isinglass.formats import html_text, printable, share_beside
from isinglass.plots import engine as vega

SOURCE = Path(__file__).resolve().parents[1] / "src" / "isinglass"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("speed (m/s), é, 温度 %", "speed (m/s), é, 温度 %"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\nverdict: none", "a\\nverdict: none"),
        ("\u202eevil", "\\u202eevil"),
        ("\ud800", "\\ud800"),
        ("\uffff\x00\u2028", "\\uffff\\x00\\u2028"),
        ("5\u00a0%", "5\u00a0%"),
        ("back\\slash", "back\\slash"),
        ("", ""),
    ],
)
def test_what_has_no_shape_is_written_out(text, shown):
    assert printable(text) == shown
    printable(text).encode()  # a surrogate could not be


@pytest.mark.parametrize(
    ("value", "limit", "shown"),
    [
        (0.1004, 0.1, "10.04 %"),  # or it would read as the limit that it misses
        (0.0999999, 0.1, "9.99999 %"),
        (0.1, 0.1, "10 %"),
        (0.3, 0.1, "30 %"),
        (None, 0.1, "–"),
    ],
)
def test_a_share_beside_a_limit_shows_its_side(value, limit, shown):
    assert share_beside(value, limit) == shown


def test_html_is_escaped_after_it_is_made_printable():
    assert html_text("<b>\x07'\"&") == "&lt;b&gt;\\x07&#x27;&quot;&amp;"


@dataclass(frozen=True, slots=True)
class Fact:
    share: float
    rest: tuple = ()


def test_numbers_of_numpy_become_python_s_own():
    made = plain(Fact(np.float64(0.5), (np.bool_(True), {"n": np.int64(3)}, [np.float32(1)])))
    assert made == Fact(0.5, (True, {"n": 3}, [1.0]))
    assert type(made.share) is float
    assert [type(v) for v in (made.rest[0], made.rest[1]["n"], made.rest[2][0])] == [
        bool, int, float,
    ]  # fmt: skip
    assert plain(np.arange(3)) == [0, 1, 2]


def test_what_is_plain_already_is_handed_on():
    fact = Fact(0.5, (1, "x", None))
    assert plain(fact) is fact


def test_a_document_holds_nothing_that_json_lacks():
    given = {
        "a": np.bool_(False),
        2: (np.inf, np.nan, np.float32(0.5)),
        "p": Path("x"),
        "f": Fact(1),
    }
    found = json.loads(json.dumps(for_json(given), allow_nan=False))
    assert found == {
        "a": False, "2": [None, None, 0.5], "p": "x", "f": {"share": 1, "rest": []},
    }  # fmt: skip


#: Each of these ended the process, or the chart, when it reached the engine.
DEADLY = ["\\x1b", "\x00", "\x01", "\x1b[31m", "\ufffe", "\uffff", "\u2028", "\ud800"]
ODD = [
    "datum['x']", 'datum["x"]', "a.b[0]", "\\", "\\\\'", '"', "<b>&</b>", "\u202e", "", " ",
    "x" * 3000, "\r", "\t", "$one", "null", "[red]",
]  # fmt: skip


def test_every_name_can_be_drawn():
    names = [*DEADLY, *ODD, "same", "same"]
    spec = {
        "data": {"values": [{"a": n, "b": i, "c": np.float64(i)} for i, n in enumerate(names)]},
        "mark": "bar",
        "encoding": {
            "y": {"field": "a", "type": "nominal", "sort": names, "scale": {"domain": names}},
            "x": {"field": "b", "type": "quantitative", "title": DEADLY[2]},
        },
    }
    drawn = vega.svg(spec)
    assert drawn.startswith("<svg")
    assert "＼x1b[31m" in drawn
    assert not set("\x00\x01\x1b\ufffe\uffff") & set(drawn)
    assert vega.png(spec, scale=1).startswith(b"\x89PNG")


def test_numbers_that_are_none_are_left_out_of_a_chart():
    spec = {"data": {"values": [{"a": float("nan")}, {"a": np.inf}]}}
    assert vega.cleaned(spec) == {"data": {"values": [{"a": None}, {"a": None}]}}


def calls(path, names):
    text = path.read_text(encoding="utf-8")
    if not any(name.rpartition(".")[2] + "(" in text for name in names):
        return  # parsing takes long
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in names:
                yield f"{path.relative_to(SOURCE)}:{node.lineno} {called}"


def test_the_command_line_prints_through_one_door():
    files = [p for p in (SOURCE / "cli").glob("*.py") if p.name != "show.py"]
    names = {
        "print",
        "typer.echo",
        "click.echo",
        "typer.secho",
        "sys.stdout.write",
        "sys.stderr.write",
    }
    assert [c for p in files for c in calls(p, names)] == []


def test_pages_escape_through_one_door():
    files = [p for p in SOURCE.rglob("*.py") if p.name != "formats.py"]
    assert [c for p in files for c in calls(p, {"html.escape", "escape"})] == []


def test_files_are_read_through_one_door():
    doors = {"documents.py"}
    files = [p for p in SOURCE.rglob("*.py") if p.name not in doors]
    found = [
        c
        for p in files
        for c in calls(p, {"json.loads", "json.load", "tomllib.loads", "tomllib.load"})
    ]
    # A contract goes through JSON once, in memory, to look as the ledger will keep it.
    assert [c.partition(":")[0] for c in found] == ["curate/ledger/terms.py"]
