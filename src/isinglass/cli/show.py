"""Output to stdout and stderr, and what a stopped command says."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from isinglass.documents import for_json
from isinglass.formats import printable


def echo(*lines: str) -> None:
    """Results for a person, a line each; a name from a file can neither add nor hide a line."""
    for line in lines or ("",):
        print(printable(line), flush=True)


def print_message(text: str) -> None:
    """Print a line of prose to stderr; stdout stays free for results."""
    print(printable(text), file=sys.stderr, flush=True)


def print_json(document: dict[str, Any]) -> None:
    """The one JSON document of a command; None stands for a number that is not finite."""
    print(json.dumps(for_json(document), indent=2, allow_nan=False))


def is_terminal() -> bool:
    """Whether results go to a person's terminal."""
    return sys.stdout.isatty()


def command_line() -> str:
    """The command as it was typed, with files by their names and not their folders."""
    words = []
    for word in sys.argv[1:]:
        option, equals, path = word.partition("=") if word.startswith("--") else ("", "", word)
        folder, name = os.path.split(path)
        # Only what is a path: a column may have a slash in its name.
        words.append(option + equals + (name if name and os.path.isdir(folder) else path))
    return shlex.join(["isinglass", *words])


class StoppedError(BaseException):
    """Ctrl-C, or being told to end; no half-written file stays."""

    sentence = "stopped before anything was finished; nothing was written"

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def saying(sentence: str) -> Iterator[None]:
    """What to say instead if the block is stopped, because part of it may be written already."""
    try:
        yield
    except StoppedError as stop:
        stop.sentence = sentence
        raise


#: Seconds of work before a bar is worth showing.
BAR_AFTER_S = 2.0


class Bar:
    """A progress bar on a terminal, once the work has taken a while; silence elsewhere."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._bar: Any = None
        self._stage = ""
        self._task: Any = None

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if not sys.stderr.isatty() or time.monotonic() - self._start < BAR_AFTER_S:
            return
        if self._bar is None:
            self._bar = self._made()
            self._bar.start()
        if stage != self._stage:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(stage, total=total, completed=done)
            self._stage = stage
        self._bar.update(self._task, completed=done)

    def _made(self) -> Any:
        from rich import progress
        from rich.console import Console
        from rich.text import Text

        class Speed(progress.ProgressColumn):
            def render(self, task: progress.Task) -> Text:
                units = {
                    "attacking": "attacks",
                    "counting tables": "tables",
                    "drawing noise": "draws",
                    "trying settings": "settings",
                    "fitting a first model": "epochs",
                    "training models": "models",
                }
                if task.description in units:  # which do not go by rows
                    return Text(f"{task.completed:,.0f} {units[task.description]}")
                return Text(f"{task.speed:,.0f} rows/s" if task.speed else "")

        return progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            Speed(),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
