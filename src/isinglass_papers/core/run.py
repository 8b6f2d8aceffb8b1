"""Run one paper's reproduction, by name."""

from __future__ import annotations

import importlib
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from isinglass.progress import Progress, quiet
from isinglass_papers.core.result import How, Reproduction

PAPERS = ("distortion", "multiparty", "randomization", "rotation", "sensitive")


def missing_sets(paper: str, folder: str | Path | None = None) -> tuple[str, ...]:
    """Names of the data sets that `paper` reads and that `folder` and scikit-learn lack."""
    from isinglass_papers.core.data import Sets  # slow to import, and --help needs only names

    sets = Sets(folder)
    return tuple(name for name in _module(paper).FILES if not sets.has(name))


def run(
    paper: str,
    *,
    full: bool = False,
    seed: int = 0,
    archive: bool = False,
    folder: str | Path | None = None,
    progress: Progress = quiet,
) -> Reproduction:
    """Reproduce `paper`, quickly or as it was done; every draw follows from `seed`."""
    if paper not in PAPERS:
        raise ValueError(f"paper must be one of {', '.join(PAPERS)}, got {paper!r}")
    begin = time.perf_counter()
    how = How(full, seed, archive, None if folder is None else str(folder))
    found: Reproduction = _module(paper).reproduce(how, progress)
    seconds = time.perf_counter() - begin
    return replace(found, seconds=seconds, archive=archive and paper == "distortion")


def _module(paper: str) -> Any:
    """The paper's own module, imported only when that paper is asked for."""
    return importlib.import_module(f"isinglass_papers.{paper}.paper")
