"""Options: one meaning each, old names, patterns, and what wrong use is told."""

import ast
import re
import signal
from collections import defaultdict
from pathlib import Path

import pytest
import typer
from tests.cli.commands import inside

import isinglass
from isinglass import cli
from isinglass.cli.show import StoppedError
from isinglass.cli.usage_errors import RENAMED
from isinglass.demo import page, story
from isinglass.errors import TableError
from isinglass.messages import spell, spell_call, spelled
from isinglass.release import read_facts
from isinglass.table.columns import choose_columns
from isinglass.table.read import open_table

TABLE = "id_card,id_tax,a,b,c\n" + "".join(
    f"N{i},T{i},{i % 7},{(i * i) % 11},{i / 3}\n" for i in range(40)
)
OLD_NAMES = [(c, old, new) for c, renamed in RENAMED.items() for old, new in renamed.items()]
#: What is said of these depends on the command: what it writes, or whose key it is.
SAID_PER_COMMAND = {"--out", "--key", "--space", "--head", "--reason", "--metric", "--n-outliers"}
SAID_PER_COMMAND |= {"--again", "--missing", "--beta", "--r", "--epsilon", "--jobs", "--scale"}
SAID_PER_COMMAND |= {
    "--ledger",
    "--model",
    "--records-per-person",
    "--n-columns",
    "--id",
    "--page",
    "--quick",
}
#: `plan --model` plans models; elsewhere it names the file of one.
OF_TWO_KINDS = {"--model"}


def commands(found=None, before=""):
    found = found or typer.main.get_command(cli.app)
    for name, command in found.commands.items():
        if getattr(command, "commands", None):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def options(command):
    return {name: p for p in command.params for name in p.opts if name.startswith("--")}


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLE)


@pytest.mark.parametrize(("command", "old", "new"), OLD_NAMES)
def test_an_old_name_is_answered_with_the_new_one(command, old, new):
    known = options(dict(commands())[command])
    assert old not in known
    assert new in known
    for given in ([old, "3"], [f"{old}=3"], ["x", old]):
        done = inside(*command.split(), *given)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"isinglass: {old} is now {new}\n"


def test_a_shared_option_is_of_one_kind_and_says_one_thing():
    kinds, said = defaultdict(set), defaultdict(set)
    for _, command in commands():
        for name, parameter in options(command).items():
            kinds[name].add((parameter.is_flag, parameter.metavar, parameter.multiple))
            said[name].add(parameter.help)
    assert {name for name, found in kinds.items() if len(found) > 1} == OF_TWO_KINDS
    assert {name for name, found in said.items() if len(found) > 1} - SAID_PER_COMMAND == set()


def test_every_command_that_writes_takes_o():
    writing = {name for name, c in commands() if "--out" in options(c)}
    assert writing == {
        "inspect", "release", "detect", "audit", "tune", "model", "score", "keygen", "plan", "ask",
        "reproduce", "demo", "ledger backup",
    }  # fmt: skip
    assert all("-o" in options(c)["--out"].opts for name, c in commands() if name in writing)


