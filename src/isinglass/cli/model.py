"""`isinglass model`: a guaranteed model of a table, as a file that may be given away."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isinglass.cli import options, show
from isinglass.formats import counted

if TYPE_CHECKING:
    import datetime

    from isinglass.publish.declared import Declared
    from isinglass.publish.model_charge import ModelCharge
    from isinglass.table.reading import TableReading
    from isinglass.table.roles.columns_file import ColumnsFile


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
    columns: options.Columns = None,
    person: options.Person = None,
    records_per_person: options.RecordsPerPerson = None,
    threshold: options.Threshold = None,
    ledger: options.LedgerFile = None,
    budget: options.Budget[str | None] = None,
    delta_cap: options.DeltaCap = None,
    renew: bool = typer.Option(
        False,
        "--renew",
        help="Make the next version of a model whose table has changed, for a second charge; "
        "refused where no version of its name was paid for.",
    ),
    again: bool = typer.Option(
        False, "--again", help="Do what --renew does, even where no version was paid for."
    ),
    expires: str | None = typer.Option(
        None,
        "--expires",
        metavar="YYYY-MM-DD",
        help="The last day of its use; scoring warns later.",
    ),
    secret: options.Secret = None,
    note: options.Note = None,
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
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    as_json: options.AsJson = False,
) -> None:
    """Count TABLE with exact noise: a model that anybody may have, and score with without limit.

    Every column must be declared, in --bounds or --columns, or dropped; what they can hold must
    come from outside the table. With --person, that column is dropped, and no more records of
    anybody are counted than --records-per-person. The same request again returns what was paid for,
    even without TABLE; --renew makes the next version of a table that changed. Example:

    isinglass model flights.csv --epsilon 1 --bounds bounds.json --person tail_number
    --ledger models.db --budget 3 -o model.zip
    """
    from isinglass.cli.columns import read_file, reading_of
    from isinglass.cli.options import passphrase
    from isinglass.detect.private.card import Payment
    from isinglass.detect.private.validity import read_day
    from isinglass.errors import ModelError
    from isinglass.publish.declared import read_declared
    from isinglass.publish.model import write_model
    from isinglass.signing import read_signing_key

    for option, page in (("--card", card), ("--owner-card", owner_card)):
        if page is not None and page.suffix.lower() != ".html":
            raise ModelError(f"{option} must be an .html file, got {page.name}")
    if out.suffix.lower() != ".zip":
        raise ModelError(f"a model is a .zip file; name OUT {out.stem}.zip")
    if bounds is None and columns is None:
        raise ModelError(
            "--bounds is missing: say what each column can hold, from a manual or a regulation, "
            "there or in --columns; bounds learned from the table would tell about single records"
        )
    if (ledger is None) is not no_ledger:
        raise ModelError(
            "--ledger FILE adds the price to what was spent on this table; name one, or say "
            "--no-ledger, which the card repeats, but not both"
        )
    if no_ledger and (budget or delta_cap or again or renew or secret or note):
        raise ModelError(
            "--budget, --delta-cap, --again, --renew, --secret and --note go with --ledger; leave "
            "them out"
        )
    if again and renew:
        raise ModelError(
            "--renew does what --again does, for a model of which there is an earlier version; "
            "leave --again out"
        )
    last_day = None if expires is None else read_day(expires, "--expires")
    if signing_key is None and (lock or passphrase_file):
        raise ModelError("--lock and --passphrase-file open a --signing-key; name one")
    key = None
    if signing_key is not None:
        opened = passphrase(lock, passphrase_file, new=False)
        key = read_signing_key(signing_key, passphrase=opened)
    file = read_file(columns)
    declared = None if bounds is None else read_declared(bounds)
    reading, drop, person, declared = _declared(
        file, declared, drop, person,
        reading_of(file, encoding=encoding, delimiter=delimiter, decimal=decimal),
    )  # fmt: skip
    priced_for = 1  # records of one person, unless the owner says how many
    stopped = "stopped; if the model is paid for, the same command gives the stored one for nothing"
    with (
        contextlib.nullcontext() if ledger is None else show.saying(stopped),
        _charge(
            ledger, secret, note, budget=budget, delta_cap=delta_cap,
            also_released=also_released, again=again, renew=renew, expires=last_day,
        ) as charge,
        show.Bar() as bar,
    ):  # fmt: skip
        if charge is not None and charge.ledger.signed:
            contract = charge.ledger.contract
            also_released = also_released or contract.also_released
            priced_for = contract.records_per_person
        written = write_model(
            table,
            out,
            declared=declared,
            epsilon=epsilon,
            delta=delta,
            drop=drop,
            person=person,
            records_per_person=records_per_person,
            priced_for=priced_for,
            threshold_share=threshold,
            name=name,
            key=key,
            pay=charge,
            payment=Payment(ledger=charge is not None, also_released=also_released),
            expires=last_day,
            card=card,
            owner_card=owner_card,
            reads=[bounds, columns, signing_key, passphrase_file, ledger, secret, note],
            force=force,
            **reading.file,
            n_jobs=jobs,
            progress=bar,
        )
    if charge is not None and charge.ledger.created:
        show.print_message("note: the ledger is new; its contract is written")
    stored = charge is not None and not charge.drawn
    validity = written.validity
    if stored:
        show.print_message(f"note: {_why_stored(validity.version, again=again or renew)}")
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
                "spent": 0.0 if stored else guarantee.epsilon,
                "left": None if charge is None else charge.left_epsilon,
                "guarantee": guarantee.to_json() | {"also_released": also_released},
                "warnings": list(written.warnings),
                **validity.to_json(),
            }
        )
    for warning in written.warnings:
        show.print_message(f"warning: {warning}")
    if as_json:
        return
    show.echo(f"model      {out}  ({counted(written.columns, 'column')}, for anybody)")
    if validity.version is not None:
        before = validity.supersedes
        said = "" if before is None else f", in the place of version {before}"
        show.echo(f"version    {validity.version} of {written.name}{said}")
    if validity.expires is not None:
        show.echo(f"expires    {validity.expires}: scoring with it warns afterwards")
    if written.fingerprint is None:
        show.echo("signed by  nobody: readers cannot tell it from a forged one; see --signing-key")
    else:
        show.echo(f"signed by  {written.fingerprint}")
    if threshold is not None:
        found = written.threshold
        show.echo(f"threshold  {'drowned in noise' if found is None else f'{found:.6g}'}")
    if charge is None:
        show.echo("charged    nowhere: every model and answer of this table costs its own price")
    else:
        now = "nothing now" if stored else f"epsilon {guarantee.epsilon:g}"
        show.echo(f"charged    {now}; {charge.left_epsilon:g} of the budget is left everywhere")
    for what, page in (("card", card), ("owner", owner_card)):
        if page is not None:
            stays = "" if what == "card" else "  (stays with you: do not forward)"
            show.echo(f"{what:<9}  {page}{stays}")
    show.echo(guarantee.sentence())
    if also_released:
        show.echo("The table also left as a release, which the guarantee does not cover.")


def _declared(
    file: ColumnsFile | None,
    declared: Declared | None,
    drop: list[str],
    person: str | None,
    reading: TableReading,
) -> tuple[TableReading, list[str], str | None, Declared]:
    """What is dropped and declared, by options and by the columns file; the table is not opened.

    Numbers in text are told by their declaration alone: one record must not decide for a column.
    """
    from dataclasses import replace

    from isinglass.publish.declared import declared_in
    from isinglass.table.number_format import NumberFormat

    if file is not None:
        dropped = {*drop, *([] if person is None else [person])}
        rest = [c for c in file.columns if c.name not in dropped]
        if person is None:
            person = next((n for n in file.named("person") if n not in dropped), None)
        typed = {} if declared is None else {*declared.bounds, *declared.categories}
        counted = [c for c in rest if c.name in typed or c.is_counted]
        left_out = [c.name for c in rest if c not in counted and c.name != person]
        drop = [*drop, *left_out]
        found = declared_in(file, [c for c in counted if c.name not in typed])
        declared = found if declared is None else declared.joined(found)
    assert declared is not None
    if isinstance(reading.decimal, str):
        marks = dict.fromkeys(declared.bounds, reading.decimal)
        reading = replace(reading, decimal=NumberFormat(columns=marks))
    return reading, drop, person, declared


@contextlib.contextmanager
def _charge(
    where: str | None,
    secret: Path | None,
    note: Path | None,
    *,
    budget: str | None,
    delta_cap: str | None,
    also_released: bool,
    again: bool,
    renew: bool,
    expires: datetime.date | None,
) -> Iterator[ModelCharge | None]:
    """What pays for the model, with the ledger open; nothing where there is none."""
    if where is None:
        yield None
        return
    from isinglass.curate.ledger.ledger import Ledger
    from isinglass.epsilon import femto, micro
    from isinglass.errors import ModelError
    from isinglass.publish.model_charge import ModelCharge

    cap = None if budget is None else micro(budget, "--budget")
    delta = None if delta_cap is None else femto(delta_cap, "--delta-cap")
    if cap is None and not renew and not Ledger.begun(where):
        raise ModelError(
            "--budget must be given when a ledger is first used: the most epsilon that is ever "
            "spent on this table"
        )
    with Ledger(where, secret=secret, note=note) as opened:
        yield ModelCharge(opened, where, cap, delta, also_released or None, again, renew, expires)


def _why_stored(version: int | None, *, again: bool) -> str:
    """Why what was written was not drawn now."""
    if again:
        return (
            f"version {version} was paid for by this command, which was stopped before it was "
            "written; here it is, as it was stored. The same command makes another one from now on"
        )
    return (
        f"this was paid for before, and is version {version} as it was stored then; if the table "
        "has changed, --renew makes the next version, for a second charge"
    )
