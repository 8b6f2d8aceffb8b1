"""Every command with its defaults, as typed: in a terminal, where bars are shown, and piped."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import termios
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import typer

from isinglass import cli
from isinglass.auditing.tuning import tune as searching
from isinglass.auditing.tuning.evaluation import Measurement
from isinglass.cli import doctor, show
from isinglass.cli import reproduce as reproducing
from isinglass.demo import story
from isinglass_papers.core import draw
from isinglass_papers.core.result import Claim, Figure, Missing, Number, Reproduction

#: What is typed, one line after the other; {w} is another word on each way. The last column is
#: the exit code where it is not 0.
LINES = [
    ("inspect", "inspect t.csv", 0),
    ("release", "release t.csv -o {w}.parquet --again", 0),
    ("release", "release t.csv -o {w}2.parquet --again --policy strict --report {w}.html", 1),
    ("detect", "detect t.csv", 0),
    ("detect", "detect {w}.parquet", 0),
    ("audit", "audit t.csv {w}.parquet", 0),
    ("audit", "audit t.csv {w}.parquet --key {w}.key", 0),
    ("audit", "audit t.csv {w}.parquet --key {w}.key --policy strict -o {w}3.html", 1),
    ("tune", "tune t.csv", 0),
    ("model", "model t.csv --epsilon 1 --bounds bounds.json --no-ledger -o {w}.zip"
     " --also-released", 0),
    ("score", "score q.csv --model {w}.zip --unsigned", 0),
    ("keygen", "keygen -o {w}.signing", 0),
    ("verify-privacy", "verify-privacy --n-columns 1 --draws 100", 0),
    ("plan", "plan t.csv --outlier-fraction 0.1", 0),
    ("ask", "ask t.csv q.csv --beta 3 --r 1 --epsilon 0.1 --ledger {w}.db --budget 1"
     " --also-released", 0),
    ("ledger show", "ledger show {w}.db", 0),
    ("ledger verify", "ledger verify {w}.db", 0),
    ("ledger backup", "ledger backup {w}.db -o {w}.copy.db", 0),
    ("ledger amend", "ledger amend {w}.db --budget 2 --reason more", 0),
    ("ledger admit", "ledger admit {w}.db ann --user-budget 0.1 --reason asked", 0),
    ("register list", "register list", 0),
    ("register never-left", "register never-left {entry} --reason botched", 0),
    ("reproduce", "reproduce", 0),
    ("doctor", "doctor", 0),
    ("demo", "demo", 0),
]  # fmt: skip
#: Commands that print a document of their own with `--json`.
WITH_JSON = (
    "inspect", "release", "detect", "audit", "tune", "model", "score", "plan", "ask",
    "ledger show", "ledger verify", "register list", "doctor", "reproduce", "verify-privacy",
)  # fmt: skip


def commands(found=None, before=""):
    """Every command that can be typed, as the program itself knows them."""
    found = found or typer.main.get_command(cli.app)
    for name, command in found.commands.items():
        if getattr(command, "commands", None):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def examples():
    """The lines that the commands' own help shows."""
    for name, command in commands():
        for shown in re.findall(
            r"Examples?:\s+(isinglass .*?)(?:\n\n|$)", command.help or "", re.DOTALL
        ):
            yield name, " ".join(shown.split())


