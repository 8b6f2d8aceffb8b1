"""The command as a person types it: one paper without data, and every paper, quickly."""

import json

import pytest
from tests.cli.commands import typed

from isinglass_papers.core.run import PAPERS


def test_one_paper_is_reproduced_by_one_command(tmp_path):
    (tmp_path / "none").mkdir()
    done = typed(
        "reproduce", "rotation", "--quick", "--data", "none", "--json", "-o", "made", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    (paper,) = json.loads(done.stdout)["papers"]
    assert paper["paper"] == "rotation"
    assert len(paper["numbers"]) > 80
    assert len(paper["claims"]) >= 18
    assert (tmp_path / "made" / "rotation.md").exists()


@pytest.mark.matrix
def test_all_papers_are_reproduced_by_one_command(real_data, tmp_path):
    done = typed("reproduce", "all", "--quick", "--json", "-o", "made", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {paper["paper"]: paper for paper in json.loads(done.stdout)["papers"]}
    assert tuple(found) == PAPERS
    for name, paper in found.items():
        assert len(paper["numbers"]) > 80, name
        assert len(paper["claims"]) >= 18, name
        assert (tmp_path / "made" / f"{name}.md").exists()
    for together in ("summary.md", "figures.html"):
        assert (tmp_path / "made" / together).exists()
