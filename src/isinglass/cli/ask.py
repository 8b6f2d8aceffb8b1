"""`isinglass ask`: answers about single records, each paid for."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isinglass.cli import options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isinglass.curate.ledger.ledger import Ledger


def ask(
    table: Path = typer.Argument(
        ..., metavar="TABLE", help="The private table: CSV, Parquet or Arrow file with a header."
    ),
    records: Path = typer.Argument(
        ..., metavar="RECORDS", help="The records asked about: a file with the same columns."
    ),
    beta: float = typer.Option(
        ..., "--beta", help="A place is sparse with at most this many records within --r."
    ),
    r: float = typer.Option(..., "--r", help="The radius, in units of the scaled columns."),
    epsilon: str = typer.Option(
        ..., "--epsilon", metavar="EPS", help="The price of each answer, as a decimal."
    ),
    ledger: options.LedgerFile = None,
    budget: options.Budget[str | None] = None,
    mode: options.Mode = "sparse",
    k: options.ProtectedK = None,
    no_count_query: bool = typer.Option(
        False,
        "--no-count-query",
        help="Only with --mode sparse: RECORDS are meant as ones the table has.",
    ),
    modes: options.Modes = [],
    bounds: options.Bounds = None,
    space: Path | None = typer.Option(
        None, "--space", help="Scaling and distance declared by `isinglass plan --space`."
    ),
    metric: Annotated[
        options.MetricChoice | None,
        typer.Option(help="The distance; default: euclidean."),
    ] = None,
    p: options.Power = None,
    weights: options.Weights = [],
    drop: options.Drop = [],
    columns: options.Columns = None,
    missing: options.MissingRows = None,
    user: str = typer.Option(
        "curator", "--user", help="On whose account the spends go; see `isinglass ledger admit`."
    ),
    user_budget: options.UserBudget = None,
    request_id: str | None = typer.Option(
        None,
        "--request-id",
        help="A name for this request: asking it again returns the same answers.",
    ),
    fresh: bool = typer.Option(
        False, "--fresh", help="Draw and pay anew, also for queries answered before."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Price the batch; ask nothing."),
    own_rows: options.OwnRows = False,
    new_version: str | None = typer.Option(
        None,
        "--new-version",
        metavar="REASON",
        help="The table has changed since the last answer: spends stay, stored answers go.",
    ),
    records_per_person: options.RecordsPerPerson = None,
    also_released: options.AlsoReleased = False,
    no_pad: bool = typer.Option(
        False, "--no-pad", help="Do not wait for the deadline: timing is then not covered."
    ),
    secret: options.Secret = None,
    note: options.Note = None,
    out: Annotated[
        Path | None, options.out("Write all answers to this .csv file, with the records' ids.")
    ] = None,
    id_column: str | None = typer.Option(
        None,
        "--id",
        metavar="COL",
        help="A column of RECORDS that tells them apart; default: the first one dropped that does.",
    ),
    page: Path | None = typer.Option(
        None, "--page", help="Write the answers as an .html page that may be forwarded."
    ),
    force: options.Force = False,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer for each of RECORDS whether its place in TABLE is sparse, for a price in epsilon.

    Answers are noisy by design; the ledger keeps what was spent where. Example:

    isinglass ask patients.csv new.csv --beta 50 --r 0.2 --epsilon 0.1 --budget 1
    --ledger ledger.db --bounds bounds.json
    """
    from isinglass.cli import answers, show
    from isinglass.cli.columns import choose, rows_rule
    from isinglass.cli.numeric_columns import read_numbers, same_columns, unknown_columns
    from isinglass.cli.options import check_modes, check_question, refuse_ignored
    from isinglass.curate.curator import Curator
    from isinglass.curate.ledger.batch import check_printable
    from isinglass.curate.ledger.contract import CURATOR
    from isinglass.curate.ledger.ledger import Ledger
    from isinglass.epsilon import micro
    from isinglass.errors import BudgetError, CuratorError
    from isinglass.files import refuse_targets

    if ledger is None:
        raise CuratorError("--ledger is missing: every answer is paid for, and noted somewhere")
    if dry_run:
        refuse_ignored(
            {"--new-version": new_version, "--request-id": request_id, "--out": out,
             "--page": page}
        )  # fmt: skip
    for name, amount in (
        ("--epsilon", epsilon), ("--budget", budget), ("--user-budget", user_budget)
    ):  # fmt: skip
        if amount is not None:
            micro(amount, name)
    for name, word in (
        ("--user", user),
        ("--request-id", request_id),
        ("--new-version", new_version),
    ):
        if word is not None:
            check_printable(name, word)
    least_k = check_question(mode, k, metric, p, count_query=not no_count_query)
    check_modes(modes, mode)
    if space is not None and (bounds or metric or p or weights):
        raise CuratorError(
            "--space brings its scaling and distance; leave --bounds, --metric and --weights out"
        )
    if not own_rows and same_file(table, records):
        raise CuratorError(
            "RECORDS is the table itself: publishing answers about its own rows would publish the "
            "rows; pass --own-rows if the answers stay with you"
        )
    if own_rows and page is not None:
        raise CuratorError(
            "--page may be forwarded, and --own-rows is for your own eyes: leave one out"
        )
    if out is not None and out.suffix != ".csv":
        raise ValueError(f"--out must end in .csv, got {out.name}")
    if page is not None and page.suffix.lower() != ".html":
        raise ValueError(f"--page must end in .html, got {page.name}")
    targets = {what: path for what, path in (("the answers", out), ("the page", page)) if path}
    refuse_targets(targets, [table, records, bounds, space, ledger, columns], force=force)
    chosen = choose(
        columns, table, drop=drop, encoding=encoding, delimiter=delimiter, decimal=decimal,
        missing=missing,
    )  # fmt: skip
    reading = chosen.reading.file
    unknown_columns(drop, [table, records], **reading)
    ids = answers.read_ids(records, id_column, [*drop, *chosen.identifiers()], **reading)
    drop = [*drop, *chosen.no_numbers(), *([] if id_column is None else [id_column])]
    with show.Bar() as bar:
        X, names = read_numbers(
            table, drop=drop, missing=rows_rule(chosen),
            advice="leave those rows out with --missing drop", progress=bar, **reading,
        )  # fmt: skip
        queries, asked = read_numbers(
            records, drop=drop, advice="leave those rows out of it, or complete them",
            progress=bar, **reading,
        )  # fmt: skip
    same_columns(names, asked, table, records)
    declared = None if bounds or space else chosen.bounds
    comparing = _space(space, bounds, metric, p, weights, names, table, declared)
    begun = Ledger.begun(ledger)
    if budget is None and not begun:
        raise CuratorError(
            "--budget must be given when a ledger is first used: the most that is ever spent at "
            "one place"
        )
    newcomer = user != CURATOR and not begun
    if newcomer and (user_budget is None or micro(user_budget) > micro(budget)):
        raise CuratorError(
            "--user-budget must be given, at most --budget, when a ledger is first used for an end "
            "user: the share of the budget that is theirs alone"
        )
    released = not also_released and has_left(X, names)
    if released and not begun:
        raise CuratorError(f"{LEFT}; pass --also-released, so that every guarantee {SAYS}")
    stopped = "stopped; what was asked may be paid for: ask again, stored answers come free"
    with (
        contextlib.nullcontext() if dry_run else show.saying(stopped),
        _ledger(ledger, secret, note, passing=dry_run and not begun) as opened,
    ):
        if released and not opened.contract.also_released:
            raise CuratorError(
                f"{LEFT}, and the ledger's contract does not say so; `isinglass ledger amend "
                f"LEDGER --also-released --reason TEXT` makes every guarantee from now on {SAY}"
            )
        with Curator(
            X,
            beta,
            r,
            budget,
            opened,
            mode=mode,
            k=least_k,
            count_query=not no_count_query,
            columns=names,
            user_budget=user_budget,
            records_per_person=records_per_person,
            modes=modes or None,
            also_released=also_released or None,
            new_version=new_version,
            pad=not no_pad,
            **comparing,
        ) as curator:
            if curator.created and not dry_run:
                show.print_message(f"note: {_place(ledger)} is new; its contract is written")
            if newcomer and curator.created:
                opened.admit(user, reason="the ledger's first use")
            promise = curator.guarantee(epsilon)  # nothing may fail once answers are paid for
            try:
                if dry_run:
                    prices = curator.price(queries, epsilon=epsilon, fresh=fresh, user=user)
                else:
                    found = curator.ask(
                        queries, epsilon=epsilon, key=request_id, fresh=fresh, user=user
                    )
            except BudgetError as refused:
                if as_json:
                    show.print_json(answers.refusal_document(refused, dry_run=dry_run))
                raise
            late = curator.overruns
        if late:
            show.print_message(
                "note: the answers were not ready by their deadline and left at the next multiple "
                "of it; how late they are can depend on the table, so keep this line to yourself"
            )
        if dry_run:
            if as_json:
                show.print_json(answers.price_document(prices, promise))
            else:
                answers.tell_prices(prices, promise)
            return
        listed = found if isinstance(found, list) else [found]
        if out is not None:
            answers.write(out, listed, ids)
        if page is not None and late:
            # That they were late is news of the table to whoever gets the page.
            show.print_message(
                f"note: {page} was not written, as it would tell that the answers were late; ask "
                "the same again for the page: stored answers are free and punctual"
            )
        elif page is not None:
            answers.write_page(page, listed, ids, columns=names, count_query=not no_count_query)
        if as_json:
            show.print_json(answers.document(listed))
        else:
            answers.tell(listed, out, ids)
            if page is not None and not late:
                show.echo(f"page     {page}  (may be forwarded: it holds the answers alone)")


