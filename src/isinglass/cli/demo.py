"""`isinglass demo`: three airlines release their flights, a miner finds the outliers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from isinglass.demo.story import Story


def demo(
    out: Path = typer.Option(Path("isinglass-demo"), "--out", help="Folder for what it writes."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """Three airlines release their flights; a miner finds the outliers; a snoop tries his luck."""
    from isinglass.cli import show
    from isinglass.demo.page import render
    from isinglass.demo.story import run
    from isinglass.errors import PrivacyWarning
    from isinglass.table.write import whole_file

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the story itself tells what leaks
        story = run(out, show.say)
    report = out / "report.html"
    with whole_file(report) as temporary:
        temporary.write_text(render(story), encoding="utf-8")
    if as_json:
        show.print_json(story.to_json() | {"report": str(report)})
    else:
        typer.echo(_told(story))
        typer.echo(f"The report: {report}")


def _told(story: Story) -> str:
    shared, own = story.shared_key, story.multiparty
    return f"""
One key for all (tanh distortion)
  found       {shared.found} of the {story.top} strongest outliers survive in the pooled releases
  read back   {shared.recovered:.0%} of aurora's values, by borealis, who holds the same key
              ({shared.blind:.0%} for a guess that never saw the release)
  A shared key means: each holder, or the miner together with one of them, reads every release.

A secret each (random multiparty perturbation)
  found       {own.found} of the {story.top} strongest outliers survive
  read back   {own.recovered:.0%} of aurora's values, by the miner, who has the public matrix
              and knows what borealis's flights look like
              ({own.blind:.0%} for a guess that never saw the release)

Both are heuristics: nothing is proved about what they hide.
"""
