"""How training goes, epoch by epoch: to a person on a terminal, or to a function."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from isinglass.detect.network import Report
from isinglass.progress import Progress


@contextlib.contextmanager
def told(progress: bool | Progress | None, max_epochs: int) -> Iterator[Report]:
    """What to report every epoch to, for as long as training lasts."""
    if callable(progress):
        yield lambda epoch, loss, held: progress(_stage(epoch, loss, held), epoch, max_epochs)
    elif progress and sys.stderr.isatty():
        with _bar(max_epochs) as report:
            yield report
    else:
        yield lambda epoch, loss, held: None


def _stage(epoch: int, loss: float, held: float | None) -> str:
    text = f"epoch {epoch}, loss {loss:.3g}"
    return text if held is None else f"{text}, held back {held:.3g}"


@contextlib.contextmanager
def _bar(max_epochs: int) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("epoch 0", total=max_epochs)
        yield lambda epoch, loss, held: bar.update(
            task, completed=epoch, description=_stage(epoch, loss, held)
        )
