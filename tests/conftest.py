"""Settings every test shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _own_register(tmp_path_factory, monkeypatch):
    """Every test has an owner's home of its own, so none meets another's releases."""
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets; tests that need it skip, visibly, where it is absent."""
    folder = os.environ.get("ISINGLASS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ISINGLASS_DATA does not name a folder of data sets")
    return Path(folder)
