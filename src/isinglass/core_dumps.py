"""No core dump of this process while it holds what must never reach a disk."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4  # of Linux, in sys/prctl.h

_lock = threading.Lock()
_inside = 0  # blocks that are entered and not left, in all threads
_undo: list[tuple[Any, tuple[Any, ...]]] = []  # calls, with their arguments


@contextlib.contextmanager
def no_core_dumps() -> Iterator[None]:
    """See to it that a crash inside the block writes no core file; afterwards all is as it was.

    Where a core goes to a program and not to a file, only Linux can be told so. What a system
    cannot be told is left out.
    """
    global _inside
    with _lock:
        if _inside == 0:
            _forbid()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            while _inside == 0 and _undo:
                call, arguments = _undo.pop()
                with contextlib.suppress(OSError, ValueError):
                    call(*arguments)


def _forbid() -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    with contextlib.suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        _undo.append((resource.setrlimit, (resource.RLIMIT_CORE, (soft, hard))))
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            import ctypes

            prctl = ctypes.CDLL(None).prctl
            if prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 and not prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
                _undo.append((prctl, (_PR_SET_DUMPABLE, 1, 0, 0, 0)))
