"""The command line as every test of it types it."""

from __future__ import annotations

import pytest
from tests.cli import asking
from tests.cli.commands import inside


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The command in this process, in a folder of its own: how it ended, and what it printed."""
    monkeypatch.chdir(tmp_path)
    return inside


@pytest.fixture
def curators_files(tmp_path):
    """A table and three records far apart, to be asked about."""
    asking.write_files(tmp_path)
