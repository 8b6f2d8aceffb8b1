"""Every paper is a folder of one shape."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import isinglass_papers
from isinglass_papers.core.run import PAPERS

ROOT = Path(isinglass_papers.__file__).parent


def test_every_folder_is_a_paper():
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert folders == {*PAPERS, "core"}


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_has_the_parts_that_all_have(paper):
    module = importlib.import_module(f"isinglass_papers.{paper}.paper")
    assert paper == module.PAPER
    assert all(isinstance(text, str) and text for text in (module.TITLE, module.REFERENCE))
    assert isinstance(module.FILES, tuple)
    assert all(isinstance(name, str) for name in module.FILES)
    assert list(inspect.signature(module.reproduce).parameters) == ["how", "tell"]


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_printed_needs_nothing_of_ours(paper):
    tree = ast.parse((ROOT / paper / "printed.py").read_text(encoding="utf-8"))
    names = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name for name in names if str(name).startswith("isinglass")} == set()