def test_every_command_is_typed_here():
    assert {name for name, *_ in LINES} == {name for name, _ in commands()}
    shown = {name for name, _ in examples()}
    assert shown == {
        "inspect", "release", "detect", "audit", "tune", "model", "score", "keygen", "plan", "ask",
        "reproduce", "verify-privacy",
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small tables, an owner's home, and long work replaced by short work."""
    where = tmp_path_factory.mktemp("typed")
    patch = pytest.MonkeyPatch()
    patch.chdir(where)
    patch.setenv("ISINGLASS_HOME", str(where / "home"))
    patch.setenv("TERM", "xterm-256color")
    patch.setattr(warnings, "showwarning", warnings.showwarning)
    patch.setattr(signal, "signal", lambda number, handler: signal.SIG_DFL)
    patch.setattr(show, "BAR_AFTER_S", 0.0)  # a bar in every command that has one
    patch.setattr(searching, "measure", lambda *a, **k: Measurement(0.9, 6, 0.2, 0.1, 0.3, "ica"))
    patch.setattr(reproducing, "run", reproduced)
    patch.setattr(doctor, "ROWS", 2000)
    for name, value in (("ROWS", 60), ("PLANTED", 3), ("TOP", 6)):
        patch.setattr(story, name, value)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    for name in ("t", "flights", "last-year", "patients"):
        write(f"{name}.csv", rows, ["tail_number", "a", "b", "c"] if name == "flights" else None)
    for name in ("q", "new"):
        write(f"{name}.csv", rows[:2] + 0.1)
    made = piped(shlex.split("release flights.csv -o flights.parquet --drop tail_number"))
    assert made[0] == 0, made
    Path("bounds.json").write_text('{"a": [-9, 9], "b": [-9, 9], "c": [-9, 9]}')
    yield where
    patch.undo()


@pytest.fixture(autouse=True)
def _same_home(folder, _own_register, monkeypatch):
    """One owner types all of these, and so has one home."""
    monkeypatch.setenv("ISINGLASS_HOME", str(folder / "home"))


def write(path, rows, names=None):
    names = names or ["a", "b", "c"]
    text = [",".join(map(str, row)) for row in rows.tolist()]
    if len(names) > rows.shape[1]:
        text = [f"N{i},{line}" for i, line in enumerate(text)]
    Path(path).write_text("\n".join([",".join(names), *text]) + "\n")


def reproduced(paper, **how):
    """A reproduction of every kind of finding, at once."""
    how["progress"]("attacking", 1, 2)
    picture = draw.picture("line", "x", "y")
    return Reproduction(
        paper, "A title", "A reference", False, 0,
        (Number("table 1", "what", 1.0, np.float64(0.9), note="another seed"),),
        (Claim("page 2", "it holds", "holds", "it does"),),
        (Figure("one", "One", "A caption.", ({"x": 1, "y": 2.0},), picture),),
        (Missing("a set", "nobody has it"),), ("A note.",), 1.0,
    )  # fmt: skip


def piped(words):
    """Run a command in this process, as into a pipe or a file."""
    out, err = io.StringIO(), io.StringIO()
    code = outcome(words, out, err)
    return code, out.getvalue(), err.getvalue()


def in_terminal(words):
    """Run a command in this process with a terminal in front of it; all it shows comes back."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, 120))
    shown = []

    def read():
        with contextlib.suppress(OSError):
            while piece := os.read(master, 1 << 16):
                shown.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with os.fdopen(slave, "w", encoding="utf-8", buffering=1) as terminal:
            code = outcome(words, terminal, terminal)
    finally:
        reader.join(30)
        os.close(master)
    text = b"".join(shown).decode()
    return code, text, text


def outcome(words, out, err):
    before, sys.argv = sys.argv, ["isinglass", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as end:
        return end.code or 0
    finally:
        sys.argv = before


def refuse_surprise(line, done, wanted):
    code, out, err = done
    assert code == wanted, f"$ isinglass {line}\n{out}\n{err}"
    for said in (out, err):
        for word in ("Traceback", "unforeseen", "np.float64(", "np.int64(", "array("):
            assert word not in said, f"$ isinglass {line}\n{said}"
    assert (out if code == 0 else err).strip()


@pytest.mark.parametrize("way", [in_terminal, piped])
def test_every_command_with_its_defaults(folder, way):
    for _, line, wanted in LINES:
        if way is piped and line in ("demo", "doctor"):
            continue  # these are run piped, and in full, by a test of their own
        line = line.format(w=way.__name__, entry=1 + (way is piped))
        done = way(shlex.split(line))
        refuse_surprise(line, done, wanted)
        lines = done[1].splitlines()
        if way is piped:
            assert all(text.isprintable() for text in (*lines, *done[2].splitlines()))


def test_a_bar_is_shown_in_a_terminal_and_leaves_nothing_in_a_pipe(folder):
    words = shlex.split("audit flights.csv flights.parquet --drop tail_number --max-pairs 3")
    shown = in_terminal(words)[1]
    assert "attacks" in shown
    assert "\x1b[" in shown
    assert "\x1b" not in "".join(piped(words)[1:])


@pytest.mark.parametrize(("name", "line"), list(examples()))
def test_the_examples_in_the_help_run(folder, name, line):
    words = shlex.split(line)[1:]
    if name in ("ask", "model", "release"):  # not the first time here
        words.append("--again" if name == "release" else "--also-released")
    refuse_surprise(" ".join(words), piped(words), 0)
    if name in ("detect", "score", "verify-privacy"):  # quick, and no file is in the way
        refuse_surprise(" ".join(words), in_terminal(words), 0)


def test_documents_are_json_alone(folder):
    if not Path("in_terminal.db").exists():  # where these tests run on several processes
        for _, line, _ in LINES:
            piped(shlex.split(line.format(w="in_terminal", entry=1)))
    for name, line, wanted in LINES:
        if name in WITH_JSON and wanted == 0 and "2" not in line:
            words = [*shlex.split(line.format(w="in_terminal")), "--json"]
            words += ["--force"] if name in ("release", "model") else []  # its file is there
            words += ["--set", "n_components=2"] if name == "release" else []
            code, out, err = piped(words)
            assert code == 0, f"$ isinglass {line} --json\n{err}"
            assert isinstance(json.loads(out), dict), line


def test_the_program_itself_as_typed_in_a_terminal(folder):
    """One real process under a terminal; the others run in this one, which is faster."""
    master, slave = pty.openpty()
    program = [sys.executable, "-c", "from isinglass.cli import main; main()"]
    with subprocess.Popen(
        [*program, "detect", "t.csv"], stdin=slave, stdout=slave, stderr=slave
    ) as process:
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # how the end of a terminal looks
            while piece := os.read(master, 1 << 16):
                shown += piece
    os.close(master)
    assert process.returncode == 0, shown
    assert b"cutoff" in shown
    assert b"Traceback" not in shown


def test_a_reader_that_leaves_early_is_no_error(folder):
    program = f"{shlex.quote(sys.executable)} -c 'from isinglass.cli import main; main()'"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program} detect t.csv | head -1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("rows")
    assert "Traceback" not in done.stderr
    assert "unforeseen" not in done.stderr
