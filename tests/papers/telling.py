"""What `isinglass reproduce` says and writes of a quick run that was made already."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.commands import inside

from isinglass.cli import reproduce
from isinglass_papers.core.result import Reproduction


def told_whole(found: Reproduction, folder: Path) -> Path:
    """The command gives every number, claim and figure of the run, as JSON and as pages.

    Returns the folder with the pages.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "run", lambda paper, **how: found)
        done = inside("reproduce", found.paper, "--quick", "--json", "-o", "made", cwd=folder)
    assert done.returncode == 0, done.stderr
    (paper,) = json.loads(done.stdout)["papers"]
    assert paper["paper"] == found.paper
    assert len(paper["numbers"]) == len(found.numbers) > 80
    assert len(paper["claims"]) == len(found.claims) >= 18
    assert len(paper["figures"]) == len(found.figures)
    assert (folder / "made" / f"{found.paper}.md").exists()
    for figure in found.figures:
        assert (folder / "made" / found.paper / f"{figure.name}.png").stat().st_size > 2000
    return folder / "made"
