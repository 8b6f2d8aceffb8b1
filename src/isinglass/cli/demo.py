"""`isinglass demo`: three airlines release their flights, a miner finds the outliers."""

from __future__ import annotations

from pathlib import Path

import typer


def demo(
    out: Path = typer.Option(Path("isinglass-demo"), "--out", help="Folder for what it writes."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """Three airlines release their flights under one shared key; a miner finds the outliers."""
