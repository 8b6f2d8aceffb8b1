"""Options that several commands share, each declared once, and the choices among fixed words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

#: Of an option that has a default in one command and none in another, `int` or `int | None`.
T = TypeVar("T")

# Typer refuses any other word and lists these in the help.
MissingChoice = Literal["error", "drop", "median"]
#: A median of a curator's table would be a fact of it that nobody pays for.
MissingRowChoice = Literal["error", "drop"]
ModeChoice = Literal["sparse", "sensitive", "dp"]
MetricChoice = Literal["euclidean", "manhattan", "chebyshev", "minkowski", "hamming"]


def out(help: str) -> Any:
    """The file or folder that a command writes, each of its own kinds."""
    return typer.Option("-o", "--out", help=help)


Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Seed = Annotated[
    T,
    typer.Option("--seed", help="Seed of every draw: the same seed, the same numbers."),
]

# How tables are read.
Encoding = Annotated[str, typer.Option("--encoding", help="Of CSV files.")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Of CSV files; else guessed.")]
Drop = Annotated[
    list[str],
    typer.Option(
        "--drop", metavar="COL[,COL]", help="Columns to leave out; also patterns, as in 'id_*'."
    ),
]
OneHot = Annotated[
    list[str],
    typer.Option("--one-hot", metavar="COL[,COL]", help="Discrete columns, as 0/1 columns."),
]
Missing = Annotated[
    MissingChoice, typer.Option("--missing", help="What to do with missing values.")
]
MissingRows = Annotated[
    MissingRowChoice, typer.Option("--missing", help="What to do with rows that lack values.")
]
Label = Annotated[
    str | None,
    typer.Option("--label", metavar="COL", help="A column that is 1 for known anomalies, else 0."),
]
Bounds = Annotated[
    Path | None,
    typer.Option("--bounds", help="Public bounds: lines of column,low,high, or JSON."),
]
Weights = Annotated[
    list[str],
    typer.Option(
        "--weights",
        metavar="COL=W[,COL=W]|FILE",
        help="Factors of squared differences, 1 where none is given; or a file of lines "
        "column,weight, or JSON.",
    ),
]

# What an audit is told.
PassphraseFile = Annotated[
    Path | None,
    typer.Option("--passphrase-file", help="The key's passphrase: the first line of a file."),
]
Policy = Annotated[
    str | None,
    typer.Option(
        "--policy", metavar="FILE|strict", help="Demands on the audit; exit 1 if one is not met."
    ),
]
Also = Annotated[
    list[Path],
    typer.Option(
        "--also",
        metavar="FILE",
        help="Another release of the same rows, attacked together with this one; repeatable.",
    ),
]
Person = Annotated[
    str | None,
    typer.Option("--person", metavar="COL", help="A column that says whose record a row is."),
]
MaxPairs = Annotated[
    int | None,
    typer.Option(
        "--max-pairs", help="Assume that nobody knows more pairs than this; default: 10 d and 1 %."
    ),
]

# What a curator is asked.
Mode = Annotated[ModeChoice, typer.Option("--mode", help="The question and its guarantee.")]
ProtectedK = Annotated[
    int | None,
    typer.Option(
        "--k", help="Only with --mode sensitive: a larger k protects more records; default: 1."
    ),
]
Power = Annotated[float | None, typer.Option("--p", help="The power of --metric minkowski.")]
Budget = Annotated[
    T,
    typer.Option("--budget", metavar="EPS", help="The most ever spent at one place."),
]
UserBudget = Annotated[
    str | None,
    typer.Option("--user-budget", metavar="EPS", help="The most one user spends at one place."),
]
RecordsPerPerson = Annotated[
    int | None,
    typer.Option(
        "--records-per-person",
        help="How many records one person may have; default: 1, then as in the contract.",
    ),
]
AlsoReleased = Annotated[
    bool,
    typer.Option("--also-released", help="The table left as a release, too; guarantees say so."),
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it stays in the ledger.")]
Secret = Annotated[
    Path | None,
    typer.Option("--secret", help="The ledger's secret; default: in the owner's own folder."),
]
Note = Annotated[
    Path | None,
    typer.Option(
        "--note", help="Where the ledger's head is noted; default: in the owner's folder."
    ),
]
