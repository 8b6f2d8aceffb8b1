"""`isinglass release`: perturb a table and write the release and its key."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isinglass.cli import options, show
from isinglass.formats import counted
from isinglass.method_names import METHODS

if TYPE_CHECKING:
    from isinglass.perturb.base import Perturbation
    from isinglass.publish import Draft
    from isinglass.table.read import Table

Method = StrEnum("Method", [(name, name) for name in METHODS])  # type: ignore[misc]

#: What stands below the options in the command's help; a line of \b keeps the lines apart.
EPILOG = "\b\nMethods:\n" + "\n".join(
    f"  {name:<16} {entry.help}" for name, entry in METHODS.items()
)
#: Endings that would promise another kind of file.
OTHER_KINDS = (".csv", ".tsv", ".txt", ".json", ".xlsx", ".arrow", ".feather", ".ipc", ".zip")


def release(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="CSV, Parquet or Arrow file with a header.")
    ],
    out: Annotated[Path, options.out("The release, a Parquet file.")],
    method: Annotated[
        Method | None,
        typer.Option("--method", help="One of the methods listed below; default: tanh."),
    ] = None,
    settings: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A parameter of the method; repeatable."
    ),
    key: Path | None = typer.Option(
        None, "--key", help="Where the new key goes; default: OUT with the ending .key."
    ),
    use_key: Path | None = typer.Option(
        None, "--use-key", help="Perturb with this existing key instead of drawing a new one."
    ),
    lock: options.Lock = False,
    passphrase_file: options.PassphraseFile = None,
    public_matrix: Path | None = typer.Option(
        None, "--public-matrix", help="The study's public matrix, for --method multiparty."
    ),
    keep: list[str] = typer.Option(
        [], "--keep", metavar="COL[,COL]", help="Columns that leave as they are (disclosed)."
    ),
    drop: options.Drop = [],
    one_hot: options.OneHot = [],
    number: list[str] = typer.Option(
        [],
        "--number",
        metavar="COL[,COL]",
        help="Columns to perturb although they look like identifiers or labels.",
    ),
    columns: options.Columns = None,
    bounds: options.Bounds = None,
    clip: bool = typer.Option(False, "--clip", help="Move values outside the bounds to them."),
    missing: options.Missing = None,
    shuffle: bool = typer.Option(
        False, "--shuffle", help="Write rows in a secret order that the key can undo."
    ),
    again: bool = typer.Option(
        False, "--again", help="Release rows that have left before, knowing the risk."
    ),
    policy: options.Policy = None,
    report: Path | None = typer.Option(
        None, "--report", help="Audit the release and write this .html or .json report, for you."
    ),
    also: options.Also = [],
    person: options.Person = None,
    force: options.Force = False,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    as_json: options.AsJson = False,
) -> None:
    """Perturb TABLE: a release that can leave, a key that stays, and what it does not promise.

    Every numeric column is perturbed unless kept or dropped; --person is dropped unless kept.
    Columns that look like identifiers or labels must be dropped, kept or named in --number. With
    --policy, nothing is written where the audit does not meet its demands. Example:

    isinglass release flights.csv -o flights.release.parquet --drop tail_number
    """
    from isinglass.cli.columns import choose
    from isinglass.cli.gate import Gate, policy_file
    from isinglass.cli.options import name_of, passphrase, perturbation_for
    from isinglass.errors import PrivacyWarning, ReleaseError
    from isinglass.publish import Caller, write_release
    from isinglass.table.scale import read_bounds

    if out.suffix.lower() in OTHER_KINDS:
        raise ReleaseError(
            f"a release is a Parquet file, in which its method, promise and warnings travel along, "
            f"so nothing was written as {out.suffix.lower()}; name OUT {out.stem}.parquet, and "
            "export a copy of it for somebody who cannot read Parquet"
        )
    if use_key is not None and (key or settings or public_matrix or method):
        raise ReleaseError(
            "--use-key brings its method and settings; leave --method, --set, --key and "
            "--public-matrix out"
        )
    perturbation = None
    if use_key is None:
        method = method or Method("tanh")
        extra = {}
        if public_matrix is not None:
            if method != "multiparty":
                raise ReleaseError("--public-matrix goes with --method multiparty")
            from isinglass.perturb.public_matrix import PublicMatrix

            extra["public_matrix"] = PublicMatrix.load(public_matrix)
        perturbation = perturbation_for(method.value, settings, extra)
    chosen = choose(
        columns, table, drop=drop, keep=keep, one_hot=one_hot, numbers=number, person=person,
        encoding=encoding, delimiter=delimiter, decimal=decimal, missing=missing,
    )  # fmt: skip
    audited = policy is not None or report is not None
    gate = Gate(policy, report, also, chosen.person if audited else person)
    reading = chosen.reading
    apart = [n for n in (chosen.person, chosen.label) if n not in (*chosen.drop, *chosen.keep)]
    dropped = [*chosen.drop, *(n for n in apart if n is not None)]

    def check(opened: Table) -> None:
        if columns is None and use_key is None:
            from isinglass.publish.unsaid import refuse_unsaid

            refuse_unsaid(opened, said={*dropped, *chosen.keep, *chosen.one_hot}, numbers=number)

    limits = None if bounds is None else read_bounds(bounds)
    if limits is None and _scales(perturbation):
        limits = chosen.bounds
    with gate, show.Bar() as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # told below, each in a line

        def audit(draft: Draft) -> None:
            gate.audit(draft, table, out, missing=reading.missing, progress=bar, **reading.file)

        written = write_release(
            table,
            out,
            perturbation,
            key=key,
            use_key=use_key,
            passphrase=passphrase(lock, passphrase_file, new=use_key is None),
            keep=chosen.keep,
            drop=dropped,
            one_hot=chosen.one_hot,
            bounds=limits,
            clip=clip,
            missing=reading.missing,
            shuffle=shuffle,
            again=again,
            force=force,
            **reading.file,
            gate=audit if gate.wanted else None,
            progress=bar,
            caller=Caller(
                reads=[bounds, public_matrix, passphrase_file, columns, *also, policy_file(policy)],
                writes={} if report is None else {"the report": report},
                say=show.print_message,
                check=check,
                label=chosen.label,
                person=chosen.person,
            ),
        )
    # A key brings its method.
    made = method.value if method else name_of(written.method, written.parameters)
    if as_json:
        show.print_json(
            {
                "rows": written.rows,
                "columns": written.columns,
                "method": made,
                "release": str(written.release),
                "key": str(written.key),
                "promise": written.promise.kind,
                "warnings": list(written.warnings),
            }
        )
    for warning in written.warnings:
        show.print_message(f"warning: {warning}")
    if as_json:
        return
    rows, width = counted(written.rows, "row"), counted(written.columns, "column")
    show.echo(f"release  {written.release}  ({rows}, {width})")
    show.echo(f"key      {written.key}  (stays with you: anyone who has it can undo much of this)")
    if written.public_file is not None:
        show.echo(f"matrix   {written.public_file}  (public: every participant needs it)")
    show.echo(f"promise  {written.promise.sentence()}")
    gate.tell()


def _scales(perturbation: Perturbation | None) -> bool:
    """Whether declared bounds are of use: a key used again has its own, and some need none."""
    from isinglass.perturb.scaled import ScaledPerturbation

    return isinstance(perturbation, ScaledPerturbation)
