"""Passphrase of a locked key, from a terminal or a file."""

from __future__ import annotations

import sys
from pathlib import Path

import typer


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
