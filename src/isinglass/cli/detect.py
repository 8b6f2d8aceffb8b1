"""`isinglass detect`: the strongest outliers of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isinglass.cli import options, show
from isinglass.formats import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isinglass.detect.distance import DistanceOutliers
    from isinglass.table.read import Table

SHOWN = 10
#: share of the squared distances from which one column is said to rule
RULES = 0.9


def detect(
    file: Path = typer.Argument(
        ..., metavar="FILE", help="CSV, Parquet or Arrow file with a header; a table or a release."
    ),
    n_outliers: int = typer.Option(500, "-n", "--n-outliers", help="How many rows to find."),
    n_neighbors: int = typer.Option(5, "-k", "--n-neighbors", help="How many neighbors count."),
    score: Annotated[
        Literal["mean", "kth", "sum"],
        typer.Option(
            help="Mean or sum of the distances to the neighbors, or the distance to the last one."
        ),
    ] = "mean",
    weights: options.Weights = [],
    discrete: list[str] = typer.Option(
        [], "--discrete", metavar="COL[,COL]", help="Columns that are only equal or different."
    ),
    label: options.Label = None,
    drop: options.Drop = [],
    columns: options.Columns = None,
    scale: bool = typer.Option(
        False, "--scale", help="Bring numeric columns from their range in the file to [0, 1]."
    ),
    missing: options.Missing = None,
    out: Annotated[
        Path | None, options.out("Write row, score and rank of all to this .csv or .parquet file.")
    ] = None,
    force: options.Force = False,
    memory_limit: str | None = typer.Option(
        None,
        "--memory-limit",
        metavar="SIZE",
        help="Such as 4GB or 512MiB; default: four fifths of what is free. A file that needs "
        "more is read several times.",
    ),
    jobs: int = typer.Option(-1, "--jobs", help="Threads; -1: all cores."),
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    as_json: options.AsJson = False,
) -> None:
    """Find the strongest outliers of FILE, exactly: the rows furthest from their neighbors.

    Every numeric column counts unless it is dropped or the label. Nothing is rescaled without
    --scale. Rows are numbered from 0. Example:

    isinglass detect flights.csv -n 20 --drop 'tail_*'
    """
    from math import isfinite
    from time import perf_counter

    from isinglass.cli.columns import choose
    from isinglass.cli.weights import weights_for
    from isinglass.errors import TableError
    from isinglass.table.number_blocks import TableBlocks, choose_features
    from isinglass.table.read import open_table

    _check("-n", n_outliers, n_outliers >= 1, ">= 1")
    _check("-k", n_neighbors, n_neighbors >= 1, ">= 1")
    _check("--jobs", jobs, jobs >= 1 or jobs == -1, "1 or more, or -1 for all cores")
    limit = _bytes(memory_limit) if memory_limit is not None else _free()
    _check_out(out, [file, *map(Path, weights), *([columns] if columns else [])], force=force)

    chosen = choose(
        columns, file, drop=drop, one_hot=discrete, label=label, encoding=encoding,
        delimiter=delimiter, decimal=decimal, missing=missing,
    )  # fmt: skip
    table = open_table(file, **chosen.reading.file)
    label = chosen.label
    out_of_it = [*chosen.drop, *chosen.keep, *([chosen.person] if chosen.person else [])]
    features = choose_features(table, discrete=chosen.one_hot, drop=out_of_it, label=label)
    names = [*features.numeric, *features.coded]
    factors = weights_for(weights, names, table.name)
    _mention_kept(file, names)
    if columns is None:
        _mention_index(table, features.numeric)
    from isinglass.detect.distance import DistanceOutliers  # slow to load, so errors come first
    from isinglass.kernels import jit, nearest

    if not jit.is_kept(nearest.search):
        jit.first_compilation.said = True  # here, and in a pipe, too
        show.print_message(
            "note: the search is compiled for this machine, once; this takes some seconds"
        )
    begin = perf_counter()
    with show.Bar() as bar:
        rows = TableBlocks(
            table, features, missing=chosen.reading.missing, scale=scale, progress=bar
        )
        found = DistanceOutliers(
            n_outliers,
            n_neighbors,
            score_by=score,
            weights=factors,
            memory_limit=limit,
            n_jobs=jobs,
        ).fit_blocks(rows, progress=bar)
    seconds = perf_counter() - begin
    if found.n_rows_ < 2:
        raise TableError(f"{file} has a single row; an outlier needs others to differ from")
    if not isfinite(found.outlier_scores_[0]):  # which JSON could not hold
        raise TableError(f"{file} has rows too far apart for float64; bring them nearer by --scale")
    if out is not None:
        _write(out, found, force=force)

    if as_json:
        show.print_json(
            {
                "rows": found.n_rows_,
                "columns": len(names),
                "outliers": [
                    {"row": row, "score": value}
                    for row, value in zip(
                        found.outliers_.tolist(), found.outlier_scores_.tolist(), strict=True
                    )
                ],
                "cutoff": found.cutoff_,
                "seconds": round(seconds, 6),
            }
        )
    else:
        _show(found, len(names), seconds, out)
    tell: Callable[[str], None] = show.print_message if as_json else show.echo
    if rows.n_left_out:
        were = "was" if rows.n_left_out == 1 else "were"
        tell(f"{counted(rows.n_left_out, 'row')} with missing values {were} left out")
    _tell_label(table, label, found, tell)
    _hint_at_one_column(found, rows.names, scale)


def _show(found: DistanceOutliers, columns: int, seconds: float, out: Path | None) -> None:
    show.echo(f"rows     {found.n_rows_:,}, numbered from 0")
    show.echo(f"columns  {columns:,}")
    show.echo(f"cutoff   {found.cutoff_:.6g}")
    show.echo(f"seconds  {seconds:.2f}")
    show.echo("")
    lines = [("rank", "row", "score")]
    for rank, (row, value) in enumerate(
        zip(found.outliers_[:SHOWN], found.outlier_scores_[:SHOWN], strict=True), start=1
    ):
        lines.append((str(rank), str(row), f"{value:.6g}"))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        show.echo("  ".join(word.rjust(w) for word, w in zip(line, widths, strict=True)))
    more = len(found.outliers_) - SHOWN
    if out is not None:
        show.echo(f"all {len(found.outliers_):,} are in {out}")
    elif more > 0:
        show.echo(f"and {more:,} more; -o FILE or --json gives all {len(found.outliers_):,}")


def _hint_at_one_column(found: DistanceOutliers, names: Sequence[str], scale: bool) -> None:
    """Say so where the strongest outliers are strange in one column alone."""
    shares = found.column_shares()
    if shares is None or len(shares) < 2 or shares.max() <= RULES:
        return
    from isinglass.formats import share

    column = names[int(shares.argmax())]
    advice = (
        f"--drop {column} or a smaller weight (--weights) lets the others count"
        if scale
        else "--scale lets all columns count alike"
    )
    show.print_message(
        f"note: {column} makes up {share(float(shares.max()))} of the squared distances of the "
        f"strongest outliers, so that the other columns hardly count; {advice}"
    )


def _tell_label(
    table: Table, label: str | None, found: DistanceOutliers, tell: Callable[[str], None]
) -> None:
    from isinglass.table.number_blocks import count_marked

    counts = None if label is None else count_marked(table, label, found.outliers_)
    if counts is not None:
        hits, total = counts
        tell(
            f"{hits:,} of the {len(found.outliers_):,} rows found have {label} 1; "
            f"{counted(total, 'row')} of the file {'has' if total == 1 else 'have'} it"
        )


def _mention_kept(file: Path, columns: Sequence[str]) -> None:
    """Columns that passed through a release unperturbed count here like any other."""
    import contextlib

    from isinglass.errors import ReleaseError
    from isinglass.release import read_facts

    with contextlib.suppress(ReleaseError):  # most files are no release
        kept = [name for name in read_facts(file).kept if name in columns]
        if kept:
            show.print_message(
                f"note: {file} is a release; columns it kept as they are ({', '.join(kept)}) are "
                "compared like the others; --drop them if they should not be"
            )


def _mention_index(table: Table, columns: Sequence[str]) -> None:
    """A row number that was saved with the table says nothing of the record."""
    from isinglass.table.roles.names import is_index_name

    named = [name for name in columns if is_index_name(name)]
    if not named:
        return
    from isinglass.publish.unsaid import look_alikes
    from isinglass.table.columns import quoted

    if found := quoted(look_alikes(table, named)[0]):
        show.print_message(
            f"note: column {', '.join(found)} counts the rows, as an index does that was saved "
            f"with the table, and is compared like the others; --drop {','.join(found)}"
        )


def _write(out: Path, found: DistanceOutliers, *, force: bool) -> None:
    import numpy as np
    import pyarrow as pa

    from isinglass.files import whole_file

    table = pa.table(
        {
            "row": found.outliers_,
            "score": found.outlier_scores_,
            "rank": np.arange(1, len(found.outliers_) + 1),
        }
    )
    with whole_file(out, force=force) as temporary:
        if out.suffix.lower() == ".csv":
            from pyarrow import csv

            csv.write_csv(table, temporary)
        else:
            import pyarrow.parquet as pq

            pq.write_table(table, temporary)


def _check(option: str, value: object, holds: bool, rule: str) -> None:
    if not holds:
        raise ValueError(f"{option} must be {rule}, got {value}")


def _check_out(out: Path | None, read: Sequence[Path], *, force: bool) -> None:
    """Complain before the search about a target that cannot be written after it."""
    if out is None:
        return
    import os

    from isinglass.files import refuse_unwritable

    _check("-o", out, out.suffix.lower() in (".csv", ".parquet"), "a .csv or .parquet file")
    refuse_unwritable(out, force=force)
    if any(p.exists() and out.exists() and os.path.samefile(p, out) for p in read):
        raise ValueError(f"-o must not be a file that is read, got {out}")


def _free() -> int:
    """Four fifths of the memory that is free; and where hardly any is, enough to begin."""
    from isinglass.memory import available_bytes

    return max(available_bytes() * 4 // 5, 64 << 20)


def _bytes(text: str) -> int:
    import re

    units = "kmgt"
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b)?", text.strip().lower())
    size = 0
    if found:
        base = 1024 if found[3] else 1000
        size = int(float(found[1]) * base ** (units.index(found[2]) + 1 if found[2] else 0))
    _check("--memory-limit", text, size >= 1, "a size such as 4GB or 512MiB")
    return size
