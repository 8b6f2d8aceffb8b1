"""The one decorator of the kernels: compiled once, kept on disk, run without Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile on first use and keep the machine code in a file, so that it is paid for once.

    Kernels release the interpreter's lock: several threads run them at once, each on rows of its
    own (`threads.spread`). No fast-math: ties and cutoffs must come out the same everywhere. The
    file on disk is renewed when the *kernel's own* file changes, so kernels that call each other
    live in one file, or are touched together.
    """
    return cast(Function, njit(cache=True, nogil=True, error_model="numpy")(function))


def steering(function: Function) -> Function:
    """As `kernel`, for sums that steer a search and decide nothing.

    A product may be fused with the sum it goes into: faster, and rounded once less. Whether it
    is depends on the machine, which no answer may.
    """
    fused = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
    return cast(Function, fused(function))


def is_kept(function: Callable[..., object]) -> bool:
    """Whether machine code of a kernel is on disk already, from this or an earlier process."""
    folder = Path(getattr(function, "_cache").cache_path)  # noqa: B009 (numba has no public name)
    return any(folder.glob(f"*.{function.__name__}-*.nbi"))
