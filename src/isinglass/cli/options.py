"""Options that several commands share, and checks of their values."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

import typer

from isinglass.documents import read_json
from isinglass.errors import ReleaseError
from isinglass.field_checks import is_number

if TYPE_CHECKING:
    from isinglass.perturb.base import Perturbation


#: Of an option that has a default in one command and none in another, `int` or `int | None`.
T = TypeVar("T")

# Typer refuses any other word and lists these in the help.
MissingChoice = Literal["error", "drop", "median"]
#: A median of a curator's table would be a fact of it that nobody pays for.
MissingRowChoice = Literal["error", "drop"]
DecimalChoice = Literal[".", ","]
ModeChoice = Literal["sparse", "sensitive", "dp"]
MetricChoice = Literal["euclidean", "manhattan", "chebyshev", "minkowski", "hamming"]


def each_of(choices: Collection[str]) -> Callable[[list[str]], list[str]]:
    """A callback for options of several words: commas separate them, each must be a choice."""

    def checked(given: list[str]) -> list[str]:
        words = [word.strip() for item in given for word in item.split(",")]
        for word in words:
            if word not in choices:  # said as typer says it of a single choice
                listed = ", ".join(map(repr, choices))
                raise typer.BadParameter(f"{word!r} is not one of {listed}.")
        return words

    return checked


MODES: tuple[str, ...] = get_args(ModeChoice)


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
Columns = Annotated[
    Path | None,
    typer.Option(
        "--columns",
        metavar="FILE",
        help="Roles of the columns and how they are written, as `isinglass inspect -o` writes "
        "them; what is typed beside it wins.",
    ),
]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of CSV files; default: utf8.")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Of CSV files; else guessed.")]
Decimal = Annotated[
    DecimalChoice | None,
    typer.Option(
        "--decimal",
        help="The decimal mark of numbers in text, as in 1.234,50 or € 1,234.50 or 12 %; default: "
        "such columns are text.",
    ),
]
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
    MissingChoice | None,
    typer.Option("--missing", help="What to do with missing values; default: error."),
]
MissingRows = Annotated[
    MissingRowChoice | None,
    typer.Option("--missing", help="What to do with rows that lack values; default: error."),
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
Lock = Annotated[
    bool,
    typer.Option(
        "--lock", help="Ask for a passphrase that locks a new key, or opens the one that is used."
    ),
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
LedgerFile = Annotated[
    str | None,
    typer.Option(
        "--ledger", metavar="FILE|URL", help="Where spends are kept; created on first use."
    ),
]
Modes = Annotated[
    list[str],
    typer.Option(
        "--modes",
        metavar="[sparse|sensitive|dp][,…]",
        callback=each_of(MODES),
        help="The modes allowed from first use on; default: that of --mode.",
    ),
]
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
DeltaCap = Annotated[
    str | None,
    typer.Option(
        "--delta-cap", metavar="DELTA", help="The most delta that all models spend together."
    ),
]
RecordsPerPerson = Annotated[
    int | None,
    typer.Option(
        "--records-per-person",
        help="How many records one person may have; default: 1, then as in the contract.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="SHARE",
        help="The share of records, such as 0.01, that should score above the model's threshold.",
    ),
]
AlsoReleased = Annotated[
    bool,
    typer.Option("--also-released", help="The table left as a release, too; guarantees say so."),
]
OwnRows = Annotated[
    bool,
    typer.Option("--own-rows", help="RECORDS is the table itself, for your own eyes only."),
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


def passphrase(lock: bool, file: Path | None, *, new: bool) -> str | None:
    """The passphrase, or None where nobody asked for a lock."""
    from isinglass.errors import KeyFileError

    if file is not None:
        try:
            words = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise KeyFileError(f"passphrase file {file} cannot be read") from None
        if not words or not words[0]:
            raise KeyFileError(f"passphrase file {file} is empty")
        return words[0]
    if lock:
        if not sys.stdin.isatty():
            raise KeyFileError("--lock asks on a terminal and there is none; use --passphrase-file")
        return str(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=new, err=True))
    return None


def perturbation_for(
    method: str, settings: Sequence[str] = (), extra: dict[str, Any] | None = None
) -> Perturbation:
    """The unfitted perturbation a method name and `--set name=value` ask for."""
    from isinglass.method_names import METHODS
    from isinglass.perturb.registry import class_named

    if method not in METHODS:
        raise ReleaseError(f"method {method} is unknown; choose one of {', '.join(METHODS)}")
    kind = class_named(method)
    fixed = kind.variants[method].fixed
    defaults = {n: p.default for n, p in inspect.signature(kind).parameters.items()}
    known = [name for name in defaults if name not in (*fixed, "bounds", "public_matrix")]
    parameters = dict(fixed) | (extra or {})
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ReleaseError(f"--set takes name=value, got {setting}")
        if name not in known:
            raise ReleaseError(
                f"method {method} has no parameter {name}; it has {', '.join(known)}"
            )
        parameters[name] = parse(value)
        if not _fits(name, parameters[name], defaults[name]):
            wanted = {bool: "true or false", str: "a word"}.get(type(defaults[name]), "a number")
            raise ReleaseError(f"--set {name} takes {wanted}, got {value}")
    return kind(**parameters)


def parse(value: str) -> Any:
    """A number, true, false, none, a JSON list, or else text."""
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return words[value.lower()]
    for read in (int, float, read_json):
        try:
            return read(value)
        except ValueError:
            continue
    return value


# Parameters that may hold one number for each column.
_PER_COLUMN = ("center", "scale", "weights")


def _fits(name: str, value: Any, default: Any) -> bool:
    """Whether a value is of its parameter's kind."""
    if value is None:
        return default is None or name == "optimize"
    if isinstance(default, bool | str):
        return isinstance(value, type(default))
    if isinstance(value, list):
        return name in _PER_COLUMN and all(is_number(v) for v in value)
    if isinstance(value, float) and isinstance(default, int):
        return False
    return is_number(value)


