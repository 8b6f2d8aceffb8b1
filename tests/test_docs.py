"""The docs are tested: what they name exists, what exists is named, what they show runs."""

from __future__ import annotations

import inspect
import json
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import isinglass
from isinglass import datasets, theory
from isinglass.attack.registry import ATTACKS
from isinglass.auditing.tuning import tune
from isinglass.auditing.tuning.evaluation import Measurement
from isinglass.method_names import METHODS
from isinglass.perturb.registry import class_named
from tests.cli.commands import inside
from tests.page_lines import blocks_of, commands, lines_of, subcommands, unknown_in

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROSE = [*PAGES, *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "SECURITY", "CHANGELOG"))]
SENSORS = 6
#: what builds the site
SITE = runpy.run_path(str(ROOT / "docs/hooks.py"))


def text_of(pages: list[Path]) -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def mentions(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


# What exists is named.

HOW_TO = (
    "inspect", "release", "detect", "audit", "tune", "model", "verify-privacy", "plan", "ask",
    "ledger",
)  # fmt: skip
PAGE_OF = {command: ROOT / "docs/how-to" / f"{command}.md" for command in HOW_TO}
PAGE_OF |= dict.fromkeys(("score", "keygen"), PAGE_OF["model"])
PAGE_OF["register"] = PAGE_OF["release"]
PAGE_OF["reproduce"] = ROOT / "docs/reproduce/index.md"


@pytest.mark.parametrize("command", commands())
def test_every_command_and_option_is_documented(command):
    page = PAGE_OF.get(command, ROOT / "docs/reference/commands.md")
    text = text_of([page])
    assert f"isinglass {command}".strip() in text
    found = commands()[command]
    inner = subcommands(found) if command else {}
    for name in inner:
        assert f"isinglass {command} {name}" in text
    for parameter in [*found.params, *(p for c in inner.values() for p in c.params)]:
        named = [o for o in parameter.opts if o.startswith("--")] or [parameter.name.upper()]
        for option in named:
            assert mentions(text, option), f"{page.name} does not mention {option}"


# The changelog also names what there was.
@pytest.mark.parametrize("page", [p for p in PROSE if p.name != "CHANGELOG.md"], ids=name_of)
def test_every_command_and_option_on_a_page_exists(page):
    lines = lines_of(page.read_text(encoding="utf-8"))
    assert {line: unknown for line in lines if (unknown := unknown_in(line))} == {}


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("isinglass releas TABLE", ["releas"]),
        ("isinglass ledger raise ledger.db", ["ledger raise"]),
        ("ledger raise", ["ledger raise"]),
        ("isinglass detect FILE --policy strict", ["--policy"]),
        ("--no-such-option", ["--no-such-option"]),
        ("python -m benchmarks.audit --tries 1", ["--tries"]),
        ("python -m benchmarks.nothing", ["benchmarks.nothing"]),
        ("python -m benchmarks.audit --times 1", []),
        ("isinglass ledger show ledger.db", []),
        ("isinglass --version", []),
        ("isinglass COMMAND --help", []),
        ("mypy --strict", []),
    ],
)
def test_a_page_that_names_what_does_not_exist_is_found(line, wrong):
    assert unknown_in(line) == wrong


def test_the_citation_is_of_this_version():
    cited = re.search(r"^version: (.*)$", text_of([ROOT / "CITATION.cff"]), re.MULTILINE)
    assert cited is not None
    assert cited[1] == isinglass.__version__


def test_the_readme_is_short():
    assert len(text_of([ROOT / "README.md"]).splitlines()) <= 120


def test_every_method_name_is_documented():
    for page in ("docs/how-to/release.md", "docs/reference/perturbations.md"):
        text = text_of([ROOT / page])
        assert [m for m in METHODS if f"`{m}`" not in text] == []


def test_every_public_name_is_documented():
    text = text_of(PAGES)
    assert [n for n in isinglass.__all__ if not mentions(text, n)] == []


