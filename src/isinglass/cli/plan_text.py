"""Text of a curator's plan, and the command that asks as planned."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from isinglass.cli import show
from isinglass.formats import share

if TYPE_CHECKING:
    from isinglass.curate.planning.choose import Chosen
    from isinglass.curate.planning.plan import Plan


def print_plan(found: Plan, chosen: Chosen | None, space: Path | None, out: Path | None) -> None:
    from isinglass.curate.planning.expected import SHARES
    from isinglass.epsilon import text

    if chosen is not None:
        show.echo(f"chosen   beta {chosen.beta}, r {chosen.r!r}: {chosen.flagged:,} anomalies")
    rows: list[tuple[str, ...]] = [("epsilon", *SHARES, "queries at one place", "")]
    rows += [
        (text(point.micro), *map(share, point.shares.values()), f"{point.queries_here:,}",
         "<-" if point.micro == found.chosen.micro else "")
        for point in found.frontier
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        show.echo("  ".join(w.rjust(n) for w, n in zip(row, widths, strict=True)).rstrip())
    show.echo("")
    show.echo(found.sentence)
    if found.capacity is not None:
        show.echo(found.capacity.sentence)
    if space is not None:
        show.echo(f"space    {space}")
    if out is not None:
        show.echo(f"plan     {out}")


def ask_command(found: Plan, budget: str, space: list[str], records: Path | None = None) -> str:
    """The `isinglass ask` command with the settings of the plan; only TABLE is to be named."""
    from isinglass.epsilon import text

    words = ["--beta", str(found.beta), "--r", repr(found.r), "--epsilon", text(found.chosen.micro)]
    if found.mode != "sparse":
        words += ["--mode", found.mode]
    if found.k is not None:
        words += ["--k", str(found.k)]
    words += ["--budget", budget, *space, "--ledger", "ledger.db"]
    asked = "RECORDS" if records is None else str(records)
    return shlex.join(["isinglass", "ask", "TABLE", asked, *words])


def ask_options(
    space: Path | None,
    bounds: Path | None,
    metric: str,
    p: float | None,
    drop: list[str],
    missing: str | None,
    encoding: str | None = None,
    delimiter: str | None = None,
    columns: Path | None = None,
    decimal: str | None = None,
) -> list[str]:
    """Options of `ask` that read the table as the plan did, in the same space."""
    words = [] if columns is None else ["--columns", str(columns)]
    words += [word for column in drop for word in ("--drop", column)]
    for option, value, usual in (
        ("--missing", missing, "error"), ("--encoding", encoding, "utf8"),
        ("--delimiter", delimiter, None), ("--decimal", decimal, None),
    ):  # fmt: skip
        words += [] if value in (None, usual) else [option, value]
    if space is not None:
        return [*words, "--space", str(space)]
    words += [] if bounds is None else ["--bounds", str(bounds)]
    words += [] if metric == "euclidean" else ["--metric", metric]
    return words + ([] if p is None else ["--p", repr(p)])