def test_choices_are_in_the_help_and_no_other_is_taken():
    for command, choices in (
        ("release", "error|drop|median"), ("release", "linear|tanh|sigmoid"),
        ("detect", "mean|kth|sum"), ("tune", "outsider|acquainted|insider"),
        ("plan", "percentiles|range|deviation"), ("ask", "sparse|sensitive|dp"),
        ("ask", "euclidean|manhattan|chebyshev"),
    ):  # fmt: skip
        assert choices in inside(command, "--help").stdout
    done = inside("detect", "t.csv", "--score", "max")
    assert done.returncode == 2
    assert done.stderr == (
        "isinglass: invalid value for '--score': 'max' is not one of 'mean', 'kth', 'sum'; "
        "see `isinglass detect --help`\n"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("audit a b --max-pair 3", "audit has no option --max-pair; did you mean --max-pairs?"),
        ("detect a --exlude b", "detect has no option --exlude; did you mean --drop?"),
        ("detect a --k 3", "detect has no option --k; did you mean -k?"),
        ("ask a b -k 3", "ask has no option -k; did you mean --k?"),
        ("audit a b --zzz", "audit has no option --zzz; see `isinglass audit --help`"),
        ("relase", "no such command 'relase'. Did you mean 'release'?"),
        (
            "ledger backup a b",
            "missing option '-o' / '--out'; see `isinglass ledger backup --help`",
        ),
    ],
)
def test_wrong_use_is_one_sentence_with_the_nearest_option(line, said):
    done = inside(*line.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"isinglass: {said}\n"


def test_a_group_without_a_command_shows_its_help():
    for line in ([], ["ledger"]):
        done = inside(*line)
        assert done.returncode == 2
        assert "Commands:\n" in done.stderr


def test_columns_are_dropped_by_pattern_everywhere(table):
    drop = ("--drop", "id_*")
    for command in (
        ["release", "t.csv", "-o", "r.parquet", "--bounds", "b.json", *drop],
        ["detect", "t.csv", *drop],
        ["audit", "t.csv", "r.parquet", "--trials", "1", *drop],
        ["plan", "t.csv", "--outlier-fraction", "0.1", "--epsilon", "0.1", *drop],
        ["ask", "t.csv", "r.csv", "--beta", "3", "--r", "1", "--epsilon", "0.1", "--budget", "1",
         "--ledger", "l.db", "--also-released", "--dry-run", *drop],
    ):  # fmt: skip
        Path("b.json").write_text('{"a": [0, 9], "b": [0, 11], "c": [0, 14]}')
        Path("r.csv").write_text("".join(TABLE.splitlines(keepends=True)[:2]))
        done = inside(*command)
        assert done.returncode == 0, done
        if "--outlier-fraction" in command:
            assert "--drop 'id_*'" in done.stdout  # the line it recommends
    for command in ("detect t.csv", "release t.csv -o n.parquet", "tune t.csv"):
        done = inside(*command.split(), "--drop", "no_*")
        assert done.returncode == 2
        assert "has no column named no_*" in done.stderr


def test_a_column_of_a_pattern_s_very_name_is_that_column(table):
    Path("s.csv").write_text(TABLE.replace("id_card", "id_*"))
    done = inside("detect", "s.csv", "--drop", "id_*")
    assert "not numbers: id_tax" in done.stderr


def test_one_is_not_plural(table):
    Path("one.csv").write_text("a\n1\n2\n4\n")
    done = inside("release", "one.csv", "-o", "one.parquet", "--method", "gaussian")
    assert "(3 rows, 1 column)" in done.stdout


def test_a_release_is_not_given_the_ending_of_another_kind_of_file(table):
    done = inside("release", "t.csv", "-o", "r.csv", "--drop", "id_*")
    assert done.returncode == 2
    assert done.stderr == (
        "isinglass: a release is a Parquet file, in which its method, promise and warnings travel "
        "along, so nothing was written as .csv; name OUT r.parquet, and export a copy of it for "
        "somebody who cannot read Parquet\n"
    )
    assert not Path("r.csv").exists()


def test_a_demo_that_is_stopped_says_what_may_be_there(tmp_path, monkeypatch):
    def stop(*_, **__):
        raise StoppedError(signal.SIGINT)

    monkeypatch.setattr(story, "run", stop)
    done = inside("demo", "-o", "d", cwd=tmp_path)
    assert done.returncode == 130
    assert "d may hold part of the story" in done.stderr
    # Nor when all is written but the page.
    monkeypatch.setattr(story, "run", lambda out, _: out.mkdir())
    monkeypatch.setattr(page, "render", stop)
    done = inside("demo", "-o", "d", cwd=tmp_path)
    assert done.returncode == 130
    assert "d may hold part of the story" in done.stderr


def test_a_release_of_one_record_is_called_so(table):
    Path("one.csv").write_text("a,b\n1,2\n")
    done = inside("release", "one.csv", "-o", "one.parquet", "--method", "gaussian")
    assert "warning: this is a release of one record: " in done.stderr
    assert "this is a release of one record" in " ".join(read_facts("one.parquet").warnings)
    assert "(1 row, 2 columns)" in done.stdout


def test_messages_name_parameters_and_the_command_line_its_options(table):
    opened = open_table("t.csv")
    with pytest.raises(
        TableError, match=r"leave them out with `drop`, .* or disclose them: `keep`"
    ):
        choose_columns(opened)
    said = inside("release", "t.csv", "-o", "r.parquet").stderr
    assert "; leave them out with --drop id_card,id_tax, encode" in said
    assert "with --one-hot, or disclose them: --keep writes their values" in said
    assert (spell("missing", "drop"), spell("force", True)) == ("missing='drop'", "force=True")
    with spelled(cli.OptionSpelling()):
        assert spell("missing", "drop") == "--missing drop"
        assert spell("force", True) == "--force"
        assert spell("id_column") == "--id"
        assert spell("alpha", 0.1) == "--set alpha=0.1"
        call = spell_call("Ledger.amend", cap=2_000_000, reason=...)
        assert call == "`isinglass ledger amend LEDGER --budget 2 --reason TEXT`"
        assert spell_call("Ledger.admit") == "`isinglass ledger admit`"
        assert spell_call("Ledger.verify") == "`isinglass ledger verify`"
    assert spell_call("Ledger.amend", cap=1, reason=...) == "`Ledger.amend(cap=1, reason=…)`"
    assert spell_call("Ledger.verify") == "`Ledger.verify()`"


def test_no_sentence_below_the_command_line_names_an_option():
    root = Path(isinglass.__file__).parent
    # Commands are printed as they are typed, and pages have variables of CSS.
    printed = {
        "auditing/report/rerun.py", "auditing/tuning/next_steps.py",
        "auditing/tuning/search_space.py", "demo/story.py",
    }  # fmt: skip
    printed |= {"table/roles/columns_text.py"}
    styled = {"demo/page.py", "plots/markup.py", "plots/style.py"}
    found = []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith("cli/") or name in printed | styled:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found += [(name, o) for o in re.findall(r"(?<![\w-])--[a-z][\w-]*", node.value)]
    assert found == []