@pytest.mark.parametrize("module", ["attacks", "errors", "mechanisms", "metrics"])
def test_every_name_of_a_public_module_is_documented_with_its_module(module):
    text = text_of(PAGES)
    names = [n for n in dir(getattr(isinglass, module)) if not n.startswith("_")]
    assert [n for n in names if not mentions(text, n)] == []


def test_every_public_name_is_on_one_page_of_the_reference():
    pages = (ROOT / "docs/reference/api").glob("*.md")
    named = [name for page in pages for name in SITE["names_of"](text_of([page]))]
    assert sorted(named) == sorted(SITE["public_names"]())
    flat = {n for n in isinglass.__all__ if not inspect.ismodule(getattr(isinglass, n))}
    assert flat - set(named) == {"__version__"}


def test_the_reference_has_an_entry_for_every_name_of_its_page():
    page = text_of([ROOT / "docs/reference/api/detectors.md"])
    entries = SITE["on_page_markdown"](page)
    assert "::: isinglass.detect.distance.DistanceOutliers\n" in entries
    assert entries.count(":::") == len(SITE["names_of"](page)) > 0


@pytest.mark.parametrize("module", [datasets, theory])
def test_every_name_of_a_public_module_is_on_its_page(module):
    text = text_of([ROOT / "docs/reference" / f"{module.__name__.rpartition('.')[2]}.md"])
    assert [n for n in module.__all__ if not mentions(text, n)] == []


@pytest.mark.parametrize("kind", {class_named(m): m for m in METHODS}, ids=lambda k: k.__name__)
def test_every_parameter_of_a_perturbation_is_on_its_page(kind):
    whole = text_of([ROOT / "docs/reference/perturbations.md"])
    section = re.search(rf"^## {kind.__name__}$(.*?)(^## |\Z)", whole, re.MULTILINE | re.DOTALL)
    assert section, f"perturbations.md has no section {kind.__name__}"
    for heading in ("Formula", "Guarantee", "Utility", "Weakness", "Parameters"):
        assert f"**{heading}.**" in section[1]
    common = {"bounds", "clip", "random_state"}
    parameters = set(kind().get_params()) - common
    assert [p for p in sorted(parameters) if f"`{p}`" not in section[1]] == []


def test_every_attack_is_in_the_table_of_attacks():
    text = text_of([ROOT / "docs/explanation/attacks.md"])
    table = text[text.index("## All of them") :]
    assert [kind.__name__ for kind in ATTACKS.values() if kind.__name__ not in table] == []


def test_metadata_and_json_fields_are_documented():
    from isinglass.release import Facts

    text = text_of([ROOT / "docs/how-to/release.md"])
    assert [f for f in Facts.__slots__ if f"`{f}`" not in text] == []


# What is named exists.


