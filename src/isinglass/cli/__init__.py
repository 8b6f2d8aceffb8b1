"""The command line: parse, call, print; errors are one sentence and never a record's values."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from isinglass.cli import show
from isinglass.cli.usage_errors import OptionSpelling, UsageError, is_help, usage_sentence
from isinglass.files import STOP_SIGNALS
from isinglass.formats import shorten
from isinglass.messages import spelled

#: characters of an error, which may quote a name or a setting from a file
LONGEST = 2_000

#: Every command has a module of its own, which is imported when the command is typed.
COMMANDS = (
    "inspect", "release", "detect", "audit", "tune", "model", "score", "keygen",
    "verify-privacy", "plan", "ask", "ledger", "register", "reproduce", "demo", "doctor",
)  # fmt: skip
_STYLE: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class CommandModules(Mapping[str, Any]):
    """The commands by name, each imported and parsed when it is looked up."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._found:
            in_python = name.replace("-", "_")
            module = importlib.import_module(f"isinglass.cli.{in_python}")
            group = getattr(module, "app", None)  # of a command with commands of its own
            if group is None:
                group = typer.Typer(**_STYLE)
                epilog = getattr(module, "EPILOG", None)
                group.command(name, epilog=epilog)(getattr(module, in_python))
            self._found[name] = typer.main.get_command(group)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class CommandGroup(TyperGroup):
    """The group `isinglass`, which imports no command but the one typed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = CommandModules()  # type: ignore[assignment]


app = typer.Typer(
    name="isinglass",
    cls=CommandGroup,
    help="Privacy-preserving anomaly detection: releases that leave, keys that stay.",
    no_args_is_help=True,
    **_STYLE,
)


def _version(wanted: bool) -> None:
    if wanted:
        from isinglass import __version__

        show.echo(f"isinglass {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and stop."
    ),
    debug: bool = typer.Option(
        False, "--debug", help="Show a traceback when something fails (anywhere on the line)."
    ),
) -> None:
    """Privacy-preserving anomaly detection: releases that leave, keys that stay."""


def main() -> NoReturn:
    """Run a command; exit 0 on success, 1 when a verification says no, 2 on bad input."""
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1 or bool(os.environ.get("ISINGLASS_DEBUG"))
    warnings.showwarning = _show_warning
    for number in STOP_SIGNALS:
        signal.signal(number, _stop)
    try:
        with spelled(OptionSpelling()):
            code = app(arguments, prog_name="isinglass", standalone_mode=False)
    except show.StoppedError as stop:
        _fail(stop.sentence, 128 + stop.number)
    except typer.Abort:
        _fail("nothing was typed, so nothing was done", 1)
    except UsageError as error:
        if is_help(error):
            for line in str(error).splitlines():  # of ours, and meant to be several
                show.print_message(line)
            sys.exit(2)
        _fail(usage_sentence(error), 2)
    except Exception as error:
        if debug:
            raise
        _fail(_sentence(error, arguments), 1 if _refused(error) else 2)
    sys.exit(code or 0)


def _show_warning(message: Warning | str, *about: object, **more: object) -> None:
    show.print_message(f"warning: {message}")


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    for other in STOP_SIGNALS:
        signal.signal(other, signal.SIG_IGN)  # cleaning up is not to be interrupted
    raise show.StoppedError(number)


def _fail(sentence: str, code: int) -> NoReturn:
    sys.stdout.flush()
    show.print_message(f"isinglass: {shorten(sentence, LONGEST)}")
    sys.exit(code)


def _refused(error: Exception) -> bool:
    """Whether nothing was wrong with the question, but the budget says no."""
    from isinglass.errors import BudgetError

    return isinstance(error, BudgetError)


_SPELLED = {"ask", "plan", "ledger", "register", "model", "verify-privacy"}
#: What these commands call the settings that a sentence may begin with.
_OPTIONS = {
    "cap": "--budget", "key": "--request-id", "labels": "--label",
    "n_columns": "--n-columns", "n_components": "--components", "scale": "--scale-by",
    "threshold_share": "--threshold",
} | {
    name: "--" + name.replace("_", "-")
    for name in (
        "also_released", "beta", "bounds", "budget", "delta", "draws", "epsilon", "head", "k",
        "metric", "modes", "new_version", "outlier_fraction", "p", "r", "reason",
        "records_per_person", "rounds", "target_recall", "user", "user_budget", "weights",
    )
}  # fmt: skip


def _sentence(error: Exception, arguments: list[str]) -> str:
    from isinglass.errors import IsinglassError

    # Our own sentences, and parameters that were refused. Kinds of ValueError that libraries
    # define quote what they met.
    if isinstance(error, IsinglassError) or type(error) is ValueError:
        name, *rest = str(error).split() or [""]
        if set(arguments[:1]) & _SPELLED:
            name = _OPTIONS.get(name, name)
        return " ".join([name, *rest])
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; use fewer columns or another method"
    # An unforeseen error's own text may quote a value, so only its kind is shown.
    return f"something unforeseen failed ({type(error).__name__}); run again with --debug to see it"
