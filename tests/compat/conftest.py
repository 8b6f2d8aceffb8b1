"""Copies of the files for every test, and the command line in them."""

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.commands import inside
from tests.curate import postgres

FILES = Path(__file__).parent / "files"


@pytest.fixture(scope="module", autouse=True)
def _checkout_stays_as_it_is():
    """No test changes, adds or removes one of the files."""

    def found():
        paths = sorted(path for path in FILES.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in paths}

    before = found()
    yield
    assert found() == before


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A copy to read, closed to others as those that made the files had them."""
    copy = tmp_path_factory.mktemp("compat") / "files"
    shutil.copytree(FILES, copy)
    for path in copy.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return copy


@pytest.fixture
def folder(shared, tmp_path):
    """A copy to change; what nothing changes is linked, since copies are many."""
    copy = tmp_path / "files"
    copy.mkdir()
    for path in shared.iterdir():
        if path.name in ("ledger", "register"):
            shutil.copytree(path, copy / path.name)
        elif path.name == "tune.jsonl":
            shutil.copy(path, copy)
        else:
            (copy / path.name).symlink_to(path)
    return copy


@pytest.fixture
def typed(folder):
    """A command in that folder: what it says in JSON, or what it says when it ends otherwise."""

    def run(*words, ends=0):
        done = inside(*words, "--json", cwd=folder)
        assert done.returncode == ends, done.stderr
        return json.loads(done.stdout) if ends == 0 else done.stderr

    return run


@pytest.fixture(scope="module")
def server():
    """A PostgreSQL server of this folder's own."""
    if (reason := postgres.missing()) is not None:
        pytest.skip(reason)
    with postgres.running() as server:
        yield server
