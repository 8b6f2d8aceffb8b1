"""The command as a person types it: every paper, quickly."""

import json
import subprocess
import sys

from isinglass.reproduce.run import PAPERS


def test_all_papers_are_reproduced_by_one_command(real_data, tmp_path):
    command = "from isinglass.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "reproduce", "all", "--quick", "--json", "-o", "made"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {paper["paper"]: paper for paper in json.loads(done.stdout)["papers"]}
    assert tuple(found) == PAPERS
    for name, paper in found.items():
        assert len(paper["numbers"]) > 80, name
        assert len(paper["claims"]) >= 18, name
        assert (tmp_path / "made" / f"{name}.md").exists()
    for together in ("summary.md", "figures.html"):
        assert (tmp_path / "made" / together).exists()
