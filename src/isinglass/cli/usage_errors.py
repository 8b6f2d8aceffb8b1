"""Usage-error messages: renamed options, spelling suggestions, parameters as options."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import typer

from isinglass.messages import Spelling

#: Options that have another name now, and for good: nothing answers to the old ones.
RENAMED: Mapping[str, Mapping[str, str]] = {
    "audit": {"--pairs": "--max-pairs"},
    "tune": {"--pairs": "--max-pairs", "--max-gain": "--max-attack-gain"},
    "detect": {"--exclude": "--drop", "--neighbors": "--n-neighbors"},
    "plan": {"--scale": "--scale-by"},
    "ask": {"--key": "--request-id", "--existing": "--no-count-query"},
    "verify-privacy": {"--columns": "--n-columns"},
    "ledger show": {"--head": "--head-only"},
    "ledger admit": {"--budget": "--user-budget"},
}

#: The parser's own errors: those of click, or of the copy that typer brings along.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def usage_sentence(error: Any) -> str:
    """What is wrong with the command as typed, in one sentence, and what to type instead."""
    typed = " ".join(error.ctx.command_path.split()[1:]) if error.ctx else ""
    help_line = " ".join(["isinglass", *typed.split(), "--help"])
    unknown = getattr(error, "option_name", None)
    if unknown is not None and hasattr(error, "possibilities"):
        renamed = RENAMED.get(typed, {})
        if unknown in renamed:
            return f"{unknown} is now {renamed[unknown]}"
        known = {name.lstrip("-"): name for p in error.ctx.command.params for name in p.opts}
        known |= {old.lstrip("-"): new for old, new in renamed.items()}
        near = get_close_matches(unknown.lstrip("-"), known, n=1)
        advice = f"did you mean {known[near[0]]}?" if near else f"see `{help_line}`"
        return f"{typed or 'isinglass'} has no option {unknown}; {advice}"
    said = error.format_message().replace("Value error, ", "").rstrip(".")
    said = said[:1].lower() + said[1:]
    return said if said.endswith("?") else f"{said}; see `{help_line}`"


def is_help(error: Exception) -> bool:
    """Whether a group was called without a command, for which it shows its help."""
    return type(error).__name__ == "NoArgsIsHelpError"


class OptionSpelling(Spelling):
    """Parameters as options, and methods of a ledger or the register as commands."""

    #: where it is not the parameter with dashes
    options: Mapping[str, str] = {
        "id_column": "--id",
        "other_releases": "--also",
        "cap": "--budget",
    }
    #: which are given as `--set NAME=VALUE`
    settings = ("alpha", "n_components")
    calls: Mapping[str, str] = {
        "Ledger.amend": "isinglass ledger amend LEDGER",
        "Ledger.admit": "isinglass ledger admit",
        "Ledger.verify": "isinglass ledger verify",
        "Ledger.accept": "isinglass ledger verify LEDGER --accept",
        "Register.mark_never_left": "isinglass register never-left",
    }

    def parameter(self, name: str, value: Any) -> str:
        if name in self.settings:
            return f"--set {name}={'…' if value is None else value}"
        option = self.options.get(name, "--" + name.replace("_", "-"))
        return option if value is None or value is True else f"{option} {value}"

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        words = [self.calls[name]]
        for parameter, value in arguments.items():
            if parameter == "entry":
                words.append(str(value))
                continue
            if parameter == "cap":
                from isinglass.epsilon import text

                value = text(value)
            if parameter == "delta_cap":
                from isinglass.epsilon import delta_text

                value = "DELTA" if value is ... else delta_text(value)
            words.append(self.parameter(parameter, "TEXT" if value is ... else value))
        return f"`{' '.join(words)}`"
