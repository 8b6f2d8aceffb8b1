"""`isinglass inspect`: what each column of a table is, and what to do with it."""

from __future__ import annotations

import io
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isinglass.cli import options, show
from isinglass.formats import counted

if TYPE_CHECKING:
    from isinglass.table.roles.look import TableLook
    from isinglass.table.roles.proposals import Proposal

_TO_DO = {
    "number": "perturb", "category": "one-hot encode", "identifier": "drop",
    "person": "drop; says whose record a row is", "label": "keep apart: what is to be found",
    "date": "drop, or turn into numbers", "text": "drop", "constant": "drop: it says nothing",
}  # fmt: skip


def inspect(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="CSV, Parquet or Arrow file with a header.")
    ],
    out: Annotated[
        Path | None, options.out("Write the columns file, .toml, which every command takes.")
    ] = None,
    decimal: options.Decimal = None,
    force: options.Force = False,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    as_json: options.AsJson = False,
) -> None:
    """Look at every column of TABLE, and propose what to do with it: drop, encode, perturb.

    Nothing leaves, and no value is shown. With -o, a file that you correct, and that every command
    takes with --columns; ranges and categories that were seen are comments there. Example:

    isinglass inspect flights.csv -o columns.toml
    """
    from isinglass.errors import TableError
    from isinglass.files import OWNER_ONLY, refuse_targets, whole_file
    from isinglass.table.read import open_table
    from isinglass.table.roles.columns_file import ColumnsFile
    from isinglass.table.roles.columns_text import columns_text
    from isinglass.table.roles.look import look_at_table

    if out is not None:
        if out.suffix.lower() != ".toml":
            raise TableError(f"a columns file is a .toml file; name it {out.stem}.toml")
        refuse_targets({"the columns file": out}, [table], force=force)
    encoding = encoding or "utf8"
    opened = open_table(table, encoding=encoding, delimiter=delimiter)
    with show.Bar() as bar:
        found = look_at_table(opened, decimal=decimal, progress=bar)
    if out is not None:
        settings = ColumnsFile(
            str(out), (), delimiter=delimiter, encoding=encoding, decimal=decimal
        )
        with whole_file(out, mode=OWNER_ONLY, force=force) as temporary:
            temporary.write_text(columns_text(found, settings), encoding="utf-8")
    following = _next(table, out, found)
    if as_json:
        show.print_json(
            {
                "rows": found.rows,
                "columns": [_document(c) for c in found.columns],
                "repeated_rows": found.repeated_rows,
                "columns_file": None if out is None else str(out),
                "next": following,
            }
        )
        return
    _show(found)
    if out is not None:
        show.echo(f"columns  {out}  (stays with you: its comments say what stands in the table)")
    show.echo(f"next     {following}")


def _show(found: TableLook) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from isinglass.formats import printable, shorten

    drawn = Table(box=None, pad_edge=False, show_edge=False)
    for head in ("column", "what it is", "distinct", "missing", "what to do"):
        right = head in ("distinct", "missing")
        drawn.add_column(head, justify="right" if right else "left", overflow="fold")
    for c in found.columns:
        different = f"{c.distinct:,}" if c.exact else f"about {_rounded(c.distinct):,}"
        cells = (
            shorten(printable(c.name), 60) or "(no name)", f"{c.proposed}: {c.why}",
            different, f"{c.missing:,}" if c.missing else "", _to_do(c),
        )  # fmt: skip
        drawn.add_row(*(Text(cell) for cell in cells))
    page = io.StringIO()
    width = shutil.get_terminal_size().columns if show.is_terminal() else 140
    Console(file=page, width=width).print(drawn)
    show.echo(*(line.rstrip() for line in page.getvalue().splitlines()))
    show.echo("", f"rows     {found.rows:,}")
    for line in notes(found):
        show.echo(line)


def notes(found: TableLook) -> list[str]:
    """What to say of the table as a whole."""
    lines = []
    if found.repeated_rows:
        n = found.repeated_rows
        about = f"{n:,}" if found.exact else f"about {_rounded(n):,}"
        lines.append(f"repeated {about} rows say what an earlier one says")
    if gaps := found.incomplete:
        lines.append(
            f"missing  {counted(gaps, 'column')} lack values: --missing drop leaves those "
            "rows out, --missing median fills them in"
        )
    if ordered := [c.name or "''" for c in found.columns if c.ordered]:
        from isinglass.table.columns import listed

        lines.append(
            f"order    rows stand in an order that tells of their values ({listed(ordered, 6)}): "
            "release with --shuffle"
        )
    return lines


def _rounded(number: int) -> int:
    """An estimate without the digits that it does not know."""
    return round(number, 2 - len(str(number)))


def _to_do(c: Proposal) -> str:
    said = _TO_DO[c.proposed]
    if c.proposed == "category" and not c.one_hot:
        said = "drop: too many values to encode"
    if c.decimal is not None:
        said += f"; read with --decimal {c.decimal}"
    if c.unread:
        said += f"; {c.unread:,} cannot be read, first in row {_row(c)}"
    return said


def _row(c: Proposal) -> str:
    return f"{c.first_unread:,} (from 0)"


def _document(c: Proposal) -> dict[str, object]:
    return {
        "name": c.name, "type": c.type, "distinct": c.distinct, "missing": c.missing,
        "proposed": c.proposed, "why": c.why, "exact": c.exact, "decimal": c.decimal,
        "unread": c.unread, "first_unread_row": c.first_unread, "ordered": c.ordered,
        "to_do": _to_do(c),
    }  # fmt: skip


def _next(table: Path, out: Path | None, found: TableLook) -> str:
    if out is None:
        return shlex.join(["isinglass", "inspect", str(table), "-o", "columns.toml"])
    words = ["isinglass", "release", str(table), "-o", f"{table.stem}.release.parquet"]
    shuffled = ["--shuffle"] if any(c.ordered for c in found.columns) else []
    missing = ["--missing", "drop"] if found.incomplete else []
    return shlex.join([*words, "--columns", str(out), *missing, *shuffled])
