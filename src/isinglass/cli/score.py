"""`isinglass score`: scores of records by a model that somebody handed over."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isinglass.cli import options, show

if TYPE_CHECKING:
    from isinglass.detect.score_file import Scorer

SHOWN = 10
_UNSIGNED = "the model is not signed: anybody may have made or changed it"


def score(
    records: Annotated[
        Path | None,
        typer.Argument(metavar="RECORDS", help="CSV, Parquet or Arrow file with a header."),
    ] = None,
    model: Path = typer.Option(
        ..., "--model", help="A model.zip, or an autoencoder's .onnx file, as isinglass wrote it."
    ),
    out: Annotated[
        Path | None, options.out("Write row and score of all records to this .csv or .parquet.")
    ] = None,
    n_outliers: int | None = typer.Option(
        None,
        "-n",
        "--n-outliers",
        help="Show the strangest n; default: those above the model's threshold, or 10 without one.",
    ),
    page: Path | None = typer.Option(
        None,
        "--page",
        help="Score nothing, but write the model's page, an .html file: it scores CSV files in a "
        "browser, offline.",
    ),
    explain: bool = typer.Option(
        False, "--explain", help="Say what share of its score each column of an anomaly has."
    ),
    signer: str | None = typer.Option(
        None,
        "--signer",
        metavar="FILE|FINGERPRINT",
        help="Who must have signed the model; default: the signer of the first model of its name.",
    ),
    unsigned: bool = typer.Option(
        False, "--unsigned", help="Take a model that nobody signed: anybody may have made it."
    ),
    own_rows: options.OwnRows = False,
    drop: options.Drop = [],
    columns: options.Columns = None,
    jobs: int = typer.Option(-1, "--jobs", help="Threads; -1: all cores."),
    force: options.Force = False,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    as_json: options.AsJson = False,
) -> None:
    """Score RECORDS by a model, offline: the higher, the stranger. Rows are numbered from 0.

    Columns are found by their names; others are passed over. A signature proves nothing unless you
    know whose it is: compare the fingerprint with the owner. Example:

    isinglass score new.csv --model model.zip --unsigned --explain
    """
    if page is not None:
        scoring = {"RECORDS": records, "-o": out, "-n": n_outliers, "--explain": explain or None}
        _refuse_beside_page([name for name, value in scoring.items() if value is not None])
        _write_page(page, model, signer, unsigned=unsigned, force=force, as_json=as_json)
        return
    from isinglass.cli.columns import choose
    from isinglass.detect.score_file import score_file
    from isinglass.errors import ModelError
    from isinglass.files import refuse_targets
    from isinglass.table.read import open_table

    if records is None:
        raise ModelError("RECORDS is missing: name a file to score, or --page to write the page")
    if n_outliers is not None and n_outliers < 1:
        raise ModelError(f"-n must be >= 1, got {n_outliers}")
    if out is not None:
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise ModelError(f"-o must be a .csv or .parquet file, got {out.name}")
        refuse_targets({"the scores": out}, [records, model, columns], force=force)
    if not own_rows and _was_counted(records):
        raise ModelError(
            "RECORDS is a table that a model of yours was made from: no guarantee covers scores of "
            "its own rows; pass --own-rows if they stay with you"
        )
    chosen = choose(
        columns, records, drop=drop, encoding=encoding, delimiter=delimiter, decimal=decimal,
        whole=False,
    )  # fmt: skip
    table = open_table(records, **chosen.reading.file)
    there = [n for n in (*chosen.drop, *chosen.no_numbers()) if n in table.schema.names]
    left_out = [*(n for n in chosen.drop if n not in there), *dict.fromkeys(there)]
    scorer, opened = _opened(model, signer, unsigned=unsigned, drop=left_out, jobs=jobs)
    most = n_outliers
    if most is None and (scorer.threshold is None or not as_json):
        most = SHOWN
    listed: list[float] = []
    with show.Bar() as bar, _writer(out, force=force) as write:

        def take(first: int, scores: Any) -> None:
            write(first, scores)
            if as_json:
                listed.extend(scores.tolist())

        found = score_file(scorer, table, take, most=most, explain=explain, progress=bar)
    if n_outliers is None and scorer.threshold is not None:
        anomalies = [a for a in found.anomalies if a.score > scorer.threshold]
    else:
        anomalies = found.anomalies
    if as_json:
        picked = [
            {"row": a.row, "score": a.score}
            | ({"columns": [{"name": n, "share": s} for n, s in a.columns]} if explain else {})
            for a in anomalies
        ]
        document: dict[str, Any] = {"rows": found.rows, "scores": listed}
        document["threshold"] = scorer.threshold
        document["guarantee"] = opened.promise
        show.print_json(document | {"anomalies": picked, "warnings": opened.cautions})
        return
    show.echo(f"rows       {found.rows:,}, numbered from 0")
    show.echo(f"model      {opened.title}", f"guarantee  {opened.guarantee}")
    if scorer.threshold is None:
        show.echo("threshold  none: here are the strangest rows, whether or not they are anomalies")
    else:
        show.echo(f"threshold  {scorer.threshold:.6g}, with {found.above:,} rows above it")
    show.echo("")
    lines = [("rank", "row", "score", *(["by"] if explain else []))]
    for rank, a in enumerate(anomalies, start=1):
        by = ", ".join(f"{name} {100 * share:.0f} %" for name, share in a.columns[:3])
        lines.append((str(rank), str(a.row), f"{a.score:.6g}", *([by] if explain else [])))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        numbers = "  ".join(word.rjust(w) for word, w in zip(line[:3], widths, strict=False))
        show.echo("  ".join([numbers, *line[3:]]))
    if out is not None:
        show.echo(f"all {found.rows:,} are in {out}")


@dataclass(frozen=True, slots=True)
class OpenedModel:
    """What to call a model, what it promises by its document, and what to warn of."""

    title: str
    guarantee: str
    promise: dict[str, Any] | None
    cautions: list[str]


def _opened(
    path: Path, signer: str | None, *, unsigned: bool, drop: list[str], jobs: int
) -> tuple[Scorer, OpenedModel]:
    """The model, once its signer is the right one, and what to say of it."""
    from isinglass.detect.onnx_file import read_autoencoder
    from isinglass.detect.private.guarantee import price_line
    from isinglass.detect.private.load import doubts, open_model
    from isinglass.detect.protobuf import is_onnx
    from isinglass.detect.score_file import AutoencoderScorer, PrivateScorer
    from isinglass.epsilon import FEMTO, as_float
    from isinglass.signing import check_signer

    if is_onnx(path):
        exported = read_autoencoder(path)
        check_signer(
            None, name=path.name, file=str(path), wanted=signer, unsigned=unsigned,
            say=show.print_message,
        )  # fmt: skip
        about = OpenedModel("an autoencoder", "none", None, [_UNSIGNED])
        return AutoencoderScorer(exported, drop=drop), about
    found, document = open_model(path, signer, unsigned=unsigned, say=show.print_message)
    cautions = doubts(found)
    for caution in cautions:
        show.print_message(f"warning: {caution}")
    by = None if found.signer is None else found.signer.fingerprint
    if by is None:
        cautions = [_UNSIGNED, *cautions]
    price = document.micro, document.femto, document.records_per_person
    promise = {
        "epsilon": as_float(document.micro),
        "delta": document.femto / FEMTO,
        "records_per_person": document.records_per_person,
    }
    about = OpenedModel(_titled(found.name, by), price_line(*price), promise, cautions)
    return PrivateScorer(document, n_jobs=jobs), about


def _refuse_beside_page(given: list[str]) -> None:
    from isinglass.errors import ModelError

    if given:
        raise ModelError(
            f"--page writes the model's page and scores nothing; leave out {' and '.join(given)}"
        )


def _write_page(
    page: Path, path: Path, signer: str | None, *, unsigned: bool, force: bool, as_json: bool
) -> None:
    """Take the page out of a model's file, once its signer is the right one."""
    from isinglass.detect.private.load import doubts, open_model
    from isinglass.detect.protobuf import is_onnx
    from isinglass.errors import ModelError
    from isinglass.files import refuse_targets, whole_file

    if page.suffix.lower() != ".html":
        raise ModelError(f"--page must be an .html file, got {page.name}")
    refuse_targets({"the page": page}, [path], force=force)
    if is_onnx(path):
        raise ModelError(f"{path} is an autoencoder, which has no page; score with this command")
    found, _ = open_model(path, signer, unsigned=unsigned, say=show.print_message)
    for caution in doubts(found):
        show.print_message(f"warning: {caution}")
    if "score.html" not in found.entries:
        raise ModelError(f"{path} holds no page; score with this command")
    with whole_file(page, force=force) as temporary:
        temporary.write_bytes(found.entries["score.html"])
    by = None if found.signer is None else found.signer.fingerprint
    if as_json:
        show.print_json({"page": str(page), "model": found.name, "signer": by})
        return
    show.echo(f"page   {page}  (scores CSV files in any browser, offline)")
    show.echo(f"model  {_titled(found.name, by)}")


def _titled(name: str, fingerprint: str | None) -> str:
    return f"{name}  ({'not signed' if fingerprint is None else f'signed by {fingerprint}'})"


def _was_counted(records: Path) -> bool:
    """Whether RECORDS is a table of this machine's owner: a check of files, never of records."""
    from isinglass.release_register import Register

    try:
        return Register.has_counted() and Register().was_counted(records)
    except OSError:
        return False  # whoever opens it will say what is wrong


@contextlib.contextmanager
def _writer(out: Path | None, *, force: bool) -> Iterator[Callable[[int, Any], object]]:
    """Writes rows and scores part by part; the file is whole or not there at all."""
    if out is None:
        yield lambda first, scores: None
        return
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    from isinglass.files import whole_file

    schema = pa.schema([("row", pa.int64()), ("score", pa.float64())])
    kind: Any = csv.CSVWriter if out.suffix.lower() == ".csv" else pq.ParquetWriter
    with whole_file(out, force=force) as temporary, kind(temporary, schema) as writer:

        def write(first: int, scores: Any) -> None:
            rows = pa.array(range(first, first + len(scores)), pa.int64())
            writer.write_table(pa.table([rows, pa.array(scores)], schema=schema))

        yield write
