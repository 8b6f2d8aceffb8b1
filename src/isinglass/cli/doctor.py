"""`isinglass doctor`: what is installed, what works, where time goes."""

from __future__ import annotations

import typer


def doctor(
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """Say what is installed, which accelerators work, and how fast the main steps run here."""
