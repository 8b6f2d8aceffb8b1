"""`isinglass register`: list the owner's releases, and mark those that never left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from isinglass.cli import options
from isinglass.cli.show import echo, print_json
from isinglass.formats import counted

if TYPE_CHECKING:
    from isinglass.release_register import RegisteredRelease

app = typer.Typer(
    name="register",
    help="Look at your register of releases, which stays with you: what has left, and when.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("list")
def list_releases(as_json: options.AsJson = False) -> None:
    """List every release that was made here: its number, when, which file, and how."""
    from isinglass.release_register import Register

    found = Register().entries() if Register.begun() else []
    if as_json:
        print_json({"releases": [_document(entry) for entry in found]})
        return
    if not found:
        echo("no release was made here yet")
        return
    lines = [("entry", "when", "release", "method", "rows", "columns", "")]
    lines += [
        (str(e.entry), e.when[:16].replace("T", " "), e.release, e.method,
         f"{e.fingerprint.n_rows:,}", str(len(e.fingerprint.columns)),
         "" if e.never_left is None else f"never left: {e.never_left}")
        for e in found
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        echo("  ".join(word.ljust(n) for word, n in zip(line, widths, strict=True)).rstrip())
    echo("", "rows and columns are those of the table; keep this list to yourself")


@app.command("never-left")
def never_left(
    entry: int = typer.Argument(
        ..., metavar="ENTRY", help="The release's number in `isinglass register list`."
    ),
    reason: str = typer.Option(
        ..., "--reason", help="Why it was never handed over; it stays in the register."
    ),
    as_json: options.AsJson = False,
) -> None:
    """Mark a release that nobody but you ever had: it no longer counts as an earlier release.

    Nothing can check that. If the file was sent to anybody, or lay where others could read it, do
    not mark it: two releases of the same rows are combined against them.
    """
    from isinglass.errors import ReleaseError
    from isinglass.release_register import Register

    if not Register.begun():
        raise ReleaseError("no release was made here yet, so there is none to mark")
    marked = Register().mark_never_left(entry, reason)
    if as_json:
        print_json(_document(marked))
        return
    echo(
        f"entry {marked.entry} ({marked.release}) is marked as never having left; delete the file, "
        "if it is still there"
    )
    others = [e for e in Register().entries() if e.never_left is None]
    echo(f"{counted(len(others), 'release')} in the register count on")


def _document(entry: RegisteredRelease) -> dict[str, Any]:
    return {
        "entry": entry.entry, "when": entry.when, "release": entry.release,
        "method": entry.method, "rows": entry.fingerprint.n_rows,
        "columns": len(entry.fingerprint.columns), "never_left": entry.never_left,
    }  # fmt: skip
