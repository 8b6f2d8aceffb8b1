"""Errors without the frames they came through, whose variables hold what nobody may see."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def bare(error: BaseException) -> BaseException:
    """The error without frames, and without the errors that led to it, which have theirs."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def without_frames(function: Callable[P, T]) -> Callable[P, T]:
    """Let errors of a function, interrupts included, leave its frames and arguments behind.

    A traceback that is kept, as notebooks and debuggers keep the last one, holds every variable of
    every frame.
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            found = bare(error)
            args, kwargs = (), {}  # type: ignore[assignment]
        try:
            raise found
        finally:
            del found  # its traceback holds this frame

    return called
