"""`isinglass model`: a guaranteed model of a table, as a file that may be given away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isinglass.cli import options, show


def model(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="CSV, Parquet or Arrow file with a header.")
    ],
    out: Annotated[Path, options.out("The model, a .zip file.")],
    epsilon: str = typer.Option(..., "--epsilon", metavar="EPS", help="The price for one person."),
    delta: str = typer.Option(
        "1e-6", "--delta", help="The chance that the promise fails; 0 for pure epsilon."
    ),
    bounds: options.Bounds = None,
    drop: options.Drop = [],
    person: options.Person = None,
    records_per_person: options.RecordsPerPerson = None,
    threshold: float | None = typer.Option(
        None,
        "--threshold",
        metavar="SHARE",
        help="The share of records, such as 0.01, that should score above the model's threshold.",
    ),
    no_ledger: bool = typer.Option(
        False, "--no-ledger", help="Add the price up nowhere; the card says so."
    ),
    also_released: options.AlsoReleased = False,
    name: str | None = typer.Option(
        None, "--name", help="What this model and its next versions are called; default: from OUT."
    ),
    signing_key: Path | None = typer.Option(
        None, "--signing-key", help="Sign with this private key, made by `isinglass keygen`."
    ),
    lock: options.Lock = False,
    passphrase_file: options.PassphraseFile = None,
    card: Path | None = typer.Option(
        None, "--card", help="Write the model's card as an .html page that may be forwarded."
    ),
    owner_card: Path | None = typer.Option(
        None, "--owner-card", help="The same with what only the owner may see: do not forward."
    ),
    jobs: int = typer.Option(-1, "--jobs", help="Threads; -1: all cores."),
    force: options.Force = False,
    encoding: options.Encoding = "utf8",
    delimiter: options.Delimiter = None,
    as_json: options.AsJson = False,
) -> None:
    """Count TABLE with exact noise: a model that anybody may have, and score with without limit.

    Every column must be in --bounds or dropped; what they can hold must come from outside the
    table. With --person, that column is dropped, and no more records of anybody are counted than
    --records-per-person. Every run is a new spend. Example:

    isinglass model flights.csv --epsilon 1 --bounds bounds.json --person tail_number --no-ledger
    -o model.zip
    """
    from isinglass.cli.options import names_to_drop, needs_names, passphrase
    from isinglass.detect.private.card import Payment
    from isinglass.errors import ModelError
    from isinglass.publish.declared import read_declared
    from isinglass.publish.model import write_model
    from isinglass.signing import read_signing_key
    from isinglass.table.read import open_table

    for option, page in (("--card", card), ("--owner-card", owner_card)):
        if page is not None and page.suffix.lower() != ".html":
            raise ModelError(f"{option} must be an .html file, got {page.name}")
    if out.suffix.lower() != ".zip":
        raise ModelError(f"a model is a .zip file; name OUT {out.stem}.zip")
    if bounds is None:
        raise ModelError(
            "--bounds is missing: say what each column can hold, from a manual or a regulation; "
            "bounds learned from the table would tell about single records"
        )
    if not no_ledger:
        raise ModelError(
            "--no-ledger is missing: this version adds the prices of models up nowhere"
        )
    if signing_key is None and (lock or passphrase_file):
        raise ModelError("--lock and --passphrase-file open a --signing-key; name one")
    key = None
    if signing_key is not None:
        opened = passphrase(lock, passphrase_file, new=False)
        key = read_signing_key(signing_key, passphrase=opened)
    if needs_names(drop):
        names = open_table(table, encoding=encoding, delimiter=delimiter).schema.names
        drop = names_to_drop(drop, names)
    written = write_model(
        table,
        out,
        declared=read_declared(bounds),
        epsilon=epsilon,
        delta=delta,
        drop=drop,
        person=person,
        records_per_person=records_per_person,
        threshold_share=threshold,
        name=name,
        key=key,
        payment=Payment(ledger=False, also_released=also_released),
        card=card,
        owner_card=owner_card,
        reads=[bounds, signing_key, passphrase_file],
        force=force,
        encoding=encoding,
        delimiter=delimiter,
        n_jobs=jobs,
    )
    guarantee = written.guarantee
    if as_json:
        show.print_json(
            {
                "model": str(written.model),
                "kind": "private",
                "columns": written.columns,
                "epsilon": guarantee.epsilon,
                "delta": guarantee.delta,
                "threshold": written.threshold,
                "spent": guarantee.epsilon,
                "left": None,
                "guarantee": guarantee.to_json(),
                "warnings": list(written.warnings),
            }
        )
    for warning in written.warnings:
        show.print_message(f"warning: {warning}")
    if as_json:
        return
    show.echo(f"model      {out}  ({show.counted(written.columns, 'column')}, for anybody)")
    if written.fingerprint is None:
        show.echo("signed by  nobody: readers cannot tell it from a forged one; see --signing-key")
    else:
        show.echo(f"signed by  {written.fingerprint}")
    if threshold is not None:
        found = written.threshold
        show.echo(f"threshold  {'drowned in noise' if found is None else f'{found:.6g}'}")
    show.echo("charged    nowhere: every model and answer of this table costs its own price")
    for what, page in (("card", card), ("owner", owner_card)):
        if page is not None:
            stays = "" if what == "card" else "  (stays with you: do not forward)"
            show.echo(f"{what:<9}  {page}{stays}")
    show.echo(guarantee.sentence())