def name_of(method: str, parameters: dict[str, Any]) -> str:
    """The name that would make a perturbation with these public facts."""
    from isinglass.perturb.registry import class_of

    kind = class_of(method)
    for name, variant in ({} if kind is None else kind.variants).items():
        if variant.fixed and all(parameters.get(k) == v for k, v in variant.fixed.items()):
            return name
    return method


def check_question(
    mode: str, k: int | None, metric: str | None, p: float | None, *, count_query: bool = True
) -> int:
    """Refuse a setting that would be ignored; the k to ask with."""
    from isinglass.errors import CuratorError

    if k is not None and mode != "sensitive":
        raise CuratorError(f"--k goes with --mode sensitive; leave it out with --mode {mode}")
    if not count_query and mode != "sparse":
        raise CuratorError(
            f"--no-count-query goes with --mode sparse; --mode {mode} looks for the record itself"
        )
    if p is None and metric == "minkowski":
        raise CuratorError("--metric minkowski needs its power, --p")
    if p is not None and metric != "minkowski":
        raise CuratorError("--p is the power of --metric minkowski; leave it out of others")
    return 1 if k is None else k


def refuse_ignored(given: dict[str, Any]) -> None:
    """Refuse what a dry run would not do."""
    from isinglass.errors import CuratorError

    if ignored := [name for name, value in given.items() if value is not None]:
        raise CuratorError(
            f"--dry-run asks and writes nothing; leave {' and '.join(ignored)} for when you ask"
        )


def check_modes(modes: list[str], mode: str) -> None:
    """Refuse a contract that would not allow the very question."""
    from isinglass.errors import CuratorError

    if modes and mode not in modes:
        raise CuratorError(
            f"--modes must list --mode {mode} among those it allows, got {','.join(modes)}"
        )
