"""Run one paper's reproduction, by name."""

from __future__ import annotations

import importlib
import time
from dataclasses import replace
from pathlib import Path

from isinglass.progress import Progress, quiet
from isinglass_papers.core.result import How, Reproduction

PAPERS = ("distortion", "multiparty", "randomization", "rotation", "sensitive")


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
    found: Reproduction = importlib.import_module(f"{__package__}.{paper}.paper").reproduce(
        how, progress
    )
    seconds = time.perf_counter() - begin
    return replace(found, seconds=seconds, archive=archive and paper == "distortion")
