"""How modules hang together: no cycle of imports, none too small or too large, no name twice."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
MOST_LINES, FEWEST_LINES = 400, 40

#: Larger than `MOST_LINES`, and why.
LARGE = {
    "isinglass.attack.knowledge": "the facts an attacker may hold, each with an example that runs",
}
#: Fewer than `FEWEST_LINES` lines of code and one importer, and why they stand alone.
SMALL = {
    "isinglass.attack.order.periods": "its importer, scenarios, is as long as a file may be",
    "isinglass.attacks": "public: the names in its stub file",
    "isinglass.cli.keygen": "a command, and so a module",
    "isinglass.mechanisms": "public: the names in its stub file",
    "isinglass.metrics": "public: the names in its stub file",
    "isinglass.measure.assignment": "a lemma's greedy order, which benchmarks measure alone",
    "isinglass.theory.bounds": "public: the bounds of one paper, each a formula",
    "isinglass.publish.pending": "what a stopped command leaves behind, apart from what it paid",
    "isinglass_papers.core.run": "the papers' only door, and so what their command imports",
}

# The one place for what an operating system does with files.
FILE_CALLS = {"open", "replace", "rename", "link", "fsync", "chmod"}


def modules() -> dict[str, Path]:
    """Every module of both packages by its name."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """All of a tree, but for what only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield other
                yield from executed(other)
        else:
            yield child
            yield from executed(child)


def imported(name: str, nodes: Iterator[ast.AST]) -> set[str]:
    """Modules of ours that a module imports, at its top or in a function."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else str(node.module))
    return (found & set(MODULES)) - {name}


IMPORTS = {name: imported(name, executed(tree)) for name, tree in TREES.items()}


def cycle(imports: dict[str, set[str]]) -> list[str]:
    """The modules of one cycle; none if there is none."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(imports.get(name, ())):
            if found := walk(other, [*path, name]):
                return found
        done.add(name)
        return []

    for name in sorted(imports):
        if found := walk(name, []):
            return found
    return []


def code_lines(path: Path) -> int:
    """Lines of a file without blank ones, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    beside = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in beside | {tokenize.ENDMARKER}:
            lines |= set(range(token.start[0], token.end[0] + 1))
    documented = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            first = node.body[0]
            lines -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def test_a_hidden_cycle_is_seen():
    text = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from isinglass.curate import curator
def late():
    from isinglass import files
"""
    assert imported("isinglass.errors", executed(ast.parse(text))) == {"isinglass.files"}
    assert cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_no_imports_go_round_in_a_cycle_lazy_ones_included():
    assert cycle(IMPORTS) == []


def test_no_file_is_too_long():
    lengths = {n: len(p.read_text(encoding="utf-8").splitlines()) for n, p in MODULES.items()}
    assert {name for name, length in lengths.items() if length > MOST_LINES} == set(LARGE)


def test_no_module_is_too_small_to_stand_alone():
    importers = defaultdict(set)
    # What a type checker reads counts: a package's `__init__` names its public modules there.
    for name, tree in TREES.items():
        nodes = ast.walk(tree) if MODULES[name].name == "__init__.py" else executed(tree)
        for other in imported(name, nodes):
            importers[other].add(name)
    small = {
        name
        for name, path in MODULES.items()
        if path.name != "__init__.py"
        and len(importers[name]) < 2
        # A kernel a file: numba's only door, and what compiling takes goes by the file.
        and not name.startswith("isinglass.kernels.")
        and importers[name] != {"isinglass.attack.registry"}  # an attack is a file
        and code_lines(path) < FEWEST_LINES
    }
    assert small == set(SMALL)


def test_no_two_classes_have_one_name():
    homes = defaultdict(list)
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(name)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_only_files_asks_the_operating_system_for_files_and_locks():
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if name == "isinglass.files":
                continue
            if isinstance(node, ast.Import):
                assert "fcntl" not in {alias.name for alias in node.names}, name
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert not (node.value.id == "os" and node.attr in FILE_CALLS), name
