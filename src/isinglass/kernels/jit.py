"""Decorators that compile kernels once and cache them on disk."""

from __future__ import annotations

import functools
import hashlib
import logging
import multiprocessing
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event as events

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile on first use and keep the machine code in a file, so that it is paid for once.

    Kernels release the interpreter's lock: several threads run them at once, each on rows of its
    own (`threads.spread`). No fast-math: ties and cutoffs must come out the same everywhere.
    """
    return cast(Function, _kept(njit(cache=True, nogil=True, error_model="numpy")(function)))


def fma_kernel(function: Function) -> Function:
    """As `kernel`, for sums that steer a search and decide nothing.

    A product may be fused with the sum it goes into: faster, and rounded once less. Whether it
    is depends on the machine, which no answer may.
    """
    fused = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
    return cast(Function, _kept(fused(function)))


#: told at the first compilation of a process, where somebody waits for it
COMPILING = "isinglass compiles its kernels for this machine, once; this takes some seconds"


class FirstCompilation(events.Listener):
    """Says once that kernels are being compiled, which a first call waits for in silence.

    Nothing was done wrong, so it is no warning: a line on stderr where that is a terminal, and a
    message of level INFO of the logger `isinglass` for programs.
    """

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        module = getattr(function, "__module__", "") or ""
        if self.said or not module.startswith(__package__):
            return
        self.said = True
        logging.getLogger("isinglass").info(COMPILING)
        if sys.stderr is not None and sys.stderr.isatty() and not multiprocessing.parent_process():
            sys.stderr.write(f"note: {COMPILING}\n")

    def on_end(self, event: Any) -> None:
        pass


first_compilation = FirstCompilation()
events.register("numba:compile", first_compilation)


def _kept(compiled: Any) -> Any:
    """Let the file on disk count only as long as no kernel's source changes.

    numba looks at the function's own file; but kernels of other files are compiled into it.
    """
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is not None:  # else numba was told not to compile
        file._source_stamp = (file._source_stamp, _sources())
    return compiled


@functools.cache
def _sources() -> str:
    """A digest of all files beside this one."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_kept(function: Callable[..., object]) -> bool:
    """Whether machine code of a kernel is on disk already, from this or an earlier process."""
    folder = Path(getattr(function, "_cache").cache_path)  # noqa: B009 (numba has no public name)
    return any(folder.glob(f"*.{function.__name__}-*.nbi"))
