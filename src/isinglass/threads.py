"""Thread counts for products and kernels."""

from __future__ import annotations

import _thread
import contextlib
import functools
import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

_WAIT_S = 0.1


@functools.cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep matrix products in one thread: with more, a wide product is cut up and rounds otherwise.

    A release must have the same bytes whoever computes it, on however many cores.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@contextlib.contextmanager
def all_in_one_thread() -> Iterator[None]:
    """Keep products and the loops of libraries loaded so far in one thread: for small pieces."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield


def as_scikit_learn(n_jobs: int | None) -> int:
    """`n_jobs` of an estimator: None is 1, unless a `joblib.parallel_config` says otherwise."""
    if n_jobs is None:
        from joblib import effective_n_jobs

        return int(effective_n_jobs(None))
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0")
    return n_jobs


def available(n_jobs: int | None = None) -> int:
    """How many threads to use inside the package: as in scikit-learn, but None is every core."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # the cores this process may use
        cores = len(os.sched_getaffinity(0))
    if n_jobs is None:
        return cores
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def spread(work: Callable[[int, int], object], n: int, *, n_jobs: int | None, step: int) -> None:
    """Call `work(start, stop)` on all of range(n), `step` at a time, in several threads.

    For kernels that release the interpreter's lock and write only to their own rows. The calling
    thread works too, and every thread takes the next part when it is done with one: handing out
    parts from a queue would cost as much as a small one takes.
    """
    starts = range(0, n, step)
    workers = min(available(n_jobs), len(starts))
    left = iter(starts)

    def take_parts() -> None:
        try:
            for start in left:
                work(start, min(start + step, n))
        finally:
            for _ in left:  # after an error nobody begins another part
                pass

    others: list[Errand] = []
    try:
        with contextlib.suppress(RuntimeError):  # no thread can be started: fewer will do
            while len(others) < workers - 1:
                other = Errand(take_parts)
                others.append(other)  # before it is handed out: an interrupt may come any time
                _helpers.hand_out(other, workers - 1)
        take_parts()
    finally:
        try:
            _finish(left, others)
        finally:
            _finish(left, others)  # once more, in case the first was interrupted
    failure = next((other.error for other in others if other.error is not None), None)
    for other in others:
        other.error = None  # whose traceback leads back here
    others.clear()
    if failure is not None:
        try:
            raise failure
        finally:
            del failure  # its traceback holds this frame, and the frame the caller's arrays


def _finish(left: Iterator[int], others: list[Errand]) -> None:
    """Let nobody begin another part, and wait for those that were begun."""
    for _ in left:  # none, unless there was an error or an interrupt
        pass
    for other in others:
        if not other.cancel():  # one that has not begun has nothing left to do
            other.wait()


class Errand:
    """A call for another thread, which either begins it or finds that it was canceled.

    Every method may be interrupted anywhere and called again.
    """

    def __init__(self, call: Callable[[], object]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._call: Callable[[], object] | None = call
        self._fate: dict[str, bool] = {}  # its `setdefault` lets exactly one thread decide
        self._done = False
        self._ended = threading.Lock()
        self._ended.acquire()

    def begin(self) -> None:
        """Start a thread for it; where none can be started the call is made here."""
        try:
            _begin(self.run)
        except RuntimeError:
            self.run()

    def outcome(self) -> Any:
        """What the call gave, or its error, once it has ended."""
        self.wait()
        error, self.error = self.error, None
        if error is None:
            return self.result
        try:
            raise error
        finally:
            del error  # its traceback holds this frame

    def run(self) -> None:
        """Make the call, in the other thread."""
        if not self._fate.setdefault("begun", True):
            return
        try:
            if self._call is not None:
                self.result = self._call()
        except BaseException as error:
            self.error = error
        finally:
            self._call = None
            self._done = True
            self._ended.release()

    def cancel(self) -> bool:
        """Whether the call has not begun, and now never will."""
        begun = self._fate.setdefault("begun", False)
        if not begun:
            self._call = None
        return not begun

    def wait(self) -> None:
        """Wait until the call has ended."""
        while not self._done:
            # The limit is for a second wait, after the first took the lock and was interrupted.
            self._ended.acquire(timeout=_WAIT_S)


class _Helpers:
    """Threads that stay: starting them anew takes longer than much of what they do.

    The interpreter does not wait for them when it ends.
    """

    def __init__(self) -> None:
        self._errands: queue.SimpleQueue[Errand] = queue.SimpleQueue()
        self._threads = 0

    def hand_out(self, errand: Errand, most: int) -> None:
        """Let some thread take the errand, of which `most` should be there."""
        if self._threads < most:
            _begin(self._serve)
            self._threads += 1
        self._errands.put(errand)

    def _serve(self) -> None:
        while True:
            errand = self._errands.get()
            errand.run()
            del errand


_helpers = _Helpers()


def _begin(call: Callable[[], object]) -> None:
    """Start a thread that the interpreter does not wait for, in one step.

    `Thread.start` and executors wait for their thread, and note it, step by step: where an
    interrupt comes between, nobody tells the thread to end, and a stopped program waits for it.
    """
    _thread.start_new_thread(call, ())


def _forget_helpers() -> None:
    global _helpers
    _helpers = _Helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)  # a fork takes no threads along
