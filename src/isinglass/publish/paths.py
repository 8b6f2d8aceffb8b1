"""Paths that a release reads and writes, all different."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from isinglass.errors import ReleaseError
from isinglass.files import STOP_SIGNALS, refuse_unwritable


def refuse_targets(targets: dict[str, Path], sources: Iterable[Any], *, force: bool) -> None:
    """Refuse targets that cannot be written, are one file, or are a file that is read.

    Names are compared as the files they lead to: a key written over by its release is lost for
    good, and a key under a name that says public is worse.
    """
    seen: dict[str, str] = {}
    for what, target in targets.items():
        refuse_unwritable(target, force=force)
        real = os.path.realpath(target)
        if real in seen:
            raise ReleaseError(f"{what} and {seen[real]} need different names, not {target}")
        seen[real] = what
    for source in sources:
        if isinstance(source, str | Path) and os.path.realpath(source) in seen:
            raise ReleaseError(f"{source} is read for this release; choose another name")


class Finishing:
    """From `begin` to the end of the block, being asked to stop waits until all is finished.

    Between naming a key and naming its release there must be no stop: one without the other is
    worth nothing. Signals come back to whoever handled them before once the block ends.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}

    def begin(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                self._before[number] = signal.signal(number, signal.SIG_IGN)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
