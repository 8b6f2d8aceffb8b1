"""The command line, in this process or as typed; what it printed and how it ended."""

from __future__ import annotations

import contextlib
import io
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

from isinglass import cli
from isinglass.errors import PrivacyWarning


class Done(NamedTuple):
    """A command that ended: its exit code, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


ISINGLASS = [sys.executable, "-c", "from isinglass.cli import main; main()"]


def typed(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command as a person types it, in a process of its own, which takes a second to start."""
    return subprocess.run(
        [*ISINGLASS, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False
    )


def inside(*arguments: object, cwd: Path | None = None) -> Done:
    """The same in this process; what `main` changes of it is put back."""
    out, err = io.StringIO(), io.StringIO()
    line = ["isinglass", *map(str, arguments)]
    with pytest.MonkeyPatch.context() as patch:
        if cwd is not None:
            patch.chdir(cwd)
        patch.setattr(sys, "argv", line)
        patch.setattr(signal, "signal", lambda number, handler: signal.SIG_DFL)
        with (
            warnings.catch_warnings(action="always", category=PrivacyWarning),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            cli.main()
    code = end.value.code or 0
    return Done(int(code), out.getvalue(), err.getvalue())
