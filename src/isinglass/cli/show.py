"""Talking to a person on stderr, and to a program on stdout."""

from __future__ import annotations

import json
import sys
import time
from types import TracebackType
from typing import Any, Self


def say(text: str) -> None:
    """A line of prose; stdout stays free for results."""
    print(text, file=sys.stderr, flush=True)


def print_json(document: dict[str, Any]) -> None:
    """The one JSON document of a command."""
    print(json.dumps(document, indent=2, default=str))


class Bar:
    """A progress bar on a terminal, once the work has taken two seconds; silence elsewhere."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._bar: Any = None
        self._stage = ""
        self._task: Any = None

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if not sys.stderr.isatty() or time.monotonic() - self._start < 2:
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
