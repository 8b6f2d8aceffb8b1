"""The commands, subcommands and options that a page shows, and which of them do not exist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import typer

from isinglass import cli

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
OPTION = re.compile(r"(?<![\w=/-])--[a-z][a-z-]*")
#: what stands where a name would
PLACEHOLDER = re.compile(r"[A-Z]+|…|\.\.\.")
EVERYWHERE = {"--help", "--debug"}


@cache
def commands() -> dict[str, Any]:
    """Every command by its name, and the program itself by none."""
    found = typer.main.get_command(cli.app)
    return {"": found, **found.commands}


def subcommands(command: Any) -> Mapping[str, Any]:
    """The subcommands of a command, by name."""
    return getattr(command, "commands", {})


def blocks_of(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page: their language and what is in them."""
    return [(m[1], m[2]) for m in BLOCK.finditer(text)]


def lines_of(text: str) -> list[str]:
    """What a page shows to be typed: lines of its console and shell blocks, and inline code."""
    lines = []
    for kind, block in blocks_of(text):
        if kind == "console":
            lines += [line[2:] for line in block.splitlines() if line.startswith("$ ")]
        elif kind == "sh":
            lines += block.splitlines()
    prose = BLOCK.sub("", text)
    lines += [" ".join(code.split()) for code in INLINE.findall(prose)]
    return [line for line in lines if line]


def unknown_in(line: str) -> list[str]:
    """The commands, subcommands and options on a line that do not exist."""
    known, words = commands(), line.split()
    if words[0] == "python":
        return _unknown_to_script(words)
    typed = words[0] == "isinglass"
    words = words[typed:]
    name = next((word for word in words if not word.startswith("-")), "") if typed else words[0]
    if name not in known:
        if typed and not PLACEHOLDER.fullmatch(name):
            return [name]
        # Another program's line, as `mypy --strict`; else an option by itself, which may be
        # any command's.
        other = not typed and name.isalpha() and name.islower()
        return [] if other else _unknown_options(line, _all(known))
    rest = words[words.index(name) + 1 :] if name else words
    inner = subcommands(known[name]) if name else {}
    if inner and rest and not rest[0].startswith("-") and not PLACEHOLDER.fullmatch(rest[0]):
        if rest[0] not in inner:
            return [f"{name} {rest[0]}"]
        return _unknown_options(line, [known[""], inner[rest[0]]])
    return _unknown_options(line, [known[""], known[name], *inner.values()])


def _all(known: Mapping[str, Any]) -> list[Any]:
    inner = [sub for command in known.values() for sub in subcommands(command).values()]
    return [*known.values(), *inner]


def _unknown_options(line: str, possible: list[Any]) -> list[str]:
    options = {o for command in possible for p in command.params for o in p.opts} | EVERYWHERE
    return [option for option in OPTION.findall(line) if option not in options]


def _unknown_to_script(words: list[str]) -> list[str]:
    """The options of `python -m benchmarks.NAME` that its source does not name."""
    if words[1:2] != ["-m"] or not words[2].startswith(("benchmarks.", "tests.")):
        return []
    path = ROOT / words[2].replace(".", "/")
    sources = [path.with_suffix(".py"), path / "__main__.py"]
    there = [source for source in sources if source.is_file()]
    if not there:
        return [words[2]]
    text = there[0].read_text(encoding="utf-8")
    options = [option for word in words for option in OPTION.findall(word)]
    return [option for option in options if f'"{option}"' not in text]