#: the table has left as a release, and what a guarantee then adds
LEFT = "rows of TABLE have left as a release, by your register"
SAY = "say that it covers the answers only"
SAYS = "says that it covers the answers only"


@contextlib.contextmanager
def _ledger(
    where: str, secret: Path | None, note: Path | None, *, passing: bool
) -> Iterator[Ledger]:
    """The ledger; to price a batch before there is one, a passing one with nothing spent."""
    from isinglass.curate.ledger.ledger import Ledger

    with contextlib.ExitStack() as stack:
        if passing:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            where, secret, note = str(folder / "ledger"), folder / "secret", folder / "note"
        yield stack.enter_context(Ledger(where, secret=secret, note=note))


def _space(
    space: Path | None,
    bounds: Path | None,
    metric: str | None,
    p: float | None,
    weights: Sequence[str],
    names: Sequence[str],
    table: Path,
    limits: dict[str, tuple[float, float]] | None,
) -> dict[str, Any]:
    from isinglass.cli.numeric_columns import same_columns
    from isinglass.cli.weights import weights_for
    from isinglass.curate.space import Space

    if space is not None:
        declared = Space.load(space)
        same_columns(declared.columns, names, space, table)
        return {"space": declared}
    if bounds is not None:
        from isinglass.table.scale import read_bounds

        limits = read_bounds(bounds)
    factors = weights_for(weights, names, str(table))
    return {"bounds": limits, "metric": metric, "p": p, "weights": factors}


def _place(ledger: str) -> str:
    """A file by its name; a database without whatever a URL may hold."""
    return "the ledger" if "://" in ledger else f"the ledger {ledger}"


def same_file(table: Path, records: Path) -> bool:
    """The same path, inode or bytes: a check of files, never of records against rows."""
    if os.path.realpath(table) == os.path.realpath(records):
        return True
    try:
        if os.path.samefile(table, records):
            return True
        if os.path.getsize(table) != os.path.getsize(records):
            return False
        return _digest(table) == _digest(records)
    except OSError:
        return False  # whoever opens it will say what is wrong


def _digest(path: Path) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def has_left(X: NDArray[np.float64], names: Sequence[str]) -> bool:
    """Whether the table has left as a release, by the owner's register, where there is one."""
    from isinglass.release_register import Register

    if not Register.begun():
        return False
    register = Register()
    prints = register.fingerprinter(names)
    prints.add(X)
    return bool(register.earlier(prints.result()))
