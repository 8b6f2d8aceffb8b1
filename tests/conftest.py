"""Settings every test shares."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

_HOMES = itertools.count()

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")

# Files that take long begin, so that both processes end together. Where the kernels are not yet
# compiled (`make setup` does it), the first file does, while the next ones need none of them.
ORDER = (
    "detect/test_distance.py",
    "cli/test_cli_release.py",
    "papers/test_reproduce_rotation.py",
    "perturb/test_contract.py",
    "perturb/test_distortion.py",
    "table/test_table_read.py",
    "curate/ledger/test_curate_faults.py",
    "test_docs.py",
    "cli/test_cli_other.py",
    "detect/test_memory.py",
    "papers/test_reproduce_multiparty.py",
    "papers/test_reproduce_randomization.py",
    "papers/test_reproduce_distortion.py",
    "auditing/test_auditing_run.py",
    "papers/test_reproduce_sensitive.py",
    "auditing/files/test_auditing_files.py",
    "kernels/test_ball.py",
    "cli/test_cli_audit.py",
    "cli/test_cli_stopped.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The files above first; within a file, the order that it has.

    A file stays on one process, but for the large matrices of `make check-all`.
    """
    here = Path(__file__).parent
    turn = {here / name: number for number, name in enumerate(ORDER)}
    items.sort(key=lambda item: turn.get(item.path, len(turn)))
    if config.getoption("loadgroup", False):  # so a worker knows of --dist loadgroup
        for item in items:
            if item.get_closest_marker("matrix") is None:
                item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(autouse=True)
def _own_register(tmp_path_factory, monkeypatch):
    """Every test has an owner's home of its own, so none meets another's releases."""
    # Counted here: pytest would look through all folders of all tests for a number that is free.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_HOMES))
    home.mkdir(parents=True)
    monkeypatch.setenv("ISINGLASS_HOME", str(home))


_DRAWN: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def _same_draws(request):
    """A file's `RNG` begins each test where its import left it, whatever ran before."""
    generator = getattr(request.module, "RNG", None)
    if isinstance(generator, np.random.Generator):
        state = _DRAWN.setdefault(request.module.__name__, generator.bit_generator.state)
        generator.bit_generator.state = state


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets; tests that need it skip, visibly, where it is absent."""
    folder = os.environ.get("ISINGLASS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ISINGLASS_DATA does not name a folder of data sets")
    return Path(folder)
