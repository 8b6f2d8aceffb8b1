"""`isinglass ledger`: show, verify, back up and amend a ledger."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isinglass.cli import options
from isinglass.cli.show import echo, print_json, print_message, saying
from isinglass.formats import counted

if TYPE_CHECKING:
    from isinglass.curate.ledger.ledger import Ledger

app = typer.Typer(
    name="ledger",
    help="Look at a curator's ledger: what was spent, and whether every row is still there.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Where = Annotated[str, typer.Argument(metavar="LEDGER", help="The file, or a postgresql:// URL.")]


@app.command("show")
def show(
    ledger: Where,
    head_only: bool = typer.Option(
        False, "--head-only", help="Print the head alone, to be noted somewhere else."
    ),
    secret: options.Secret = None,
    note: options.Note = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what is promised, spent and left, and who asked; never what was asked about."""
    with _opened(ledger, secret, note) as opened:
        if head_only:
            found = opened.head()
            if as_json:
                print_json({"head": found})
            else:
                echo(found)
            return
        summary, standing = opened.summary(), opened.standing()
    if as_json:
        print_json(summary | standing.to_json())
        return
    from isinglass.cli.ledger_text import print_standing

    print_standing(standing)
    echo("", "The numbers")
    _print(summary)


@app.command("verify")
def verify(
    ledger: Where,
    head: str | None = typer.Option(
        None, "--head", metavar="SEQ:HASH", help="A head noted earlier: it must be in the chain."
    ),
    accept: bool = typer.Option(
        False, "--accept", help="The note is lost: note the head anew; all budget counts as spent."
    ),
    reason: str | None = typer.Option(
        None, "--reason", help="With --accept: why the note is lost; it stays in the ledger."
    ),
    secret: options.Secret = None,
    note: options.Note = None,
    as_json: options.AsJson = False,
) -> None:
    """Check every row against the chain; exit 1 when one was edited, dropped or moved."""
    from isinglass.errors import CuratorError, LedgerError

    if accept is (reason is None):
        raise CuratorError(
            "--accept and --reason go together: all of the budget will count as spent, because the "
            "ledger may be in use elsewhere, and the reason stays in it"
        )
    with _opened(ledger, secret, note, check=False) as opened:
        found = opened.verify(head=head)
        # A head that was given and is not there is no matter of what is noted here.
        if accept and (head is None or found.problems == opened.verify().problems):
            with contextlib.suppress(LedgerError):  # what is wrong is told below
                opened.accept(reason=reason)
            found = opened.verify(head=head)
    if as_json:
        print_json({"entries": found.entries, "head": found.head, "problems": list(found.problems)})
    elif found.problems:
        for problem in found.problems:
            print_message(f"isinglass: {problem}")
    else:
        echo(f"the chain of {counted(found.entries, 'row')} is whole; head {found.head}")
    if found.problems:
        raise typer.Exit(1)


@app.command("backup")
def backup(
    ledger: Where,
    out: Annotated[Path, options.out("The copy, a new SQLite file.")],
    secret: options.Secret = None,
    note: options.Note = None,
    as_json: options.AsJson = False,
) -> None:
    """Copy a ledger whole while it is in use; copying its file by hand may miss the last rows."""
    with _opened(ledger, secret, note) as opened:
        opened.backup(out)
        head = opened.head()
    if as_json:
        print_json({"copy": str(out), "head": head})
        return
    echo(f"copy     {out}  (keep it as closed as the ledger itself: it holds the same)")
    echo(f"head     {head}")


@app.command("amend")
def amend(
    ledger: Where,
    reason: options.Reason,
    budget: options.Budget[str | None] = None,
    records_per_person: options.RecordsPerPerson = None,
    also_released: options.AlsoReleased = False,
    delta_cap: options.DeltaCap = None,
    secret: options.Secret = None,
    note: options.Note = None,
    as_json: options.AsJson = False,
) -> None:
    """Weaken the contract for everybody in the table from now on, noted with its reason."""
    from isinglass.epsilon import delta_text, femto, micro, text
    from isinglass.errors import CuratorError

    cap = None if budget is None else micro(budget, "--budget")
    delta = None if delta_cap is None else femto(delta_cap, "--delta-cap")
    if cap is None and records_per_person is None and not also_released and delta is None:
        raise CuratorError(
            "say what to amend: --budget, --records-per-person, --also-released or --delta-cap; no "
            "other term of a contract can be changed"
        )
    with (
        saying("stopped; `isinglass ledger show` says whether the amendment was written"),
        _opened(ledger, secret, note) as opened,
    ):
        if cap is not None and cap <= (now := opened.contract.cap):
            raise CuratorError(f"--budget must be above {text(now)}, as it is, got {text(cap)}")
        if delta is not None and delta <= (small := opened.contract.delta_cap):
            raise CuratorError(
                f"--delta-cap must be above {delta_text(small)}, as it is, got {delta_text(delta)}"
            )
        opened.amend(
            reason=reason, cap=cap, records_per_person=records_per_person,
            also_released=also_released or None, delta_cap=delta,
        )  # fmt: skip
        summary = opened.summary()
    terms = {"contract": summary["contract"], "head": summary["head"]}
    if as_json:
        print_json(terms)
    else:
        _print(terms)


@app.command("admit")
def admit(
    ledger: Where,
    user: Annotated[str, typer.Argument(metavar="USER", help="An end user, by name.")],
    reason: options.Reason,
    user_budget: options.UserBudget = None,
    secret: options.Secret = None,
    note: options.Note = None,
    as_json: options.AsJson = False,
) -> None:
    """Set a share of the budget apart for an end user, who is told of nothing but that share."""
    from isinglass.epsilon import micro

    share = None if user_budget is None else micro(user_budget, "--user-budget")
    with (
        saying("stopped; `isinglass ledger show` says whether the share was written"),
        _opened(ledger, secret, note) as opened,
    ):
        opened.admit(user, share=share, reason=reason)
        summary = opened.summary()
    terms = {"contract": summary["contract"], "head": summary["head"]}
    if as_json:
        print_json(terms)
    else:
        _print(terms)


@contextlib.contextmanager
def _opened(where: str, secret: Path | None, note: Path | None, **how: Any) -> Iterator[Ledger]:
    from isinglass.curate.ledger.ledger import Ledger

    with Ledger(where, secret=secret, note=note, create=False, **how) as ledger:
        yield ledger


def _print(facts: dict[str, Any]) -> None:
    lines = list(_lines(facts))
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        echo(f"{name.ljust(width)}  {value}")


def _lines(facts: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from _lines(value, f"{before}{name} ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for item in value:  # an amendment or a version: a line each
                parts = [f"{word} {_said(v)}" for word, v in item.items() if v is not None]
                yield f"{before}{name}", "; ".join(parts)
        elif value is not None and value != []:
            yield f"{before}{name}", _said(value)


def _said(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_said, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
