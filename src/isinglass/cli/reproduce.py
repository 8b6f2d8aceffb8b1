"""`isinglass reproduce`: the papers' tables and figures, theirs and ours side by side."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isinglass.cli import options, show
from isinglass_papers.core.run import PAPERS, missing_sets, run

if TYPE_CHECKING:
    from isinglass_papers.core.result import Reproduction

#: characters that the terminal shows of why a number differs; the page has all of them
NOTE = 100

Paper = StrEnum("Paper", [(name, name) for name in ("all", *PAPERS)])  # type: ignore[misc]


def reproduce(
    paper: Annotated[Paper, typer.Argument(metavar="PAPER", help=f"all, {', '.join(PAPERS)}.")] = (
        Paper("all")
    ),
    quick: bool = typer.Option(False, "--quick", help="Small sizes, a minute a paper (default)."),
    full: bool = typer.Option(False, "--full", help="The paper's sizes and numbers of trials."),
    archive: bool = typer.Option(
        False, "--archive", help="Of distortion: also the paper's 32,640,967 rows; 9 GiB."
    ),
    data: Path | None = typer.Option(
        None, "--data", help="Folder of data files; default: the variable ISINGLASS_DATA."
    ),
    fetch: bool = typer.Option(
        False, "--fetch", help="First get the sets that --data lacks from OpenML."
    ),
    seed: options.Seed[int] = 0,
    out: Annotated[Path | None, options.out("Folder for pages, CSV files and pictures.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Run a paper's experiments again with this tool, and say which of its claims hold.

    Data that are missing are named, and a stand-in is called one. Example:

    isinglass reproduce rotation --quick -o reproduced
    """
    from isinglass_papers.core.write import EXPLORE, write, write_together

    if quick and full:
        raise ValueError("--quick and --full do not go together")
    if seed < 0:
        raise ValueError(f"--seed must be >= 0, got {seed}")
    if archive and paper not in ("all", "distortion"):
        raise ValueError(f"--archive goes with distortion or all, got {paper}")
    if data is not None and not data.is_dir() and not fetch:
        raise ValueError(f"--data must be a folder, got {data}")
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ValueError(f"--out must be a folder, got a file: {out}") from None
    if fetch:
        _fetch(data)
    names = PAPERS if paper == "all" else (paper.value,)
    _say_missing(names, data)
    # A page of one paper names the page of all pictures only where that is, or will be.
    several = len(names) > 1
    together = several or (out is not None and (out / EXPLORE).is_file())
    every = []
    with show.Bar() as bar:
        for name in names:
            found = run(name, full=full, seed=seed, archive=archive, folder=data, progress=bar)
            every.append(found)
            if out is not None:
                write(found, out, together=together)
    if out is not None and several:
        write_together(every, out)
    if as_json:
        show.print_json({"papers": [_document(found) for found in every]})
        return
    for found in every:
        _tell(found)
    if out is not None:
        show.echo(f"Pages and figures: {out}")
    else:
        show.echo("-o FOLDER writes pages with every reason in full, and the figures")


def _fetch(data: Path | None) -> None:
    from isinglass.cli.show import print_message
    from isinglass_papers.core.data import Sets
    from isinglass_papers.core.fetch import ELSEWHERE, OPENML, fetch

    if data is None:
        raise ValueError("--fetch needs --data, the folder to put the sets in")
    for name in OPENML:
        if not (data / f"{name}.parquet").exists():
            fetch(name, data)
            print_message(f"fetched {name}")
    if lacking := [name for name in ELSEWHERE if not Sets(data).has(name)]:
        print_message(
            f"note: OpenML does not have these as they are used here: {', '.join(lacking)}"
        )


def _say_missing(papers: Sequence[str], data: Path | None) -> None:
    """Name the data sets that are missing, and how to get them, before any work begins."""
    from isinglass_papers.core.fetch import OPENML

    missing = {paper: missing_sets(paper, data) for paper in papers}
    if not any(missing.values()):
        return
    for paper, sets in missing.items():
        if sets:
            show.print_message(f"missing for {paper}: {', '.join(sets)}")
    if any(name in OPENML for sets in missing.values() for name in sets):
        show.print_message("`isinglass reproduce --data FOLDER --fetch` gets those that OpenML has")
    show.print_message("what needs a missing set is not run, and is listed under NOT RUN")


def _document(found: Reproduction) -> dict[str, Any]:
    from dataclasses import asdict

    facts = asdict(found)
    facts["figures"] = [
        {"name": f.name, "title": f.title, "caption": f.caption, "rows": [dict(r) for r in f.rows]}
        for f in found.figures
    ]
    return facts


def _tell(found: Reproduction) -> None:
    from textwrap import shorten

    from isinglass_papers.core.write import short

    show.echo(found.title, found.reference, "")
    for note in found.notes:
        show.echo(note, "")
    rows = [("printed", "ours", "where", "what")]
    rows += [(short(n.printed), short(n.ours), n.where, n.what) for n in found.numbers]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    notes = ["", *("" if n.agrees else shorten(n.note, NOTE) for n in found.numbers)]
    for row, note in zip(rows, notes, strict=True):
        show.echo("  ".join(w.ljust(n) for w, n in zip(row, widths, strict=True)).rstrip())
        if note:
            show.echo(f"    {note}")
    show.echo("")
    for claim in found.claims:
        show.echo(f"{claim.verdict.upper()}: {claim.says} ({claim.where})", f"    {claim.ours}")
    for gap in found.missing:
        show.echo(f"NOT RUN: {gap.what}: {gap.why}")
    mode = "full" if found.full else "quick"
    show.echo("", f"{found.paper}, {mode}, seed {found.seed}: {found.seconds:.0f} s", "")
