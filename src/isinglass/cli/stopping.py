"""Signals that stop a command, raised as an exception."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


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
