"""`isinglass verify-privacy`: attacks on the noise of guaranteed models, without any table."""

from __future__ import annotations

from typing import Any

import typer

from isinglass.cli import options, show


def verify_privacy(
    epsilon: str = typer.Option("1", "--epsilon", metavar="EPS", help="The price for one person."),
    delta: str = typer.Option(
        "1e-6", "--delta", help="The chance that the promise fails; 0 for pure epsilon."
    ),
    n_columns: int | None = typer.Option(
        None,
        "--n-columns",
        help="How many columns of numbers, where --bounds names none; default: 3.",
    ),
    bounds: options.Bounds = None,
    records_per_person: int = typer.Option(
        1, "--records-per-person", help="How many records one person may have."
    ),
    threshold: options.Threshold = None,
    rounds: int = typer.Option(2, "--rounds", help="2, or 1 as for several owners."),
    draws: int = typer.Option(
        4000, "--draws", help="Draws with planted records, and without; more give a higher floor."
    ),
    jobs: int = typer.Option(-1, "--jobs", help="Threads; -1: all cores."),
    as_json: options.AsJson = False,
) -> None:
    """Attack the noise of a guaranteed model on tables made here: what would somebody lose?

    No table of yours is read. Settings are those of `isinglass model`. A floor above the claim, or
    a check that fails, ends with 1: then something is broken. Floors below it prove nothing.
    Example:

    isinglass verify-privacy --epsilon 0.3 --n-columns 2 --draws 300
    """
    from isinglass.detect.private.verification.verify import verify_privacy as verified
    from isinglass.errors import ModelError
    from isinglass.publish.declared import read_declared

    if bounds is not None and n_columns is not None:
        raise ModelError("--bounds names the columns; leave --n-columns out")
    declared: dict[str, Any] = {"n_columns": n_columns}
    if bounds is not None:
        read = read_declared(bounds)
        declared = {
            "bounds": read.bounds or None,
            "categories": read.categories or None,
            "steps": read.steps or None,
            "log": read.log,
        }
    with show.Bar() as bar:
        found = verified(
            epsilon,
            delta,
            **declared,
            records_per_person=records_per_person,
            threshold_share=threshold,
            rounds=rounds,
            draws=draws,
            n_jobs=jobs,
            progress=bar,
        )
    if as_json:
        show.print_json(found.to_json())
    else:
        show.echo(*str(found).splitlines(), "")
        if found.passed:
            show.echo(
                "Nothing is broken that these tests can see; that is no proof, which stands in the "
                "guarantee."
            )
    if not found.passed:
        failed = ", ".join(check.name for check in found.checks if not check.passed)
        show.print_message(
            f"isinglass: the guarantee does not hold on this machine ({failed}): give no model "
            "away, and report this"
        )
        raise typer.Exit(1)