@pytest.mark.parametrize("page", PROSE, ids=name_of)
def test_relative_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+://", target):
            continue
        path, _, place = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name_of(page)} links to {target}"
        if place:
            titles = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert place in [re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles]


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = [str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_calls_a_release_what_it_is_not(page):
    text = page.read_text(encoding="utf-8")
    assert (
        re.findall(r"(?i)\b(?:safe|safely|secure|securely|anonymous|anonymi[sz]ed)\b", text) == []
    )


def test_decisions_are_short():
    for page in (ROOT / "docs/decisions").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 25, page.name
        assert all(f"**{part}.**" in text for part in ("Context", "Decision", "Consequences"))


# What is shown runs.


def flights_text(made: datasets.Dataset) -> str:
    """Generated flights as the CSV file that the pages use."""
    rows = [["tail_number", "fleet", *made.column_names]]
    rows += [
        [f"N{i % 7}", "AB"[i % 2], *(f"{value:.6g}" for value in row)]
        for i, row in enumerate(made.X.tolist())
    ]
    return "".join(",".join(row) + "\n" for row in rows)


def test_the_flights_of_the_pages_are_generated():
    made = datasets.flights(2000, n_features=SENSORS, random_state=1)
    lines = (ROOT / "docs/flights.csv").read_text(encoding="utf-8").splitlines()
    expected = flights_text(made).splitlines()
    assert lines[0] == expected[0]
    # Another processor may round the last digit otherwise.
    for line, wanted in zip(lines[1:], expected[1:], strict=True):
        text, numbers = line.split(",")[:2], line.split(",")[2:]
        assert text == wanted.split(",")[:2]
        assert [float(x) for x in numbers] == pytest.approx(
            [float(x) for x in wanted.split(",")[2:]], rel=1e-4, abs=1e-4
        )


def test_the_new_flights_of_the_pages_are_generated_but_for_the_strange_one():
    made = datasets.flights(500, n_features=SENSORS, random_state=3)
    shown = (ROOT / "docs/new-flights.csv").read_text(encoding="utf-8").splitlines()
    numbers = [[float(x) for x in line.split(",")[2:]] for line in shown[1:]]
    del numbers[17]
    wanted = [row for i, row in enumerate(made.X[::12].tolist()) if i != 17]
    for row, same in zip(numbers, wanted, strict=True):
        assert row == pytest.approx(same, rel=1e-4, abs=1e-4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the pages take for granted: two tables, public bounds, a passphrase."""
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    for copy in ("flights.csv", "docs/flights.csv"):
        Path(copy).write_bytes((ROOT / "docs/flights.csv").read_bytes())
    for copy in ("docs/bounds.csv", "docs/new-flights.csv"):
        Path(copy).write_bytes((ROOT / copy).read_bytes())
    made = datasets.flights(500, n_features=SENSORS, random_state=2)
    Path("december.csv").write_text(flights_text(made), encoding="utf-8")
    bounds = dict.fromkeys(made.column_names, (-100_000, 100_000))
    Path("bounds.json").write_text(json.dumps(bounds))
    Path("bounds.csv").write_text("".join(f"{n},{lo},{hi}\n" for n, (lo, hi) in bounds.items()))
    Path("passphrase.txt").write_text("four words are better\n")
    return tmp_path


def script(*words: str) -> subprocess.CompletedProcess[str]:
    """The installed command, as typed."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("isinglass")), *words],
        capture_output=True,
        text=True,
        check=False,
    )


def run_console(block: str, run: Callable[..., subprocess.CompletedProcess[str]]) -> int:
    """Run a block's isinglass lines; the lines under each must be in what it prints."""
    ran = 0
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, *shown = part.splitlines()
        words = shlex.split(line)
        if words[0] != "isinglass" or words[1] == "demo":
            continue
        done = run(*words[1:])
        assert done.returncode == 0, f"$ {line}\n{done.stderr}"
        printed = (done.stdout + done.stderr).splitlines()
        assert [s for s in shown if s not in printed] == [], f"$ {line}\n" + "\n".join(printed)
        ran += 1
    return ran


SHOWING = [
    p for p in PAGES if any(kind in ("python", "console") for kind, _ in blocks_of(text_of([p])))
]
TUNE = ROOT / "docs/how-to/tune.md"


def quick(*words: str) -> subprocess.CompletedProcess[str]:
    """A search for a setting that audits nothing: its dozens of audits have tests of their own."""
    found = Measurement(0.9, 500, 0.1, 0.09, 0.11, "known_input")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tune, "measure", lambda *args, **more: found)
        return inside(*words)


@pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")
@pytest.mark.parametrize(
    ("page", "run"),
    [(p, {"README.md": script, "tune.md": quick}.get(p.name, inside)) for p in SHOWING]
    + [pytest.param(TUNE, inside, marks=pytest.mark.matrix)],
    ids=lambda given: name_of(given) if isinstance(given, Path) else given.__name__,
)
def test_what_a_page_shows_runs(page, run, folder):
    names: dict[str, Any] = {"__name__": "__docs__"}
    ran = 0
    for number, (kind, block) in enumerate(blocks_of(text_of([page])), start=1):
        if kind == "console":
            ran += run_console(block, run)
        elif kind == "python":
            code = compile(block, f"{name_of(page)}, block {number}", "exec")
            exec(code, names)  # noqa: S102
            ran += 1
    assert ran
