"""The other commands, help, and what importing costs."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.commands import inside, typed

import isinglass
from isinglass.method_names import METHODS

PYTHON = sys.executable


def test_help_and_version_load_nothing_heavy():
    code = (
        "import sys; sys.argv = ['isinglass', '--help']\n"
        "from isinglass.cli import main\n"
        "try: main()\n"
        "except SystemExit as e: assert e.code == 0\n"
        "heavy = {'numpy', 'pyarrow', 'sklearn', 'scipy', 'randomgen', 'cryptography', 'rich', "
        "'jinja2'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True)
    assert result.stdout.endswith("LOADED []\n"), result.stdout + result.stderr
    for command in ("release", "demo", "doctor"):
        assert command in result.stdout
    assert inside("--version").stdout == f"isinglass {isinglass.__version__}\n"


def test_the_help_of_release_says_what_every_method_does():
    shown = inside("release", "--help").stdout
    for name, entry in METHODS.items():
        assert f"{name} {entry.help}" in " ".join(shown.split())


def test_importing_the_package_loads_nothing_but_itself():
    code = "import isinglass, sys; print(sorted(m for m in sys.modules if 'numpy' in m))"
    result = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]"


def test_usage_errors_exit_2():
    wrong = (["frobnicate"], ["release"], ["release", "a.csv"], ["demo", "--nope"])
    for arguments, run in zip(wrong, (typed, inside, inside, inside), strict=True):
        result = run(*arguments)
        assert result.returncode == 2
        assert result.stderr.startswith("isinglass: ")
        assert result.stderr.count("\n") == 1
        assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_the_demo_tells_the_story(tmp_path):
    result = typed("demo", "--out", tmp_path / "d", "--json")
    assert result.returncode == 0, result.stderr
    story = json.loads(result.stdout)
    shared, own = story["shared_key"], story["multiparty"]
    assert story["rows"] == 18_000
    assert shared["found"] >= 80
    # A holder of the shared key reads everything; a guess made blind reads about half.
    assert shared["recovered"] > 0.99
    assert shared["blind"] < 0.7
    # Without any key, a sample and the public matrix are enough for most of it.
    assert own["recovered"] > 0.8
    assert own["blind"] < 0.7
    assert 20 <= own["found"] <= 100
    for chapter in (shared, own):
        assert chapter["verdict"] == "recovered"
        assert chapter["strongest"]["low"] > chapter["strongest"]["baseline"]
        assert chapter["detection"]["low"] <= chapter["detection"]["rate"]
    counted = story["guaranteed"]
    # What it tells of a value is what it tells of values that were never counted: 8,700 each.
    assert abs(counted["read"] - counted["read_uncounted"]) < 0.08
    assert counted["certainty"] == pytest.approx(math.e / (1 + math.e), abs=1e-6)
    assert 1 <= counted["found"] <= 40
    # What the model misses, a forest without noise misses, too: that is not the noise's doing.
    assert 1 <= counted["forest_found"] <= counted["found"] + 15
    page = (tmp_path / "d" / "report.html").read_text()
    assert f"{counted['found']}/{story['top']}" in page
    assert f"{counted['forest_found']}/{story['top']}" in page
    assert f"{shared['found']}/{story['top']}" in page
    for foreign in ("http://", "https://", "<script", "src="):
        assert foreign not in page
    assert re.findall(r"(?i)\b(?:safe|secure|anonymous|private)\b", page) == []
    left = sorted(os.listdir(tmp_path / "d" / "miner"))
    assert [n for n in left if n.endswith(".key")] == []
    assert len(left) == 9
    links = re.findall(r'href="([^"]+)"', page)
    written = [chapter[name] for chapter in (shared, own) for name in ("report", "public_report")]
    assert [str(tmp_path / "d" / link) for link in links] == written
    for path in map(Path, written):
        public = path.parent.name == "miner"
        assert path.name.endswith(".public.html") is public
        said = "public edition" if public else "names single records; do not pass on"
        assert f"{said}</p>" in path.read_text()
    assert "Attacking aurora's tanh release" in result.stderr


def test_the_demo_replaces_what_is_its_own_and_nothing_else(tmp_path):
    from isinglass.demo.story import _fresh

    _fresh(tmp_path / "d")
    (tmp_path / "d" / "notes.txt").write_text("mine")
    (tmp_path / "d" / "miner" / "old.parquet").write_text("")
    _fresh(tmp_path / "d")
    assert (tmp_path / "d" / "notes.txt").read_text() == "mine"
    assert os.listdir(tmp_path / "d" / "miner") == []
    (tmp_path / "file").write_text("")
    assert "is a file" in inside("demo", "--out", tmp_path / "file").stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    result = inside("demo", "--out", tmp_path / "mine")
    assert result.returncode == 2
    assert "name another folder" in result.stderr
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"


@pytest.mark.slow
def test_the_doctor_says_what_is_here(monkeypatch):
    result = typed("doctor", "--json")
    assert result.returncode == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["isinglass"] == isinglass.__version__
    assert facts["packages"]["numpy"]
    assert set(facts["release_seconds_per_million_rows"]) == {
        "writing", "reading", "surveying", "perturbing",
    }  # fmt: skip
    # The same as text, without measuring again.
    times = facts["release_seconds_per_million_rows"]
    monkeypatch.setattr("isinglass.cli.doctor._times", lambda: times)
    assert f"perturbing       {times['perturbing']}" in inside("doctor").stdout
